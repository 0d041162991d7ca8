//! `inbox` in lines: every log of a user in one list, and each log that cannot be known named.

use crate::injection_support::sample::write_snapshot;
use crate::machine::{home, remembered};
use crate::program::{Place, by_person, command_in, json, status, text};
use crate::terminal::at_terminal;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// The inbox of the user of this place, without a log that is named.
fn inbox(place: &Place, options: &[&str]) -> Output {
    let mut command = command_in(place.directory.path(), &["inbox"]);
    command.args(options).output().unwrap()
}

/// The questions that it tells a program of.
fn questions(place: &Place, options: &[&str]) -> Vec<Value> {
    let output = inbox(place, &[options, &["--json"]].concat());
    let lines = text(&output.stdout);
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row.get("error").is_none()).collect()
}

fn ask(place: &Place, prompt: &str, options: &[&str]) -> String {
    let create = ["decision", "create", "gt-1", "--prompt", prompt, "--json"];
    let output = place.holdpoint(&[&create[..], options].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    json(&output)["id"].as_str().unwrap().to_string()
}

fn hold(place: &Place) {
    let run = place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"]);
    assert_eq!(status(&run), 122, "{}", text(&run.stderr));
}

/// Another log of the same user.
fn second(place: &Place) -> PathBuf {
    let log = place.directory.path().join("second");
    let output = place.holdpoint(&["init", log.to_str().unwrap()]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    log
}

/// The program on another log, with what it remembers at this place.
fn on(place: &Place, log: &Path, words: &[&str]) -> Output {
    let mut command = command_in(place.directory.path(), words);
    command.env("HOLDPOINT_LOG", log).output().unwrap()
}

#[test]
fn holds_and_decisions_of_every_log_that_was_written_to_are_one_list() {
    let place = Place::new();
    hold(&place);
    let other = place.directory.path().join("other/.holdpoint");
    std::fs::create_dir(other.parent().unwrap()).unwrap();
    let create = ["decision", "create", "gt-2", "--prompt", "Now?", "--urgency", "high"];
    assert_eq!(status(&on(&place, &other, &[&create[..], &["--option", "yes:Yes"]].concat())), 0);
    let rows = questions(&place, &[]);
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["decision", "hold"], "{rows:#?}");
    assert_eq!(rows[0]["log"], other.to_str().unwrap());
    assert_eq!(rows[1]["answers"], serde_json::json!(["CONTINUE", "RETRY", "ABORT"]));
    assert!(rows[1]["time_left_ms"].as_u64().unwrap() > 0);
    let table = text(&inbox(&place, &[]).stdout);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].contains("left") && lines[0].contains("urgency"), "{table}");
    assert!(lines[1].contains("high") && lines[1].contains("other") && lines[1].contains("Now?"));
    assert!(lines[2].contains("REQ-") && lines[2].ends_with("false"), "{table}");
}

/// Its directory has a blank in its name, which a shell would part.
#[test]
fn an_id_of_another_log_of_the_inbox_is_told_with_the_command_that_shows_it() {
    let place = Place::with_log();
    let run = |log: &Path| {
        assert_eq!(status(&on(&place, log, &["run", "--", "true"])), 0);
        text(&on(&place, log, &["runs", "-q"]).stdout).trim().to_string()
    };
    let other = place.directory.path().join("an other/.holdpoint");
    std::fs::create_dir(other.parent().unwrap()).unwrap();
    let id = run(&other);
    let digits = &id[.."LOOP-".len() + 8];
    let log = other.canonicalize().unwrap();
    let command = format!("`holdpoint --log '{}' show {id}`", log.display());
    let report = ["export", "--format", "html", &id, "--output", "page.html"];
    for words in
        [&["show", &*id][..], &["show", digits], &["output", &id], &["show", "--trace", digits]]
    {
        let output = place.holdpoint(words);
        let said = text(&output.stderr);
        assert!(status(&output) == 3 && said.contains(&command), "{words:?}: {said}");
    }
    assert!(text(&place.holdpoint(&report).stderr).contains(&command));
    let shown = command_in(place.directory.path(), &["--log", log.to_str().unwrap(), "show", &id]);
    assert_eq!(status(&{ shown }.output().unwrap()), 0, "the command that is named shows it");
    let unknown = place.holdpoint(&["show", "LOOP-00000000"]);
    assert!(!text(&unknown.stderr).contains("is in the log"), "{}", text(&unknown.stderr));
    let nowhere = on(&place, &place.directory.path().join("nowhere"), &["show", digits]);
    let said = text(&nowhere.stderr);
    assert!(said.contains("there is no log at ") && said.contains(&command), "{said}");
}

