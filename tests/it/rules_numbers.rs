//! The numbers of the rules: a log of each of them is intact for ever, a writer says by which it
//! decides, and one that does not have those in force reads and does not write.

use crate::archive_support::{Sample, duplicate, values};
use crate::program::{Place, json, status, text};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::log::{RulesAdopted, SystemRules};
use holdpoint_domain::world::{REGISTRY, envelope};
use holdpoint_domain::{ActorId, Command, Envelope};
use holdpoint_testing::hand_made::{self, HandMadeLog};
use holdpoint_testing::story::Story;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Logs that programs of each number wrote, and the head of each: that of rules 1 by the program of
/// commit e0d27d6, whose rules had no number yet.
const GOLDEN: [(u32, &str); 8] = [
    (1, "6aacd8e5748c93f71f4220f17ac8eee6f9141dcd95a1a11f12074cd6fc02f410"),
    (2, "e46acfe7df93e4357aa06948beda885b7842dee9e98094f537438a48b551b568"),
    (3, "625568d15bd279d89ef9e82e98dbcab7a3dc36180b2cb1c4503632afdebd8439"),
    (4, "90453150e99fa333911557a05cfc608c69ba9520dfaa348d539bcf1786d2cb63"),
    (5, "205ab5bdc678a3d8f7a4480965674dc50049f7eeda262cf17f00f8a0a313cb84"),
    (6, "bf5ad5d8817e9972d6451fc2f1a1f0ad22e903d80eeef512c715ca3ab67bc25e"),
    (7, "87e13bee5fcb460c65231302a1f29add506b0ad5faee0d2a94cb67d5c8dbd36b"),
    (8, "79c290a5d557fd962919b3f8b9f065230aa61af05aa2933251c6089e4b18a094"),
];

fn golden(number: u32) -> Place {
    let logs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/logs");
    let place = Place::new();
    duplicate(&logs.join(format!("rules-{number}")), &place.log);
    place
}

/// What `verify --json` says of the meaning: state and reason.
fn meaning(report: &Value) -> (&str, &str) {
    let axis = &report["axes"]["meaning"];
    (axis["state"].as_str().unwrap(), axis["reason"].as_str().unwrap())
}

#[test]
fn golden_logs_of_every_number_stay_intact() {
    for (number, link) in GOLDEN {
        let place = golden(number);
        let report = place.verified();
        assert_eq!(report["head"]["link"], link, "rules {number}");
        assert_eq!(meaning(&report).0, "proven", "rules {number}: {report:#}");
        assert_eq!(status(&place.holdpoint(&["replay"])), 0);
    }
}

/// Its recorders were killed, with the guard and without, or kept from the log's lock, and the log
/// was continued from a copy.
#[test]
fn runs_of_rules_5_are_told_as_they_ended() {
    let place = golden(5);
    let runs = values(&place.holdpoint(&["runs", "--json"]));
    let told = runs.iter().map(|run| {
        let numbers = ["exit_status", "signal", "took_ns"].map(|name| run[name].as_u64());
        (run["outcome"].as_str().unwrap(), numbers)
    });
    let expected = [
        ("ok", [Some(0), None, Some(46_003_889)]),
        ("failed", [Some(4), None, Some(89_903_591)]),
        ("lost", [None, None, None]),
        ("lost", [None, Some(9), Some(35_548_423)]),
        ("ok", [Some(0), None, Some(51_937_144)]),
        ("ok", [Some(0), None, Some(2_252_017_709)]),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let outputs = runs.iter().map(|run| {
        let output = place.holdpoint(&["output", run["run"].as_str().unwrap()]);
        (status(&output), text(&output.stdout).len())
    });
    assert_eq!(outputs.collect::<Vec<_>>(), [(0, 0), (0, 7), (3, 0), (3, 0), (3, 5_120), (0, 14)]);
}

/// A default that was taken, a proposal that was accepted with and without one, guidance that was
/// the answer, and an escalation that waits for a person.
#[test]
fn decisions_of_rules_6_are_told_as_they_were_answered() {
    let place = golden(6);
    let listed =
        json(&place.holdpoint(&["decision", "list", "--kind", "decision", "state=all", "--json"]));
    let mut told: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|point| {
            let kind = point["resolution_kind"].as_str().unwrap_or("none");
            let chosen = point["selected_option"].as_str().unwrap_or("none");
            format!("{} {kind} {chosen}", point["state"].as_str().unwrap())
        })
        .collect();
    told.sort_unstable();
    let expected = [
        "expired default a",
        "iterated none none",
        "iterated none none",
        "iterated none none",
        "pending none none",
        "resolved accept b",
        "resolved accept none",
        "resolved text none",
    ];
    assert_eq!(told, expected);
}

