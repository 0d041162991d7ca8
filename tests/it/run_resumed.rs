//! What a run does after a hold that nobody waited for, and what it is held to: the next attempts, and
//! the wait of others for the answer.

use crate::program::{Place, json, status, text};
use crate::run_before::{answer, await_listed, await_question, command, file, refused, run};
use crate::terminal::at_terminal;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A command that fails at first, asked about and left open. The request.
fn held(place: &Place, options: &[&str]) -> String {
    let script = "echo x >> tries; test $(wc -l < tries) -ge 2";
    let words = [&["run", "--json", "--hold", "on-failure", "--no-wait"], options].concat();
    let output = run(place, &[&words[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    json(&output)["request_id"].as_str().unwrap().to_string()
}

fn decide(place: &Place, request: &str, options: &[&str]) {
    let arguments = [&["hold", "answer", request, "--decision"], options].concat();
    let output = at_terminal(place, &arguments);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
}

#[test]
fn after_a_retry_that_nobody_waited_for_the_run_goes_on_with_the_same_command() {
    let place = Place::new();
    let request = held(&place, &[]);
    let script = "echo x >> tries; test $(wc -l < tries) -ge 2";
    let resume = |words: &[&str]| {
        let arguments = ["--json", "run", "--resume", &request, "--"];
        run(&place, &[&arguments[..], words].concat())
    };
    let same = ["sh", "-c", script];
    assert_eq!(refused(&resume(&same)).0, "NOTHING_TO_RESUME");
    decide(&place, &request, &["RETRY", "--reason", "flaky"]);
    let (code, message) = refused(&resume(&["sh", "-c", "true"]));
    assert_eq!(code, "ENVELOPE_HASH_MISMATCH");
    assert!(message.contains("command: sh -c 'echo x"), "{message}");
    let output = resume(&same);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let ended = place.newest_loop();
    assert_eq!(ended["halt_reason"], "COMPLETED");
    assert_eq!(ended["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(place.loops().len(), 1);
    assert_eq!(refused(&resume(&same)).0, "NOTHING_TO_RESUME");
    let unknown = ["--json", "run", "--resume", "REQ-none", "--", "true"];
    assert_eq!(refused(&run(&place, &unknown)).0, "UNKNOWN_REQUEST");
    place.verified();
}

/// A program that fails, and says in `runs` that it ran.
fn write_step(place: &Place, remark: &str) {
    let (path, new) = (file(place, "step"), file(place, "step.new"));
    std::fs::write(&new, format!("#!/bin/sh\n# {remark}\necho ran >> runs\nexit 1\n")).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(new, path).unwrap();
}

fn runs(place: &Place) -> usize {
    std::fs::read_to_string(file(place, "runs")).unwrap().lines().count()
}

#[test]
fn every_attempt_of_an_approved_start_is_of_the_program_that_was_approved() {
    let place = Place::new();
    write_step(&place, "approved");
    let asked = run(&place, &["run", "--hold", "always", "--no-wait", "--", "./step"]);
    let id = text(&asked.stdout).trim().to_string();
    assert_eq!(answer(&place, &id, "approve"), 0);
    let spend = ["--json", "run", "--hold", "always", "--no-wait", "--approval", &id];
    let output = run(&place, &[&spend[..], &["--", "./step"]].concat());
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    let request = json(&output)["request_id"].as_str().unwrap().to_string();
    decide(&place, &request, &["RETRY", "--reason", "flaky"]);
    write_step(&place, "another one");
    let resume = ["--json", "run", "--no-wait", "--resume", &request, "--", "./step"];
    let (code, message) = refused(&run(&place, &resume));
    assert_eq!((&*code, runs(&place)), ("BINDING_MISMATCH", 1), "{message}");
    assert!(message.contains(&id) && message.contains("SHA-256"), "{message}");
    write_step(&place, "approved");
    assert_eq!((status(&run(&place, &resume)), runs(&place)), (122, 2));
    // So it is in the process that asked.
    let place = Place::new();
    write_step(&place, "approved");
    let waiting = command(&place, &["run", "--hold", "always", "--", "./step"]).spawn().unwrap();
    assert_eq!(answer(&place, &await_question(&place), "approve"), 0);
    let request = await_listed(&place, "hold", "request_id");
    write_step(&place, "another one");
    decide(&place, &request, &["RETRY", "--reason", "flaky"]);
    let output = waiting.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!((status(&output), runs(&place)), (125, 1), "{said}");
    assert!(said.contains("BINDING_MISMATCH"), "{said}");
    place.verified();
}

#[test]
fn waiting_for_a_hold_tells_by_its_exit_code_what_was_decided() {
    let place = Place::new();
    let wait = |request: &str, options: &[&str]| {
        let output = place.holdpoint(&[&["hold", "wait", request, "--json"], options].concat());
        (status(&output), json(&output)["outcome"].as_str().unwrap().to_string())
    };
    let again = || {
        let _ = std::fs::remove_file(file(&place, "tries"));
        held(&place, &[])
    };
    for (decision, exit, outcome) in [
        (&["CONTINUE"][..], 0, "continue"),
        (&["RETRY", "--reason", "flaky"], 17, "retry"),
        (&["ABORT"], 16, "abort"),
    ] {
        let request = again();
        assert_eq!(wait(&request, &["--timeout", "0s"]), (10, "still_pending".to_string()));
        let arguments = ["hold", "wait", &request];
        let waiting = command(&place, &arguments).spawn().unwrap();
        decide(&place, &request, decision);
        assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(exit), "{outcome}");
        assert_eq!(wait(&request, &[]), (exit, outcome.to_string()));
    }
    let _ = std::fs::remove_file(file(&place, "tries"));
    let request = held(&place, &["--decision-timeout", "1s"]);
    assert_eq!(wait(&request, &[]), (12, "timed_out".to_string()));
    // Whoever is asked instead is waited for.
    let own = text(&Command::new("id").arg("-un").output().unwrap().stdout);
    let _ = std::fs::remove_file(file(&place, "tries"));
    let request = held(&place, &["--escalate-to", own.trim()]);
    let waiting = command(&place, &["hold", "wait", &request]).spawn().unwrap();
    decide(&place, &request, &["ESCALATE", "--reason", "above me", "--target", own.trim()]);
    let open = json(&place.holdpoint(&["hold", "list", "--json"]));
    let next = open[0]["request_id"].as_str().unwrap();
    assert_ne!(next, request);
    decide(&place, next, &["CONTINUE"]);
    assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(status(&place.holdpoint(&["hold", "wait", "REQ-none"])), 3);
}
