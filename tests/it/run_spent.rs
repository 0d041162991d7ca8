//! An approval that nobody waited for is spent later: as the documents show it and as the program
//! advises it.

use crate::program::{Place, by_person, json, skip, status, text, with_hold};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HOLDS: &str = include_str!("../../docs/approvals.md");

fn file(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name)
}

/// A shell's script at a terminal, with this program and a `make` that deploys on its path.
fn script(place: &Place, shell: &str, script: &[&str]) -> Output {
    let folder = file(place, "bin");
    let make = folder.join("make");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&make, "#!/bin/sh\necho made >> deployed\n").unwrap();
    std::fs::set_permissions(&make, PermissionsExt::from_mode(0o755)).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_holdpoint")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(shell);
    command.env("PATH", format!("{}:{}:{path}", folder.display(), program.display()));
    for name in ["HOLDPOINT_CONFIG", "HOLDPOINT_LOCK_WAIT"] {
        command.env_remove(name);
    }
    command.env("HOLDPOINT_LOG", &place.log);
    command.current_dir(place.directory.path());
    by_person(command.args(script))
}

#[test]
fn the_documented_way_to_spend_an_approval_later_works_in_every_shell() {
    let block = HOLDS.split("```sh\n").find(|block| block.contains("--approval \"$(cat")).unwrap();
    let block = block.split_once("```").unwrap().0;
    for shell in ["sh", "bash"] {
        if Command::new(shell).args(["-c", ":"]).output().is_err() {
            skip(&format!("the documents' example in {shell}: it is not installed"));
            continue;
        }
        let place = Place::new();
        std::fs::write(file(&place, "script"), block).unwrap();
        // The last command of `bash -c` has another SHLVL than those before it.
        let without = block.replace("holdpoint run", "env -u SHLVL holdpoint run");
        for (words, made) in [(&["script"][..], "made\n"), (&["-c", &without], "made\nmade\n")] {
            let output = script(&place, shell, words);
            assert_eq!(status(&output), 0, "{shell} {words:?}: {}", text(&output.stderr));
            let deployed = std::fs::read_to_string(file(&place, "deployed")).unwrap();
            assert_eq!(deployed, made, "{shell} {words:?}");
        }
        place.verified();
    }
}

#[test]
fn the_advice_to_spend_an_approval_keeps_what_was_asked_for() {
    let place = Place::new();
    std::fs::write(file(&place, "my file"), "bound").unwrap();
    let asked = "holdpoint run --no-wait --expires before=1h --hold always --max-attempts 2 \
                 --bind file='my file' -- make deploy";
    let asked = script(&place, "sh", &["-c", asked]);
    assert_eq!(status(&asked), 122, "{}", text(&asked.stderr));
    let (said, id) = (text(&asked.stderr), text(&asked.stdout));
    let mut commands = said.lines().filter_map(|line| line.strip_prefix("  "));
    let respond = commands.next().unwrap();
    assert_eq!(status(&script(&place, "sh", &["-c", respond])), 0, "{respond}");
    let again = commands.next().unwrap();
    assert!(again.ends_with(" -- make deploy"), "{again}");
    for kept in [id.trim(), "--hold=always", "--max-attempts=2", "my file", "--no-wait"] {
        assert!(again.contains(kept), "{kept}: {again}");
    }
    let output = script(&place, "sh", &["-c", again]);
    assert_eq!(status(&output), 122, "asked after the attempt: {}", text(&output.stderr));
    assert!(file(&place, "deployed").exists());
    let waiting =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    assert_eq!(waiting.as_array().unwrap().len(), 1);
}