#[test]
fn readers_list_no_log_and_nothing_waits_is_said_of_so_many() {
    let place = Place::with_log();
    let adopted = std::fs::read(remembered().join("adopted")).unwrap();
    std::fs::remove_dir_all(remembered()).unwrap();
    for words in
        [&["decision", "list"][..], &["decision", "list", "--kind", "hold"], &["runs"], &["verify"]]
    {
        place.holdpoint(words);
    }
    assert!(!remembered().exists());
    let nothing = inbox(&place, &[]);
    assert_eq!(status(&nothing), 3, "no log is known, and that is not nothing");
    std::fs::create_dir_all(remembered()).unwrap();
    std::fs::write(remembered().join("adopted"), adopted).unwrap();
    hold(&place);
    place.holdpoint(&["init", place.directory.path().join("second").to_str().unwrap()]);
    let id = questions(&place, &[])[0]["id"].as_str().unwrap().to_string();
    assert_eq!(status(&at_terminal(&place, &["decision", "respond", &id, "ABORT"])), 0);
    let nothing = inbox(&place, &[]);
    assert_eq!((status(&nothing), text(&nothing.stdout)), (0, String::new()));
    assert!(text(&nothing.stderr).contains("no pending questions in 2 logs"), "{nothing:?}");
    let all = questions(&place, &["--all"]);
    assert_eq!(all[0]["state"], "over", "{all:#?}");
    assert!(all[0]["outcome"].as_str().unwrap().starts_with("decided ABORT by"), "{all:#?}");
}

#[test]
fn that_nothing_waits_is_told_with_the_record_that_states_it() {
    let place = Place::with_log();
    place.shell("true");
    let read = || {
        let whole = [inbox(&place, &[]), inbox(&place, &["--json"])];
        whole.map(|output| (status(&output), text(&output.stdout), text(&output.stderr)))
    };
    for (code, stdout, stderr) in read() {
        assert_eq!((code, &*stdout), (0, ""), "{stderr}");
        assert!(!stderr.contains("as stated by"), "{stderr}");
    }
    write_snapshot(&place.log);
    let list = text(&place.holdpoint(&["decision", "list", "--json"]).stderr);
    let record = list.split_once("as stated by ").unwrap().1.split(':').next().unwrap();
    let [people, program] = read();
    assert!(people.2.contains("as stated by a record of 1 log: what is before"), "{people:?}");
    let said = format!("{}: as stated by {record}: ", place.log.to_str().unwrap());
    assert!(program.2.contains(&said), "{said} {program:?}");
    assert_eq!((people.0, &*people.1, program.0, &*program.1), (0, "", 0, ""));
    // What waits is told with it as well: a program has it in each item.
    hold(&place);
    let [people, program] = read();
    assert!(people.2.contains(&said) && !people.1.is_empty(), "{people:?}");
    assert!(!program.2.contains("as stated by"), "{program:?}");
}

/// What is said of the one log that cannot be known, beside one that can.
fn problem(place: &Place, expected: &str) {
    let output = inbox(place, &[]);
    let said = text(&output.stderr);
    assert_eq!(status(&output), 3, "{said}");
    assert!(said.contains(expected), "{expected}: {said}");
    assert!(text(&output.stdout).contains("REQ-"), "what is known is shown all the same");
    let lines = text(&inbox(place, &["--json"]).stdout);
    let errors = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let errors: Vec<Value> = errors.filter(|row| row.get("error").is_some()).collect();
    assert_eq!(errors.len(), 1, "{lines}");
    assert!(errors[0]["error"]["log"].as_str().unwrap().ends_with("second"), "{errors:#?}");
}

