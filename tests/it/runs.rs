//! `runs`, `show` and `output`: what ran is listed, told and given as it was printed, and not a
//! byte of it where the log does not verify.

use crate::program::{Place, json, status, text};
use crate::run_before::{answer, await_question, command};
use crate::terminal::{Terminal, line};
use holdpoint_domain::Event;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use holdpoint_domain::world::envelope::{self, Encoded};
use holdpoint_engine::log::{Level, Log as EngineLog, NewRecord, Options};
use holdpoint_forger::Log;
use holdpoint_forger::layout::record;
use holdpoint_log_files::DirectoryStorage;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The ids that `runs -q` gives, the newest first.
pub(crate) fn listed(place: &Place, options: &[&str]) -> Vec<String> {
    let output = place.holdpoint(&[&["runs", "-q"], options].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    text(&output.stdout).lines().map(String::from).collect()
}

/// A log with a good run, one with a status of its own, and one that a signal killed.
fn place() -> Place {
    let place = Place::with_log();
    place.shell("printf 'one\\ntwo\\n'; echo err >&2");
    place.shell("echo '1 test failed'; exit 3");
    place.shell("kill -KILL $$");
    place
}

#[test]
fn runs_are_listed_by_how_they_ended_the_newest_first() {
    let place = place();
    let all = listed(&place, &[]);
    assert_eq!(all.len(), 3);
    let begun: Vec<String> =
        place.loops().iter().map(|it| it["loop_id"].as_str().unwrap().to_string()).collect();
    assert!(all.iter().eq(begun.iter().rev()), "{all:?} {begun:?}");
    assert_eq!(listed(&place, &["failed=true"]), all[..2]);
    assert_eq!(listed(&place, &["status=3"]), all[1..2]);
    assert_eq!(listed(&place, &["status=crashed"]), all[..1]);
    assert_eq!(listed(&place, &["status=ok"]), all[2..]);
    assert_eq!(listed(&place, &["command=test failed"]), all[1..2]);
    assert_eq!(listed(&place, &["-n", "1"]), all[..1]);
    assert_eq!(listed(&place, &["--after", &all[0]]), all[1..]);
    assert!(listed(&place, &["status=running"]).is_empty());
    assert_eq!(listed(&place, &["--since", "1h"]), all);
    assert!(listed(&place, &["--until", "1h"]).is_empty());
    let second = place.loops()[1]["started_sequence"].to_string();
    assert_eq!(listed(&place, &["--since", &second]), all[..2]);
    assert_eq!(listed(&place, &["--until", &second]), all[1..]);
    assert!(listed(&place, &["by=nobody-at-all"]).is_empty());
    for twice in [&["failed=true", "status=running"][..], &["status=ok", "status=running"]] {
        assert_eq!(status(&place.holdpoint(&[&["runs"], twice].concat())), 2, "{twice:?}");
    }
    let lines = place.holdpoint(&["runs", "--json"]);
    let newest: Value = serde_json::from_str(text(&lines.stdout).lines().next().unwrap()).unwrap();
    assert_eq!((&newest["run"], &newest["signal"]), (&all[0].as_str().into(), &9.into()));
}

#[test]
fn of_runs_from_a_record_behind_the_logs_end_on_it_is_said_where_that_is() {
    let place = place();
    let newest = place.verified()["head"]["sequence"].as_u64().unwrap();
    let said = |since: u64, options: &[&str]| {
        let since = since.to_string();
        let words = [&["runs", "--since", &since], options].concat();
        let output = place.holdpoint(&words);
        assert_eq!((status(&output), &*text(&output.stdout)), (0, ""));
        text(&output.stderr)
    };
    let ends = format!("the log ends with record {newest}, before record {}", newest + 1);
    assert!(said(newest + 1, &[]).contains(&ends) && said(newest + 1, &["-q"]).contains(&ends));
    assert!(!said(newest + 1, &["--json"]).contains("ends with"));
    let within = said(newest, &[]);
    assert!(within.contains("no run matches") && !within.contains("ends with"), "{within}");
}

#[test]
fn a_status_as_a_shell_saw_it_is_told_with_the_word_that_finds_it() {
    let place = place();
    for (seen, word) in [
        ("137", "`status=crashed`, `stopped`, `timeout`, `interrupted` or `aborted`"),
        ("124", "`status=timeout`"),
    ] {
        let found = place.holdpoint(&["runs", &format!("status={seen}")]);
        let said = text(&found.stderr);
        assert_eq!((status(&found), text(&found.stdout).as_str()), (0, ""), "{said}");
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(status(&place.holdpoint(&["show", "correlation:"])), 2, "it names nothing");
    for (word, advice) in [("unfinished", "`status=running`"), ("session", "without this")] {
        let refused = place.holdpoint(&["runs", &format!("status={word}")]);
        assert!(status(&refused) == 2 && text(&refused.stderr).contains(advice), "{word}");
    }
}

#[test]
fn an_outcome_is_the_word_that_the_table_has_for_such_an_end() {
    let left = "setsid sh -c 'touch x; sleep 9' & until test -e x; do :; done";
    for (options, script, exit, outcome) in [
        (&[][..], "kill -SEGV $$", 139, "crashed"),
        (&[], "kill -SYS $$", 159, "stopped"),
        (&["--max-memory", "64MiB"], "tail -n 1 /dev/zero", 137, "stopped"),
        (&["--timeout", "100ms"], "sleep 100", 124, "timeout"),
        (&[], left, 0, "failed"),
        (&[], "exit 7", 7, "failed"),
    ] {
        let place = Place::with_log();
        assert_eq!(status(&place.run_with(options, &["sh", "-c", script])), exit, "{script}");
        let runs = place.holdpoint(&["runs", "--json"]);
        assert_eq!(json(&runs)["outcome"], outcome, "{script}");
        let by_word = place.holdpoint(&["runs", "-q", &format!("status={outcome}")]);
        assert_eq!(text(&by_word.stdout).lines().count(), 1, "{script}");
    }
}

#[test]
fn where_there_is_no_log_nothing_else_is_said() {
    let mut place = Place::new();
    place.log = place.directory.path().join("none");
    let output = place.holdpoint(&["runs"]);
    let told = text(&output.stderr);
    assert_eq!((status(&output), told.lines().count()), (3, 1), "{told}");
    assert!(told.starts_with("holdpoint: there is no log at "), "{told}");
}

#[test]
fn a_run_is_named_by_the_beginning_of_its_id_or_by_a_record_about_it() {
    let place = place();
    let all = listed(&place, &[]);
    let oldest = &all[2];
    let ways = [oldest.as_str(), &oldest[..13], &oldest[5..], "5"];
    for way in ways.iter().filter(|way| way.len() == 1 || way.parse::<u64>().is_err()) {
        let shown = json(&place.holdpoint(&["show", way, "--json"]));
        assert_eq!(shown["run"], oldest.as_str(), "{way}");
    }
    let absent = format!("LOOP-{}", "0123456789abcdef".repeat(2));
    for (wanted, exit) in [("LOOP-00000f", 3), (&absent, 3), ("99999", 3), ("abcde", 2), ("x y", 2)]
    {
        let output = place.holdpoint(&["show", wanted]);
        assert_eq!((status(&output), text(&output.stdout).as_str()), (exit, ""), "{wanted}");
    }
}

#[test]
fn what_a_run_printed_is_given_byte_for_byte() {
    let place = Place::with_log();
    place.shell("printf 'a\\tb\\033[31m\\000\\377\\nlast'; echo err >&2");
    let id = listed(&place, &[]).remove(0);
    let stdout = |options: &[&str]| {
        let output = place.holdpoint(&[&["output", &id], options].concat());
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("untrusted output of the command"));
        output.stdout
    };
    assert_eq!(stdout(&["--stream", "stdout"]), b"a\tb\x1b[31m\0\xff\nlast");
    assert_eq!(stdout(&["--stream", "stdout", "-n", "1"]), b"last");
    let both = stdout(&[]);
    assert!(both == b"a\tb\x1b[31m\0\xff\nlasterr\n" || both.starts_with(b"err\n"), "{both:?}");
    assert_eq!(stdout(&["--stream", "stderr"]), b"err\n");
    // What a session leader wrote last may be lost when it ends: Linux hangs its terminal up then.
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        &format!("{}; echo ended with $?; read line", line(&place, &["output", &id])),
    ]);
    let mut terminal = Terminal::start_command(&place, &shell);
    let shown = terminal.wait_for("ended with 0");
    assert!(shown.contains("\\u{1b}[31m\\u{0}\\xff"), "{shown:?}");
    terminal.type_line("");
    terminal.end();
    let missing = place.holdpoint(&["output", &id, "--attempt", "2"]);
    assert_eq!((status(&missing), missing.stdout.len()), (3, 0), "{}", text(&missing.stderr));
}

