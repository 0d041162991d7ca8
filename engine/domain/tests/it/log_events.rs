//! What happened to the log itself is recorded as its writer says, where the state does not
//! contradict it, and changes no other state.

use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::payload::{Raw, RawData};
use holdpoint_domain::execution_loop::ExecutionLoopState;
use holdpoint_domain::log::{
    ClockStepped, ConfigurationChanged, HeadMissingAccepted, HistoryArchived, LogCommand,
    RecordsLabelled, RecordsUnproven, RecoveryPerformed, SegmentIndexed, UnprovenReason,
};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{Command, World, WriterCommand};
use holdpoint_testing::story::Story;

const SECOND_NS: i64 = 1_000_000_000;

fn recovery(proven: u64, kept: u64, cut_bytes: u64) -> WriterCommand {
    WriterCommand::RecoveryPerformed(RecoveryPerformed {
        last_proven_sequence: proven,
        last_kept_sequence: kept,
        cut_bytes,
        copied_to: None,
    })
}

fn head_missing(first_sequence: u64, last_sequence: u64) -> WriterCommand {
    let is_end_known = true;
    WriterCommand::HeadMissingAccepted(HeadMissingAccepted {
        first_sequence,
        last_sequence,
        is_end_known,
    })
}

fn step(step_ns: i64) -> WriterCommand {
    WriterCommand::ClockStepped(ClockStepped { step_ns })
}

fn archived(first_sequence: u64, anchor_sequence: u64, state_schema: u32) -> WriterCommand {
    WriterCommand::HistoryArchived(HistoryArchived {
        first_sequence,
        anchor_sequence,
        anchor_link: sha256(b"link"),
        archived_to: "archive".into(),
        state_schema,
        state_fingerprint: sha256(b"state"),
        state: Raw::from(RawData::from(Vec::new())),
    })
}

fn indexed(first_sequence: u64, last_sequence: u64) -> WriterCommand {
    let (format, digest) = (1, sha256(b"index"));
    WriterCommand::SegmentIndexed(SegmentIndexed { first_sequence, last_sequence, format, digest })
}

/// What is so in a log whose newest record is `newest`.
fn so(newest: u64) -> Vec<WriterCommand> {
    vec![
        recovery(0, 0, 1),
        recovery(1, newest, 1),
        recovery(newest, newest, u64::MAX),
        head_missing(1, newest),
        head_missing(1, 0),
        step(SECOND_NS),
        step(i64::MIN),
        archived(1, newest, STATE_SCHEMA_VERSION),
        indexed(1, 1),
        indexed(newest, newest),
    ]
}

/// What is not.
fn not_so(newest: u64) -> Vec<WriterCommand> {
    vec![
        recovery(2, 1, 1),
        recovery(1, newest + 1, 1),
        recovery(1, 1, 0),
        head_missing(1, newest + 1),
        head_missing(3, 1),
        step(SECOND_NS - 1),
        step(0),
        step(1 - SECOND_NS),
        archived(1, newest + 1, STATE_SCHEMA_VERSION),
        archived(3, 1, STATE_SCHEMA_VERSION),
        archived(1, newest, STATE_SCHEMA_VERSION + 1),
        indexed(0, 1),
        indexed(2, 1),
        indexed(1, newest + 1),
        indexed(1, u64::MAX),
    ]
}

/// All that may differ is the count of events.
#[test]
fn what_the_writer_tells_is_recorded_and_changes_no_other_state() {
    let newest = Story::in_state(ExecutionLoopState::Evaluated).world.totals().last_sequence;
    for told in so(newest) {
        let mut story = Story::in_state(ExecutionLoopState::Evaluated);
        let before = parts(&story.world);
        assert_eq!(story.told(&told).len(), 1, "{told:?}");
        assert_eq!(parts(&story.world), before, "{told:?}");
    }
}

#[test]
fn what_the_log_contradicts_is_not_recorded() {
    let mut story = Story::in_state(ExecutionLoopState::Evaluated);
    let before = story.world.clone();
    for told in not_so(before.totals().last_sequence) {
        let refusal = story.tells(&told).unwrap_err();
        assert_eq!(refusal.code(), "CONTRADICTS_LOG", "{told:?}");
        assert!(refusal.to_string().ends_with("nothing was recorded"), "{refusal}");
        assert_eq!(story.world, before);
    }
}

/// The archive would not say of its records that they are unproven: the log does, behind them.
#[test]
fn no_anchor_parts_unproven_records_from_the_event_that_says_so() {
    let mut story = Story::in_state(ExecutionLoopState::Evaluated);
    let (reason, first_sequence) = (UnprovenReason::Damage, 3);
    let unproven = RecordsUnproven { first_sequence, last_sequence: 4, reason };
    assert_eq!(story.record(unproven.into()), []);
    for (anchor, is_refused) in [(2, false), (3, true), (4, true), (5, false)] {
        let told = story.tells(&archived(1, anchor, STATE_SCHEMA_VERSION));
        assert_eq!(told.is_err(), is_refused, "{anchor}");
    }
}

#[test]
fn the_configuration_is_the_newest_that_a_program_told_of() {
    let mut story = Story::in_state(ExecutionLoopState::Evaluated);
    for digest in [Some(sha256(b"one")), Some(sha256(b"two")), None] {
        let before = parts(&story.world);
        story.given(Command::Log(LogCommand::RecordConfiguration(ConfigurationChanged { digest })));
        assert_eq!(story.world.configuration(), digest);
        assert_eq!(parts(&story.world), before);
    }
}

/// Everything that a person may see of a world, but what counts events.
fn parts(world: &World) -> (Vec<String>, Vec<String>) {
    let text = |value: &dyn std::fmt::Debug| format!("{value:?}");
    let loops = world.live_loops().map(|entity| text(entity)).collect();
    let requests = world.open_requests().map(|(_, held)| text(held)).collect();
    (loops, requests)
}

#[test]
fn labels_are_bounded_in_order_and_of_records_before_and_leave_the_state_as_it_is() {
    let labels = |from, labels: &[(&str, &str)]| RecordsLabelled::of(from, labels.iter().copied());
    let mut story = Story::in_state(ExecutionLoopState::Dispatched);
    let fingerprint = |story: &Story| {
        let world = &story.world;
        (world.live_loops().count(), world.streams().count(), world.totals().loops_initialized)
    };
    let (before, newest) = (fingerprint(&story), story.world.totals().last_sequence);
    assert_eq!(story.record(labels(newest, &[("build", "42"), ("env", "prod")]).into()), []);
    assert_eq!(fingerprint(&story), before);
    let long = "x".repeat(257);
    let wrong = [
        labels(newest + 10, &[("a", "1")]),
        labels(0, &[("a", "1")]),
        labels(newest, &[]),
        labels(newest, &[("b", "1"), ("a", "1")]),
        labels(newest, &[("a", "1"), ("a", "2")]),
        labels(newest, &[("", "1")]),
        labels(newest, &[("a", &long)]),
        labels(newest, &[("a\n", "1")]),
    ];
    for body in wrong {
        let found = story.record(body.clone().into());
        assert_eq!(found.first().map(|it| it.rule), Some(Rule::Labels), "{body:?}");
    }
}
