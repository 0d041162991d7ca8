//! What a run does after a hold that nobody waited for, what its next attempts are held to, and how
//! others wait for the answer.

use crate::filler::fill;
use crate::machine::trust;
use crate::program::{Place, command_in, json, status, text, with_hold};
use crate::run_before::{answer, await_listed, await_question, command, file, refused, run};
use crate::terminal::at_terminal;
use holdpoint_testing::log::segments_of;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command that fails at first, asked about and left open. The request.
fn held(place: &Place, options: &[&str]) -> String {
    let script = "echo x >> tries; test $(wc -l < tries) -ge 2";
    let words = [&["run", "--json", "--hold", "on-failure", "--no-wait"], options].concat();
    let output = run(place, &[&words[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    json(&output)["request_id"].as_str().unwrap().to_string()
}

fn decide(place: &Place, request: &str, options: &[&str]) {
    let arguments = [&["decision", "respond", request], options].concat();
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

#[test]
fn a_run_that_a_retry_left_with_nobody_waiting_is_not_called_running_in_a_list() {
    let place = Place::new();
    let request = held(&place, &[]);
    let shown = |options: &[&str]| text(&place.holdpoint(&[&["runs"], options].concat()).stdout);
    assert!(shown(&[]).contains("  waiting  "), "{}", shown(&[]));
    decide(&place, &request, &["RETRY", "--reason", "flaky"]);
    for options in [&[][..], &["status=running"], &["status=running"]] {
        let list = shown(options);
        assert!(list.contains("  unfinished  ") && !list.contains("running"), "{list}");
    }
    assert_eq!(json(&place.holdpoint(&["runs", "--json"]))["outcome"], "running");
    let asked = place.holdpoint(&["runs", "status=unfinished"]);
    assert_eq!(status(&asked), 2);
    assert!(text(&asked.stderr).contains("status=running"), "{}", text(&asked.stderr));
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
    let advice = "go on with that one in its place, or start the command anew";
    assert!(message.contains(advice), "{message}");
    write_step(&place, "approved");
    assert_eq!((status(&run(&place, &resume)), runs(&place)), (122, 2));
    // So it is in the process that asked.
    let place = Place::new();
    write_step(&place, "approved");
    let waiting = command(&place, &["run", "--hold", "always", "--", "./step"]).spawn().unwrap();
    assert_eq!(answer(&place, &await_question(&place), "approve"), 0);
    let request = await_listed(&place, "hold", "id");
    write_step(&place, "another one");
    decide(&place, &request, &["RETRY", "--reason", "flaky"]);
    let output = waiting.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!((status(&output), runs(&place)), (125, 1), "{said}");
    assert!(said.contains("BINDING_MISMATCH"), "{said}");
    assert!(said.contains(" run --hold before`"), "{said}");
    place.verified();
}

/// Moves all that is on record to an archive beside the log.
fn archive(place: &Place) {
    fill(&place.log, 40);
    while segments_of(&place.log).len() < 2 {
        fill(&place.log, 40);
    }
    let moved = place.holdpoint(&["archive", "archive"]);
    assert_eq!(status(&moved), 0, "{}", text(&moved.stderr));
}

#[test]
fn a_run_whose_beginning_was_archived_goes_on_with_the_program_that_was_approved() {
    for is_approved in [false, true] {
        let place = Place::new();
        write_step(&place, "approved");
        let hold = if is_approved { "always" } else { "on-failure" };
        let begin = ["--json", "run", "--hold", hold, "--no-wait"];
        let begun = run(&place, &[&begin[..], &["--", "./step"]].concat());
        let begun = if is_approved {
            let id = json(&begun)["decision_id"].as_str().unwrap().to_string();
            assert_eq!(answer(&place, &id, "approve"), 0);
            run(&place, &[&begin[..], &["--approval", &id, "--", "./step"]].concat())
        } else {
            begun
        };
        assert_eq!(status(&begun), 122, "{}", text(&begun.stderr));
        let request = json(&begun)["request_id"].as_str().unwrap().to_string();
        archive(&place);
        decide(&place, &request, &["RETRY", "--reason", "flaky"]);
        let resume = ["--json", "run", "--no-wait", "--resume", &request, "--", "./step"];
        if is_approved {
            write_step(&place, "another one");
            assert_eq!(refused(&run(&place, &resume)).0, "BINDING_MISMATCH");
            write_step(&place, "approved");
        }
        let output = run(&place, &resume);
        assert_eq!((status(&output), runs(&place)), (122, 2), "{}", text(&output.stderr));
        place.verified();
    }
}

#[test]
fn waiting_for_a_hold_tells_by_its_exit_code_what_was_decided() {
    let place = Place::new();
    let wait = |request: &str, options: &[&str]| {
        let output = place.holdpoint(&[&["decision", "wait", request, "--json"], options].concat());
        (status(&output), json(&output)["outcome"].as_str().unwrap().to_string())
    };
    let again = || {
        let _ = std::fs::remove_file(file(&place, "tries"));
        held(&place, &[])
    };
    for (decision, exit, outcome) in [
        (&["CONTINUE"][..], 0, "answered"),
        (&["RETRY", "--reason", "flaky"], 17, "answered"),
        (&["ABORT"], 16, "answered"),
    ] {
        let request = again();
        assert_eq!(wait(&request, &["--timeout", "0s"]), (10, "still_pending".to_string()));
        let arguments = ["decision", "wait", &request];
        let waiting = command(&place, &arguments).spawn().unwrap();
        decide(&place, &request, decision);
        assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(exit), "{outcome}");
        assert_eq!(wait(&request, &[]), (exit, outcome.to_string()));
    }
    let _ = std::fs::remove_file(file(&place, "tries"));
    let request = held(&place, &["--expires", "after=1s"]);
    assert_eq!(wait(&request, &[]), (12, "aborted".to_string()));
    // Whoever is asked instead is waited for.
    let own = text(&Command::new("id").arg("-un").output().unwrap().stdout);
    let _ = std::fs::remove_file(file(&place, "tries"));
    let request = held(&place, &["--to", own.trim()]);
    let waiting = command(&place, &["decision", "wait", &request]).spawn().unwrap();
    decide(&place, &request, &["ESCALATE", "--reason", "above me", "--to", own.trim()]);
    let open = with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let next = open[0]["request_id"].as_str().unwrap();
    assert_ne!(next, request);
    decide(&place, next, &["CONTINUE"]);
    assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(status(&place.holdpoint(&["decision", "wait", "REQ-none"])), 3);
}

#[test]
fn waiting_for_a_hold_warns_once_when_most_of_its_time_is_over() {
    let place = Place::new();
    let request = held(&place, &["--expires", "after=4s"]);
    let output = place.holdpoint(&["decision", "wait", &request]);
    assert_eq!(status(&output), 12);
    let said = text(&output.stderr);
    assert_eq!(said.matches("WARNING: 80 % of the time are over").count(), 1, "{said}");
}

#[test]
fn a_retry_begins_one_attempt_and_none_in_a_copy_of_its_log() {
    let place = Place::new();
    let request = held(&place, &[]);
    decide(&place, &request, &["RETRY", "--reason", "flaky"]);
    let script = "echo x >> tries; test $(wc -l < tries) -ge 2";
    let words = ["--json", "run", "--resume", &request, "--", "sh", "-c", script];
    let in_log = |log: &Path| {
        let mut command = command_in(place.directory.path(), &["--log", log.to_str().unwrap()]);
        command.args(words).stdin(Stdio::null()).output().unwrap()
    };
    let (copy, moved) = (file(&place, "copy"), file(&place, "moved"));
    let copied = ["copy", place.log.to_str().unwrap(), copy.to_str().unwrap()];
    assert_eq!(status(&place.holdpoint(&copied)), 0);
    assert_eq!(refused(&in_log(&copy)).0, "LOG_NOT_ADOPTED");
    // Nor where root lets all of them answer.
    trust(&[&copy, &moved, &place.log]);
    let tries = || std::fs::read_to_string(file(&place, "tries")).unwrap().lines().count();
    let other_place = |log: &Path| {
        let (code, message) = refused(&in_log(log));
        assert_eq!((&*code, tries()), ("BINDING_MISMATCH", 1), "{message}");
        assert!(message.contains(&format!("was asked in the log {}", place.log.display())));
    };
    other_place(&copy);
    // Neither in the place of the original, nor is the original gone on with elsewhere.
    std::fs::rename(&place.log, &moved).unwrap();
    std::fs::rename(&copy, &place.log).unwrap();
    other_place(&place.log);
    other_place(&moved);
    // Where it is put back, as the advice says, it is, once.
    std::fs::rename(&place.log, &copy).unwrap();
    std::fs::rename(&moved, &place.log).unwrap();
    let output = in_log(&place.log);
    assert_eq!((status(&output), tries()), (0, 2), "{}", text(&output.stderr));
    assert_eq!(refused(&in_log(&place.log)).0, "NOTHING_TO_RESUME");
    assert_eq!(refused(&in_log(&copy)).0, "APPROVAL_KEY_MISSING");
    assert_eq!(tries(), 2);
    place.verified();
}

#[test]
fn an_interpreter_is_bound_and_shown_like_the_script_that_names_it() {
    let place = Place::new();
    let interpreter = file(&place, "interpreter");
    let install = |from: &str| {
        let copied = format!("cp {from} interpreter.new && mv interpreter.new interpreter");
        let mut shell = Command::new("sh");
        shell.args(["-c", &copied]).current_dir(place.directory.path());
        assert!(shell.status().unwrap().success());
    };
    install("/bin/sh");
    let script = format!("#!{}\necho ran >> runs\nexit 1\n", interpreter.display());
    std::fs::write(file(&place, "step"), script).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(file(&place, "step"), executable).unwrap();
    let asked = run(&place, &["run", "--hold", "always", "--no-wait", "--", "./step"]);
    let id = text(&asked.stdout).trim().to_string();
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]))["context"].to_string();
    let bound = format!("interpreter {} = ", interpreter.display());
    assert!(shown.contains(&bound) && shown.contains("an interpreter such as env"), "{shown}");
    assert_eq!(answer(&place, &id, "approve"), 0);
    let spend = ["--json", "run", "--hold", "always", "--no-wait", "--approval", &id];
    let spend = [&spend[..], &["--", "./step"]].concat();
    let other = |words: &[&str]| {
        let (code, message) = refused(&run(&place, words));
        assert_eq!(code, "BINDING_MISMATCH", "{message}");
        assert!(message.contains(&format!("interpreter {}", interpreter.display())), "{message}");
    };
    install("/bin/true");
    other(&spend);
    assert!(!file(&place, "runs").exists());
    install("/bin/sh");
    let output = run(&place, &spend);
    assert_eq!((status(&output), runs(&place)), (122, 1), "{}", text(&output.stderr));
    // Every further attempt is of the same interpreter too.
    let request = json(&output)["request_id"].as_str().unwrap().to_string();
    decide(&place, &request, &["RETRY", "--reason", "flaky"]);
    let resume = ["--json", "run", "--no-wait", "--resume", &request, "--", "./step"];
    install("/bin/true");
    other(&resume);
    install("/bin/sh");
    assert_eq!((status(&run(&place, &resume)), runs(&place)), (122, 2));
    place.verified();
}

