//! `output -f`: what a run of another process prints, while it is recorded, to its end.

use crate::program::{Place, status, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Stdio};

/// A run that has printed a line, and prints the rest once it is told to.
struct Speaking {
    place: Place,
    child: Child,
    go: PathBuf,
    id: String,
}

impl Speaking {
    fn start(rest: &str) -> Self {
        let place = Place::with_log();
        let go = place.directory.path().join("go");
        let script =
            format!("echo one; while [ ! -e {} ]; do sleep 0.02; done; {rest}", go.display());
        let words = ["run", "--hold", "never", "--", "sh", "-c", &script];
        let mut command = place.command(&words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let id = loop {
            let listed = text(&place.holdpoint(&["runs", "--json"]).stdout);
            let first = listed.lines().next().unwrap_or("{}");
            let first: Value = serde_json::from_str(first).unwrap();
            if let Some(id) = first["run"].as_str() {
                break id.to_string();
            }
            std::thread::yield_now();
        };
        Self { place, child, go, id }
    }

    /// Follows it until the first line was shown.
    fn followed(&self, options: &[&str]) -> (Child, BufReader<impl Read + use<>>, String) {
        let words = [&["output", "-f", &self.id], options].concat();
        let mut command = self.place.command(&words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut following = command.spawn().unwrap();
        let mut shown = BufReader::new(following.stdout.take().unwrap());
        let mut first = String::new();
        shown.read_line(&mut first).unwrap();
        (following, shown, first)
    }
}

#[test]
fn a_run_of_another_process_is_followed_to_its_end() {
    let mut run = Speaking::start("echo two; echo oops >&2; seq 20000; exit 3");
    let (following, mut shown, mut all) = run.followed(&[]);
    assert_eq!(all, "one\n");
    assert!(run.child.try_wait().unwrap().is_none(), "it is shown while the command runs");
    std::fs::write(&run.go, "").unwrap();
    shown.read_to_string(&mut all).unwrap();
    let ended = following.wait_with_output().unwrap();
    assert_eq!(status(&ended), 0, "{}", text(&ended.stderr));
    assert_eq!(run.child.wait().unwrap().code(), Some(3));
    let recorded = text(&run.place.holdpoint(&["output", &run.id]).stdout);
    assert_eq!(all, recorded);
    assert!(recorded.contains("oops\n") && recorded.ends_with("\n20000\n"));
}

#[test]
fn one_stream_is_followed_with_its_times() {
    let mut run = Speaking::start("echo two; echo oops >&2");
    let (following, mut shown, mut all) = run.followed(&["--stream", "stdout", "--timestamps"]);
    assert!(all.ends_with("Z stdout one\n"), "{all}");
    std::fs::write(&run.go, "").unwrap();
    shown.read_to_string(&mut all).unwrap();
    assert_eq!(status(&following.wait_with_output().unwrap()), 0);
    assert!(all.ends_with("Z stdout two\n") && !all.contains("oops"), "{all}");
    assert_eq!(run.child.wait().unwrap().code(), Some(0));
}

#[test]
fn following_ends_with_the_recorder_and_says_so() {
    let mut run = Speaking::start("true");
    let (following, mut shown, mut all) = run.followed(&[]);
    kill_process(Pid::from_child(&run.child), Signal::KILL).unwrap();
    run.child.wait().unwrap();
    shown.read_to_string(&mut all).unwrap();
    let ended = following.wait_with_output().unwrap();
    let said = text(&ended.stderr);
    assert_eq!((status(&ended), all.as_str()), (3, "one\n"), "{said}");
    assert!(said.contains("was lost") && said.contains("may be missing"), "{said}");
}
