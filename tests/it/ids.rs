//! What an id names by how it begins: of all that has one, or refused with what it could be.

use crate::apply_support::{answers, apply};
use crate::program::{Place, json, status, text, with_hold};
use crate::records_support::{holdpoint, indexed_of, remove_indexes};
use crate::thread_support::{accepted, interrupted, setting, talk};
use holdpoint_domain::Command;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_testing::hand_made::HandMadeLog;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Asks a question whose id has these digits; with a cause, where one is given.
fn asked(place: &Place, digits: &str, causation: Option<u64>) -> String {
    let option =
        |id: &str, reject: bool| json!({ "id": id, "short": id, "label": id, "reject": reject });
    let who = json!({ "kind": "AGENT", "id": "planner", "authenticated_by": "none", "means": "" });
    let mut line = json!({ "actor": { "kind": "AGENT", "id": "planner" }, "submit": {
        "command": "decision_point.create", "entropy": digits, "by": who,
        "prompt": "Roll back?\nrun  LOOP-1", "options": [option("yes", false), option("no", true)],
    } });
    if let Some(causation) = causation {
        line["causation"] = causation.into();
    }
    let found = answers(&apply(place, &[line]));
    assert!(found[0]["receipt"].is_object(), "{found:#?}");
    format!("DP-{digits}")
}

/// The run of `sh -c SCRIPT`.
fn run(place: &Place, script: &str) -> String {
    place.shell(script);
    newest(place)
}

fn newest(place: &Place) -> String {
    text(&place.holdpoint(&["runs", "-q", "-n", "1"]).stdout).trim().to_string()
}

/// What `show --json` shows, which must be found.
fn shown(place: &Place, id: &str) -> Value {
    let output = place.holdpoint(&["show", id, "--json"]);
    assert_eq!(status(&output), 0, "{id}: {}", text(&output.stderr));
    json(&output)
}

/// The request about a run that failed and is left waiting.
fn held(place: &Place) -> String {
    place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"]);
    let request = &with_hold(json(
        &place.holdpoint(&["decision", "list", "--kind", "hold", "--json"]),
    ))[0]["id"];
    request.as_str().unwrap().to_string()
}