#[test]
fn of_a_run_that_printed_nothing_it_is_said_that_it_did() {
    let place = Place::with_log();
    place.shell("echo err >&2");
    let id = listed(&place, &[]).remove(0);
    let output = place.holdpoint(&["output", &id, "--stream", "stdout", "--attempt", "1"]);
    let said = text(&output.stderr);
    assert_eq!((status(&output), output.stdout.len()), (0, 0), "{said}");
    assert!(said.contains("standard output of attempt 1: no output"), "{said}");
}

#[test]
fn not_a_byte_is_given_of_a_log_that_was_changed() {
    let place = place();
    let id = listed(&place, &[]).remove(2);
    let segments = place.log.join("segments");
    let segment = fs::read_dir(segments).unwrap().map(|it| it.unwrap().path());
    let segment = segment.filter(|path| path.extension().is_some_and(|it| it == "seg")).max();
    let segment = segment.unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let at = bytes.windows(7).position(|it| it == b"one\ntwo").unwrap();
    bytes[at] ^= 1;
    fs::write(&segment, bytes).unwrap();
    for verb in ["output", "show"] {
        let output = place.holdpoint(&[verb, &id]);
        assert_eq!((status(&output), text(&output.stdout).as_str()), (6, ""), "{verb}");
    }
    assert_eq!(status(&place.holdpoint(&["runs"])), 6);
}