#[test]
fn a_log_that_is_gone_replaced_or_somebody_elses_is_named() {
    let place = Place::new();
    hold(&place);
    let listed = second(&place);
    let path = listed.to_str().unwrap();
    let kept = place.directory.path().join("kept");
    std::fs::rename(&listed, &kept).unwrap();
    problem(&place, "is gone: `holdpoint inbox --remove");
    let other = place.directory.path().join("unlisted");
    let made = command_in(place.directory.path(), &["init"]).arg(&other).output();
    assert_eq!(status(&made.unwrap()), 0);
    let unlisted = inbox(&place, &["--remove", other.to_str().unwrap()]);
    assert_eq!(status(&unlisted), 0);
    std::fs::rename(&other, &listed).unwrap();
    problem(&place, "is another log");
    let added = inbox(&place, &["--add", path]);
    assert_eq!(status(&added), 0, "{}", text(&added.stderr));
    assert_eq!(status(&inbox(&place, &[])), 0, "a person took the other log");
    if rustix::process::geteuid().is_root() {
        chown(&listed, Some(12345), None).unwrap();
        problem(&place, "belongs to uid 12345 now");
        problem(&place, &format!("`holdpoint inbox --remove {path}` lists it no more"));
        chown(&listed, Some(0), None).unwrap();
    }
    std::fs::remove_dir_all(&listed).unwrap();
    std::fs::write(&listed, "no directory").unwrap();
    problem(&place, "is not a directory");
    problem(&place, &format!("`holdpoint inbox --remove {path}` lists it no more"));
    assert_eq!(status(&inbox(&place, &["--remove", path])), 0);
    assert_eq!(status(&inbox(&place, &["--remove", path])), 3);
    assert_eq!(status(&inbox(&place, &[])), 0);
}

#[test]
fn a_listed_log_that_became_a_link_to_another_one_is_named() {
    let place = Place::new();
    hold(&place);
    let listed = second(&place);
    std::fs::remove_dir_all(&listed).unwrap();
    std::os::unix::fs::symlink(&place.log, &listed).unwrap();
    problem(&place, "is a symbolic link: name the directory itself");
}

#[test]
fn a_log_that_init_put_in_the_place_of_another_is_named_whoever_writes_to_it() {
    let place = Place::new();
    hold(&place);
    let listed = second(&place);
    let path = listed.to_str().unwrap();
    std::fs::remove_dir_all(&listed).unwrap();
    std::fs::create_dir(&listed).unwrap();
    problem(&place, &format!("`holdpoint inbox --remove {path}` lists it no more"));
    second(&place);
    assert_eq!(status(&on(&place, &listed, &["run", "--hold", "never", "--", "true"])), 0);
    let again = format!("where that is intended, `holdpoint inbox --add {path}` adds it again");
    problem(&place, &again);
    assert_eq!(status(&inbox(&place, &["--add", path])), 0);
    assert_eq!(status(&inbox(&place, &[])), 0);
}

#[test]
fn what_is_said_to_be_done_about_a_listed_path_with_spaces_is_done_as_it_stands() {
    let place = Place::new();
    hold(&place);
    let listed = place.directory.path().join("a second");
    assert_eq!(status(&place.holdpoint(&["init", listed.to_str().unwrap()])), 0);
    std::fs::remove_dir_all(&listed).unwrap();
    let put: [&dyn Fn(); 3] =
        [&|| {}, &|| std::fs::write(&listed, "no directory").unwrap(), &|| {
            std::fs::remove_file(&listed).unwrap();
            std::fs::create_dir(&listed).unwrap();
            std::fs::write(listed.join("notes.txt"), "no log").unwrap();
        }];
    let mut advice = String::new();
    for put in put {
        put();
        problem(&place, "` lists it no more");
        let said = text(&inbox(&place, &[]).stderr);
        advice = said.rsplit_once("`holdpoint ").unwrap().1.split('`').next().unwrap().to_string();
    }
    let script = format!("\"$0\" {advice}");
    let program = command_in(place.directory.path(), &[]).get_program().to_owned();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).arg(program);
    assert_eq!(status(&shell.output().unwrap()), 0, "{advice}");
    assert_eq!(status(&inbox(&place, &[])), 0);
}

#[test]
fn a_directory_that_holds_a_log_is_told_where_it_is() {
    let place = Place::new();
    let project = place.directory.path().join("my project");
    std::fs::create_dir(&project).unwrap();
    let log = project.join(".holdpoint");
    assert_eq!(status(&place.holdpoint(&["init", log.to_str().unwrap()])), 0);
    let added = inbox(&place, &["--add", project.to_str().unwrap()]);
    let said = text(&added.stderr);
    assert_eq!(status(&added), 3, "{said}");
    assert!(said.contains(&format!("`holdpoint inbox --add '{}'`", log.display())), "{said}");
}

