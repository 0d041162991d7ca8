//! Readable copies of evidence: each that says otherwise than the bytes that were hashed is found,
//! and none is shown as a fact.

use crate::program::{Place, status, text};
use crate::terminal::Terminal;
use holdpoint_domain::Command;
use holdpoint_domain::Event;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceContent, StopCondition, StopFacts,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopCommand, ExecutionLoopEvent, ExecutionLoopState, ResponseDecision, StopLoop,
};
use holdpoint_replay::{CopyCheck, EVIDENCE_COPIES};
use holdpoint_testing::hand_made::HandMadeLog;
use serde_json::{Value, json};

const TRUE_COMMAND: &str = "rm -rf /srv/shop";

/// A log of one run, whose events somebody changed before they were chained.
fn forged(run: impl Fn(&mut HandMadeLog) -> String, forge: fn(&mut Event)) -> (Place, String) {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    log.forge = forge;
    let loop_id = run(&mut log);
    log.write(&place.log);
    (place, loop_id)
}

/// A run of the true command, whose records are changed.
fn run_forged(forge: fn(&mut Event)) -> Option<(Place, String)> {
    Some(forged(|log| log.run_of(TRUE_COMMAND), forge))
}

fn content_forged(forge: fn(&mut Event)) -> Option<(Place, String)> {
    let stop = |log: &mut HandMadeLog| {
        let loop_id = log.awaited(TRUE_COMMAND);
        let stop = StopLoop {
            loop_id: loop_id.clone(),
            entropy: log.entropy(),
            condition: StopCondition::AmbiguousIntent,
            facts: StopFacts::default(),
            details: "nobody knows what is meant".into(),
        };
        log.command(&Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(stop)));
        loop_id
    };
    Some(forged(stop, forge))
}

/// A log in which a copy says otherwise than its evidence; `None`: tests of the domain forge it.
fn doctored(kind: u16, field: &str) -> Option<(Place, String)> {
    match (kind, field) {
        (32, "command_line") => run_forged(|event| {
            if let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = event {
                body.command_line = "ls".into();
            }
        }),
        (32, "instruction_envelope_hash") => run_forged(|event| {
            if let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = event {
                body.instruction_envelope_hash = sha256(b"ls").to_string().into();
            }
        }),
        (33, "instruction.command_line") => Some(forged(
            |log| log.instructed("make test", TRUE_COMMAND),
            |event| {
                if let Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) = event
                    && let Some(next) = &mut body.instruction
                {
                    next.command_line = "ls".into();
                }
            },
        )),
        (33, "instruction.envelope_hash") => Some(forged(
            |log| log.instructed("make test", TRUE_COMMAND),
            |event| {
                if let Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) = event
                    && let Some(next) = &mut body.instruction
                {
                    next.envelope_hash = sha256(b"ls").to_string().into();
                }
            },
        )),
        (65, "content.output") => content_forged(|event| {
            if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event
                && let EvidenceContent::Output(extent) = &mut body.content
            {
                extent.whole_sha256 = sha256(b"ls");
            }
        }),
        (65, "content.transition") => run_forged(|event| {
            if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event
                && let EvidenceContent::Transition { from, .. } = &mut body.content
            {
                *from = ExecutionLoopState::Halted;
            }
        }),
        (65, "content.decision") => run_forged(|event| {
            if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event
                && let EvidenceContent::Decision(decision) = &mut body.content
            {
                *decision = ResponseDecision::Escalate;
            }
        }),
        (66, "details") => content_forged(|event| {
            if let Event::EvidenceCapture(EvidenceCaptureEvent::StopConditionDetected(body)) = event
            {
                body.details = body.details.replace("nobody", "somebody").into();
            }
        }),
        _ => None,
    }
}

/// What is said of evidence is in none of its hashes: an envelope is known by its form.
#[test]
fn an_envelope_that_is_said_to_be_something_else_is_compared_all_the_same() {
    let (place, id) = run_forged(|event| match event {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => {
            body.command_line = "ls".into();
        }
        Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body))
            if body.content == EvidenceContent::Instruction =>
        {
            body.content = EvidenceContent::Opaque;
        }
        _ => {}
    })
    .unwrap();
    for words in [&["verify"][..], &["runs"], &["show", &id]] {
        let output = place.holdpoint(words);
        assert_eq!(status(&output), 6, "{words:?}: {}", text(&output.stdout));
    }
    let envelope = place.holdpoint(&["show", &id, "--envelope"]).stdout;
    assert!(text(&envelope).contains("/srv/shop"), "{envelope:?}");
}

#[test]
fn every_copy_that_contradicts_its_evidence_is_found() {
    for copy in EVIDENCE_COPIES {
        let Some((place, _)) = doctored(copy.kind, copy.field) else {
            assert_ne!(copy.check, CopyCheck::Bytes, "nobody forges {copy:?}");
            continue;
        };
        let output = place.holdpoint(&["verify", "--json"]);
        let found: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
        assert_eq!(status(&output), 6, "{copy:?}: {found:#}");
        let rule = Rule::EvidenceCopy.name();
        let mut findings = found["findings"].as_array().unwrap().iter();
        let finding = findings.find(|it| it.to_string().contains(rule));
        assert!(finding.is_some(), "{copy:?}: {found:#}");
        assert_eq!(found["axes"]["integrity"]["state"], "proven", "{copy:?}: {found:#}");
    }
}

