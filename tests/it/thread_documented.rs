//! `docs/interruption-threads.md` is true: its conversation really happens, and its tables are
//! those of the code.

use crate::apply_support::{answers, apply};
use crate::program::{Place, text};
use crate::session::blocks;
use holdpoint_domain::interruption_thread::{IntentClass, PendingState, ReasonCode, RowPayload};
use holdpoint_domain::registration::{
    LeaseStatus, RegistrationStatus, SessionStatus, WorkOrderStatus,
};
use holdpoint_domain::world::REGISTRY;
use holdpoint_engine::shell::user_name;
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

const DOCUMENT: &str = include_str!("../../docs/interruption-threads.md");

fn lines(block: &str) -> Vec<Value> {
    block.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The rows of the table below this header, cell by cell.
fn table(header: &str) -> Vec<Vec<&'static str>> {
    let from = DOCUMENT.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let rows = from.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Everything in backticks.
fn codes(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// A story without its times.
fn masked(story: &str) -> String {
    story.lines().map(|line| masked_line(line) + "\n").collect()
}

fn masked_line(line: &str) -> String {
    let is_time = |word: &str| word.len() == 24 && word.ends_with('Z') && word.contains('T');
    let words = line.split(' ').map(|word| if is_time(word) { "TIME" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_conversation_is_what_really_happens() {
    let [setup, talk, planned] = blocks(DOCUMENT, "json")[..] else {
        panic!("three blocks of lines")
    };
    let place = Place::new();
    let setup = setup.replace("grace", &user_name());
    let set = answers(&apply(&place, &lines(&setup)));
    assert!(set.iter().all(|answer| answer["receipt"].is_object()), "{set:#?}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let said = answers(&apply(&place, &lines(&talk.replace("NOW", &now.to_string()))));
    let (late, turns) = said.split_last().unwrap();
    assert_eq!(late["refusal"]["code"], "X_FAIL_TURN_ORDER", "{late}");
    for answer in turns {
        let receipt = &answer["receipt"];
        assert_eq!(receipt["audit_event_id"], receipt["last_sequence"], "{answer}");
    }
    let story = text(&place.holdpoint(&["thread", "show", "--story", "talk-1"]).stdout);
    assert_eq!(masked(&story), masked(blocks(DOCUMENT, "text")[0]), "really:\n{story}");
    let planned = answers(&apply(&place, &lines(planned)));
    assert_eq!(planned[0]["receipt"]["plan"]["execute_allowed"], false, "{planned:#?}");
    assert_eq!(planned[1]["receipt"]["turn"]["response_text"], "It is noon.", "{planned:#?}");
    place.verified();
}

#[test]
fn every_reason_code_has_the_documented_number() {
    let rows = table("| name | number |");
    assert_eq!(rows.len(), ReasonCode::ALL.len());
    for (row, code) in rows.iter().zip(ReasonCode::ALL) {
        assert_eq!(codes(row[0]), [code.name()]);
        assert_eq!(codes(row[1]), [format!("0x{:08X}", code.number())]);
    }
}

#[test]
fn the_reference_s_two_registries_are_told_apart() {
    let rows = table("| name | number |");
    let own: Vec<&str> = rows.iter().flat_map(|row| codes(row[1])).collect();
    for column in [2, 3] {
        let mut theirs: Vec<&str> = rows.iter().flat_map(|row| codes(row[column])).collect();
        assert_eq!(theirs.len(), 28);
        assert!(theirs.iter().all(|number| !own.contains(number)));
        theirs.sort_unstable();
        theirs.dedup();
        assert_eq!(theirs.len(), 28, "within one copy a number means one thing");
    }
    let meaning = |column: usize| rows.iter().find(|row| row[column].contains("0x5800001C"));
    assert_eq!(codes(meaning(2).unwrap()[0]), ["X_INTERRUPT_DISCARD"]);
    assert_eq!(codes(meaning(3).unwrap()[0]), ["X_INTERRUPT_RELATION_UNCERTAIN_CLARIFY"]);
}

#[test]
fn every_closed_set_is_documented_whole() {
    let names = [
        RegistrationStatus::ALL.iter().map(|one| one.name()).collect::<Vec<_>>(),
        SessionStatus::ALL.iter().map(|one| one.name()).collect(),
        WorkOrderStatus::ALL.iter().map(|one| one.name()).collect(),
        LeaseStatus::ALL.iter().map(|one| one.name()).collect(),
        PendingState::ALL.iter().map(|one| one.name()).collect(),
        IntentClass::ALL.iter().map(|one| one.name()).collect(),
    ];
    let documented: Vec<Vec<&str>> =
        table("| set | values |").iter().map(|row| codes(row[1])).collect();
    assert_eq!(documented, names);
}

#[test]
fn every_event_is_documented_with_its_kind() {
    let documented: Vec<(String, &str)> = table("| kind | event |")
        .iter()
        .map(|row| (row[0].to_string(), codes(row[1])[0]))
        .collect();
    let of_threads = REGISTRY.iter().filter(|kind| kind.system == "interruption_thread");
    let found: Vec<(String, &str)> =
        of_threads.map(|kind| (kind.kind.to_string(), kind.name)).collect();
    assert_eq!(documented, found);
}

#[test]
fn every_payload_key_is_documented() {
    let (_, rows) = DOCUMENT.split_once("## Rows\n").unwrap();
    assert_eq!(codes(rows)[..RowPayload::KEYS.len()], RowPayload::KEYS);
}

#[test]
fn every_reason_of_a_committed_turn_is_in_the_branch_table() {
    let rows = table("| # | when |");
    let named: Vec<&str> = rows.iter().flat_map(|row| codes(row[2])).collect();
    // Given by the rules elsewhere, or left to callers' rows.
    let elsewhere = [
        ReasonCode::ResumeContinue,
        ReasonCode::ResumeMoreDetail,
        ReasonCode::ConfirmAnswerInvalid,
        ReasonCode::InterruptSwitchTopic,
        ReasonCode::BufferExpired,
        ReasonCode::ReturnCheckExpired,
        ReasonCode::SessionClosed,
        ReasonCode::ThreadClosed,
        ReasonCode::NestingLimit,
        ReasonCode::PlanLapsed,
        ReasonCode::PlanReplaced,
        ReasonCode::PlanPassedBy,
    ];
    for code in ReasonCode::ALL.iter().filter(|code| !code.is_refusal()) {
        assert_eq!(named.contains(&code.name()), !elsewhere.contains(code), "{code}");
    }
}
