//! How a command ends comes back as without us: every status and every signal, with a terminal of
//! its own and without, whatever the readers of its output do.
//!
//! A run of the tests takes a part of the cases, `just streams` all of them.

use crate::program::{Place, text};
use holdpoint_testing::part::part;
use std::fs;
use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// Of so many cases a run of the tests takes one.
const PART: usize = 64;
/// What a pipe takes although nobody reads.
const PIPE_BYTES: usize = 64 * 1024;
/// What `kill` knows of signals.
const SIGNALS: std::ops::RangeInclusive<u8> = 1..=64;
/// SIGSTOP, SIGTSTP, SIGTTIN and SIGTTOU: a command that stops does not end.
const STOPS: [u8; 4] = [19, 20, 21, 22];

/// How a command ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Status(u8),
    Signal(u8),
}

/// What becomes of what it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    Read,
    Closed,
    /// Full, until the command has ended.
    Blocked,
    /// Read in small pieces.
    Slow,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    ending: Ending,
    streams: Streams,
    has_terminal: bool,
}

fn cases() -> Vec<Case> {
    let statuses = (0..=u8::MAX).map(Ending::Status);
    let signals = SIGNALS.filter(|signal| !STOPS.contains(signal)).map(Ending::Signal);
    let endings: Vec<Ending> = statuses.chain(signals).collect();
    let streams = [Streams::Read, Streams::Closed, Streams::Blocked, Streams::Slow];
    let with = |ending| {
        let both =
            move |streams| [false, true].map(|has_terminal| Case { ending, streams, has_terminal });
        streams.into_iter().flat_map(both)
    };
    endings.into_iter().flat_map(with).collect()
}

impl Case {
    /// A command that prints on both streams and ends so.
    fn script(self) -> String {
        let print = match self.streams {
            Streams::Slow => "head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2",
            _ => "echo out; echo err >&2",
        };
        let end = match self.ending {
            Ending::Status(status) => format!("exit {status}"),
            // Some signals end nothing.
            Ending::Signal(signal) => format!("kill -{signal} $$; exit 77"),
        };
        format!("ulimit -c 0; {print}; echo > ended; {end}")
    }

    fn check(self) {
        let place = Place::with_log();
        let script = self.script();
        let mut alone = Command::new("sh");
        alone.args(["-c", &script]).current_dir(place.directory.path());
        let alone = alone.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        let expected = alone.code().unwrap_or_else(|| 128 + alone.signal().unwrap());
        let ended = place.directory.path().join("ended");
        fs::remove_file(&ended).unwrap();
        let mut words = vec!["run", "--hold", "never"];
        words.extend(self.has_terminal.then_some("--tty"));
        words.extend(["--", "sh", "-c", &script]);
        let mut run = place.command(&words);
        run.stdin(Stdio::null());
        let found = match self.streams {
            Streams::Closed => {
                let mut shell = Command::new("sh");
                shell.args(["-c", "exec \"$@\" >&- 2>&-", "sh"]).arg(run.get_program());
                shell.args(run.get_args()).stdin(Stdio::null());
                shell.current_dir(place.directory.path()).status().unwrap()
            }
            streams => {
                let (of_stdout, stdout) = io::pipe().unwrap();
                let (of_stderr, stderr) = io::pipe().unwrap();
                if streams == Streams::Blocked {
                    (&stdout).write_all(&[b'-'; PIPE_BYTES]).unwrap();
                    (&stderr).write_all(&[b'-'; PIPE_BYTES]).unwrap();
                }
                let mut child = run.stdout(stdout).stderr(stderr).spawn().unwrap();
                // The ends of the pipes that this process holds.
                drop(run);
                while streams == Streams::Blocked && !ended.exists() {
                    std::thread::yield_now();
                }
                let readers = [of_stdout, of_stderr].map(|pipe| read(pipe, streams));
                let status = child.wait().unwrap();
                readers.into_iter().for_each(|reader| reader.join().unwrap());
                status
            }
        };
        assert_eq!(found.code(), Some(expected), "{self:?}: {alone:?} without us");
        let runs = text(&place.holdpoint(&["runs", "--json"]).stdout);
        let told = match self.ending {
            Ending::Signal(_) if alone.code().is_none() => {
                format!("\"signal\":{}", expected - 128)
            }
            _ => format!("\"exit_status\":{expected}"),
        };
        assert!(runs.contains(&told), "{self:?}: {runs}");
    }
}

/// Reads a pipe to its end.
fn read(mut pipe: PipeReader, how: Streams) -> JoinHandle<()> {
    let piece = if how == Streams::Slow { 64 } else { PIPE_BYTES };
    std::thread::spawn(move || {
        let mut bytes = vec![0; piece];
        while pipe.read(&mut bytes).unwrap() > 0 {
            std::thread::yield_now();
        }
    })
}

#[test]
fn every_status_and_signal_comes_back_as_without_us_whatever_becomes_of_the_streams() {
    for case in part(cases(), PART) {
        case.check();
    }
}