#[test]
fn the_shell_of_a_script_without_a_first_line_is_bound_and_shown_as_its_interpreter() {
    let place = Place::new();
    let executable = || std::fs::Permissions::from_mode(0o755);
    std::fs::write(file(&place, "step"), "echo \"ran $0 $1\" >> runs\nexit 1\n").unwrap();
    std::fs::set_permissions(file(&place, "step"), executable()).unwrap();
    let asked = run(&place, &["run", "--hold", "before", "--no-wait", "--", "./step", "A"]);
    let id = text(&asked.stdout).trim().to_string();
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]))["context"].to_string();
    let shell = std::fs::canonicalize("/bin/sh").unwrap();
    let bound = format!("interpreter /bin/sh = {}", shell.display());
    assert!(shown.contains(&bound), "{shown}");
    assert_eq!(answer(&place, &id, "approve"), 0);
    let spend = ["--json", "run", "--hold", "before", "--no-wait", "--approval", &id];
    let output = run(&place, &[&spend[..], &["--", "./step", "A"]].concat());
    let ran = std::fs::read_to_string(file(&place, "runs")).unwrap();
    assert_eq!((status(&output), &*ran), (1, "ran ./step A\n"), "{}", text(&output.stderr));
    place.verified();
}

/// Whether a guard below this process is there already.
#[cfg(target_os = "linux")]
fn has_guard(recorder: u32) -> bool {
    let listed = std::fs::read_dir("/proc").unwrap();
    let names = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.parse::<u32>().is_ok()).any(|name| {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).unwrap_or_default();
        let parent = stat.rsplit(") ").next().unwrap_or_default().split(' ').nth(1);
        parent.is_some_and(|parent| parent == recorder.to_string())
    })
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_exchanged_while_it_starts_never_runs_unapproved() {
    for _ in 0..3 {
        let place = Place::new();
        std::fs::copy("/bin/true", file(&place, "program")).unwrap();
        let id = {
            let asked = run(&place, &["run", "--hold", "before", "--no-wait", "--", "./program"]);
            text(&asked.stdout).trim().to_string()
        };
        assert_eq!(answer(&place, &id, "approve"), 0);
        let other = file(&place, "other");
        std::fs::write(&other, "#!/bin/sh\ntouch unapproved\n").unwrap();
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).unwrap();
        let spend = ["run", "--approval", &id, "--", "./program"];
        let mut started = command(&place, &spend).spawn().unwrap();
        while !has_guard(started.id()) && started.try_wait().unwrap().is_none() {}
        std::fs::rename(&other, file(&place, "program")).unwrap();
        let output = started.wait_with_output().unwrap();
        // What was approved ran, or nothing did.
        assert!([0, 125].contains(&status(&output)), "{}", text(&output.stderr));
        assert!(!file(&place, "unapproved").exists());
    }
}

#[test]
fn an_approval_is_for_one_start_however_many_attempts_are_asked_for() {
    let place = Place::new();
    let words = ["sh", "-c", "kill -SEGV $$"];
    let ask = ["run", "--hold", "before", "--no-wait", "--"];
    let asked = run(&place, &[&ask[..], &words].concat());
    let id = text(&asked.stdout).trim().to_string();
    assert_eq!(answer(&place, &id, "approve"), 0);
    let spend = |options: &[&str]| {
        let spend = [&["--json", "run", "--approval", &id], options, &["--"], &words].concat();
        run(&place, &spend)
    };
    let (code, message) = refused(&spend(&["--max-attempts", "3"]));
    assert_eq!(code, "attempts");
    assert!(message.contains("an approval is for one start"), "{message}");
    // It is not spent by that, and the advice is true: a person is asked about what follows.
    let output = spend(&["--max-attempts", "3", "--hold", "always", "--no-wait"]);
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    assert_eq!(place.newest_loop()["attempts"].as_array().unwrap().len(), 1);
}