/// A turn that is sure by 1, words that a plan owned and that went on, a thread closed over
/// a request and words, and a loop that was given its next instruction.
#[test]
fn threads_and_the_next_instruction_of_rules_6_are_told_as_they_were() {
    let place = golden(6);
    let show = |words: &[&str]| json(&place.holdpoint(&[words, &["--json"]].concat()));
    let closed = show(&["thread", "show", "talk-2"]);
    assert_eq!(
        (&closed["is_closed"], &closed["last_directive"]),
        (&true.into(), &"CONFIRM".into())
    );
    let rows = show(&["thread", "show", "--rows", "talk-2"]);
    let rows = rows.as_array().unwrap();
    let reasons: Vec<&str> = rows.iter().map(|row| row["reason_code"].as_str().unwrap()).collect();
    let expected = [
        "X_NLP_CHAT",
        "X_INTERRUPT_RELATION_UNCERTAIN_CLARIFY",
        "X_PLAN_PASSED_BY",
        "X_INTERRUPT_SAME_SUBJECT_APPEND",
        "X_CONFIRM_REQUIRED",
        "X_THREAD_CLOSED",
    ];
    assert_eq!(reasons, expected);
    let records = place.records();
    let sure = records.iter().filter(|record| {
        let points = &record["event"]["request"]["interrupt_subject_relation_confidence_bp"];
        *points == 10_000
    });
    assert_eq!(sure.count(), 2, "the turn and the plan");
    let run = show(&["show", "LOOP-a6666666666666666666666666666666"]);
    let run = &run["execution_loop"];
    assert_eq!(
        (&run["command_line"], &run["current_state"]),
        (&"make next".into(), &"HALTED".into())
    );
    assert_eq!(run["attempts"].as_array().unwrap().len(), 2);
}

