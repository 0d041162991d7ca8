use super::places::{
    a_file, a_record, a_record_where, a_sealed_segment, a_segment, active_segment, mixed,
};
use super::{Attack, Forged, row};
use crate::block::Field;
use crate::layout::{common, head, header, lock, record, seal};
use crate::log::{File, Log, RecordAt};

pub(super) const ATTACKS: &[Attack] = &[
    row("flip-header-magic", "A bit of a segment's magic flipped.", |log, v| {
        in_header(log, v, common::MAGIC)
    }),
    row("flip-header-version", "A bit of a segment's format version flipped.", |log, v| {
        in_header(log, v, common::VERSION)
    }),
    row("flip-header-checksum", "A bit of a header block's checksum flipped.", |log, v| {
        in_header(log, v, common::CHECKSUM)
    }),
    row("flip-header-log-id", "A bit of the log id in a segment's header flipped.", |log, v| {
        in_header(log, v, header::LOG)
    }),
    row("flip-header-first-sequence", "A bit of a segment's first sequence flipped.", |log, v| {
        in_header(log, v, header::FIRST_SEQUENCE)
    }),
    row("flip-header-capacity", "A bit of a segment's capacity flipped.", |log, v| {
        in_header(log, v, header::CAPACITY)
    }),
    row("flip-header-previous-link", "A bit of the link before a segment flipped.", |log, v| {
        in_header(log, v, header::PREVIOUS_LINK)
    }),
    row("flip-header-previous-time", "A bit of the time before a segment flipped.", |log, v| {
        in_header(log, v, header::PREVIOUS_TIME)
    }),
    row(
        "flip-header-previous-seal-offset",
        "A bit of the previous seal's offset flipped.",
        |log, v| in_header(log, v, header::PREVIOUS_SEAL_OFFSET),
    ),
    row("flip-header-reserved", "A bit of a header block's reserved zeros flipped.", |log, v| {
        in_header(log, v, header::RESERVED)
    }),
    row("flip-record-size", "A bit of a record's size flipped.", |log, v| {
        in_record(log, v, record::SIZE)
    }),
    row("flip-record-checksum", "A bit of a record's checksum flipped.", |log, v| {
        in_record(log, v, record::CHECKSUM)
    }),
    row("flip-record-kind", "A bit of a record's kind flipped.", |log, v| {
        in_record(log, v, record::KIND)
    }),
    row("flip-record-version", "A bit of a record's payload version flipped.", |log, v| {
        in_record(log, v, record::VERSION)
    }),
    row("flip-record-flags", "A bit of a record's flags flipped.", |log, v| {
        in_record(log, v, record::FLAGS)
    }),
    row("flip-record-unsynced", "A bit of a record's claim flipped.", |log, v| {
        in_record(log, v, record::UNSYNCED)
    }),
    row("flip-record-sequence", "A bit of a record's sequence flipped.", |log, v| {
        in_record(log, v, record::SEQUENCE)
    }),
    row("flip-record-time", "A bit of a record's time flipped.", |log, v| {
        in_record(log, v, record::TIME)
    }),
    row("flip-record-link", "A bit of a record's link flipped.", |log, v| {
        in_record(log, v, record::LINK)
    }),
    row("flip-record-payload", "A bit of a record's payload flipped.", in_payload),
    row(
        "flip-payload-and-later-checksum",
        "A bit of a payload flipped, and one of the checksum of a later record of the segment.",
        in_payload_and_checksum,
    ),
    row("flip-record-padding", "A bit of a record's padding flipped.", in_padding),
    row("flip-seal-tag", "A bit of a seal's tag flipped.", |log, v| in_seal(log, v, seal::TAG)),
    row("flip-seal-checksum", "A bit of a seal's checksum flipped.", |log, v| {
        in_seal(log, v, seal::CHECKSUM)
    }),
    row("flip-seal-last-sequence", "A bit of a seal's last sequence flipped.", |log, v| {
        in_seal(log, v, seal::LAST_SEQUENCE)
    }),
    row("flip-seal-offset", "A bit of a seal's offset flipped.", |log, v| {
        in_seal(log, v, seal::OFFSET)
    }),
    row("flip-seal-last-time", "A bit of a seal's last time flipped.", |log, v| {
        in_seal(log, v, seal::LAST_TIME)
    }),
    row("flip-seal-last-link", "A bit of a seal's last link flipped.", |log, v| {
        in_seal(log, v, seal::LAST_LINK)
    }),
    row("flip-unused-behind-seal", "A bit of the zeros behind a seal flipped.", behind_seal),
    row(
        "flip-unused-behind-newest",
        "A bit of the zeros behind the newest record flipped.",
        behind_newest,
    ),
    row("flip-head-magic", "A bit of HEAD's magic flipped.", |log, v| {
        in_head(log, v, common::MAGIC)
    }),
    row("flip-head-version", "A bit of HEAD's format version flipped.", |log, v| {
        in_head(log, v, common::VERSION)
    }),
    row("flip-head-checksum", "A bit of HEAD's checksum flipped.", |log, v| {
        in_head(log, v, common::CHECKSUM)
    }),
    row("flip-head-log-id", "A bit of HEAD's log id flipped.", |log, v| in_head(log, v, head::LOG)),
    row("flip-head-anchor-sequence", "A bit of HEAD's anchor sequence flipped.", |log, v| {
        in_head(log, v, head::ANCHOR_SEQUENCE)
    }),
    row("flip-head-anchor-link", "A bit of HEAD's anchor link flipped.", |log, v| {
        in_head(log, v, head::ANCHOR_LINK)
    }),
    row("flip-head-newest-sequence", "A bit of HEAD's newest sequence flipped.", |log, v| {
        in_head(log, v, head::NEWEST_SEQUENCE)
    }),
    row("flip-head-newest-link", "A bit of HEAD's newest link flipped.", |log, v| {
        in_head(log, v, head::NEWEST_LINK)
    }),
    row("flip-head-segment", "A bit of HEAD's segment flipped.", |log, v| {
        in_head(log, v, head::SEGMENT)
    }),
    row("flip-head-record-offset", "A bit of HEAD's record offset flipped.", |log, v| {
        in_head(log, v, head::RECORD_OFFSET)
    }),
    row("flip-head-end-offset", "A bit of HEAD's end offset flipped.", |log, v| {
        in_head(log, v, head::END_OFFSET)
    }),
    row("flip-head-boot", "A bit of HEAD's boot flipped.", |log, v| in_head(log, v, head::BOOT)),
    row("flip-lock-magic", "A bit of LOCK's magic flipped.", |log, v| {
        in_lock(log, v, common::MAGIC)
    }),
    row("flip-lock-version", "A bit of LOCK's format version flipped.", |log, v| {
        in_lock(log, v, common::VERSION)
    }),
    row("flip-lock-checksum", "A bit of LOCK's checksum flipped.", |log, v| {
        in_lock(log, v, common::CHECKSUM)
    }),
    row("flip-lock-pid", "A bit of LOCK's process id flipped.", |log, v| {
        in_lock(log, v, lock::PID)
    }),
    row("flip-lock-state", "A bit of LOCK's state flipped.", |log, v| in_lock(log, v, lock::STATE)),
    row("flip-lock-previous-state", "A bit of LOCK's previous state flipped.", |log, v| {
        in_lock(log, v, lock::PREVIOUS_STATE)
    }),
    row("flip-lock-reserved", "A bit of LOCK's reserved zeros flipped.", |log, v| {
        in_lock(log, v, lock::RESERVED)
    }),
    row("flip-lock-boot", "A bit of LOCK's boot flipped.", |log, v| in_lock(log, v, lock::BOOT)),
    row("flip-lock-durable-sequence", "A bit of LOCK's durable sequence flipped.", |log, v| {
        in_lock(log, v, lock::DURABLE_SEQUENCE)
    }),
    row("flip-lock-wall-minus-boot", "A bit of LOCK's clock flipped.", |log, v| {
        in_lock(log, v, lock::WALL_MINUS_BOOT)
    }),
    row("flip-index-header", "A bit of an index's header block flipped.", |log, v| {
        in_derived(log, v, ".idx", true)
    }),
    row("flip-index-section", "A bit of an index's sections flipped.", |log, v| {
        in_derived(log, v, ".idx", false)
    }),
    row("flip-snapshot-header", "A bit of a snapshot's header flipped.", |log, v| {
        in_derived(log, v, ".snapshot", true)
    }),
    row("flip-snapshot-state", "A bit of a snapshot's state flipped.", |log, v| {
        in_derived(log, v, ".snapshot", false)
    }),
];

