//! Rows of the log itself.

use std::collections::BTreeSet;

use holdpoint_domain::log::{
    ClockStepAccepted, ClockStepped, CommandRefused, ConfigurationChanged, FingerprintRecorded,
    HeadMissingAccepted, HistoryArchived, Label, LogContinued, LogEvent, PolicyChanged,
    PolicyUnknown, PolicyUnlocked, RecordsLabelled, RecordsLost, RecordsUnproven,
    RecoveryPerformed, RulesAdopted, Salvaged, SegmentIndexed, UnprovenReason,
};
use holdpoint_log_files::records_named;

use super::{Form, named_by_application, short, shown};

/// Tells an event of the log.
pub(super) fn tell(event: &LogEvent, form: Form) -> String {
    match event {
        LogEvent::RecoveryPerformed(body) => recovery_performed(body),
        LogEvent::HeadMissingAccepted(body) => head_missing_accepted(body),
        LogEvent::ClockStepped(body) => clock_stepped(body),
        LogEvent::FingerprintRecorded(body) => fingerprint_recorded(body),
        LogEvent::CommandRefused(body) => form.of(
            || command_refused(body),
            || format!("not done, for a rule forbids it: {}", shown(&body.message)),
        ),
        LogEvent::ConfigurationChanged(body) => configuration_changed(body),
        LogEvent::Salvaged(body) => salvaged(body),
        LogEvent::RecordsLost(body) => records_lost(body),
        LogEvent::HistoryArchived(body) => history_archived(body),
        LogEvent::SegmentIndexed(body) => segment_indexed(body),
        LogEvent::PolicyChanged(body) => policy_changed(body),
        LogEvent::PolicyUnknown(body) => policy_unknown(body),
        LogEvent::RecordsUnproven(body) => records_unproven(body),
        LogEvent::RulesAdopted(body) => rules_adopted(body),
        LogEvent::RecordsLabelled(body) => form.of(
            || {
                let first = body.first_sequence;
                format!("labels of record {first} and what follows here: {}", labels(body))
            },
            || format!("labels, which nothing proves: {}", labels(body)),
        ),
        LogEvent::PolicyUnlocked(body) => policy_unlocked(body),
        LogEvent::ClockStepAccepted(body) => clock_step_accepted(body),
        LogEvent::LogContinued(body) => continued(body),
    }
}

fn recovery_performed(body: &RecoveryPerformed) -> String {
    let copied = body.copied_to.as_ref().map(|file| format!(", copied to {}", shown(file)));
    format!(
        "the log's end was put in order: records up to {} kept, up to {} proven, {} bytes cut{}",
        body.last_kept_sequence,
        body.last_proven_sequence,
        body.cut_bytes,
        copied.unwrap_or_default()
    )
}

fn head_missing_accepted(body: &HeadMissingAccepted) -> String {
    let (first, last) = (body.first_sequence, body.last_sequence);
    let (records, were) = (records_named(first, last), were(first, last));
    let behind = if body.is_end_known { "" } else { "; records behind may be lost" };
    format!("HEAD was missing; {records} {were} found and accepted without it{behind}")
}

fn command_refused(body: &CommandRefused) -> String {
    let subject = body.subject.as_ref().map(|subject| format!(" on {}", shown(subject)));
    format!(
        "{}{} refused: {} ({})",
        body.command,
        subject.unwrap_or_default(),
        body.code,
        body.class
    )
}

fn clock_stepped(body: &ClockStepped) -> String {
    format!("the clock stepped by {} ns", body.step_ns)
}

fn clock_step_accepted(body: &ClockStepAccepted) -> String {
    let by = shown(&body.by.id);
    format!("{by} accepted that the log's time, {}, is ahead of {}", body.log_time, body.clock)
}

fn continued(body: &LogContinued) -> String {
    format!(
        "{} continued log {} from record {} on, short of record {} that its HEAD states; what was \
         open ended, and every approval that was not spent was revoked",
        shown(&body.by.id),
        shown(&body.source_log),
        body.kept_sequence,
        body.stated_sequence
    )
}