#[test]
fn a_damaged_log_and_a_damaged_list_are_named_with_other_codes() {
    let place = Place::new();
    hold(&place);
    let list = remembered().join("logs");
    let was = std::fs::read(&list).unwrap();
    std::fs::write(&list, [&was[..], b"what is this\n"].concat()).unwrap();
    let output = inbox(&place, &[]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stdout).contains("REQ-"), "a line hides no log: {output:?}");
    assert!(text(&output.stderr).contains("line 2 names no log"), "{}", text(&output.stderr));
    std::fs::write(&list, was).unwrap();
    let segment = place.log.join("segments/00000000000000000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(5).rposition(|part| part == b"false").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    assert_eq!(status(&inbox(&place, &[])), 6);
}

#[test]
fn a_list_that_cannot_be_written_fails_no_run_and_is_said() {
    let place = Place::new();
    std::fs::write(home().join(".local"), "no directory").unwrap();
    let run = place.run(&["true"]);
    assert_eq!(status(&run), 0);
    assert!(text(&run.stderr).contains("not in the list of `holdpoint inbox`"), "{run:?}");
}

#[test]
fn logs_that_are_named_are_the_only_ones_and_the_environment_leaves_none_away() {
    let place = Place::new();
    hold(&place);
    let log = place.log.to_str().unwrap();
    let second = second(&place);
    let named = ["--log", second.to_str().unwrap()];
    assert_eq!(questions(&place, &named), Vec::<Value>::new());
    assert_eq!(questions(&place, &[&named[..], &["--log", log]].concat()).len(), 1);
    let by_environment = on(&place, &second, &["inbox", "--json"]);
    assert!(text(&by_environment.stdout).contains("\"hold\""), "{by_environment:?}");
    let before = command_in(place.directory.path(), &["--log", log, "inbox"]);
    assert_eq!(status(&{ before }.output().unwrap()), 0);
}

#[test]
fn the_help_of_the_inbox_says_which_logs_it_shows() {
    let place = Place::new();
    let help = text(&place.holdpoint(&["inbox", "--help"]).stdout);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["Show this log only", "logs that `inbox --add` added", "and HOLDPOINT_LOG"] {
        assert!(help.contains(said), "{said}: {help}");
    }
}

#[test]
fn an_id_of_the_inbox_is_answered_wherever_its_log_is() {
    let place = Place::new();
    hold(&place);
    let id = questions(&place, &[])[0]["id"].as_str().unwrap().to_string();
    let elsewhere = tempfile::TempDir::new().unwrap();
    let mut command = command_in(elsewhere.path(), &["decision", "respond"]);
    command.args([&id[..10], "ABORT"]);
    let output = by_person(&command);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&id), "{output:?}");
    assert_eq!(questions(&place, &[]), Vec::<Value>::new());
}

#[test]
fn what_is_answered_may_be_in_a_log_that_cannot_be_read_and_then_that_is_said() {
    let place = Place::new();
    hold(&place);
    let listed = second(&place);
    let elsewhere = tempfile::TempDir::new().unwrap();
    let answer = |id: &str| {
        let command = command_in(elsewhere.path(), &["decision", "respond", id, "yes"]);
        by_person(&command)
    };
    let unknown = answer("DP-0123456789abcdef");
    let said = text(&unknown.stderr);
    assert!(status(&unknown) == 3 && !said.contains("Not all logs"), "{said}");
    std::fs::rename(&listed, place.directory.path().join("kept")).unwrap();
    let unread = answer("DP-0123456789abcdef");
    let said = text(&unread.stderr);
    assert_eq!(status(&unread), 3, "{said}");
    assert!(said.contains("Not all logs of the inbox could be read"), "{said}");
    assert!(said.contains(&format!("{} is gone", listed.display())), "{said}");
    let segment = place.log.join("segments/00000000000000000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(5).rposition(|part| part == b"false").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let damaged = answer("DP-0123456789abcdef");
    let said = text(&damaged.stderr);
    assert_eq!(status(&damaged), 6, "{said}");
    assert!(said.contains(place.log.to_str().unwrap()), "{said}");
}

#[test]
fn a_word_that_is_none_is_told_with_the_words_of_that_question() {
    let place = Place::new();
    hold(&place);
    let id = questions(&place, &[])[0]["id"].as_str().unwrap().to_string();
    let wrong = at_terminal(&place, &["decision", "respond", &id, "approve"]);
    let said = format!("{}{}", text(&wrong.stdout), text(&wrong.stderr));
    assert_eq!(status(&wrong), 5, "{said}");
    let words: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("its words are CONTINUE, RETRY, ABORT"), "{said}");
    assert!(!words.contains("ESCALATE"), "nobody can be asked instead: {said}");
    let none = at_terminal(&place, &["decision", "respond", "REQ-0123456789", "approve"]);
    assert_eq!(status(&none), 3, "what is not there offers no word");
    std::fs::write(
        place.directory.path().join("holdpoint.toml"),
        "[[hold.escalation_targets]]\ntarget = \"lead\"\ntimeout = \"1m\"\n",
    )
    .unwrap();
    hold(&place);
    let rows = questions(&place, &[]);
    let with = rows.iter().find(|row| row["id"] != *id).unwrap()["id"].as_str().unwrap();
    let wrong = at_terminal(&place, &["decision", "respond", with, "approve"]);
    let said = format!("{}{}", text(&wrong.stdout), text(&wrong.stderr));
    let words: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("ESCALATE --to NAME"), "{said}");
}

