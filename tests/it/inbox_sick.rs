//! What an ordinary user's inbox cannot read is said first, and stops no answer elsewhere.

use crate::machine::{ALICE, BOB, Machine, assert_refused, told};
use crate::program::{status, text};
use crate::terminal::Terminal;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

impl Machine {
    /// The program as Alice calls it in a directory, without a log named.
    fn alice_in(&self, directory: &Path, arguments: &[&str]) -> Command {
        let script =
            "program=$1; directory=$0; shift 3; cd \"$directory\" && exec \"$program\" \"$@\"";
        self.command(ALICE, &["sh", "-c", script, directory.to_str().unwrap()], arguments)
    }

    fn alice_made(&self, name: &str) -> PathBuf {
        let directory = self.place.directory.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        chown(&directory, Some(ALICE), Some(ALICE)).unwrap();
        directory
    }

    fn list(&self) -> PathBuf {
        self.etc.path().join("homes/alice/.local/state/holdpoint/logs")
    }
}

/// What is said of a log, and how it comes to that and back.
type Way<'a> = (&'static str, &'a dyn Fn(), &'a dyn Fn());

fn done(mut command: Command, expected: i32) -> Output {
    let output = command.output().unwrap();
    assert_eq!(status(&output), expected, "{}", told(&output));
    output
}

/// Said first, with this exit, and never that nothing waits.
#[track_caller]
fn assert_not_known(output: &Output, exit: i32, first: &str) {
    assert_refused(output, exit, &[]);
    let said = text(&output.stderr);
    assert!(said.lines().next().unwrap().contains(first), "{first}: {said}");
    assert!(!said.contains("nothing waits in"), "{said}");
}

#[test]
fn a_list_of_the_inbox_that_its_user_cannot_read_is_said_first_and_exits_1() {
    let Some(machine) = Machine::new() else { return };
    let here = machine.alice_made("here");
    done(machine.alice_in(&here, &["run", "--", "true"]), 0);
    let list = machine.list();
    let inbox = || machine.alice_in(&here, &["inbox"]).output().unwrap();
    assert_refused(&inbox(), 0, &["no pending questions in 1 log"]);
    set_permissions(&list, Permissions::from_mode(0o000)).unwrap();
    assert_not_known(&inbox(), 1, "Permission denied");
    set_permissions(&list, Permissions::from_mode(0o600)).unwrap();
    chown(&list, Some(BOB), Some(BOB)).unwrap();
    assert_not_known(&inbox(), 1, "Permission denied");
    chown(&list, Some(ALICE), Some(ALICE)).unwrap();
    assert_refused(&inbox(), 0, &["no pending questions in 1 log"]);
}

#[test]
fn a_sick_gone_or_foreign_log_of_the_inbox_stops_no_answer_by_whole_id_or_here() {
    let Some(machine) = Machine::new() else { return };
    let (here, away) = (machine.alice_made("here"), machine.alice_made("away"));
    let sick = machine.alice_made("sick");
    done(machine.alice_in(&sick, &["run", "--", "true"]), 0);
    let log = sick.join(".holdpoint");
    let gone = sick.join("gone");
    let ways: [Way<'_>; 3] = [
        ("is gone", &|| std::fs::rename(&log, &gone).unwrap(), &|| {
            std::fs::rename(&gone, &log).unwrap();
        }),
        ("Permission denied", &|| chown(&log, Some(BOB), Some(BOB)).unwrap(), &|| {
            chown(&log, Some(ALICE), Some(ALICE)).unwrap();
        }),
        (
            "Permission denied",
            &|| set_permissions(&log, Permissions::from_mode(0o000)).unwrap(),
            &|| set_permissions(&log, Permissions::from_mode(0o700)).unwrap(),
        ),
    ];
    for (words, makes_sick, mends) in ways {
        for (from, digits) in [(&away, 36), (&here, 12)] {
            let asked = ["run", "--hold", "before", "--no-wait", "--", "true"];
            let asked = done(machine.alice_in(&here, &asked), 122);
            let id = text(&asked.stdout).lines().next().unwrap().trim().to_string();
            let id = id.get(..digits).unwrap_or(&id);
            makes_sick();
            let inbox = machine.alice_in(from, &["inbox"]).output().unwrap();
            assert_not_known(&inbox, 3, words);
            let answer = machine.alice_in(from, &["decision", "respond", id, "approve"]);
            let (code, said) = Terminal::start_command(&machine.place, &answer).end();
            assert_eq!(code, 0, "{words} {from:?}: {said}");
            // What is gone has no question that could have been meant here.
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_warned = said.contains(words) || (from == &here && words == "is gone");
            assert!(is_warned, "{words} {from:?}: {said}");
            mends();
        }
    }
}
