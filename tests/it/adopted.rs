//! A log that was brought from elsewhere approves nothing: it answers spenders where this user
//! began it here, where a person adopted it at a terminal, or where root names it.

use crate::decision_support::{asked, decision, done, refused};
use crate::machine::{ALICE, Machine, home, remembered, told};
use crate::program::{Place, json, status, text};
use crate::terminal::Terminal;
use rustix::fs::Mode;
use serde_json::json;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BIND: [&str; 4] = ["--bind", "tool=Bash", "--bind", "input={}"];

/// An approval of an action that nobody has spent.
fn approved(place: &Place) -> String {
    let id = asked(place, &BIND);
    done(place, &["respond", &id, "--option", "a"]);
    id
}

/// A copy of the log, as `cp` makes one.
fn copied(from: &Path, to: &Path) {
    let copy = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copy.unwrap().success());
}

/// The place with another log in it.
fn with_log(place: Place, log: &str) -> Place {
    let log = place.directory.path().join(log);
    Place { log, ..place }
}

/// What spends or waits for the approval, by every door, and the exit code that refuses it.
fn spenders(place: &Place, id: &str) -> Vec<(i32, Output)> {
    let spend = [&["consume", id][..], &BIND].concat();
    let doors = [
        (5, decision(place, &spend)),
        (5, decision(place, &["wait", id, "--timeout", "1ms"])),
        (125, place.holdpoint(&["run", "--approval", id, "--", "true"])),
        (125, place.holdpoint(&["run", "--hold", "before", "--no-wait", "--", "true"])),
        (125, place.holdpoint(&["run", "--hold", "after", "--", "true"])),
        (125, place.holdpoint(&["run", "--hold", "on-failure", "--", "false"])),
        (2, called(place)),
    ];
    doors.into_iter().collect()
}

