use super::places::{a_record, a_record_where, a_segment, room};
use super::{Attack, Forged, row};
use crate::chain::Reach;
use crate::derived::altered;
use crate::layout::WITHHELD;
use crate::link::sha256;
use crate::log::{Log, RecordAt};

pub(super) const ATTACKS: &[Attack] = &[
    row(
        "withhold-payload",
        "A payload was replaced by its digest; seals, headers and HEAD follow.",
        one,
    ),
    row(
        "withhold-payload-alone",
        "A payload was replaced by its digest; only what is behind it in the segment moved up.",
        alone,
    ),
    row(
        "withhold-segment",
        "Every payload of a segment was replaced by its digest; seals, headers and HEAD follow.",
        segment,
    ),
    row(
        "withhold-newest-payload",
        "The newest payload was replaced by its digest; HEAD follows.",
        |log, _| one(log, 2),
    ),
    row(
        "withhold-under-false-digest",
        "A payload was replaced by the digest of another one.",
        false_digest,
    ),
    row(
        "withhold-false-digest-and-rechain",
        "A payload was replaced by the digest of another one, and all is chained anew with HEAD.",
        false_digest_rechained,
    ),
    row(
        "withheld-flag-alone",
        "A record says that its payload is withheld, and it is there.",
        flag_alone,
    ),
    row(
        "withheld-digest-too-long",
        "A withheld payload is one byte longer than a digest.",
        too_long,
    ),
];

fn one(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    log.withhold(at);
    follow(log)
}

fn alone(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    log.withhold(at);
    room(log.segment_mut(at.segment).fit())
}

fn segment(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    for at in log.records().into_iter().filter(|at| at.segment == segment) {
        log.withhold(at);
    }
    follow(log)
}

fn follow(log: &mut Log) -> Forged {
    room(log.offsets_follow())
}

fn false_digest(log: &mut Log, variant: u64) -> Forged {
    forge_digest(log, variant)?;
    follow(log)
}

fn forge_digest(log: &mut Log, variant: u64) -> Result<RecordAt, &'static str> {
    let at = a_record(log, variant)?;
    let other = altered(&log.record(at).payload).ok_or("the record has no letter to change")?;
    log.withhold_as(at, sha256(&other).to_vec());
    Ok(at)
}

fn false_digest_rechained(log: &mut Log, variant: u64) -> Forged {
    let at = forge_digest(log, variant)?;
    room(log.remake(at, Reach::Log))?;
    log.head_follows();
    Ok(())
}

fn flag_alone(log: &mut Log, variant: u64) -> Forged {
    let at = a_record_where(log, variant, |at| log.record(at).payload.len() != 32)?;
    let record = log.record_mut(at);
    record.set_flags(record.flags() | WITHHELD);
    log.remake_checksum(at);
    Ok(())
}

fn too_long(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let mut digest = log.record(at).payload_digest().to_vec();
    digest.push(0);
    log.withhold_as(at, digest);
    follow(log)
}