/// By rules 8 the thread kept the words of an unsure candidate, and the next answer was held up.
#[test]
fn words_of_an_unsure_candidate_of_rules_8_are_told_as_they_were_kept() {
    let place = golden(8);
    let show = |words: &[&str]| json(&place.holdpoint(&[words, &["--json"]].concat()));
    let ended = |thread: &str| {
        let rows = show(&["thread", "show", "--rows", thread]);
        let rows = rows.as_array().unwrap().iter().filter(|row| row["ended"].is_object());
        let told = rows.map(|row| {
            let policy = row["ended"]["interrupt_resume_policy"].as_str().unwrap();
            format!("{} {policy}", row["reason_code"].as_str().unwrap())
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(ended("passed"), ["X_PLAN_PASSED_BY RESUME_LATER"]);
    assert_eq!(ended("lapsed"), ["X_PLAN_LAPSED RESUME_LATER"]);
    let clarified = show(&["thread", "show", "lapsed"]);
    assert_eq!(clarified["last_reason_code"], "X_INTERRUPT_RELATION_UNCERTAIN_CLARIFY");
    let status = show(&["thread", "show", "passed", "--rows"]);
    assert_eq!(
        status.as_array().unwrap().last().unwrap()["reason_code"],
        "X_INTERRUPT_SAME_SUBJECT_APPEND"
    );
}

/// The kinds of all records, by name.
fn kinds(place: &Place) -> Vec<String> {
    let shown = values(&place.holdpoint(&["log", "--json"]));
    shown.iter().map(|line| line["kind"].as_str().unwrap().to_owned()).collect()
}

const ADOPTED: &str = "log.rules_adopted";

/// Records under rules 1 and then under those of today are judged by their own.
#[test]
fn a_writer_with_newer_rules_says_so_first_and_once() {
    let place = golden(1);
    let before = kinds(&place);
    assert!(!before.iter().any(|kind| kind == ADOPTED));
    for _ in 0..2 {
        assert_eq!(status(&place.run(&["true"])), 0);
    }
    let after = kinds(&place);
    let behind = &after[before.len()..];
    assert_eq!([&*behind[0], &*behind[1]], [ADOPTED, "execution_loop.initialized"]);
    assert_eq!(behind.iter().filter(|kind| *kind == ADOPTED).count(), 1);
    let report = place.verified();
    assert_eq!(meaning(&report).0, "proven", "{report:#}");
}

#[test]
fn the_first_batch_of_a_log_begins_with_the_numbers() {
    let place = Place::new();
    let input = r#"{"submit": {"command": "log.record_fingerprint"}}"#;
    fs::write(place.directory.path().join("first"), input).unwrap();
    let output = place.holdpoint(&["apply", "first"]);
    let receipt = &json(&output)["receipt"];
    assert_eq!((&receipt["first_sequence"], &receipt["last_sequence"]), (&2.into(), &2.into()));
    assert_eq!(kinds(&place), [ADOPTED, "log.fingerprint_recorded"]);
    let report = place.verified();
    let (state, reason) = meaning(&report);
    assert!(state == "proven" && reason.contains("1 recorded fingerprint matches"), "{reason}");
}

/// What a program states whose systems all have this number.
pub(crate) fn stated(number: u32, by: Actor) -> envelope::Encoded {
    let names: BTreeSet<&str> = REGISTRY.iter().map(|kind| kind.system).collect();
    let systems = names.into_iter().map(|name| SystemRules { system: name.into(), number });
    let event = RulesAdopted { systems: systems.collect() };
    let actor = ActorId { kind: by, id: "holdpoint".into() };
    envelope::encode(&Envelope { actor, ..hand_made::envelope(event.into()) }).unwrap()
}

/// A log in which one loop began, behind these statements.
fn behind(statements: &[envelope::Encoded]) -> Place {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    statements.iter().for_each(|it| log.batch(std::slice::from_ref(it)));
    let begin = ExecutionLoopCommand::InitializeLoop(Story::new().initialize());
    log.command(&Command::ExecutionLoop(begin));
    log.write(&place.log);
    place
}

#[test]
fn a_program_older_than_the_numbers_reads_and_does_not_write() {
    let place = behind(&[stated(10, Actor::System)]);
    let input = r#"{"submit": {"command": "log.record_fingerprint"}}"#;
    fs::write(place.directory.path().join("commands"), input).unwrap();
    for (code, words) in [
        (1, &["decision", "create", "--prompt", "Go on?"][..]),
        (1, &["apply", "commands"]),
        (1, &["archive", "archive"]),
        (125, &["run", "--", "true"]),
    ] {
        let output = place.holdpoint(words);
        let said = text(&output.stderr);
        assert_eq!(status(&output), code, "{words:?}: {said}");
        assert!(said.contains("newer rules") && said.contains("use a newer holdpoint"), "{said}");
    }
    let (report, due) = (place.verified(), "not judged from record 1: only a newer holdpoint");
    let (state, reason) = meaning(&report);
    assert!(state == "not checked" && reason.contains(due), "{reason}");
}

#[test]
fn numbers_that_fall_are_repeated_or_are_forged_are_forbidden() {
    let own = stated(2, Actor::System);
    let forged = [stated(1, Actor::System), own.clone(), stated(3, Actor::Automation)];
    for forged in forged {
        let place = behind(&[own.clone(), forged]);
        let output = place.holdpoint(&["verify", "--json"]);
        let report = json(&output);
        assert_eq!((status(&output), &report["verdict"]), (6, &"forbidden events".into()));
        assert_eq!(report["findings"][0]["rule"], "RULES_NUMBERS", "{report:#}");
        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "it counts for nothing");
        assert_eq!(status(&place.run(&["true"])), 0);
    }
}

#[test]
fn the_numbers_go_along_to_a_salvaged_log_and_behind_an_anchor() {
    let mut place = Place::new();
    assert_eq!(status(&place.run(&["true"])), 0);
    fs::remove_file(place.log.join("HEAD")).unwrap();
    assert_eq!(status(&place.holdpoint(&["copy", "--salvage", "log", "new"])), 0);
    place.log = place.directory.path().join("new");
    assert_eq!(status(&place.run(&["true"])), 0);
    assert_eq!(kinds(&place).iter().filter(|kind| *kind == ADOPTED).count(), 1);

    let (sample, anchor) = Sample::archived();
    sample.grow();
    assert_eq!(kinds(&sample.place).iter().filter(|kind| *kind == ADOPTED).count(), 1);
    let shown = values(&sample.place.holdpoint(&["log", "--json", &format!("kind={ADOPTED}")]));
    assert!(shown[0]["sequence"].as_u64().unwrap() <= anchor, "{shown:?}");
}