#[test]
fn a_prompt_full_of_escapes_stays_in_its_cell() {
    let place = Place::new();
    let forged = "Go?\u{1b}[2J\u{1b}[1;1H\u{202e}\u{5d0}\u{9b}2J\r\nholdpoint: approved\u{2066}";
    ask(&place, forged, &["--option", "yes:Yes"]);
    for columns in ["20", "40", "80", "120"] {
        let mut command = command_in(place.directory.path(), &["inbox"]);
        let output = command.env("COLUMNS", columns).output().unwrap();
        let shown = text(&output.stdout);
        assert!(shown.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~')), "{shown:?}");
        assert!(shown.lines().all(|line| line.len() <= columns.parse().unwrap()), "{shown}");
        assert!(!shown.contains("approved") && shown.contains("Go?\\u{1b}"), "{shown}");
    }
}

#[test]
fn what_comes_and_what_goes_is_told_line_by_line() {
    let place = Place::with_log();
    let mut command = command_in(place.directory.path(), &["inbox", "--follow"]);
    let mut watching = command.arg("--json").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    // It may have been read before or after this.
    let id = ask(&place, "Now?", &["--option", "yes:Yes"]);
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let come = next();
    assert_eq!((&come["id"], &come["change"]), (&id.clone().into(), &"waits".into()), "{come:#}");
    assert_eq!(status(&at_terminal(&place, &["decision", "respond", &id, "yes"])), 0);
    let over = next();
    assert_eq!((&over["id"], &over["change"]), (&id.into(), &"ended".into()), "{over:#}");
    assert!(over["outcome"].as_str().unwrap().contains("option yes by"), "{over:#}");
    let other = place.directory.path().join("listed-later");
    let create = ["decision", "create", "gt-2", "--prompt", "Now?", "--option", "yes:Yes"];
    assert_eq!(status(&on(&place, &other, &create)), 0);
    let come = next();
    assert_eq!((&come["log"], &come["change"]), (&other.to_str().into(), &"waits".into()));
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn a_question_that_becomes_overdue_is_told_and_offers_no_word_any_more() {
    let place = Place::with_log();
    let ends = ["--option", "yes:Yes", "--option", "no:No", "--expires", "1s"];
    let default = ["--default", "no", "--on-timeout", "default"];
    let id = ask(&place, "Now?", &[&ends[..], &default].concat());
    let mut command = command_in(place.directory.path(), &["inbox", "--follow", "--json"]);
    let mut watching = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut rows = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    // Where this began late, it is overdue from the first line on.
    let late = rows.find(|row| row["change"] == "overdue").unwrap();
    watching.kill().unwrap();
    watching.wait().unwrap();
    assert_eq!((&late["id"], &late["state"]), (&id.clone().into(), &"overdue".into()));
    assert_eq!(late["answers"], serde_json::json!([]));
    assert_eq!((&late["on_timeout"], &late["default_option"]), (&"default".into(), &"no".into()));
    let table = text(&inbox(&place, &[]).stdout);
    assert!(table.contains("overdue") && table.contains("default no by timeout"), "{table}");
    assert!(!table.contains("yes, no"), "{table}");
    let waits_on = [&ends[..], &["--on-timeout", "hold"]].concat();
    let id = ask(&place, "Still?", &waits_on);
    let told = std::iter::repeat_with(|| questions(&place, &[]));
    let is_late = |rows: &Vec<Value>| rows[0]["id"] == *id && rows[0]["state"] == "overdue";
    let late = { told }.find(is_late).unwrap();
    assert_eq!(late[0]["answers"], serde_json::json!(["yes", "no"]), "it can be answered yet");
}

#[test]
fn what_is_listed_as_answer_is_taken_and_what_is_not_is_refused() {
    let place = Place::with_log();
    let ways = ["--option", "a:A", "--option", "b:B", "--max-iterations", "3"];
    let first = ask(&place, "Which?", &ways);
    let answer =
        |words: &[&str]| status(&place.holdpoint(&[&["decision", "respond"], words].concat()));
    assert_eq!(questions(&place, &[])[0]["answers"], serde_json::json!(["a", "b"]));
    assert_eq!(answer(&[&first, "--guidance", "a smaller one"]), 0);
    let all = questions(&place, &["--all"]);
    let (turn, over) = (&all[0], &all[1]);
    let states = (&turn["state"], &over["state"]);
    assert_eq!(states, (&"refining".into(), &"over".into()), "{all:#?}");
    assert_eq!(turn["answers"], serde_json::json!(["_accept", "_guidance"]));
    assert_eq!(over["answers"], serde_json::json!([]));
    let table = text(&inbox(&place, &["--all"]).stdout);
    assert!(table.contains("_accept") && !table.contains("a, "), "{table}");
    let second = turn["id"].as_str().unwrap();
    for refused in [&[second, "a"][..], &[second, "--text", "c"], &[second, "--guidance", "d"]] {
        assert_eq!(answer(refused), 5, "{refused:?}");
    }
    assert_eq!(answer(&[second, "_accept"]), 0);
}

#[test]
fn a_configuration_of_the_user_names_logs_and_one_of_a_project_none() {
    let place = Place::new();
    hold(&place);
    std::fs::remove_dir_all(remembered()).unwrap();
    let configuration = place.directory.path().join("configuration/holdpoint");
    std::fs::create_dir_all(&configuration).unwrap();
    let file = configuration.join("config.toml");
    std::fs::write(&file, format!("[inbox]\nlogs = [{:?}]\n", place.log)).unwrap();
    let told = |file: &str| {
        let words = ["--config", file, "inbox"];
        let mut command = command_in(place.directory.path(), &words);
        command.env("XDG_CONFIG_HOME", place.directory.path().join("configuration"));
        command.output().unwrap()
    };
    std::fs::write(place.directory.path().join("empty.toml"), "").unwrap();
    let output = told("empty.toml");
    let said = text(&output.stderr);
    // Where others can write above the file, it is not believed: which logs it names is not known.
    match said.contains("is not believed") {
        true => assert_eq!(status(&output), 3, "{said}"),
        false => assert!(text(&output.stdout).contains("REQ-"), "{said}"),
    }
    if !said.contains("is not believed") {
        std::fs::remove_dir_all(&place.log).unwrap();
        let gone = text(&told("empty.toml").stderr);
        let advice = format!("take it out of `[inbox]` in {}", file.display());
        assert!(gone.contains(&advice) && !gone.contains("inbox --remove"), "{gone}");
    }
    let project = place.directory.path().join("holdpoint.toml");
    std::fs::write(project, "[inbox]\nlogs = [\"/a\"]\n").unwrap();
    let checked = place.holdpoint(&["doctor", "config"]);
    assert_eq!(status(&checked), 2, "{}", text(&checked.stderr));
}

/// What keeps it from being known which logs there are comes before what waits, and never "nothing
/// waits".
#[test]
fn an_inbox_whose_list_is_full_or_unreadable_says_so_first_and_exits_1() {
    let place = Place::with_log();
    let line = format!("{} 0 /\n", "7".repeat(32));
    let list = remembered().join("logs");
    for (listed, words) in [(line.repeat(1024), "is full"), ("no log\n".to_string(), "line 1")] {
        std::fs::write(&list, listed).unwrap();
        let output = inbox(&place, &[]);
        let said = text(&output.stderr);
        assert_eq!(status(&output), 1, "{said}");
        assert!(said.lines().next().unwrap().contains(words), "{said}");
        assert!(!said.contains("nothing waits in"), "{said}");
    }
    std::fs::remove_file(&list).unwrap();
    std::fs::create_dir(&list).unwrap();
    let output = inbox(&place, &[]);
    assert_eq!(status(&output), 1, "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("nothing waits in"), "{}", text(&output.stderr));
}
