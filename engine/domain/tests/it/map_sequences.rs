//! Which sequences are mapped where records move to another place of their log, and which stay.

use holdpoint_domain::core::actor::{Actor, ActorId};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::log::{
    HeadMissingAccepted, HistoryArchived, LogContinued, RecordsLost, RecoveryPerformed, Salvaged,
    SalvagedRun,
};
use holdpoint_domain::world::Envelope;
use holdpoint_domain::world::Event;

fn mapped(event: Event, causation: Option<u64>) -> Envelope {
    let actor = ActorId { kind: Actor::ALL[0], id: "someone".into() };
    let correlation = "story".into();
    let mut envelope = Envelope {
        clock: None,
        proof: None,
        actor,
        correlation,
        causation,
        idempotency: None,
        event,
    };
    envelope.map_sequences(|sequence| sequence + 1000);
    envelope
}

fn lost() -> RecordsLost {
    RecordsLost {
        source_first_sequence: 5,
        source_last_sequence: 6,
        file: "segments/1.seg".into(),
        offset: 64,
        length: 128,
        copied_to: None,
        problem: "torn".into(),
    }
}

#[test]
fn what_names_a_record_of_the_same_log_is_mapped() {
    assert_eq!(mapped(lost().into(), Some(7)).causation, Some(1007));
    let (first_sequence, last_sequence) = (1, 9);
    let event = HeadMissingAccepted { first_sequence, last_sequence, is_end_known: true }.into();
    let moved =
        HeadMissingAccepted { first_sequence: 1001, last_sequence: 1009, is_end_known: true };
    assert_eq!(mapped(event, None).event, moved.into());
    let recovered = |last_proven_sequence, last_kept_sequence| {
        let (cut_bytes, copied_to) = (3, Some(Text::from("cut/1")));
        Event::from(RecoveryPerformed {
            last_proven_sequence,
            last_kept_sequence,
            cut_bytes,
            copied_to,
        })
    };
    assert_eq!(mapped(recovered(2, 3), None).event, recovered(1002, 1003));
    assert_eq!(mapped(recovered(0, 3), None).event, recovered(0, 1003));
}

#[test]
fn of_a_report_of_salvage_only_the_places_in_this_log_are_mapped() {
    let run = |first_sequence| SalvagedRun {
        source_first_sequence: 3,
        source_last_sequence: 4,
        first_sequence,
    };
    let report = |first: u64| {
        Event::from(Salvaged {
            source_log: "00".into(),
            source_first_sequence: 3,
            source_last_sequence: 4,
            records_kept: 2,
            records_lost: 0,
            bytes_not_kept: 0,
            salvaged_at: Timestamp::default(),
            runs: [run(first), run(first + 1)].into_iter().collect(),
            runs_total: 2,
            findings: List::default(),
            findings_total: 0,
            last_sequence: 0,
            unproven: List::default(),
        })
    };
    assert_eq!(mapped(report(2), None).event, report(1002));
}

#[test]
fn what_names_a_record_of_another_log_stays() {
    assert_eq!(mapped(lost().into(), None).event, lost().into());
    let archived = Event::from(HistoryArchived {
        first_sequence: 1,
        anchor_sequence: 2,
        anchor_link: Digest::from_bytes([1; 32]),
        archived_to: "archive".into(),
        state_schema: 2,
        state_fingerprint: Digest::from_bytes([2; 32]),
        state: holdpoint_domain::core::payload::Raw::default(),
    });
    assert_eq!(mapped(archived.clone(), None).event, archived);
    let continued = Event::from(LogContinued {
        by: crate::points::person("ada"),
        source_log: "00".into(),
        stated_sequence: 9,
        stated_link: None,
        kept_sequence: 2,
        kept_link: Digest::from_bytes([1; 32]),
    });
    assert_eq!(mapped(continued.clone(), None).event, continued);
}