/// What a hook says of a call.
fn called(place: &Place) -> Output {
    let mut command = place.command(&["hook", "pre-tool-use"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let call = crate::hook::call("s", "make deploy");
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn assert_answers_nobody(place: &Place, id: &str, said: &str) {
    for (door, (expected, output)) in spenders(place, id).into_iter().enumerate() {
        let all = told(&output);
        assert_eq!(status(&output), expected, "{door}: {all}");
        assert!(all.contains(said), "{door}: {said}: {all}");
    }
    let spend = [&["consume", id][..], &BIND].concat();
    let (_, error) = refused(place, &spend);
    assert_eq!(error["code"], "log_not_adopted", "{error}");
    // Reading stays free.
    assert_eq!(status(&decision(place, &["show", id])), 0);
    assert_eq!(status(&place.holdpoint(&["runs"])), 0);
    place.verified();
}

fn spend(place: &Place, id: &str) -> Output {
    decision(place, &[&["consume", id][..], &BIND].concat())
}

#[test]
fn a_log_that_was_cloned_or_copied_answers_nobody_and_the_one_begun_here_does() {
    let place = Place::new();
    let id = approved(&place);
    copied(&place.log, &place.directory.path().join("copy"));
    let place = with_log(place, "copy");
    let line = format!("`holdpoint inbox --add {}`", place.log.display());
    assert_answers_nobody(&place, &id, &line);
    assert_answers_nobody(&place, &id, "is a copy of");
    // As it comes to somebody who never had the first one.
    fs::remove_file(remembered().join("adopted")).unwrap();
    assert_answers_nobody(&place, &id, "was not begun by this user on this machine");
    let doctor = place.holdpoint(&["doctor"]);
    assert!(text(&doctor.stdout).contains("was not begun by this user"), "{}", told(&doctor));
}

/// Every call, a wait for an approval and a question too: its client would take it for an answer.
#[test]
fn a_log_that_was_copied_answers_no_call_of_an_mcp_client() {
    use crate::mcp_support::{Client, Era};
    let place = Place::new();
    let id = approved(&place);
    copied(&place.log, &place.directory.path().join("copy"));
    let calls = [
        ("decision_wait", json!({ "decision_id": id, "timeout_seconds": 0 })),
        ("decision_show", json!({ "decision_id": id })),
        ("decision_create", json!({ "prompt": "May it?", "allow_text": true })),
    ];
    let mut begun_here = Client::start(&place, Era::Stateless, &[]);
    for (tool, arguments) in &calls {
        begun_here.done(tool, arguments);
    }
    let place = with_log(place, "copy");
    let mut client = Client::start(&place, Era::Stateless, &[]);
    for (tool, arguments) in &calls {
        let error = client.refused("log_not_adopted", tool, arguments);
        let line = format!("`holdpoint inbox --add {}`", place.log.display());
        assert!(error["message"].as_str().unwrap().contains(&line), "{error}");
    }
    place.verified();
}

/// A list that came with the home, on a file system that machines share, is of the other machine.
#[test]
fn a_log_that_another_machine_began_answers_nobody_under_the_same_list() {
    let place = Place::new();
    let id = approved(&place);
    let other = place.directory.path().join("machine-id");
    fs::write(&other, "0123456789abcdef0123456789abcdef\n").unwrap();
    let consume = place.command(&[&["decision", "consume", &id, "--json"][..], &BIND].concat());
    let mut elsewhere = Command::new("unshare");
    let mount = "touch /etc/machine-id && mount --bind \"$0\" /etc/machine-id && exec \"$@\"";
    elsewhere.args(["-m", "sh", "-c", mount]).arg(&other);
    elsewhere.arg(consume.get_program()).args(consume.get_args());
    let refused = elsewhere.current_dir(place.directory.path()).output().unwrap();
    assert_eq!(status(&refused), 5, "{}", told(&refused));
    assert!(told(&refused).contains("log_not_adopted"), "{}", told(&refused));
    assert_eq!(status(&spend(&place, &id)), 0);
}

/// A copy and a salvaged log approve nothing before a person adopts them: who makes one is told.
#[test]
fn whoever_makes_a_copy_or_salvages_a_log_reads_how_it_is_adopted() {
    let place = Place::new();
    let id = approved(&place);
    for (verb, name) in [(&["copy"][..], "copy"), (&["copy", "--salvage"], "saved")] {
        let made = place.directory.path().join(name);
        let words = [verb, &[place.log.to_str().unwrap(), made.to_str().unwrap()]].concat();
        let output = place.command(&words).output().unwrap();
        let line = format!("holdpoint inbox --add {}", made.display());
        assert_eq!(status(&output), 0, "{}", told(&output));
        assert!(text(&output.stdout).contains(&line), "{}", told(&output));
        let refused = Place { log: made, ..Place::new() };
        assert_eq!(status(&spend(&refused, &id)), 5);
    }
}

#[test]
fn a_log_that_was_moved_or_put_back_from_a_copy_answers_nobody_before_it_is_where_it_was() {
    let place = Place::new();
    let id = approved(&place);
    let (log, moved) = (place.log.clone(), place.directory.path().join("moved"));
    let kept = place.directory.path().join("kept");
    copied(&log, &kept);
    fs::rename(&log, &moved).unwrap();
    let place = with_log(place, "moved");
    assert_answers_nobody(&place, &id, "or was moved from there");
    fs::rename(&moved, &log).unwrap();
    let place = with_log(place, "log");
    assert_eq!(status(&spend(&place, &id)), 0);
    // What is spent is not there to be spent again where a copy from before takes the place.
    fs::remove_dir_all(&log).unwrap();
    copied(&kept, &log);
    assert_answers_nobody(&place, &id, "a copy or another log took its place");
}

/// What is recorded has a terminal of its own by `--tty`, or makes one.
#[test]
fn a_command_that_is_recorded_adopts_no_log_and_asks_for_no_less() {
    let place = Place::new();
    let id = approved(&place);
    copied(&place.log, &place.directory.path().join("copy"));
    let program = env!("CARGO_BIN_EXE_holdpoint");
    for (verb, word) in
        [("inbox --add copy", "adopt"), ("run --record-env X -- touch made", "less")]
    {
        let verb = format!("{program} --log copy {verb}");
        for script in [verb.clone(), format!("script -qec '{verb}' /dev/null")] {
            let words = ["run", "--hold", "never", "--tty", "--", "sh", "-c", &script];
            // It types what is asked for.
            let (_, said) = Terminal::start(&place, &words).end();
            assert!(!said.contains(&format!("type {word}")), "{said}");
        }
    }
    assert!(!place.directory.path().join("made").exists());
    let place = with_log(place, "copy");
    assert_eq!(status(&spend(&place, &id)), 5);
}

#[test]
fn a_person_at_a_terminal_adopts_a_log_and_sees_what_it_is() {
    let place = Place::new();
    let id = approved(&place);
    copied(&place.log, &place.directory.path().join("copy"));
    let place = with_log(place, "copy");
    let path = place.log.to_str().unwrap().to_string();
    let piped = place.holdpoint(&["inbox", "--add", &path]);
    assert_eq!(status(&piped), 0, "{}", told(&piped));
    assert!(text(&piped.stderr).contains("approves nothing here"), "{}", told(&piped));
    assert_answers_nobody(&place, &id, "is a copy of");
    for (word, code) in [("yes", 5), ("adopt", 0)] {
        let mut terminal = Terminal::start(&place, &["inbox", "--add", &path]);
        let seen = terminal.wait_for("type adopt");
        terminal.type_line(word);
        let (ended, rest) = terminal.end();
        assert_eq!(ended, code, "{rest}");
        assert!(seen.contains(&id) && seen.contains("1 approval"), "{seen}");
        if code != 0 {
            assert_answers_nobody(&place, &id, "is a copy of");
        }
    }
    assert_eq!(status(&spend(&place, &id)), 0);
    let doctor = place.holdpoint(&["doctor"]);
    assert!(text(&doctor.stdout).contains("was adopted by this user"), "{}", told(&doctor));
}

#[test]
fn whoever_adopts_a_copy_of_a_log_of_this_user_is_told_of_what_it_copies() {
    let place = Place::new();
    approved(&place);
    let copy = place.directory.path().join("copy");
    copied(&place.log, &copy);
    let adopts = place.command(&["inbox", "--add", copy.to_str().unwrap()]);
    let (status, said) = Terminal::start_command(&place, &adopts).end();
    assert_eq!(status, 0, "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("a copy of"), "{said}");
    assert!(said.contains("what was spent there since it was copied"), "{said}");
}

#[test]
fn no_variable_of_the_environment_says_which_logs_are_known() {
    let place = Place::new();
    let id = approved(&place);
    let elsewhere = place.directory.path().join("elsewhere");
    copied(&home(), &elsewhere);
    let known = fs::read_to_string(remembered().join("adopted")).unwrap();
    let copy = place.directory.path().join("copy");
    copied(&place.log, &copy);
    // A list in which the copy stands as what it is.
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
    let (log, forged) = (place.log.to_str().unwrap(), copy.to_str().unwrap());
    let words: Vec<&str> = known.split(' ').collect();
    let born = words[4];
    let forged = known
        .replace(log, forged)
        .replace(&inode(&place.log).to_string(), &inode(&copy).to_string())
        .replace(born, "0");
    let list = elsewhere.join(".local/state/holdpoint/adopted");
    fs::write(&list, &forged).unwrap();
    let place = with_log(place, "copy");
    let spent = |variables: &[(&str, PathBuf)]| {
        let words = [&["decision", "consume", &id][..], &BIND].concat();
        let mut command = place.command(&words);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let output = command.output().unwrap();
        (status(&output), told(&output))
    };
    for variables in [
        vec![("HOME", elsewhere.clone())],
        vec![("XDG_STATE_HOME", elsewhere.join(".local/state"))],
        vec![("XDG_CONFIG_HOME", elsewhere.join(".config")), ("HOME", elsewhere.clone())],
    ] {
        let (code, said) = spent(&variables);
        assert_eq!(code, 5, "{variables:?}: {said}");
    }
    // The same list in the home that the user database names would let it.
    fs::write(remembered().join("adopted"), &forged).unwrap();
    assert_eq!(spent(&[]).0, 0, "the list of this test is one that counts");
}

#[test]
fn a_list_that_others_could_have_written_is_not_believed() {
    let place = Place::new();
    let id = approved(&place);
    let list = remembered().join("adopted");
    let aside = remembered().join("aside");
    let put: [(&str, &dyn Fn()); 6] = [
        ("can be written by others", &|| {
            fs::set_permissions(&list, Permissions::from_mode(0o666)).unwrap();
        }),
        ("belongs to user 4001", &|| chown(&list, Some(4001), None).unwrap()),
        ("is a link", &|| {
            fs::rename(&list, &aside).unwrap();
            symlink(&aside, &list).unwrap();
        }),
        ("not a regular file", &|| {
            fs::remove_file(&list).unwrap();
            let mode = Mode::RUSR | Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &list, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        }),
        ("adopted:1 is no log", &|| {
            fs::remove_file(&list).unwrap();
            fs::write(&list, "begun everything\n").unwrap();
        }),
        ("can be written by others", &|| {
            fs::rename(&aside, &list).unwrap();
            fs::set_permissions(remembered(), Permissions::from_mode(0o777)).unwrap();
        }),
    ];
    let was = fs::read(&list).unwrap();
    for (said, put) in put {
        put();
        assert_answers_nobody(&place, &id, said);
        if said != "is a link" {
            let _ = fs::remove_file(&list);
            fs::write(&list, &was).unwrap();
            fs::set_permissions(&list, Permissions::from_mode(0o600)).unwrap();
        }
    }
    fs::set_permissions(remembered(), Permissions::from_mode(0o700)).unwrap();
    // As a umask of 002 makes it, where each user has a group of their own.
    fs::set_permissions(remembered().parent().unwrap(), Permissions::from_mode(0o775)).unwrap();
    assert_eq!(fs::metadata(&list).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(status(&spend(&place, &id)), 0, "nothing else was changed");
}

#[test]
fn root_names_logs_for_whoever_has_no_home_and_nobody_else_does() {
    let Some(machine) = Machine::new() else { return };
    let nobody = 4999;
    let log = machine.place.log.to_str().unwrap();
    let made = machine.call(nobody, &["init"]);
    assert_eq!(status(&made), 0, "{}", told(&made));
    assert!(told(&made).contains("approvals in this log do not count"), "{}", told(&made));
    let ask = ["--json", "decision", "create", "--prompt", "Go on?", "--option", "a:A"];
    let asked = machine.call(nobody, &[&ask[..], &["--option", "b:B"]].concat());
    assert_eq!(status(&asked), 0, "a log is begun all the same: {}", told(&asked));
    let id = json(&asked)["id"].as_str().unwrap().to_string();
    let wait = ["decision", "wait", id.as_str(), "--timeout", "1ms"];
    assert_eq!(status(&machine.call(nobody, &wait)), 5);
    // In the user's own file, and in one that the environment names, that says nothing.
    let trusted = format!("[logs]\ntrusted = [{log:?}]\n");
    machine.give_log(ALICE);
    machine.floor(&machine.in_home("alice"), ALICE, &trusted);
    let own = machine.call(ALICE, &wait);
    assert_eq!(status(&own), 5);
    assert!(told(&own).contains("config.toml:1:"), "{}", told(&own));
    fs::remove_file(machine.in_home("alice")).unwrap();
    assert_eq!(status(&machine.call(ALICE, &wait)), 5, "another user's log");
    machine.floor(&machine.system(), 0, &trusted);
    assert_eq!(status(&machine.call(ALICE, &wait)), 10, "it is waited for, and still open");
    machine.give_log(nobody);
    assert_eq!(status(&machine.call(nobody, &wait)), 10);
}

/// Git in a directory, whatever this machine's own configuration says.
fn git(directory: &Path, words: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]);
    command.args(["-c", "protocol.file.allow=always"]).args(words).current_dir(directory);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn a_log_in_the_index_of_a_repository_around_it_answers_nobody_adopted_or_not() {
    let place = with_log(Place::new(), ".holdpoint");
    let directory = place.directory.path().to_path_buf();
    if !git(&directory, &["init"]) {
        return crate::program::skip("there is no git");
    }
    let id = approved(&place);
    assert_eq!(status(&decision(&place, &["wait", &id])), 0, "a repository alone says nothing");
    fs::write(directory.join("a file"), "a").unwrap();
    assert!(git(&directory, &["add", "a file"]));
    assert_eq!(status(&decision(&place, &["wait", &id])), 0);
    assert!(git(&directory, &["add", "-f", ".holdpoint"]));
    let versions: [&[&str]; 4] = [
        &["update-index", "--index-version", "2"],
        &["update-index", "--index-version", "4"],
        &["update-index", "--split-index"],
        &["update-index", "--no-split-index"],
    ];
    for change in versions {
        assert!(git(&directory, change), "{change:?}");
        assert_answers_nobody(&place, &id, "stands in the index of git");
        let mut elsewhere = place.command(&["decision", "wait", &id]);
        elsewhere.env("GIT_DIR", "/nonexistent").env("GIT_INDEX_FILE", "/nonexistent");
        assert_eq!(status(&elsewhere.output().unwrap()), 5);
    }
    fs::write(directory.join(".git/index"), "DIRC what is this").unwrap();
    assert_answers_nobody(&place, &id, "cannot be read from");
    let _ = fs::remove_file(directory.join(".git/index"));
    for shared in fs::read_dir(directory.join(".git")).unwrap() {
        let shared = shared.unwrap();
        if shared.file_name().to_string_lossy().starts_with("sharedindex") {
            fs::remove_file(shared.path()).unwrap();
        }
    }
    assert_eq!(status(&spend(&place, &id)), 0);
}

#[test]
fn the_index_of_a_work_tree_or_a_submodule_is_found_by_its_file() {
    let place = Place::new();
    let main = place.directory.path().join("main");
    fs::create_dir(&main).unwrap();
    if !git(&main, &["init"]) {
        return crate::program::skip("there is no git");
    }
    assert!(git(&main, &["commit", "--allow-empty", "-m", "a"]));
    assert!(git(&main, &["worktree", "add", "../tree"]));
    let log = place.directory.path().join("tree/sub/.holdpoint");
    fs::create_dir(log.parent().unwrap()).unwrap();
    let place = with_log(place, "tree/sub/.holdpoint");
    let id = approved(&place);
    assert_eq!(status(&decision(&place, &["wait", &id])), 0);
    assert!(git(&place.directory.path().join("tree"), &["add", "-f", "sub"]));
    assert_answers_nobody(&place, &id, "stands in the index of git");
}

#[test]
fn the_first_person_at_a_terminal_is_asked_once_about_a_log_of_an_older_version() {
    for (word, code) in [("adopt", 10), ("no", 5)] {
        let place = Place::new();
        let _ = fs::remove_file(remembered().join("adopted"));
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/logs/rules-1");
        copied(Path::new(golden), &place.log);
        let ask =
            ["decision", "create", "--prompt", "Go on?", "--option", "a:A", "--option", "b:B"];
        let quiet = place.holdpoint(&[&["--json"][..], &ask].concat());
        assert_eq!(status(&quiet), 0, "a program is not asked: {}", told(&quiet));
        let id = json(&quiet)["id"].as_str().unwrap().to_string();
        let wait = ["decision", "wait", id.as_str(), "--timeout", "1ms"];
        assert_eq!(status(&place.holdpoint(&wait)), 5);
        let mut terminal = Terminal::start(&place, &ask);
        terminal.wait_for("type adopt");
        terminal.type_line(word);
        assert_eq!(terminal.end().0, 0);
        assert_eq!(status(&place.holdpoint(&wait)), code);
        let (ended, seen) = Terminal::start(&place, &ask).end();
        assert_eq!(ended, 0, "{seen}");
        assert!(!seen.contains("type adopt"), "asked once: {seen}");
    }
}

#[test]
fn a_program_that_embeds_the_engine_spends_nothing_in_a_copy() {
    use holdpoint_domain::decision_point::{ConsumeApproval, DecisionPointCommand};
    use holdpoint_engine::shell::{Submitted, WaitError};
    let place = Place::new();
    let id = approved(&place);
    copied(&place.log, &place.directory.path().join("copy"));
    for (log, is_known) in [(place.directory.path().join("copy"), false), (place.log.clone(), true)]
    {
        let engine = holdpoint_engine::Engine::open(&log).unwrap();
        let point = engine.decision_point(&id).unwrap().unwrap();
        let waited = engine.wait_for_decision(&id, std::time::Duration::ZERO);
        assert_eq!(matches!(waited, Err(WaitError::Refused(_))), !is_known);
        let origin = holdpoint_engine::Origin::automation("root");
        let by = engine.identity().principal(origin.actor.kind, "root");
        let binding = point.binding().unwrap().clone();
        let consume = ConsumeApproval { decision_id: id.clone(), by, binding };
        let command = DecisionPointCommand::ConsumeApproval(consume).into();
        match engine.submit(&origin, (), &command).unwrap() {
            Submitted::Refused(refusal) => assert_eq!(refusal.code(), "LOG_NOT_ADOPTED"),
            _ => assert!(is_known),
        }
    }
}