/// The first command of a run, and the one that it was given later.
#[test]
fn a_command_that_is_not_the_hashed_one_is_nowhere_shown_as_a_fact() {
    for (kind, field, attempt) in [(32, "command_line", "1"), (33, "instruction.command_line", "2")]
    {
        let (place, id) = doctored(kind, field).unwrap();
        let holdpoint = |words: &[&str], exit: i32| {
            let output = place.holdpoint(words);
            assert_eq!(status(&output), exit, "{words:?}: {}", text(&output.stderr));
            text(&output.stdout)
        };
        for words in [&["runs"][..], &["runs", "command=ls"]] {
            let shown = holdpoint(words, 6);
            assert!(shown.contains("  ? ls"), "{shown}");
        }
        for words in [&["runs", "--json"][..], &["show", &id, "--json"]] {
            let row: Value = serde_json::from_str(&holdpoint(words, 6)).unwrap();
            assert_eq!(row["command_claimed"], true, "{row:#}");
            assert_eq!(row["hashed_commands"], json!({ attempt: TRUE_COMMAND }), "{row:#}");
        }
        let shown = holdpoint(&["show", &id], 6);
        assert!(shown.starts_with(&format!("run             {id}\ncommand?:\n| ls\n")), "{shown}");
        assert!(shown.contains(&format!("hashed:\n| {TRUE_COMMAND}\n")), "{shown}");
        let page = place.directory.path().join("page");
        holdpoint(&["export", &id, "--format", "html", "--output", page.to_str().unwrap()], 6);
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains("command?") && page.contains(TRUE_COMMAND), "{page}");
        let envelope = place.holdpoint(&["show", &id, "--envelope"]).stdout;
        assert!(text(&envelope).contains("/srv/shop"), "{envelope:?}");
    }
    let (place, id) = doctored(32, "command_line").unwrap();
    let story = text(&place.holdpoint(&["show", &id, "--trace"]).stdout);
    assert!(story.contains(": ? ls ("), "{story}");
}

#[test]
fn a_command_that_was_compared_bears_no_mark_in_any_view() {
    let place = Place::new();
    assert_eq!(status(&place.holdpoint(&["run", "--", "sh", "-c", "echo 'a b'; :"])), 0);
    for words in [&["runs"][..], &["runs", "--json"], &["show", "@"], &["show", "@", "--json"]] {
        let shown = text(&place.holdpoint(words).stdout);
        let marks = ["? sh", "command?", "command_claimed", "hashed"];
        assert!(!marks.iter().any(|mark| shown.contains(mark)), "{words:?}: {shown}");
    }
    let output = place.holdpoint(&["verify"]);
    assert_eq!(status(&output), 0);
    assert!(!text(&output.stdout).contains("not compared"), "{}", text(&output.stdout));
}

#[test]
fn an_envelope_of_a_form_of_its_own_proves_no_command_and_breaks_no_rule() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    log.has_foreign_envelopes = true;
    let id = log.run_of("make test");
    log.write(&place.log);
    let output = place.holdpoint(&["verify"]);
    let verdict = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(status(&output), 0, "{verdict}");
    assert!(verdict.contains("not compared: 1 of the commands"), "{verdict}");
    for (words, mark) in [
        (&["runs"][..], "  ? make test"),
        (&["runs", "--json"], "\"command_claimed\":true"),
        (&["show", &id], "command?:\n| make test"),
    ] {
        let output = place.holdpoint(words);
        let shown = text(&output.stdout);
        assert_eq!(status(&output), 0, "{shown}");
        assert!(shown.contains(mark) && !shown.contains("hashed"), "{shown}");
    }
}

#[test]
fn the_bytes_that_were_hashed_are_shown_and_a_terminal_does_not_act_on_them() {
    let place = Place::new();
    assert_eq!(status(&place.holdpoint(&["run", "--", "true", "\u{1b}[2J"])), 0);
    let json = |words: &[&str]| -> Value {
        serde_json::from_str(&text(&place.holdpoint(words).stdout)).unwrap()
    };
    let run = json(&["show", "@", "--json"]);
    let hash = run["execution_loop"]["instruction_envelope_hash"].as_str().unwrap();
    let output = place.holdpoint(&["show", "@", "--envelope"]);
    assert_eq!((status(&output), sha256(&output.stdout).to_string().as_str()), (0, hash));
    let shown = json(&["show", "@", "--envelope", "--json"]);
    assert_eq!((&shown["sha256"], &shown["run"]), (&json!(hash), &run["run"]));
    assert_eq!(shown["length"], output.stdout.len());
    let terminal = Terminal::sized(&place, (200, 80), &["show", "@", "--envelope"]).end().1;
    assert!(terminal.contains("holdpoint/e1") && !terminal.contains("\u{1b}[2J"), "{terminal:?}");
    assert_eq!(status(&place.holdpoint(&["show", "LOOP-0123456789", "--envelope"])), 3);
    let (forged, id) = doctored(32, "instruction_envelope_hash").unwrap();
    let output = forged.holdpoint(&["show", &id, "--envelope"]);
    assert_eq!((status(&output), text(&output.stdout).as_str()), (6, ""));
    assert!(text(&output.stderr).contains("log loop="), "{}", text(&output.stderr));
}