fn configuration_changed(body: &ConfigurationChanged) -> String {
    match &body.digest {
        Some(digest) => format!("another configuration is in force: SHA-256 {}", short(digest)),
        None => "no configuration file any more: the defaults are in force".to_string(),
    }
}

fn fingerprint_recorded(body: &FingerprintRecorded) -> String {
    format!("fingerprint {} of state schema {}", short(&body.fingerprint), body.schema)
}

fn policy_changed(body: &PolicyChanged) -> String {
    let approved = body.approval.as_ref().map(|id| format!(", approved by decision {}", shown(id)));
    format!(
        "the policy of the log was set by {}: {}{}",
        shown(&body.by.id),
        short(&body.policy.digest()),
        approved.unwrap_or_default()
    )
}

fn policy_unlocked(body: &PolicyUnlocked) -> String {
    let gone = body.gone.iter().map(|name| shown(name).to_string()).collect::<Vec<_>>().join(", ");
    let number = |user: Option<u32>| user.map_or("not known".into(), |user| format!("uid {user}"));
    let sudo = body.sudo_user.map(|user| format!(", sudo of uid {user}"));
    format!(
        "the policy of the log was set by {} without an approval, because {gone} is no user any \
         more: {} (login {}{})",
        shown(&body.by.id),
        short(&body.policy.digest()),
        number(body.login_user),
        sudo.unwrap_or_default()
    )
}

fn policy_unknown(body: &PolicyUnknown) -> String {
    let lost = match body.records_lost {
        0 => "records are unproven, or may be lost".to_string(),
        1 => "1 record was lost".to_string(),
        lost => format!("{lost} records were lost"),
    };
    format!("{lost}, and may have held the policy of the log")
}

fn records_unproven(body: &RecordsUnproven) -> String {
    let why = match body.reason {
        UnprovenReason::Damage => "something behind was changed or is missing",
        UnprovenReason::NoWitness => "no witness reaches as far",
    };
    let (first, last) = (body.first_sequence, body.last_sequence);
    let are = if first == last { "is" } else { "are" };
    format!("{} {are} unproven: in the log that was salvaged, {why}", records_named(first, last))
}

/// The systems are named where their numbers differ.
fn rules_adopted(body: &RulesAdopted) -> String {
    let numbers: BTreeSet<u32> = body.systems.iter().map(|it| it.number).collect();
    let each = || body.systems.iter().map(|it| format!("{} {}", shown(&it.system), it.number));
    match numbers.first() {
        Some(number) if numbers.len() == 1 => format!("rules {number} are in force from here on"),
        _ => format!("rules in force from here on: {}", each().collect::<Vec<_>>().join(", ")),
    }
}

fn labels(body: &RecordsLabelled) -> String {
    let one = |it: &Label| {
        format!("{}={}", named_by_application(&it.name), named_by_application(&it.value))
    };
    let labels: Vec<_> = body.labels.iter().map(one).collect();
    labels.join(", ")
}

fn segment_indexed(body: &SegmentIndexed) -> String {
    let (first, last) = (body.first_sequence, body.last_sequence);
    let have = if first == last { "has" } else { "have" };
    format!("{} {have} an index, {}", records_named(first, last), short(&body.digest))
}

fn salvaged(body: &Salvaged) -> String {
    let source = shown(&body.source_log);
    let records = match (body.source_first_sequence, body.source_last_sequence) {
        (0, _) | (_, 0) => String::new(),
        (first, last) => format!(", {}", records_named(first, last)),
    };
    format!(
        "salvaged at {} from log {source}{records}: {} records kept, {} lost, {} bytes not kept, \
         {} findings",
        body.salvaged_at,
        body.records_kept,
        body.records_lost,
        body.bytes_not_kept,
        body.findings_total
    )
}

fn records_lost(body: &RecordsLost) -> String {
    let first = body.source_first_sequence;
    let records = match body.source_last_sequence {
        _ if first == 0 => "no record, but bytes".to_string(),
        0 => format!("records from {first} on"),
        last => records_named(first, last),
    };
    let copied = body.copied_to.as_ref().map(|file| format!(", copied to {}", shown(file)));
    format!(
        "{records} of the salvaged log lost: {} at offset {} of {}, {} bytes{}",
        shown(&body.problem),
        body.offset,
        shown(&body.file),
        body.length,
        copied.unwrap_or_default()
    )
}

