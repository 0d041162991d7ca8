//! A yes is taken back until it is spent, a policy that became stricter since is applied when it is
//! spent, and a no is never 0.

use crate::decision_support::{asked, created, decision, done, refused, shown};
use crate::hook::{ask, call, denied, pre, respond};
use crate::machine::{configure, take_claims};
use crate::program::{Place, by_person, json, status, text};
use serde_json::Value;
use std::process::Output;

const BIND: [&str; 4] = ["--bind", "tool=deploy", "--bind", "input={}"];

/// A start that was approved, and waits to be spent.
fn approved(place: &Place) -> String {
    let id = start_asked(place, &[]);
    let yes = by_person(&place.command(&["decision", "respond", &id, "approve"]));
    assert_eq!(status(&yes), 0, "{}", text(&yes.stderr));
    id
}

fn start_asked(place: &Place, options: &[&str]) -> String {
    let words = [&["run", "--hold", "before", "--no-wait"], options, &["--", "touch", "f"]];
    let output = place.holdpoint(&words.concat());
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    text(&output.stdout).lines().next().unwrap().trim().to_string()
}

/// The start by an approval.
fn spend(place: &Place, id: &str, options: &[&str]) -> Output {
    let words = [&["run", "--hold", "before", "--approval", id], options, &["--", "touch", "f"]];
    place.holdpoint(&words.concat())
}

#[track_caller]
fn assert_not_started(place: &Place, output: &Output, code: &str) {
    let said = text(&output.stderr);
    assert!(status(output) == 125 && said.contains(code), "{} {said}", status(output));
    assert!(!place.directory.path().join("f").exists());
}

#[test]
fn hooks_deny_a_call_whose_approval_was_revoked() {
    let place = Place::new();
    let id = ask(&place, &[], &call("s", "make deploy"));
    respond(&place, &id, "approve");
    let taken = place.holdpoint(&["decision", "cancel", &id, "--reason", "not today"]);
    assert_eq!(status(&taken), 0, "{}", text(&taken.stderr));
    denied(&place, &[], &call("s", "make deploy"), "revoked");
    denied(&place, &[], &call("s", "make deploy"), "revoked");
    assert_eq!(status(&place.holdpoint(&["decision", "wait", &id])), 13);
    // Another call is another question.
    let other = ask(&place, &[], &call("s", "make test"));
    respond(&place, &other, "approve");
    assert_eq!(pre(&place, &[], &call("s", "make test")).0, "allow");
    place.verified();
}

