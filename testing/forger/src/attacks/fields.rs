use super::places::{a_record, a_record_where, room};
use super::{Attack, Forged, row};
use crate::derived::alter;
use crate::layout::{MORE_FOLLOWS, NO_CLAIM, SALTED, record};
use crate::log::Log;
use crate::record::Record;

pub(super) const ATTACKS: &[Attack] = &[
    row(
        "forge-payload",
        "A record's payload says something else, its checksum made anew.",
        |log, v| with_checksum(log, v, alter),
    ),
    row(
        "forge-payload-and-link",
        "A record's payload says something else, checksum and link made anew.",
        |log, v| with_link(log, v, alter),
    ),
    row(
        "forge-longer-payload",
        "A record's payload is longer, its checksum made anew.",
        |log, v| with_checksum(log, v, longer),
    ),
    row(
        "forge-shorter-payload",
        "A record's payload is shorter, its checksum made anew.",
        |log, v| with_checksum(log, v, shorter),
    ),
    row("forge-kind", "A record has another kind, its checksum made anew.", |log, v| {
        with_checksum(log, v, kind)
    }),
    row(
        "forge-kind-and-link",
        "A record has another kind, checksum and link made anew.",
        |log, v| with_link(log, v, kind),
    ),
    row(
        "forge-version",
        "A record has another payload version, its checksum made anew.",
        |log, v| with_checksum(log, v, version),
    ),
    row(
        "forge-version-and-link",
        "A record has another payload version, checksum and link made anew.",
        |log, v| with_link(log, v, version),
    ),
    row(
        "forge-batch-end",
        "A record's MORE_FOLLOWS is turned over, its checksum made anew.",
        |log, v| with_checksum(log, v, batch_end),
    ),
    row(
        "forge-batch-end-and-link",
        "A record's MORE_FOLLOWS is turned over, checksum and link made anew.",
        |log, v| with_link(log, v, batch_end),
    ),
    row(
        "forge-salted-flag",
        "A record has the reserved flag, checksum and link made anew.",
        |log, v| with_link(log, v, salted),
    ),
    row(
        "forge-claim",
        "A record claims nothing or all before it, its checksum made anew.",
        |log, v| with_checksum(log, v, claim),
    ),
    row(
        "forge-claim-and-link",
        "A record claims nothing or all before it, checksum and link made anew.",
        |log, v| with_link(log, v, claim),
    ),
    row("forge-sequence", "A record has another sequence, its checksum made anew.", |log, v| {
        with_checksum(log, v, sequence)
    }),
    row(
        "forge-sequence-and-link",
        "A record has another sequence, checksum and link made anew.",
        |log, v| with_link(log, v, sequence),
    ),
    row("forge-time", "A record has another time, its checksum made anew.", |log, v| {
        with_checksum(log, v, time)
    }),
    row(
        "forge-time-and-link",
        "A record has another time, checksum and link made anew.",
        |log, v| with_link(log, v, time),
    ),
    row("forge-link", "A record has another link, its checksum made anew.", |log, v| {
        with_checksum(log, v, link)
    }),
    row(
        "forge-padding",
        "Bytes were hidden in a record's padding, which no checksum covers.",
        padding,
    ),
    row(
        "forge-checksum-of-other-segment",
        "A record's checksum has the seed of another segment.",
        other_seed,
    ),
];

fn with_checksum(log: &mut Log, variant: u64, change: fn(&mut Record) -> Forged) -> Forged {
    let at = a_record(log, variant)?;
    change(log.record_mut(at))?;
    log.remake_checksum(at);
    room(log.segment_mut(at.segment).fit())
}

fn with_link(log: &mut Log, variant: u64, change: fn(&mut Record) -> Forged) -> Forged {
    let at = a_record(log, variant)?;
    change(log.record_mut(at))?;
    log.remake_link(at);
    room(log.segment_mut(at.segment).fit())
}

fn longer(record: &mut Record) -> Forged {
    let payload = [&*record.payload, b"and more"].concat();
    record.set_payload(payload);
    Ok(())
}

fn shorter(record: &mut Record) -> Forged {
    let mut payload = record.payload.clone();
    payload.pop().ok_or("the payload is empty")?;
    record.set_payload(payload);
    Ok(())
}

fn kind(record: &mut Record) -> Forged {
    let other = record.header.number(record::KIND) ^ 1;
    record.header.set_number(record::KIND, other);
    Ok(())
}

fn version(record: &mut Record) -> Forged {
    let other = record.header.number(record::VERSION) + 1;
    record.header.set_number(record::VERSION, other);
    Ok(())
}

fn batch_end(record: &mut Record) -> Forged {
    record.set_flags(record.flags() ^ MORE_FOLLOWS);
    Ok(())
}

fn salted(record: &mut Record) -> Forged {
    record.set_flags(record.flags() | SALTED);
    Ok(())
}

fn claim(record: &mut Record) -> Forged {
    let other = if record.header.number(record::UNSYNCED) == NO_CLAIM { 0 } else { NO_CLAIM };
    record.header.set_number(record::UNSYNCED, other);
    Ok(())
}

fn sequence(record: &mut Record) -> Forged {
    let other = record.sequence() + 1;
    record.header.set_number(record::SEQUENCE, other);
    Ok(())
}

fn time(record: &mut Record) -> Forged {
    let other = record.time() - 1;
    record.header.set_number(record::TIME, other);
    Ok(())
}

fn link(record: &mut Record) -> Forged {
    record.header.flip(record::LINK, 0);
    Ok(())
}

fn padding(log: &mut Log, variant: u64) -> Forged {
    let at = a_record_where(log, variant, |at| !log.record(at).padding.is_empty())?;
    log.record_mut(at).padding.fill(b'!');
    Ok(())
}

fn other_seed(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let segments = log.segments();
    let other = segments[(at.segment + 1) % segments.len()].seed();
    log.record_mut(at).remake_checksum(other);
    Ok(())
}