#[test]
fn the_newest_run_and_every_beginning_of_an_id_are_looked_at_by_each_verb_that_looks() {
    let place = Place::with_log();
    let older = run(&place, "echo one");
    let id = run(&place, "echo two");
    let record = shown(&place, &id)["first_record"].to_string();
    let out = |words: &str, id: &str| {
        let words: Vec<String> = words.split(' ').map(|word| word.replace("ID", id)).collect();
        let output = place.holdpoint(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    for words in [
        "show ID --json",
        "show ID --trace",
        "output ID",
        "replay ID",
        "replay ID --story",
        "log loop=ID",
        "log entity=ID",
        "export ID --format asciicast",
        "runs --after ID -q",
    ] {
        let whole = out(words, &id);
        assert_eq!(out(words, "@"), whole, "{words}");
        assert_eq!(out(words, &id[..15]), whole, "{words}");
    }
    assert_eq!(out("show ID --json", &record), out("show ID --json", "@"));
    let compared = |to: &str| out(&format!("diff ID {to} --json"), &older);
    assert_eq!(compared("@"), compared(&id));
    out("export ID --format html --output page.html", "@");
    let page = std::fs::read_to_string(place.directory.path().join("page.html")).unwrap();
    assert!(page.contains(&id) && !page.contains(&older));
    let question = held(&place);
    for words in [
        &["approve", "@"][..],
        &["deny", "@"],
        &["decision", "respond", "@", "ABORT"],
        &["decision", "cancel", "@", "--reason", "no"],
        &["decision", "consume", "@", "--bind", "tool=t", "--bind", "input={}"],
        &["run", "--approval", "@", "--", "false"],
        &["run", "--resume", "@", "--", "false"],
    ] {
        let output = place.command(words).output().unwrap();
        assert!(![0, 1].contains(&status(&output)), "{words:?}: {}", text(&output.stderr));
    }
    let waits = place.holdpoint(&["decision", "show", &question, "--json"]);
    assert_eq!(with_hold(json(&waits))["state"], "WAITING");
}

#[test]
fn digits_name_the_only_run_decision_or_request_whose_id_begins_so() {
    let place = Place::with_log();
    let loop_id = run(&place, "exit 0");
    let request = held(&place);
    let decision = asked(&place, &"ab".repeat(16), None);
    let found = |id: &str, field: &str| shown(&place, id)[field].as_str().unwrap().to_string();
    for (id, field) in [(&loop_id, "run"), (&request, "id"), (&decision, "id")] {
        let (prefix, digits) = id.split_once('-').unwrap();
        // Digits alone name the record of that number where none of them is a letter.
        let letter = digits.find(|c: char| c.is_ascii_lowercase()).unwrap().max(8) + 1;
        for way in [id.clone(), format!("{prefix}-{}", &digits[..6]), digits[..letter].into()] {
            assert_eq!(found(&way, field), *id, "{way}");
        }
        assert_eq!(found(digits, field), *id);
    }
    for (wanted, exit) in [("DP-00000f", 3), ("REQ-00000f", 3), ("00000f", 3), ("DP-ab", 2)] {
        let output = place.holdpoint(&["show", wanted]);
        assert_eq!((status(&output), text(&output.stdout).as_str()), (exit, ""), "{wanted}");
    }
}

/// The record whose story `trace` tells, which must be found.
fn traced(place: &Place, id: &str) -> u64 {
    let output = place.holdpoint(&["show", "--trace", id, "--json"]);
    assert_eq!(status(&output), 0, "{id}: {}", text(&output.stderr));
    json(&output)["sequence"].as_u64().unwrap()
}

#[test]
fn trace_takes_the_ids_that_show_takes_for_the_record_that_began_what_they_name() {
    let place = Place::with_log();
    let loop_id = run(&place, "kill -SEGV $$");
    let request = held(&place);
    let decision = asked(&place, &"ab".repeat(16), None);
    let first = |field: &str, id: &str| {
        let shown = text(&place.holdpoint(&["log", &format!("{field}={id}"), "--json"]).stdout);
        let line: Value = serde_json::from_str(shown.lines().next().unwrap()).unwrap();
        line["sequence"].as_u64().unwrap()
    };
    for id in [&loop_id, &request, &decision] {
        let due = first("entity", id);
        let (prefix, digits) = id.split_once('-').unwrap();
        // Digits alone name the record of that number where none of them is a letter.
        let letter = digits.find(|c: char| c.is_ascii_lowercase()).unwrap().max(8) + 1;
        for way in [id.clone(), format!("{prefix}-{}", &digits[..6]), digits[..letter].into()] {
            assert_eq!(traced(&place, &way), due, "{way}");
        }
    }
    let records = text(&place.holdpoint(&["log", "--json"]).stdout);
    let fault = &records[records.find("FAULT-").unwrap()..][..38];
    assert_eq!(traced(&place, fault), first("entity", fault));
    let story = json(&place.holdpoint(&["runs", "--json", "-n", "1"]))["correlation"].clone();
    let story = story.as_str().unwrap();
    assert_eq!(traced(&place, &format!("correlation:{story}")), first("correlation", story));
    let absent = |prefix: &str| format!("{prefix}{}", "0f".repeat(16));
    for (wanted, exit) in [
        ("DP-00000f", 3),
        (absent("DP-").as_str(), 3),
        (absent("REQ-").as_str(), 3),
        ("correlation:no", 3),
        ("stream:no", 3),
        ("thread:no", 3),
        ("DP-ab", 2),
        ("REQ-x", 2),
    ] {
        let output = place.holdpoint(&["show", "--trace", wanted]);
        assert_eq!((status(&output), text(&output.stdout).as_str()), (exit, ""), "{wanted}");
    }
    assert_eq!(
        status(&Place::new().holdpoint(&["show", "--trace", &decision])),
        3,
        "there is no log"
    );
}

#[test]
fn a_thread_is_traced_by_its_name_from_the_record_that_began_it() {
    let place = Place::with_log();
    interrupted(&place, "acme", "talk", "It will rain.");
    let words = ["log", "kind=interruption_thread.turn_taken", "--json"];
    let records = text(&place.holdpoint(&words).stdout);
    let first: Value = serde_json::from_str(records.lines().next().unwrap()).unwrap();
    assert_eq!(traced(&place, "thread:talk"), first["sequence"], "{records}");
    // The capability is granted already.
    let mut others: Vec<Value> = setting("other", "talk").into_iter().skip(1).collect();
    others.extend(talk("other", "talk", "It will rain."));
    accepted(&place, &others);
    let several = place.holdpoint(&["show", "--trace", "thread:talk"]);
    let said = text(&several.stderr);
    assert_eq!((status(&several), text(&several.stdout).as_str()), (4, ""), "{said}");
    assert!(said.contains("acme, other") && said.contains("TENANT/CORRELATION"), "{said}");
}

#[test]
fn digits_name_the_same_whether_there_are_indexes_or_not() {
    let mut at = 0_u8;
    let sample = indexed_of(&mut |log, _, loops| {
        at += 1;
        loops.push(log.run());
        loops.push(log.retry_of_halted("false").0);
        log.ask(Entropy::from_bytes([0xa0 | at; 16]));
    });
    let log = sample.directory.path();
    let told = |wanted: &str| {
        let output = holdpoint(log, &["show", wanted, "--json"]);
        (status(&output), text(&output.stdout), text(&output.stderr))
    };
    let all = ["a1a1a1", "DP-a4a4a4", "LOOP-000000", "REQ-000000", "REQ-00000f", "00000f"];
    let indexed = all.map(|wanted| (wanted, told(wanted)));
    assert_eq!(indexed.each_ref().map(|(_, it)| it.0), [0, 0, 4, 4, 3, 3], "{indexed:?}");
    let shown = |at: usize| serde_json::from_str::<Value>(&indexed[at].1.1).unwrap()["id"].clone();
    assert_eq!(shown(0), format!("DP-{}", "a1".repeat(16)));
    assert_eq!(shown(1), format!("DP-{}", "a4".repeat(16)));
    remove_indexes(log);
    for (wanted, with) in indexed {
        let without = told(wanted);
        assert_eq!((without.0, without.1), (with.0, with.1), "{wanted}: {}", with.2);
    }
}

#[test]
fn digits_with_which_several_ids_begin_are_refused_with_all_of_them() {
    let place = Place::with_log();
    let (one, other) = (format!("{:a<32}", "123456"), format!("{:b<32}", "123456"));
    let ids = [asked(&place, &one, None), asked(&place, &other, None)];
    for wanted in ["DP-123456", "DP-1234567"] {
        let output = place.holdpoint(&["show", wanted]);
        let expected = if wanted.len() == 9 { 4 } else { 3 };
        assert_eq!(status(&output), expected, "{wanted}");
    }
    let told = text(&place.holdpoint(&["show", "DP-123456"]).stderr);
    assert!(ids.iter().all(|id| told.contains(id)), "{told}");
    // A run and a decision.
    let loop_id = run(&place, "exit 0");
    let digits = &loop_id[5..];
    let last = if digits.ends_with('0') { '1' } else { '0' };
    let decision = asked(&place, &format!("{}{last}", &digits[..31]), None);
    let output = place.holdpoint(&["show", &digits[..31]]);
    let told = text(&output.stderr);
    assert_eq!(status(&output), 4, "{told}");
    assert!(told.contains(&loop_id) && told.contains(&decision), "{told}");
    assert_eq!(shown(&place, digits)["run"], loop_id.as_str());
}

#[test]
fn an_id_in_capitals_is_refused_by_every_verb_with_the_id() {
    let place = Place::with_log();
    let loop_id = run(&place, "exit 0");
    let request = held(&place);
    let decision = asked(&place, &"ab".repeat(16), None);
    // Digits alone would be a record's number.
    let letters = |id: &str| id.find('-').unwrap() + 1 + id[5..].find(char::is_alphabetic).unwrap();
    for (verb, id) in [
        (&["show"][..], &loop_id),
        (&["output"], &loop_id),
        (&["show"], &request),
        (&["show"], &decision),
        (&["decision", "show"], &request),
        (&["decision", "show"], &decision),
    ] {
        for cut in [id.len(), (letters(id) + 2).max(14)] {
            let typed = id[..cut].to_ascii_uppercase();
            let output = place.holdpoint(&[verb, &[&typed]].concat());
            let said = text(&output.stderr);
            assert!([2, 3].contains(&status(&output)), "{verb:?} {typed}: {said}");
            assert!(said.contains(&format!("did you mean {}", &id[..cut])), "{typed}: {said}");
        }
    }
}

#[test]
fn a_part_of_a_run_is_named_by_its_whole_id_and_that_is_said() {
    let place = Place::with_log();
    place.shell("kill -SEGV $$");
    let records = text(&place.holdpoint(&["log", "--json"]).stdout);
    let at = records.find("FAULT-").unwrap();
    let fault = &records[at..at + 38];
    assert_eq!(status(&place.holdpoint(&["show", fault])), 0);
    for other in [fault[..14].to_string(), format!("FAULT-{}", fault[6..].to_ascii_uppercase())] {
        let output = place.holdpoint(&["show", &other]);
        let said = text(&output.stderr);
        assert_eq!(status(&output), 3, "{said}");
        assert!(said.contains("given whole, in its own letters"), "{other}: {said}");
    }
}

#[test]
fn a_number_that_is_also_the_beginning_of_an_id_says_what_to_write_for_that() {
    let place = Place::with_log();
    let decision = asked(&place, &format!("{:c<32}", "490300"), None);
    let missing = place.holdpoint(&["show", "490300"]);
    let told = text(&missing.stderr);
    assert_eq!(status(&missing), 3);
    assert!(told.contains("no record 490300") && told.contains("write DP-490300"), "{told}");
    assert_eq!(shown(&place, "DP-490300")["id"], decision.as_str());
    // The record of that number is there.
    asked(&place, &format!("{:d<32}", "000001"), None);
    let there = place.holdpoint(&["show", "000001"]);
    assert_eq!(status(&there), 0);
    assert!(text(&there.stderr).contains("write DP-000001"), "{}", text(&there.stderr));
}

#[test]
fn what_belongs_to_a_run_is_shown_by_its_own_id() {
    let place = Place::with_log();
    let loop_id = run(&place, "exit 3");
    for id in [format!("CHAIN-{}", &loop_id[5..]), format!("OBS-{}", &loop_id[5..])] {
        let output = place.holdpoint(&["show", &id]);
        assert_eq!(status(&output), 0, "{id}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains("evidence_capture."), "{}", text(&output.stdout));
    }
    for nothing in ["FAULT-1", "correlation:no", "stream:no", "thread:no"] {
        let output = place.holdpoint(&["show", nothing]);
        assert_eq!((status(&output), text(&output.stdout).as_str()), (3, ""), "{nothing}");
        assert!(text(&output.stderr).contains("there is no "), "{}", text(&output.stderr));
    }
}

/// The ids have the same digits but for one.
#[test]
fn what_is_not_found_is_told_with_no_id_of_another_kind() {
    let place = Place::with_log();
    let decision = asked(&place, &format!("{:e<32}", "5c"), None);
    let request = held(&place);
    for (kind, verbs) in [
        ("DP-", &[&["decision", "show"][..], &["replay"], &["show"]][..]),
        ("REQ-", &[&["decision", "show"], &["replay"], &["show"]]),
        ("LOOP-", &[&["replay", "--story"], &["log"], &["output"]]),
    ] {
        for there in [&decision, &request] {
            let (of, digits) = there.split_once('-').unwrap();
            let slip = format!("{}0", &digits[..digits.len() - 1]);
            for wrong in [format!("{kind}{slip}"), format!("{kind}{slip}").to_lowercase()] {
                for verb in verbs {
                    let output = place.holdpoint(&[*verb, &[&*wrong]].concat());
                    let said = text(&output.stderr);
                    assert!([2, 3].contains(&status(&output)), "{verb:?} {wrong}: {said}");
                    let is_own = kind.starts_with(of);
                    assert!(is_own || !said.contains(&**there), "{verb:?} {wrong}: {said}");
                }
            }
        }
    }
    for (wrong, meant) in [(request.to_uppercase(), &request), (decision.to_lowercase(), &decision)]
    {
        let said = text(&place.holdpoint(&["decision", "show", &wrong]).stderr);
        assert!(said.contains(&format!("did you mean {meant}?")), "{wrong}: {said}");
    }
}

#[test]
fn an_answer_to_an_id_in_the_wrong_case_or_cut_names_the_one_that_is_like_it() {
    let place = Place::with_log();
    let decision = asked(&place, &format!("{:e<32}", "5c"), None);
    let digits = &decision[3..];
    for wrong in [decision.to_lowercase(), format!("DP-{}", digits.to_uppercase())] {
        for words in [
            &["decision", "respond", &wrong, "yes"][..],
            &["decision", "respond", &wrong, "--option", "yes"],
        ] {
            let output = place.holdpoint(words);
            assert_eq!(status(&output), 3, "{words:?}");
            assert!(text(&output.stderr).contains(&format!("did you mean {decision}?")));
        }
    }
    let request = held(&place);
    let wrong = request.to_lowercase();
    let output = place.holdpoint(&["decision", "respond", &wrong, "CONTINUE", "--yes"]);
    assert_eq!(status(&output), 3, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(&format!("did you mean {request}?")));
}

#[test]
fn what_a_run_caused_is_told_with_it_behind_the_mark_of_others_words() {
    let place = Place::with_log();
    let loop_id = run(&place, "exit 3");
    let none = shown(&place, &loop_id);
    assert_eq!(none["caused"], json!([]));
    let last = none["last_record"].as_u64().unwrap();
    let decision = asked(&place, &"5".repeat(32), Some(last));
    let told = shown(&place, &loop_id);
    assert_eq!(told["caused"].as_array().map(Vec::len), Some(1), "{told:#}");
    let (caused, record) = (&told["caused"][0], last + 1);
    assert_eq!((&caused["record"], &caused["decision"]), (&record.into(), &decision.into()));
    assert_eq!(
        (&caused["kind"], &caused["proof"]["user"]),
        (&json!("decision_point.created"), &told["began_by"]["proof"]["user"])
    );
    let screen = text(&place.holdpoint(&["show", &loop_id]).stdout);
    let begins =
        format!("\ncaused          record {record}, now, by planner (agent, name not proven");
    assert!(screen.contains(&begins), "{screen}");
    assert!(screen.contains("\n| DP-5555") && !screen.contains("\nrun  LOOP-1"), "{screen}");
}

#[test]
fn every_verb_that_takes_digits_for_a_record_says_what_to_write_for_the_run() {
    let mut log = HandMadeLog::new();
    log.run();
    log.crash();
    let mut other = log.initialize("make deploy");
    let mut bytes = [0xdd; 16];
    bytes[..3].copy_from_slice(&[0, 0, 9]);
    other.entropy = Entropy::from_bytes(bytes);
    log.command(&Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(other)));
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let elsewhere = TempDir::new().unwrap();
    let page = elsewhere.path().join("page");
    let report = ["export", "--format", "html", "000009", "--output", page.to_str().unwrap()];
    for words in [
        &["show", "000009"][..],
        &["output", "000009"],
        &["diff", "000009"],
        &["runs", "--after", "000009"],
        &["diff", "000009"],
        &["diff", "1", "000009"],
        &report,
    ] {
        let told = text(&holdpoint(directory.path(), words).stderr);
        let due = "000009 is taken for a record: to mean the run, write LOOP-000009";
        assert!(told.contains(due), "{words:?}: {told}");
    }
}

#[test]
fn a_name_of_ten_kibibytes_is_repeated_by_its_beginning_on_one_line() {
    let place = Place::with_log();
    place.shell("true");
    let long = "x".repeat(10 * 1_024);
    let of = |prefix: &str| format!("{prefix}{long}");
    let lines: [&[&str]; 9] = [
        &["show", &of("thread:")],
        &["show", &of("correlation:")],
        &["show", &of("stream:")],
        &["thread", "show", &long],
        &["thread", "show", &format!("{long}/a")],
        &["diff", "--when", &long],
        &["diff", "--when", &of("totals.events > ")],
        &["hook", &long],
        &[&of("--")],
    ];
    for words in lines {
        let output = place.holdpoint(words);
        let (said, verb) = (text(&output.stderr), &words[0][..words[0].len().min(9)]);
        assert!([2, 3].contains(&status(&output)), "{verb}: {said}");
        let longest = said.split_whitespace().map(str::len).max().unwrap();
        assert!(longest <= 130 && said.len() < 600, "{verb}: {said}");
    }
}

/// The rule of 100 bytes, of whatever is no name of anything.
#[test]
fn of_an_argument_that_names_nothing_the_beginning_is_repeated() {
    let place = Place::with_log();
    let log = place.log.to_str().unwrap();
    for kind in ["x", "REQ-", "DP-", "/"] {
        let long = format!("{kind}{}", "a".repeat(10 * 1024));
        let after_log = [
            &["decision", "show", &long][..],
            &["decision", "wait", &long, "--timeout", "1s"],
            &["decision", "show", &long],
            &["decision", "respond", &long, "--option", "yes"],
            &["decision", "wait", &long, "--timeout", "1s"],
            &["decision", "list", "--after", &long],
            &["decision", "respond", &long, "yes"],
            &["run", "--approval", &long, "--", "true"],
            &["run", "--resume", &long, "--", "true"],
            &["thread", "show", &long],
            &["thread", "show", &format!("{long}/a")],
            &["inbox", "--add", &long],
            &["inbox", "--remove", &long],
            &["inbox", "--log", &long],
            &["runs", "--config", &long],
            &["decision", "create", "--prompt", "P", "--evidence", &long],
            &["decision", &long],
            &["runs", &format!("--{long}")],
            &["runs", "-n", "1", &long],
        ];
        let named = after_log.map(|words| [&["--log", log], words].concat());
        let all =
            named.into_iter().chain([vec!["--log", &long, "decision", "list", "--kind", "hold"]]);
        for words in all {
            let output = place.holdpoint(&words);
            let said = format!("{}{}", text(&output.stderr), text(&output.stdout));
            assert_ne!(status(&output), 0, "{words:.20?}: {said}");
            assert!(said.len() < 700 && !said.contains(&long[..101]), "{words:.20?}: {said}");
        }
    }
}