#[test]
fn who_said_yes_is_told_with_the_run() {
    let place = Place::with_log();
    let asked = ["run", "--hold", "before", "--", "sh", "-c", "echo deployed"];
    let waiting = command(&place, &asked).spawn().unwrap();
    let question = await_question(&place);
    assert_eq!(answer(&place, &question, "approve"), 0);
    assert_eq!(status(&waiting.wait_with_output().unwrap()), 0);
    let id = listed(&place, &[]).remove(0);
    let shown = json(&place.holdpoint(&["show", &id, "--json"]));
    assert_eq!((&shown["outcome"], &shown["approval"]), (&"ok".into(), &question.as_str().into()));
    let by = shown["approved_by"]["id"].as_str().unwrap();
    assert_eq!(listed(&place, &[&format!("approver={by}")]), [id.as_str()]);
    let screen = text(&place.holdpoint(&["show", &id]).stdout);
    let approved = screen.lines().find(|line| line.starts_with("approved ")).unwrap();
    assert!(approved.contains(&format!("by {by} (person")), "{approved}");
}

#[test]
fn a_run_is_recorded_in_the_name_and_the_story_that_are_given() {
    let place = Place::with_log();
    let story = ["--as", "deploy-bot", "--agent", "--correlation", "gt-41"];
    assert_eq!(status(&place.run_with(&story, &["true"])), 0);
    let id = listed(&place, &["by=deploy-bot"]).remove(0);
    let shown = json(&place.holdpoint(&["show", &id, "--json"]));
    assert_eq!(shown["began_by"]["actor"]["kind"], "AGENT");
    assert_eq!(shown["execution_loop"]["correlation"], "gt-41");
    let screen = text(&place.holdpoint(&["show", &id]).stdout);
    assert!(screen.contains("deploy-bot (agent, name not proven, user "), "{screen}");
    let hidden = place.run_with(&["--as", "a\u{202e}b"], &["true"]);
    assert_eq!(status(&hidden), 125, "{}", text(&hidden.stderr));
}