#[test]
fn what_was_revoked_is_spent_by_nobody_and_who_revoked_it_when_and_why_is_shown() {
    let place = Place::with_log();
    let id = asked(&place, &BIND);
    respond(&place, &id, "a");
    done(&place, &["cancel", &id, "--reason", "the wrong branch"]);
    let (exit, error) = refused(&place, &[&["consume", &id][..], &BIND].concat());
    assert_eq!((exit, error["code"].as_str()), (5, Some("revoked")), "{error}");
    let wait = decision(&place, &["wait", &id, "--timeout", "0s"]);
    assert_eq!((status(&wait), json(&wait)["outcome"].as_str()), (13, Some("cancelled")));
    let now = shown(&place, &id);
    assert_eq!((&now["state"], &now["selected_option"]), (&"resolved".into(), &"a".into()));
    assert!(now["revoked_at"].is_string() && now["revoked_by"].is_string(), "{now}");
    let told = text(&place.holdpoint(&["decision", "show", &id]).stdout);
    let by = now["revoked_by"].as_str().unwrap();
    let at = now["revoked_at"].as_str().unwrap();
    for part in [&format!("revoked by {by}"), at, "the wrong branch"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // Once more is the same, and writes nothing.
    assert_eq!(done(&place, &["cancel", &id])["replayed"], true);
    place.verified();
}

#[test]
fn what_was_spent_is_not_revoked_and_the_run_and_its_command_are_named() {
    let place = Place::new();
    let id = approved(&place);
    assert_eq!(status(&spend(&place, &id, &[])), 0);
    let run = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    let (exit, error) = refused(&place, &["cancel", &id]);
    assert_eq!((exit, error["code"].as_str()), (4, Some("already_spent")), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&run) && message.contains("touch f"), "{message}");
    assert_eq!(error["run_id"], run);
    let id = asked(&place, &BIND);
    respond(&place, &id, "a");
    done(&place, &[&["consume", &id][..], &BIND].concat());
    let (exit, error) = refused(&place, &["cancel", &id]);
    assert_eq!((exit, error["code"].as_str()), (4, Some("already_spent")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("started deploy"), "{error}");
    place.verified();
}

/// Who only claims a name takes nobody's yes back.
#[test]
fn nobody_but_who_is_concerned_revokes_an_approval() {
    let place = Place::new();
    let id = approved(&place);
    let (exit, error) = refused(&place, &["cancel", &id, "--as", "mallory"]);
    assert_eq!(exit, 5, "{error}");
    assert_eq!(shown(&place, &id)["revoked_at"], Value::Null);
    assert_eq!(status(&spend(&place, &id, &[])), 0);
}

#[test]
fn a_policy_that_became_stricter_since_is_applied_when_an_approval_is_spent() {
    for stricter in ["approval_timeout=1m", "quorum=2"] {
        let place = Place::new();
        let id = approved(&place);
        let set = by_person(&place.command(&["policy", "set", stricter]));
        assert_eq!(status(&set), 0, "{}", text(&set.stderr));
        assert_not_started(&place, &spend(&place, &id, &[]), "says otherwise");
        place.verified();
    }
    for stricter in ["approval_timeout = \"1m\"", "quorum = 2", "separation = true"] {
        let place = Place::new();
        let id = approved(&place);
        configure(&format!("[hold]\n{stricter}\n"));
        assert_not_started(&place, &spend(&place, &id, &[]), "says otherwise");
        configure("[hold]\n");
        assert_eq!(status(&spend(&place, &id, &[])), 0, "{stricter}");
    }
}

/// Who answered is a claim once the policy takes no claims any more.
#[test]
fn a_proof_that_became_stricter_since_is_asked_for_when_an_approval_is_spent() {
    let place = Place::new();
    take_claims();
    let id = start_asked(&place, &[]);
    let yes = place.holdpoint(&["decision", "respond", &id, "--option", "approve", "--as", "ann"]);
    assert_eq!(status(&yes), 0, "{}", text(&yes.stderr));
    configure("[hold]\n");
    assert_not_started(&place, &spend(&place, &id, &[]), "says otherwise");
    take_claims();
    let by_policy = ["policy", "set", "authentication=terminal"];
    let set = by_person(&place.command(&by_policy));
    assert_eq!(status(&set), 0, "{}", text(&set.stderr));
    assert_not_started(&place, &spend(&place, &id, &[]), "says otherwise");
    place.verified();
}

/// As the library has it: an option that rejects, chosen or taken, whatever was asked for.
#[test]
fn a_no_is_never_0_chosen_or_taken_by_default_of_one_or_of_several() {
    let place = Place::with_log();
    let words = ["--prompt", "Deploy?", "--option", "yes:Yes", "--option", "no:No"];
    let words = [&words[..], &["--reject", "no"]].concat();
    let exit = |words: &[&str]| status(&decision(&place, &[&["wait"], words].concat()));
    let (one, other) = (created(&place, &words), created(&place, &words));
    respond(&place, &one, "no");
    assert_eq!(exit(&[&one]), 16);
    assert_eq!(exit(&[&other, &one]), 16);
    respond(&place, &other, "yes");
    assert_eq!(exit(&[&other]), 0);
    let at_deadline = ["--expires", "1ms", "--on-timeout", "default", "--default"];
    for (default, expected) in [("no", 16), ("yes", 11)] {
        let terms = [&words[..], &at_deadline, &[default]].concat();
        let id = created(&place, &terms);
        let waited = decision(&place, &["wait", &id]);
        let outcome = json(&waited)["outcome"].clone();
        assert_eq!((status(&waited), outcome), (expected, "default".into()), "{default}");
        assert_eq!(exit(&[&id]), expected);
        // Where asking and waiting are one command.
        let asking = [&["create"], &terms[..], &["--wait"]].concat();
        assert_eq!(status(&decision(&place, &asking)), expected);
    }
    place.verified();
}
