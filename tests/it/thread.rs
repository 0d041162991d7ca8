//! Promises of `thread`, `thread list --health` and the lines of `apply` about interruption
//! threads.

use crate::apply_support::{answers, apply};
use crate::filler::fill;
use crate::program::{Place, contents, json, status, text};
use crate::thread_support::{
    LEASE, accepted, chat, interrupted, interruption, interruption_at, line, scope, setting, talk,
    turn,
};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::interruption_thread::RowPayload;
use holdpoint_domain::{ActorId, Command};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{Clock, EngineOptions, Origin, Reading};
use holdpoint_log_files::DirectoryStorage;
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const TEXT: &str = "It is sunny today. Tomorrow it rains.";

/// A place with one interrupted thread.
fn one() -> Place {
    let place = Place::new();
    interrupted(&place, "acme", "talk", TEXT);
    place
}

fn shown(place: &Place, arguments: &[&str]) -> String {
    let output = place.holdpoint(arguments);
    assert_eq!(status(&output), 0, "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn read(place: &Place, arguments: &[&str]) -> Value {
    json(&place.holdpoint(&[arguments, &["--json"]].concat()))
}

/// How many records there are, and how many of this kind.
fn recorded(place: &Place, kind: &str) -> (usize, usize) {
    let lines = |arguments: &[&str]| shown(place, arguments).lines().count();
    (lines(&["log"]), lines(&["log", &format!("kind={kind}")]))
}

#[test]
fn the_state_shows_what_was_left_unsaid_to_whom_and_until_when() {
    let place = one();
    let state = shown(&place, &["thread", "show", "talk"]);
    for words in [
        "newest          turn 2: Speech stops; the next turn says what for (WAIT \
         X_INTERRUPT_CANCEL)\nchanged         record 10",
        "waits for       nothing\n",
        "speaker         ada",
        "unsaid          of turn 2, to ada, answer 41, topic weather",
        "was said      \"I\"",
        "remainder     \"t is sunny today. Tomorrow it rains.\"",
    ] {
        assert!(state.contains(words), "{words}: {state}");
    }
    let kept = state.lines().find(|line| line.contains("kept until")).unwrap();
    assert!(kept.contains(", in ") || kept.ends_with(" ago"), "{kept}");
    let thread = read(&place, &["thread", "show", "talk"]);
    let buffer = &thread["resume_buffers"][0];
    assert_eq!(buffer["unsaid_remainder"], "t is sunny today. Tomorrow it rains.");
    assert_eq!((&thread["last_turn_id"], &thread["version"]), (&json!(2), &json!(10)));
}

#[test]
fn a_thread_and_what_is_registered_are_found_by_the_names_that_are_printed() {
    let place = one();
    for name in ["talk", "acme/talk", "acme", "acme/ada", "acme/kitchen/ada"] {
        let output = place.holdpoint(&["log", &format!("entity={name}")]);
        assert_eq!(status(&output), 0, "{name}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{name}");
    }
    let missing = place.holdpoint(&["log", "entity=acme/nobody"]);
    assert_eq!(status(&missing), 3);
}

#[test]
fn the_state_is_shown_as_it_was_after_any_record() {
    let place = one();
    let before = shown(&place, &["thread", "show", "talk", "--at", "8"]);
    let newest = "turn 1: An answer in words (RESPOND X_NLP_CHAT)\nchanged         record 8\n";
    assert!(before.contains(newest), "{before}");
    assert!(!before.contains("unsaid"), "{before}");
    let then = shown(&place, &["thread", "show", "talk", "--at", "10"]);
    assert!(then.contains("Z, in 1m\n"), "as seen from the record's own time: {then}");
    let now = read(&place, &["thread", "show", "talk"]);
    assert_eq!(read(&place, &["thread", "show", "talk", "--at", "10"]), now);
    let inside_a_batch = read(&place, &["thread", "show", "talk", "--at", "9"]);
    assert_eq!(inside_a_batch["version"], 8);
    assert_eq!((&now["state_after_record"], &now["state_note"]), (&json!(10), &Value::Null));
    let early = place.holdpoint(&["thread", "show", "talk", "--at", "6"]);
    assert_eq!(status(&early), 3, "{}", text(&early.stderr));
}

#[test]
fn a_state_that_is_not_the_asked_record_s_says_so_and_why() {
    let place = one();
    let batch = "record 9 is part of a batch that ends with record 10: \
                 shown is the state after record 8";
    let beyond = "record 11 is not there, or cannot be read: shown is the state after record 10";
    for (at, after, note) in [("9", 8, batch), ("11", 10, beyond)] {
        let state = shown(&place, &["thread", "show", "talk", "--at", at]);
        assert!(state.contains(note), "{state}");
        let state = read(&place, &["thread", "show", "talk", "--at", at]);
        assert_eq!(
            (&state["state_after_record"], &state["state_note"]),
            (&json!(after), &json!(note))
        );
    }
    let state = shown(&place, &["thread", "show", "talk", "--at", "10"]);
    assert!(state.ends_with("shown           the state after record 10\n"), "{state}");
}

#[test]
fn tenants_with_the_same_correlation_see_nothing_of_each_other() {
    let place = Place::new();
    interrupted(&place, "acme", "talk", "alpha secret of acme");
    // The caller has the capability already.
    let mut of_other = setting("umbrella", "talk").split_off(1);
    of_other.extend(talk("umbrella", "talk", "beta secret of umbrella"));
    accepted(&place, &of_other);
    for form in [&[][..], &["--rows"], &["--story"]] {
        let output = place.holdpoint(&[&["thread", "show", "talk"], form].concat());
        let said = text(&output.stderr);
        assert_eq!((status(&output), text(&output.stdout).as_str()), (4, ""), "{said}");
        assert!(said.contains("acme, umbrella"), "{said}");
        for (ours, theirs) in [("acme", "umbrella"), ("umbrella", "acme")] {
            for options in [&[][..], &["--json"]] {
                let name = format!("{ours}/talk");
                let all = shown(&place, &[&["thread", "show", &name], form, options].concat());
                assert!(all.contains(ours) && !all.contains(theirs), "{form:?}: {all}");
            }
        }
    }
    for verb in [&["thread", "list"][..], &["thread", "list", "--health"]] {
        let ours = shown(&place, &[verb, &["tenant=acme"]].concat());
        assert!(ours.contains("acme") && !ours.contains("umbrella"), "{ours}");
    }
    let nobody = place.holdpoint(&["thread", "show", "other/talk"]);
    assert_eq!(status(&nobody), 3);
}

#[test]
fn a_stranger_who_is_refused_makes_no_name_ambiguous() {
    let place = one();
    let stranger = turn("other", "talk", 9, chat("x"));
    let found = answers(&apply(&place, &[stranger]));
    assert_eq!(found[0]["refusal"]["code"], "X_FAIL_TENANT_SCOPE_INVALID", "{found:#?}");
    assert!(shown(&place, &["thread", "show", "talk"]).contains("acme"));
    let rows = read(&place, &["thread", "show", "--rows", "other/talk"]);
    assert_eq!(rows[0]["refused"]["class"], "SCOPE", "{rows:#}");
    assert_eq!(rows.as_array().unwrap().len(), 1);
}

#[test]
fn rows_have_the_payload_keys_of_the_design_and_the_reason_verbatim() {
    let place = one();
    let late = line("wait_commit_row", {
        let mut body = scope("acme", "talk", 2);
        body["wait_kind"] = "X".into();
        body["reason_code"] = "X_INTERRUPT_CANCEL".into();
        body["idempotency_key"] = "late".into();
        body
    });
    answers(&apply(&place, &[late]));
    let rows = read(&place, &["thread", "show", "--rows", "talk"]);
    let [answered, waits, refused] = &rows.as_array().unwrap()[..] else { panic!("{rows:#}") };
    for row in [answered, waits] {
        let keys = row["payload"].as_object().unwrap().keys();
        assert!(keys.into_iter().all(|key| RowPayload::KEYS.contains(&key.as_str())), "{row:#}");
    }
    assert_eq!(answered["payload"]["directive"], "respond");
    assert_eq!(answered["reason_code"], "X_NLP_CHAT");
    assert_eq!(answered["reason_number"], 0x4858_0005);
    assert_eq!((&waits["audit_event_id"], &waits["event_type"]), (&json!(10), &json!("Other")));
    assert!(waits["payload"].get("lease_token_hash").is_none());
    assert_eq!(refused["reason_code"], "X_FAIL_TURN_ORDER");
    assert_eq!(refused["refused"]["directive"], "wait");
    let table = shown(&place, &["thread", "show", "--rows", "talk"]);
    assert_eq!(table.lines().count(), 5);
    assert!(table.contains("refused: wait") && table.contains("X_FAIL_TURN_ORDER"), "{table}");
}

#[test]
fn only_the_diagnostic_form_writes_and_it_writes_one_event() {
    let place = one();
    let before = contents(&place.log);
    for arguments in [
        &["thread", "show", "--rows", "talk"][..],
        &["thread", "show", "talk"],
        &["thread", "show", "--story", "talk"],
        &["thread", "list"],
        &["thread", "list", "--health"],
    ] {
        shown(&place, arguments);
        read(&place, arguments);
    }
    assert_eq!(contents(&place.log), before);
    let (records, _) = recorded(&place, "interruption_thread.rows_read");
    let plain = shown(&place, &["thread", "show", "--rows", "talk"]);
    let reader = "AUTOMATION:selene-os";
    let output =
        place.holdpoint(&["thread", "show", "--rows", "talk", "--diagnostic", "--as", reader]);
    assert_eq!((status(&output), text(&output.stdout)), (0, plain), "{}", text(&output.stderr));
    let said = format!("record {} says that AUTOMATION selene-os reads", records + 1);
    assert!(text(&output.stderr).contains(&said), "{}", text(&output.stderr));
    assert_eq!(recorded(&place, "interruption_thread.rows_read"), (records + 1, 1));
    place.verified();
}

#[test]
fn whoever_lacks_the_capability_reads_nothing_in_the_diagnostic_form() {
    let place = one();
    let output =
        place.holdpoint(&["thread", "show", "--rows", "talk", "--diagnostic", "--as", "HUMAN:eve"]);
    assert_eq!((status(&output), text(&output.stdout).as_str()), (5, ""));
    assert!(text(&output.stderr).contains("X_FAIL_CALLER_NOT_ALLOWED"));
    for bad in [&["--as", "HUMAN:eve"][..], &["--diagnostic", "--as", "SYSTEM:holdpoint"]] {
        let output = place.holdpoint(&[&["thread", "show", "--rows", "talk"], bad].concat());
        assert_eq!(status(&output), 2, "{bad:?}");
    }
    assert_eq!(recorded(&place, "interruption_thread.rows_read").1, 0);
}

#[test]
fn nothing_there_unknown_threads_and_damage_have_exit_codes_of_their_own() {
    let verbs = [
        &["thread", "show", "talk"][..],
        &["thread", "show", "--rows", "talk"],
        &["thread", "show", "--rows", "talk", "--diagnostic"],
        &["thread", "show", "--story", "talk"],
    ];
    let (nothing, unknown, damaged) = (Place::new(), Place::new(), one());
    accepted(&unknown, &setting("acme", "talk"));
    flip(&damaged);
    for (place, exit) in [(&nothing, 3), (&unknown, 3), (&damaged, 6)] {
        for verb in verbs {
            for json in [&[][..], &["--json"]] {
                let output = place.holdpoint(&[verb, json].concat());
                assert_eq!(status(&output), exit, "{verb:?}: {}", text(&output.stderr));
            }
        }
    }
    // A list of nothing is an empty list, where there is a log to know that from.
    for (place, list, health) in [(&nothing, 3, 3), (&unknown, 0, 0), (&damaged, 6, 6)] {
        assert_eq!(status(&place.holdpoint(&["thread", "list"])), list);
        assert_eq!(status(&place.holdpoint(&["thread", "list", "--health"])), health);
    }
    assert_eq!(json(&unknown.holdpoint(&["thread", "list", "--json"])), json!([]));
    assert!(!nothing.log.exists());
}

/// Changes a byte of the first record's payload.
fn flip(place: &Place) {
    let path = place.log.join("segments/00000000000000000001.seg");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(14).position(|window| window == b"SELENE_OS_ONLY").unwrap_or(300);
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
}

#[test]
fn hostile_text_is_shown_and_steers_nothing() {
    let place = Place::new();
    let hostile = "I\u{202e}evil\u{2066}\n\ttext \\ of mine";
    interrupted(&place, "acme", "talk", hostile);
    for form in [&[][..], &["--story"]] {
        let all = shown(&place, &[&["thread", "show", "talk"], form].concat());
        assert!(all.contains("\\u{202e}evil\\u{2066}\\u{a}\\u{9}text \\\\ of mine"), "{all}");
        assert!(all.chars().all(|c| c == '\n' || !c.is_control()), "{all:?}");
        assert!(!all.contains(['\u{202e}', '\u{2066}']), "{all:?}");
        let program = shown(&place, &[&["thread", "show", "talk", "--json"], form].concat());
        assert!(program.is_ascii(), "{program}");
    }
}

/// 2026-01-25T16:00:00Z.
const THEN: u64 = 1_769_356_800_000_000_000;

/// A clock that stands still until it is moved.
struct Standing(Arc<AtomicU64>);

impl Clock for Standing {
    fn now(&self) -> Reading {
        let wall_ns = self.0.load(Ordering::Relaxed);
        Reading { wall_ns, since_boot_ns: wall_ns - THEN }
    }
}

pub(crate) fn submit(engine: &Engine, line: &Value) {
    let command: Command = serde_json::from_value(line["submit"].clone()).unwrap();
    let is_person = line["actor"]["kind"] == "HUMAN";
    let kind = if is_person { Actor::Human } else { Actor::Automation };
    let actor = ActorId { kind, id: line["actor"]["id"].as_str().unwrap().into() };
    let correlation = command.thread().map_or("setting", |(_, correlation)| correlation).into();
    let origin = Origin { actor, correlation, causation: None };
    let submitted = engine.submit(&origin, (), &command).unwrap();
    assert!(submitted.receipt().is_some(), "{submitted:?}");
}

/// One thread that was interrupted then, and the engine that wrote it.
pub(crate) fn interrupted_then(place: &Place) -> (Engine, Arc<AtomicU64>) {
    let clock = Arc::new(AtomicU64::new(THEN));
    let standing = Box::new(Standing(Arc::clone(&clock)));
    let options = EngineOptions::simulated().clock(standing);
    let engine = Engine::open_with(DirectoryStorage::new(&place.log), options).unwrap();
    let mut lines = setting("acme", "talk");
    lines.push(turn("acme", "talk", 1, chat(TEXT)));
    lines.push(turn("acme", "talk", 2, interruption_at(THEN, TEXT, 18)));
    lines.iter().for_each(|line| submit(&engine, line));
    (engine, clock)
}

#[test]
fn what_expired_is_in_the_story_and_what_nobody_recorded_yet_is_shown_as_gone() {
    let place = Place::new();
    let (engine, clock) = interrupted_then(&place);
    let state = shown(&place, &["thread", "show", "talk"]);
    assert!(!state.contains("unsaid") && !state.contains("kept until"), "{state}");
    clock.store(THEN + 61_500_000_000, Ordering::Relaxed);
    engine.expire().unwrap();
    engine.close().unwrap();
    let story = shown(&place, &["thread", "show", "--story", "talk"]);
    let expired = "2026-01-25T16:01:01.500Z  remainder expired 2026-01-25T16:01:00.000Z\n          \
                   because     X_BUFFER_EXPIRED, DISCARD\n          \
                   remainder   of turn 2, to ada: DISCARDED";
    assert!(story.contains(expired), "{story}");
    assert!(!shown(&place, &["thread", "show", "talk"]).contains("unsaid"));
    assert!(shown(&place, &["thread", "show", "talk", "--at", "10"]).contains("unsaid"));
}

#[test]
fn whoever_records_deadlines_is_shown_those_of_threads() {
    let place = Place::new();
    interrupted_then(&place).0.close().unwrap();
    let expired = read(&place, &["decision", "expire"]);
    let [one] = &expired.as_array().unwrap()[..] else { panic!("{expired:#}") };
    assert_eq!(one["kind"], "interruption_thread.buffer_expired");
    assert_eq!((&one["tenant_id"], &one["correlation_id"]), (&json!("acme"), &json!("talk")));
    assert_eq!(one["due_at"], "2026-01-25T16:01:00.000000000Z");
    assert!(
        shown(&place, &["thread", "show", "--story", "talk"])
            .contains("of turn 2, to ada: DISCARDED")
    );
    place.verified();
}

#[test]
fn a_thread_whose_records_were_archived_keeps_its_state_and_its_story() {
    let place = one();
    let before = read(&place, &["thread", "show", "talk"]);
    fill(&place.log, 40);
    shown(&place, &["archive", "archive"]);
    let after = read(&place, &["thread", "show", "talk"]);
    assert_eq!((&after["state"], &after["version"]), (&before["state"], &before["version"]));
    for form in [&["--rows"][..], &["--story"]] {
        let output =
            place.holdpoint(&[&["thread", "show", "talk", "--archive=none"], form].concat());
        assert_eq!(status(&output), 3, "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("archive"), "{}", text(&output.stderr));
        for more in [&[][..], &["--log", "archive"]] {
            let told = place.holdpoint(&[&["thread", "show", "talk"], form, more].concat());
            assert_eq!(status(&told), 0, "{}", text(&told.stderr));
            assert!(text(&told.stdout).contains("turn-2"), "{}", text(&told.stdout));
        }
    }
}

#[test]
fn a_story_tells_refusals_and_the_end() {
    let place = one();
    let thread = json!({ "tenant_id": "acme", "correlation_id": "talk" });
    accepted(&place, &[line("close", thread)]);
    let after = turn("acme", "talk", 3, chat("too late"));
    let found = answers(&apply(&place, &[after]));
    assert_eq!(found[0]["refusal"]["code"], "X_FAIL_THREAD_CLOSED", "{found:#?}");
    let story = shown(&place, &["thread", "show", "--story", "talk"]);
    for words in [
        "spoken      answer 41: \"I\" | unsaid \"t is sunny today.",
        "remainder   of turn 2, to ada: CAPTURED, INTERRUPTED",
        "X_THREAD_CLOSED\n          remainder   of turn 2, to ada: DISCARDED, THREAD_CLOSED",
        "thread ended",
        "turn 3 of ada on kitchen refused, key turn-3\n          \
         asked by    selene-os (automation, name not proven)\n          because     ",
    ] {
        assert!(story.contains(words), "{words}: {story}");
    }
    let list = shown(&place, &["thread", "list"]);
    assert!(list.lines().nth(1).unwrap().contains("ended"), "{list}");
    let lines = read(&place, &["thread", "show", "--story", "talk"]);
    let kinds: Vec<&str> =
        lines.as_array().unwrap().iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.last(), Some(&"interruption_thread.row_refused"));
    assert!(kinds.contains(&"interruption_thread.thread_closed"));
    place.verified();
}

#[test]
fn a_story_tells_what_a_refused_turn_did_not_keep() {
    let place = one();
    let again = turn("acme", "talk", 2, interruption(TEXT, 18));
    let mut other_key = again;
    other_key["submit"]["idempotency_key"] = "again".into();
    let mut other_words = other_key.clone();
    other_words["submit"]["idempotency_key"] = "other".into();
    other_words["submit"]["request"]["tts_resume_snapshot"]["answer_id"] = 42.into();
    let found = answers(&apply(&place, &[other_key, other_words]));
    assert_eq!(found[0]["refusal"]["code"], "X_FAIL_TURN_ORDER", "{found:#?}");
    let kept = "remainder   of turn 2, to ada: KEPT_FOR_LATER, STILL_KEPT";
    let gone = "remainder   of turn 2, to ada: DISCARDED, TURN_REFUSED";
    let story = shown(&place, &["thread", "show", "--story", "talk"]);
    assert!(story.contains(kept) && story.contains(gone), "{story}");
    let rows = read(&place, &["thread", "show", "--rows", "talk"]);
    for (row, reason, policy) in [(2, "STILL_KEPT", "RESUME_LATER"), (3, "TURN_REFUSED", "DISCARD")]
    {
        let refused = &rows[row]["refused"];
        assert_eq!(refused["remainders"][0]["reason"], reason, "{rows:#}");
        assert_eq!(refused["interrupt_resume_policy"], policy, "{rows:#}");
    }
    let log = shown(&place, &["log", "kind=interruption_thread.row_refused"]);
    let summary = "turn 2 of ada on kitchen: interruption_thread.take_turn refused";
    assert!(log.contains(summary) && log.contains("to ada: DISCARDED, TURN_REFUSED"), "{log}");
}

#[test]
fn a_story_tells_what_a_caller_s_row_gives_up() {
    let place = Place::new();
    accepted(&place, &setting("acme", "talk"));
    let intent = json!({ "subject_ref": "lights",
        "input": { "INTENT": { "intent_type": "LIGHTS_OFF", "class": "IMPACTFUL" } } });
    let mut respond = scope("acme", "talk", 2);
    respond["pending_state"] = "CONFIRM".into();
    respond["response_kind"] = "TIMEOUT".into();
    respond["reason_code"] = "X_CONFIRM_NO_ABORT".into();
    accepted(&place, &[turn("acme", "talk", 1, intent), line("respond_commit_row", respond)]);
    let story = shown(&place, &["thread", "show", "--story", "talk"]);
    let row = "row of turn 2 by its caller, ada: RESPOND X_CONFIRM_NO_ABORT, key turn-2\n          \
               gives up    CONFIRM\n";
    assert!(story.contains(row), "{story}");
    let rows = read(&place, &["thread", "show", "--rows", "talk"]);
    assert_eq!(rows[1]["dropped_pending"], "CONFIRM", "{rows:#}");
}

#[test]
fn a_story_tells_what_became_of_the_thread_s_sessions() {
    let place = Place::new();
    let in_session = |mut line: Value| {
        line["submit"]["session_id"] = "s-1".into();
        line
    };
    let mut lines = setting("acme", "talk");
    lines.extend([session("s-1", "ACTIVE"), session("s-2", "ACTIVE"), session("s-2", "SUSPENDED")]);
    lines.extend(talk("acme", "talk", TEXT).map(in_session));
    let changes = [("s-1", "SUSPENDED"), ("s-2", "CLOSED"), ("s-1", "ACTIVE"), ("s-1", "CLOSED")];
    lines.extend(changes.map(|(name, status)| session(name, status)));
    accepted(&place, &lines);
    let story = shown(&place, &["thread", "show", "--story", "talk"]);
    let told =
        story.lines().filter_map(|line| line.split_once("Z  session ")).map(|(_, told)| told);
    let told: Vec<&str> = told.collect();
    let expected = ["SUSPENDED", "ACTIVE", "CLOSED"].map(|s| format!("s-1 of ada on kitchen: {s}"));
    assert_eq!(told, expected, "{story}");
    let closed = "X_SESSION_CLOSED, session s-1\n          \
                  remainder   of turn 2, to ada: DISCARDED, SESSION_CLOSED";
    assert!(story.contains(closed), "{story}");
    let lines = read(&place, &["thread", "show", "--story", "talk"]);
    let kinds = lines.as_array().unwrap().iter().map(|line| line["kind"].as_str().unwrap());
    let of_sessions = kinds.filter(|kind| *kind == "interruption_thread.session_registered");
    assert_eq!(of_sessions.count(), 3);
}

fn session(name: &str, status: &str) -> Value {
    line(
        "register_session",
        json!({ "tenant_id": "acme", "session_id": name, "user_id": "ada",
        "device_id": "kitchen", "status": status }),
    )
}

#[test]
fn health_shows_the_newest_outcome_of_each_issue() {
    let place = one();
    let back = json!({ "subject_ref": "dinner", "interrupt_subject_relation": "SWITCH",
        "interrupt_subject_relation_confidence_bp": 7000,
        "input": { "CHAT": { "response_text": "At eight." } } });
    accepted(&place, &[turn("acme", "talk", 3, back)]);
    let report = read(&place, &["thread", "list", "--health"]);
    let row = &report["rows"][0];
    assert_eq!(row["owner_engine_id"], "PH1.X");
    assert_eq!(row["latest_reason_code"], "X_INTERRUPT_RETURN_CHECK_ASKED");
    assert_eq!(row["issue_fingerprint"], "topic:weather");
    assert_eq!(row["occurrences"], 2);
    assert_eq!(report["rows"].as_array().unwrap().len(), 1);
    let table = shown(&place, &["thread", "list", "--health"]);
    assert!(table.lines().nth(1).unwrap().starts_with("PH1.X            acme    topic:weather"));
}

#[test]
fn a_tool_s_answer_is_rendered_without_a_log() {
    let place = Place::new();
    let request = json!({ "output_mode": "text", "reason_code": "X_TOOL_OK", "tool_response": {
        "request_id": "TOOL-5", "tool_name": "clock", "status": "OK", "summary": "It is noon.",
        "sources": [{ "title": "Clock", "url": "https://clock.example/" }],
        "retrieved_at": "2026-01-25T16:00:00Z" } });
    let file = place.directory.path().join("request");
    fs::write(&file, request.to_string()).unwrap();
    let path = file.to_str().unwrap();
    let said = shown(&place, &["thread", "render", path]);
    assert!(said.contains("It is noon.") && said.contains("https://clock.example/"), "{said}");
    let rendered = read(&place, &["thread", "render", path]);
    assert_eq!(rendered["reason_code"], "X_TOOL_OK");
    assert_eq!(rendered["source_list"].as_array().unwrap().len(), 1);
    assert!(rendered["retrieved_at"].is_string() && rendered["response_text"].is_string());
    for (name, value) in [("output_mode", json!("smoke")), ("x", json!(1)), ("locale", json!("?"))]
    {
        let mut bad = request.clone();
        bad[name] = value;
        fs::write(&file, bad.to_string()).unwrap();
        let output = place.holdpoint(&["thread", "render", path]);
        assert_eq!(status(&output), 2, "{name}: {}", text(&output.stderr));
    }
    assert!(!place.log.exists());
}

#[test]
fn a_line_about_a_thread_belongs_to_the_thread_s_own_story() {
    let place = Place::new();
    let mut lines = setting("acme", "talk");
    let other = |name: &str, value: Value| {
        let mut line = turn("acme", "talk", 1, chat(TEXT));
        line[name] = value;
        line
    };
    let key = json!({ "tenant": "acme", "engine": "PH1.X", "key": "turn-1" });
    lines.extend([
        other("correlation", "elsewhere".into()),
        other("idempotency", key),
        other("correlation", "talk".into()),
        turn("acme", "talk", 1, chat(TEXT)),
    ]);
    let found = answers(&apply(&place, &lines));
    let [elsewhere, keyed, first, again] = &found[5..] else { panic!("{found:#?}") };
    assert_eq!(elsewhere["error"]["field"], "correlation");
    let message = elsewhere["error"]["message"].as_str().unwrap();
    assert!(message.contains("\"talk\"") && message.contains("\"elsewhere\""), "{message}");
    assert_eq!(keyed["error"]["field"], "idempotency");
    assert_eq!(first["receipt"]["turn"]["directive"], "RESPOND", "{found:#?}");
    assert_eq!(first["receipt"]["audit_event_id"], 8);
    assert_eq!(again["receipt"]["repeated"], true);
    assert_eq!(again["receipt"]["turn"], first["receipt"]["turn"]);
    let story = shown(&place, &["log", "correlation=talk"]);
    assert_eq!(story.lines().count(), 2);
}

#[test]
fn a_lease_s_token_is_never_taken_only_its_hash() {
    let place = one();
    let lease = json!({ "tenant_id": "acme", "work_order_id": "wo-1", "status": "ACTIVE",
        "expires_at": "2100-01-01T00:00:00Z", "lease_token_hash": LEASE });
    let mut with_token = lease.clone();
    with_token["lease_token"] = "hunter2".into();
    let mut no_hash = lease.clone();
    no_hash["lease_token_hash"] = "hunter2".into();
    let lines = [with_token, no_hash, lease].map(|body| line("register_lease", body));
    let found = answers(&apply(&place, &lines));
    assert_eq!(found[0]["error"]["field"], "submit.lease_token", "{found:#?}");
    assert_eq!(found[1]["error"]["field"], "submit.lease_token_hash", "{found:#?}");
    assert!(found[2]["receipt"].is_object(), "{found:#?}");
    let everything: Vec<u8> = contents(&place.log).into_values().flatten().collect();
    assert!(!everything.windows(7).any(|window| window == b"hunter2"));
}

#[test]
fn a_snapshot_that_cannot_be_resumed_from_is_refused_with_its_field() {
    let place = Place::new();
    accepted(&place, &setting("acme", "talk"));
    let before = recorded(&place, "interruption_thread");
    let whole = turn("acme", "talk", 1, interruption(TEXT, TEXT.len()));
    let found = answers(&apply(&place, &[whole]));
    let refusal = &found[0]["refusal"];
    assert_eq!(refusal["code"], "MALFORMED_REQUEST", "{found:#?}");
    assert!(refusal["message"].as_str().unwrap().contains("tts_resume_snapshot"), "{refusal}");
    assert_eq!(recorded(&place, "interruption_thread"), before);
}