#[test]
fn a_run_is_found_by_its_labels_and_shown_with_them_as_claims() {
    let place = Place::with_log();
    let host = rustix::system::uname().nodename().to_str().unwrap().to_string();
    let given = ["--label", "env=prod", "--label", "team=blue"];
    assert_eq!(status(&place.run_with(&given, &["true"])), 0);
    assert_eq!(status(&place.run_with(&["--label", "env=test"], &["true"])), 0);
    let [test, prod] = &listed(&place, &[])[..] else { panic!("two runs") };
    assert_eq!(listed(&place, &["label=env=prod"]), [prod.as_str()]);
    assert_eq!(listed(&place, &["label=env=prod", "label=team=blue"]), [prod.as_str()]);
    assert_eq!(listed(&place, &["label=env=test"]), [test.as_str()]);
    assert!(listed(&place, &["label=env=none"]).is_empty());
    let shown = json(&place.holdpoint(&["show", prod, "--json"]));
    assert_eq!(shown["labels"], serde_json::json!({ "env": "prod", "host": host, "team": "blue" }));
    let screen = text(&place.holdpoint(&["show", prod]).stdout);
    assert!(screen.contains("env=prod, team=blue (not proven)"), "{screen}");
    assert!(screen.contains(&format!("\nhost            {host} (not proven)\n")), "{screen}");
    assert_eq!(listed(&place, &[&format!("label=host={host}")]).len(), 2);
    let named = place.run_with(&["--label", "host=web-1"], &["true"]);
    assert_eq!((status(&named), listed(&place, &["label=host=web-1"]).len()), (0, 1));
}

#[test]
fn what_cannot_be_a_label_is_refused_before_anything_is_recorded() {
    let place = Place::with_log();
    let long = format!("env={}", "x".repeat(10 << 10));
    let many: Vec<String> = (0..33).map(|number| format!("label{number}=1")).collect();
    let many: Vec<&str> = many.iter().flat_map(|label| ["--label", label]).collect();
    let wrong = [&["--label", "env"][..], &["--label", &long], &["--label", "a\nb=1"]];
    for labels in wrong {
        let refused = place.run_with(labels, &["true"]);
        assert_eq!(status(&refused), 2, "{labels:?}");
        assert!(refused.stderr.len() < 600, "the whole of it is not repeated: {labels:?}");
    }
    let forged = place.run_with(&["--label", "a=1\nholdpoint: recorded as LOOP-1"], &["true"]);
    let told = text(&forged.stderr);
    assert!(told.lines().all(|line| !line.starts_with("holdpoint: recorded")), "{told}");
    for labels in [&["--label", "env=1", "--label", "env=2"][..], &many] {
        assert_eq!(status(&place.run_with(labels, &["true"])), 2, "{labels:?}");
    }
    assert!(listed(&place, &[]).is_empty());
}

#[test]
fn what_a_continuous_integration_builds_is_a_label() {
    let place = Place::with_log();
    let mut run = command(&place, &["run", "--", "true"]);
    run.env("GITHUB_SHA", "c0ffee").env("GITHUB_REF_NAME", "main");
    assert_eq!(status(&run.output().unwrap()), 0);
    let labels = ["label=commit=c0ffee", "label=branch=main"];
    assert_eq!(listed(&place, &labels).len(), 1);
}

