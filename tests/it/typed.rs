//! The word of an answer is typed at the terminal; what a command line says is only offered.

use crate::decision_support::created;
use crate::machine::{BOB, Machine};
use crate::program::{Place, by_person, json, status, text};
use crate::terminal::Terminal;
use std::fs;
use std::process::Command;

/// A question before a start, left open.
fn asked(place: &Place) -> String {
    let output = place.holdpoint(&["run", "--hold", "before", "--no-wait", "--", "touch", "f"]);
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    text(&output.stdout).lines().next().unwrap().trim().to_string()
}

fn is_open(place: &Place, id: &str) -> bool {
    json(&place.holdpoint(&["decision", "show", id, "--json"]))["state"] == "pending"
}

#[test]
fn who_starts_an_answer_at_a_terminal_has_not_typed_it() {
    let place = Place::new();
    let id = asked(&place);
    for input in ["", "printf 'approve\\n' | ", "</dev/null "] {
        let script = format!("{input}\"$0\" --log \"$1\" decision respond {id} approve");
        let mut recipe = Command::new("sh");
        recipe.args(["-c", &script, env!("CARGO_BIN_EXE_holdpoint")]).arg(&place.log);
        let mut terminal = Terminal::start_command(&place, &recipe);
        terminal.wait_for("touch f");
        terminal.wait_for("type approve to answer; anything else leaves it: ");
        terminal.type_line("");
        let (code, said) = terminal.end();
        assert!(code == 10 && said.contains("was not typed"), "{input}: {code} {said}");
        assert!(is_open(&place, &id), "{input}");
    }
    let yes = by_person(&place.command(&["decision", "respond", &id, "--option", "approve"]));
    assert_eq!(status(&yes), 0, "{}", text(&yes.stderr));
    assert!(!is_open(&place, &id));
}

#[test]
fn an_approval_is_revoked_until_it_is_spent_and_what_rests_on_it_says_so() {
    let place = Place::new();
    let id = asked(&place);
    let yes = by_person(&place.command(&["decision", "respond", &id, "approve"]));
    assert_eq!(status(&yes), 0, "{}", text(&yes.stderr));
    let cancel = ["decision", "cancel", &id, "--reason", "the wrong branch"];
    assert_eq!(status(&place.holdpoint(&cancel)), 0);
    assert_eq!(status(&place.holdpoint(&["decision", "wait", &id])), 13);
    let run = ["run", "--hold", "before", "--approval", &id, "--", "touch", "f"];
    let refused = place.holdpoint(&run);
    assert_eq!(status(&refused), 125);
    assert!(text(&refused.stderr).contains("REVOKED"), "{}", text(&refused.stderr));
    assert!(!place.directory.path().join("f").exists());
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    assert_eq!(shown["approved"], false);
    assert_eq!(shown["revoked_reason"], "the wrong branch");
    assert_eq!(shown["selected_option"], "approve", "the answer stays");
    place.verified();
}

#[test]
fn a_no_is_never_0() {
    let place = Place::with_log();
    let words = ["gt-1", "--prompt", "Deploy?", "--option", "yes:Yes", "--option", "no:No"];
    let id = created(&place, &[&words[..], &["--reject", "no"]].concat());
    assert_eq!(status(&place.holdpoint(&["decision", "respond", &id, "--option", "no"])), 0);
    assert_eq!(status(&place.holdpoint(&["decision", "wait", &id])), 16);
}

/// Tests run as root, or say that they do not.
#[test]
fn root_relaxes_a_policy_that_names_somebody_who_is_gone_and_who_logged_in_is_on_record() {
    if !rustix::process::getuid().is_root() {
        return crate::program::skip("only root relaxes a policy whose approvers are gone");
    }
    let place = Place::new();
    let policy = |words: &[&str]| by_person(&place.command(&[&["policy"], words].concat()));
    let set = policy(&["set", "approvers=nobody-of-here"]);
    assert_eq!(status(&set), 0, "{}", text(&set.stderr));
    // Without a terminal root is nobody either.
    let relax = ["set", "approvers=root"];
    assert_eq!(status(&place.holdpoint(&[&["policy"], &relax[..]].concat())), 5);
    let mut sudo = place.command(&[&["policy"], &relax[..]].concat());
    let relaxed = by_person(sudo.env("SUDO_UID", "4711"));
    assert_eq!(status(&relaxed), 0, "{}", text(&relaxed.stderr));
    assert!(text(&relaxed.stderr).contains("nobody-of-here"), "{}", text(&relaxed.stderr));
    let shown = text(&place.holdpoint(&["log", "--json"]).stdout);
    let record = shown.lines().find(|line| line.contains("log.policy_unlocked")).unwrap();
    assert!(record.contains("\"sudo_user\":4711"), "{record}");
    assert!(record.contains("\"gone\":[\"nobody-of-here\"]"), "{record}");
    place.verified();
}

/// Else every question is refused for the number, and root finds nobody who is gone.
#[test]
fn root_relaxes_a_policy_whose_approver_was_made_anew_with_another_number() {
    let Some(machine) = Machine::new() else { return };
    let policy =
        |words: &[&str]| by_person(&machine.command(0, &[], &[&["policy"], words].concat()));
    let set = policy(&["set", "approvers=bob"]);
    assert_eq!(status(&set), 0, "{}", text(&set.stderr));
    let passwd = machine.etc.path().join("passwd");
    let users = fs::read_to_string(&passwd).unwrap();
    fs::write(&passwd, users.replace(&format!("bob:x:{BOB}:"), "bob:x:4010:")).unwrap();
    let relaxed = policy(&["set", "approvers=alice"]);
    assert_eq!(status(&relaxed), 0, "{}", text(&relaxed.stderr));
    let shown = text(&machine.call(0, &["log", "--json"]).stdout);
    assert!(shown.contains("\"gone\":[\"bob\"]"), "{shown}");
}