fn in_header(log: &mut Log, variant: u64, field: Field) -> Forged {
    let segment = a_segment(log, variant)?;
    log.segment_mut(segment).header.flip(field, mixed(variant));
    Ok(())
}

fn in_record(log: &mut Log, variant: u64, field: Field) -> Forged {
    let at = a_record(log, variant)?;
    log.record_mut(at).header.flip(field, mixed(variant));
    Ok(())
}

fn in_payload(log: &mut Log, variant: u64) -> Forged {
    let at = a_record_where(log, variant, |at| !log.record(at).payload.is_empty())?;
    flip(&mut log.record_mut(at).payload, variant)
}

fn in_payload_and_checksum(log: &mut Log, variant: u64) -> Forged {
    let later = |at: RecordAt| RecordAt { item: at.item + 3, ..at };
    let at = a_record_where(log, variant, |at| {
        let is_there = log.records().contains(&later(at));
        is_there && !log.record(at).payload.is_empty()
    })?;
    log.record_mut(later(at)).header.flip(record::CHECKSUM, mixed(variant));
    flip(&mut log.record_mut(at).payload, variant)
}

fn in_padding(log: &mut Log, variant: u64) -> Forged {
    let at = a_record_where(log, variant, |at| !log.record(at).padding.is_empty())?;
    flip(&mut log.record_mut(at).padding, variant)
}