fn history_archived(body: &HistoryArchived) -> String {
    let (first, last) = (body.first_sequence, body.anchor_sequence);
    format!(
        "{} {} moved to the archive {}; the last one's link is {}",
        records_named(first, last),
        were(first, last),
        shown(&body.archived_to),
        short(&body.anchor_link)
    )
}

const fn were(first: u64, last: u64) -> &'static str {
    if first == last { "was" } else { "were" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::core::hash::Digest;
    use holdpoint_domain::core::payload::{List, Text};
    use holdpoint_domain::core::time::Timestamp;

    #[test]
    fn a_report_of_salvage_is_told_by_its_totals() {
        let mut report = Salvaged {
            source_log: "ab\u{202e}".into(),
            source_first_sequence: 1,
            source_last_sequence: 9,
            records_kept: 7,
            records_lost: 2,
            bytes_not_kept: 192,
            salvaged_at: Timestamp::default(),
            runs: List::default(),
            runs_total: 2,
            findings: List::default(),
            findings_total: 3,
            last_sequence: 9,
            unproven: List::default(),
        };
        assert_eq!(
            salvaged(&report),
            "salvaged at 1970-01-01T00:00:00.000000000Z from log ab\\u{202e}, records 1 to 9: \
             7 records kept, 2 lost, 192 bytes not kept, 3 findings"
        );
        report.source_last_sequence = 0;
        assert!(salvaged(&report).contains("from log ab\\u{202e}: 7 records kept"));
    }

    #[test]
    fn one_record_is_no_range_and_no_record_no_count() {
        let unproven = |first_sequence, last_sequence| {
            let reason = UnprovenReason::NoWitness;
            records_unproven(&RecordsUnproven { first_sequence, last_sequence, reason })
        };
        assert!(unproven(148, 148).starts_with("record 148 is unproven:"));
        assert!(unproven(2, 148).starts_with("records 2 to 148 are unproven:"));
        let unknown = |records_lost| policy_unknown(&PolicyUnknown { records_lost });
        let all = "and may have held the policy of the log";
        assert_eq!(unknown(0), format!("records are unproven, or may be lost, {all}"));
        assert_eq!(unknown(1), format!("1 record was lost, {all}"));
        assert_eq!(unknown(2), format!("2 records were lost, {all}"));
    }

    #[test]
    fn a_loss_names_its_records_and_its_place() {
        let lost = |last: u64, copied_to: Option<Text>| {
            records_lost(&RecordsLost {
                source_first_sequence: 4,
                source_last_sequence: last,
                file: "segments/1.seg".into(),
                offset: 640,
                length: 128,
                copied_to,
                problem: "wrong link".into(),
            })
        };
        let place =
            "of the salvaged log lost: wrong link at offset 640 of segments/1.seg, 128 bytes";
        assert_eq!(lost(5, None), format!("records 4 to 5 {place}"));
        assert_eq!(lost(4, None), format!("record 4 {place}"));
        let unknown = format!("records from 4 on {place}, copied to cut/1");
        assert_eq!(lost(0, Some("cut/1".into())), unknown);
        let bytes = RecordsLost {
            source_first_sequence: 0,
            source_last_sequence: 0,
            file: "segments/1.seg".into(),
            offset: 640,
            length: 128,
            copied_to: None,
            problem: "wrong link".into(),
        };
        assert_eq!(records_lost(&bytes), format!("no record, but bytes {place}"));
    }

    #[test]
    fn an_archive_is_named_and_the_state_is_not_shown() {
        let event = LogEvent::HistoryArchived(HistoryArchived {
            first_sequence: 1,
            anchor_sequence: 9,
            anchor_link: Digest::from_bytes([0xab; 32]),
            archived_to: "old\n".into(),
            state_schema: 2,
            state_fingerprint: Digest::from_bytes([1; 32]),
            state: Default::default(),
        });
        let text = "records 1 to 9 were moved to the archive old\\u{a}; the last one's link is \
                    abababababababab..";
        assert_eq!(tell(&event, Form::Codes), text);
    }
}
