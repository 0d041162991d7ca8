//! The sequences that a payload holds, for copying records to where they have other ones.

use super::{Event, List, SalvagedRun};
use crate::envelope::Envelope;

impl Envelope {
    /// Replaces every sequence that names a record of this same log: the causation, and what the
    /// events of the log itself say. A 0, which names no record, stays.
    ///
    /// Sequences of other logs stay as well: what `log.salvaged` and `log.records_lost` say of
    /// their source, and all of `log.history_archived`, whose sequences are those of the archive
    /// and of the state that it carries. No other event holds one.
    pub fn map_sequences(&mut self, mut map: impl FnMut(u64) -> u64) {
        let mut replace = |sequence: &mut u64| {
            if *sequence > 0 {
                *sequence = map(*sequence);
            }
        };
        self.causation.iter_mut().for_each(&mut replace);
        match &mut self.event {
            Event::RecoveryPerformed(body) => {
                replace(&mut body.last_proven_sequence);
                replace(&mut body.last_kept_sequence);
            }
            Event::HeadMissingAccepted(body) => {
                replace(&mut body.first_sequence);
                replace(&mut body.last_sequence);
            }
            Event::SegmentIndexed(body) => {
                replace(&mut body.first_sequence);
                replace(&mut body.last_sequence);
            }
            Event::RecordsUnproven(body) => {
                replace(&mut body.first_sequence);
                replace(&mut body.last_sequence);
            }
            Event::Salvaged(body) => body.runs = replaced(&body.runs, replace),
            _ => {}
        }
    }
}

fn replaced(runs: &[SalvagedRun], mut replace: impl FnMut(&mut u64)) -> List<SalvagedRun> {
    let moved = |run: &SalvagedRun| {
        let mut run = *run;
        replace(&mut run.first_sequence);
        run
    };
    runs.iter().map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::ActorId;
    use crate::event::{HeadMissingAccepted, HistoryArchived, RecordsLost, Salvaged};
    use crate::event::{RecoveryPerformed, Text};
    use crate::execution_loop::Actor;
    use crate::hash::Digest;
    use crate::time::Timestamp;

    fn mapped(event: Event, causation: Option<u64>) -> Envelope {
        let actor = ActorId { kind: Actor::ALL[0], id: "someone".into() };
        let correlation = "story".into();
        let mut envelope =
            Envelope { proof: None, actor, correlation, causation, idempotency: None, event };
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
        let event = HeadMissingAccepted { first_sequence, last_sequence }.into();
        let moved = HeadMissingAccepted { first_sequence: 1001, last_sequence: 1009 };
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
            state: crate::event::Raw::default(),
        });
        assert_eq!(mapped(archived.clone(), None).event, archived);
    }
}