fn in_seal(log: &mut Log, variant: u64, field: Field) -> Forged {
    let segment = a_sealed_segment(log, variant)?;
    let seal = log.segment_mut(segment).seal_mut().ok_or("the segment has no seal")?;
    seal.flip(field, mixed(variant));
    Ok(())
}

fn behind_seal(log: &mut Log, variant: u64) -> Forged {
    let segment = a_sealed_segment(log, variant)?;
    flip(&mut log.segment_mut(segment).rest, variant)
}

fn behind_newest(log: &mut Log, variant: u64) -> Forged {
    let segment = active_segment(log)?;
    flip(&mut log.segment_mut(segment).rest, variant)
}

fn in_head(log: &mut Log, variant: u64, field: Field) -> Forged {
    log.head_mut().ok_or("there is no HEAD")?.flip(field, mixed(variant));
    Ok(())
}

fn in_lock(log: &mut Log, variant: u64, field: Field) -> Forged {
    log.lock_mut().ok_or("there is no LOCK")?.flip(field, mixed(variant));
    Ok(())
}

fn in_derived(log: &mut Log, variant: u64, ending: &str, header: bool) -> Forged {
    let path = a_file(log, variant, ending)?;
    match log.files.get_mut(&path) {
        Some(File::Index(index)) if header => flip(&mut index.header.0, variant),
        Some(File::Index(index)) => flip(&mut index.sections, variant),
        Some(File::Snapshot(snapshot)) if header => flip(&mut snapshot.header.0, variant),
        Some(File::Snapshot(snapshot)) => flip(&mut snapshot.state, variant),
        _ => Err("the file is too short"),
    }
}

fn flip(bytes: &mut [u8], variant: u64) -> Forged {
    let place = super::places::pick(variant, bytes.len()).ok_or("there is no byte to flip")?;
    bytes[place] ^= 1 << (mixed(variant) % 8);
    Ok(())
}