#[test]
fn every_id_that_is_printed_can_be_shown() {
    let place = Place::with_log();
    let asked = ["run", "--hold", "before", "--no-wait", "--", "true"];
    let question = text(&command(&place, &asked).output().unwrap().stdout).trim().to_string();
    let same = |id: &str, verb: &[&str]| {
        let (shown, due) = (place.holdpoint(&["show", id, "--json"]), place.holdpoint(verb));
        assert_eq!((status(&shown), &shown.stdout), (0, &due.stdout), "{id}");
        assert!(!shown.stdout.is_empty(), "{id}");
    };
    same(&question, &["decision", "show", &question, "--json"]);
    same("1", &["log", "--since", "1", "--until", "1", "--json"]);
    assert_eq!(status(&place.run_with(&["--correlation", "gt-41"], &["true"])), 0);
    same("correlation:gt-41", &["log", "correlation=gt-41", "--json"]);
    for absent in ["REQ-0123456789", "thread:none", "stream:none", "correlation:-none"] {
        let output = place.holdpoint(&["show", absent]);
        assert_eq!((status(&output), output.stdout.len()), (3, 0), "{absent}");
    }
}

#[test]
fn colours_are_shown_where_they_are_asked_for_and_nowhere_else() {
    let place = place();
    let red = |options: &[&str]| {
        let shown = text(&place.holdpoint(&[&["runs"], options].concat()).stdout);
        shown.lines().filter(|line| line.starts_with("\u{1b}[31m")).count()
    };
    assert_eq!(red(&["--color", "always"]), 2, "those that did not end well");
    assert_eq!((red(&[]), red(&["--color", "never"]), red(&["--color=auto"])), (0, 0, 0));
}

#[test]
fn runs_are_followed_as_they_begin_and_as_they_end() {
    let place = Place::with_log();
    place.shell("true");
    let mut following = command(&place, &["runs", "--follow", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["outcome"], "ok");
    place.shell("exit 3");
    // It is told as it begins, unless it ended before that was looked at.
    let told = next();
    let ended = if told["outcome"] == "running" { next() } else { told.clone() };
    assert_eq!((&ended["run"], &ended["exit_status"]), (&told["run"], &3.into()));
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn a_run_that_began_before_what_is_followed_is_not_told() {
    let place = Place::with_log();
    place.shell("true");
    let first: Value =
        serde_json::from_slice(&place.holdpoint(&["runs", "--json"]).stdout).unwrap();
    // The next one begins before this record, and the one after that behind it.
    let since = (first["last_record"].as_u64().unwrap() + 3).to_string();
    let words = ["runs", "--follow", "--json", "--since", &since];
    let mut following = command(&place, &words).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    place.shell("exit 3");
    place.shell("exit 4");
    let told: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(told["run"], listed(&place, &[])[0].as_str());
    following.kill().unwrap();
    following.wait().unwrap();
}

/// A run begins, and the approval that it names was given by nobody.
pub(crate) fn begun_without_approval(place: &Place) -> NewRecord {
    let log = Log::read(&place.log).unwrap();
    let found = log.records().into_iter().map(|at| log.record(at)).find(|it| it.kind() == 32);
    let found = found.unwrap();
    let version = u8::try_from(found.header.number(record::VERSION)).unwrap();
    let mut begun = envelope::decode(found.kind(), version, &found.payload).unwrap();
    if let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = &mut begun.event {
        body.loop_id = Text::from(format!("LOOP-{:032}", 1));
        body.approval = Some(Text::from(format!("DP-{:032}", 1)));
    }
    let Encoded { kind, version, payload } = envelope::encode(&begun).unwrap();
    NewRecord { kind, version, payload }
}

#[test]
fn a_run_that_is_followed_and_does_not_count_is_told_as_a_list_tells_it() {
    for (is_garbled, expected) in [
        (false, "not shown: 1 run, the newest of them begun by record"),
        (true, "is of a run and withheld or cannot be read"),
    ] {
        let place = Place::with_log();
        place.shell("true");
        let mut following = command(&place, &["runs", "--follow", "--json"]);
        let mut following = following.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("\"outcome\":\"ok\""));
        let storage = DirectoryStorage::new(&place.log);
        let (log, _) = EngineLog::open(storage, Options::default()).unwrap();
        let added = match is_garbled {
            false => begun_without_approval(&place),
            true => NewRecord { kind: 36, version: 1, payload: vec![0xff; 20] },
        };
        log.append_any_kind(&[added], 0, Level::Always).unwrap();
        log.close().unwrap();
        let ended = following.wait_with_output().unwrap();
        let told = text(&ended.stderr);
        assert!(status(&ended) == 6 && told.contains(expected), "{told}");
        let listed = place.holdpoint(&["runs", "--json"]);
        assert_eq!(status(&listed), 6, "{}", text(&listed.stderr));
    }
}

#[test]
fn the_rows_of_runs_that_are_followed_stand_under_their_headings() {
    let place = Place::with_log();
    let mut following = command(&place, &["runs", "--follow"]);
    following.env("COLUMNS", "120");
    let mut following = following.spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let titles = lines.next().unwrap().unwrap();
    let places: Vec<usize> = ["run  ", "command"].map(|title| titles.find(title).unwrap()).to_vec();
    for script in ["true", "exit 125", "kill -SEGV $$"] {
        place.shell(script);
        let row = loop {
            let row = lines.next().unwrap().unwrap();
            if !row.contains("running") {
                break row;
            }
            assert!(row[places[0]..].starts_with("LOOP-"), "{titles}\n{row}");
        };
        assert!(row[places[0]..].starts_with("LOOP-"), "{titles}\n{row}");
        assert!(row[places[1]..].starts_with("sh -c"), "{titles}\n{row}");
    }
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn a_run_of_which_no_output_is_on_record_is_shown_without_the_way_to_it() {
    let place = Place::with_log();
    assert_eq!(status(&place.run_with(&[], &["/etc/passwd"])), 126);
    let id = listed(&place, &[]).remove(0);
    assert_eq!(status(&place.holdpoint(&["output", &id])), 3);
    let shown = text(&place.holdpoint(&["show", &id]).stdout);
    assert!(shown.contains(" log loop=") && !shown.contains(" output LOOP-"), "{shown}");
}

#[test]
fn the_output_of_a_run_is_that_of_the_last_attempt_that_printed_any() {
    let place = Place::with_log();
    let twice = "test -e k || { touch k; echo first; kill -SEGV $$; }";
    assert_eq!(status(&place.run_with(&["--max-attempts", "2"], &["sh", "-c", twice])), 0);
    let id = listed(&place, &[]).remove(0);
    assert_eq!(text(&place.holdpoint(&["output", &id]).stdout), "first\n");
}

#[test]
fn an_output_of_which_bytes_were_not_kept_is_not_called_whole() {
    let place = Place::with_log();
    let printed = "printf 'a\\nb\\nc\\nd\\n'; head -c 9000 /dev/zero; printf '\\nf\\n'";
    assert_eq!(status(&place.run_with(&["--max-output", "8B"], &["sh", "-c", printed])), 0);
    let id = listed(&place, &[]).remove(0);
    let output = place.holdpoint(&["output", &id]);
    let said = text(&output.stderr);
    assert_eq!(status(&output), 3, "{said}");
    assert!(said.contains("4907 bytes are missing here"), "{said}");
    assert_eq!(status(&place.holdpoint(&["output", &id, "--json"])), 3);
    let end = place.holdpoint(&["output", &id, "-n", "1"]);
    assert_eq!((status(&end), text(&end.stdout).as_str()), (0, "f\n"), "all that was asked for");
}
