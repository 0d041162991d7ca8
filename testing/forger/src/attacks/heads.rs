use super::chains::rechain_with_head;
use super::places::{
    AttackResult, a_record_where, a_segment, first_record_of, forge_head, forge_lock, put,
    remove_segments_before,
};
use super::{Attack, Forged, row};
use crate::chain::Position;
use crate::layout::{MORE_FOLLOWS, common, head, lock, record};
use crate::log::{Log, RecordAt};
use crate::payload::{records_unproven, salvaged_up_to};

pub(super) const ATTACKS: &[Attack] = &[
    row("head-behind", "HEAD names an older record, correctly.", behind),
    row(
        "head-behind-before-damage",
        "HEAD names an older record, correctly, the one behind it is damaged, and LOCK is gone.",
        behind_before_damage,
    ),
    row("head-ahead", "HEAD names a record that is not there.", ahead),
    row("head-of-other-link", "HEAD names the newest record with another link.", other_link),
    row("head-of-other-log", "HEAD names another log.", other_log),
    row("head-of-other-segment", "HEAD names another segment.", other_segment),
    row("head-of-other-offsets", "HEAD names another record's offsets.", other_offsets),
    row("head-in-batch", "HEAD names a record that ends no batch.", in_batch),
    row(
        "head-of-last-sequence",
        "HEAD names the sequence behind which none can follow.",
        last_sequence,
    ),
    row("head-newer-version", "HEAD is of a newer format version.", newer),
    row("head-of-other-boot", "HEAD was written in another boot.", other_boot),
    row("head-of-nothing", "HEAD names no record, as at creation.", of_nothing),
    row(
        "head-before-statement-on-unproven-records",
        "A payload was forged and the chain made anew with HEAD; behind HEAD, a record says that \
         nothing up to there is proven.",
        before_statement,
    ),
    row(
        "report-of-salvage-on-later-records",
        "A report of a salvage was appended, which names a later record than there is.",
        report_on_later,
    ),
    row(
        "head-temporary-of-later-record",
        "A HEAD that did not get its name names a record behind the newest one.",
        temporary,
    ),
    row(
        "anchor-on-whole-log",
        "HEAD's anchor is a segment's beginning, and the segments before it are still there.",
        anchor_on_whole,
    ),
    row(
        "anchor-in-segment",
        "HEAD's anchor is a record inside a segment of a whole log.",
        anchor_in_segment,
    ),
    row(
        "anchor-of-other-link",
        "HEAD's anchor is 0 and has another link than genesis.",
        anchor_link,
    ),
    row("anchor-behind-newest", "HEAD's anchor is behind the newest record.", anchor_ahead),
    row(
        "anchor-with-segments-removed",
        "HEAD's anchor was moved on and the segments before it were removed.",
        anchor_removed,
    ),
    row(
        "anchor-of-other-link-with-segments-removed",
        "HEAD's anchor was moved on with another link, and the segments before it were removed.",
        anchor_removed_other_link,
    ),
    row("lock-durable-ahead", "LOCK says that more was durable than there is.", |log, _| {
        lock_number(log, lock::DURABLE_SEQUENCE, u64::MAX / 2)
    }),
    row("lock-durable-behind", "LOCK says that nothing was durable.", |log, _| {
        lock_number(log, lock::DURABLE_SEQUENCE, 0)
    }),
    row("lock-poisoned", "LOCK says that a write failed.", |log, _| {
        lock_number(log, lock::STATE, lock::POISONED)
    }),
    row("lock-recovering", "LOCK says that its owner died while repairing.", lock_recovering),
    row("lock-of-unknown-state", "LOCK has a state that nobody knows.", |log, _| {
        lock_number(log, lock::STATE, 9)
    }),
    row("lock-of-other-boot", "LOCK is of another boot.", lock_boot),
    row("lock-newer-version", "LOCK is of a newer format version.", |log, _| {
        lock_number(log, common::VERSION, 2)
    }),
];

fn an_end(log: &Log, variant: u64) -> AttackResult<RecordAt> {
    let newest = log.newest_end();
    a_record_where(log, variant, |at| !log.record(at).has(MORE_FOLLOWS) && Some(at) != newest)
}

fn behind(log: &mut Log, variant: u64) -> Forged {
    let at = an_end(log, variant)?;
    let (sequence, link) = (log.record(at).sequence(), log.record(at).link());
    let places = places_of(log, at);
    forge_head(log, |block| {
        block.set_number(head::NEWEST_SEQUENCE, sequence);
        block.set(head::NEWEST_LINK, &link);
        set_places(block, places);
    })
}

fn behind_before_damage(log: &mut Log, variant: u64) -> Forged {
    let named = an_end(log, variant)?;
    behind(log, variant)?;
    let next = log.records().into_iter().skip_while(|at| *at != named).nth(1);
    let next = next.ok_or("there is no record behind it")?;
    log.record_mut(next).header.flip(record::CHECKSUM, super::places::mixed(variant));
    log.files.remove("LOCK");
    Ok(())
}

fn places_of(log: &Log, at: RecordAt) -> [u64; 3] {
    let segment = log.segment(at.segment);
    let offset = segment.offset_of(at.item);
    [segment.first_sequence(), offset as u64, (offset + log.record(at).length()) as u64]
}

fn set_places(block: &mut crate::Block, [segment, begin, end]: [u64; 3]) {
    block.set_number(head::SEGMENT, segment);
    block.set_number(head::RECORD_OFFSET, begin);
    block.set_number(head::END_OFFSET, end);
}

fn ahead(log: &mut Log, variant: u64) -> Forged {
    forge_head(log, |block| {
        let newest = block.number(head::NEWEST_SEQUENCE);
        block.set_number(head::NEWEST_SEQUENCE, newest + 1 + variant);
    })
}

fn other_link(log: &mut Log, variant: u64) -> Forged {
    forge_head(log, |block| block.flip(head::NEWEST_LINK, super::places::mixed(variant)))
}

fn other_log(log: &mut Log, variant: u64) -> Forged {
    forge_head(log, |block| block.flip(head::LOG, super::places::mixed(variant)))
}

fn other_segment(log: &mut Log, variant: u64) -> Forged {
    let segment = log.segment(a_segment(log, variant)?).first_sequence();
    forge_head(log, |block| block.set_number(head::SEGMENT, segment))
}

fn other_offsets(log: &mut Log, variant: u64) -> Forged {
    let at = an_end(log, variant)?;
    let places = places_of(log, at);
    forge_head(log, |block| set_places(block, places))
}

fn in_batch(log: &mut Log, variant: u64) -> Forged {
    let at = a_record_where(log, variant, |at| log.record(at).has(MORE_FOLLOWS))?;
    let (sequence, link, places) =
        (log.record(at).sequence(), log.record(at).link(), places_of(log, at));
    forge_head(log, |block| {
        block.set_number(head::NEWEST_SEQUENCE, sequence);
        block.set(head::NEWEST_LINK, &link);
        set_places(block, places);
    })
}

fn last_sequence(log: &mut Log, _: u64) -> Forged {
    forge_head(log, |block| block.set_number(head::NEWEST_SEQUENCE, u64::MAX))
}

fn newer(log: &mut Log, _: u64) -> Forged {
    forge_head(log, |block| block.set_number(common::VERSION, 2))
}

fn other_boot(log: &mut Log, variant: u64) -> Forged {
    forge_head(log, |block| block.flip(head::BOOT, super::places::mixed(variant)))
}

fn of_nothing(log: &mut Log, _: u64) -> Forged {
    forge_head(log, |block| {
        let anchor = block.number(head::ANCHOR_SEQUENCE);
        let link = block.bytes(head::ANCHOR_LINK).to_vec();
        block.set_number(head::NEWEST_SEQUENCE, anchor);
        block.set(head::NEWEST_LINK, &link);
        set_places(block, [0; 3]);
    })
}

fn before_statement(log: &mut Log, variant: u64) -> Forged {
    rechain_with_head(log, variant)?;
    let newest = log.newest_end().ok_or("there is no record")?;
    let newest = log.record(newest).sequence();
    log.append(&[records_unproven(1, newest)]);
    Ok(())
}

fn report_on_later(log: &mut Log, _: u64) -> Forged {
    let newest = log.newest_end().ok_or("there is no record")?;
    let newest = log.record(newest).sequence();
    log.append(&[salvaged_up_to(newest + 3)]);
    Ok(())
}

fn temporary(log: &mut Log, variant: u64) -> Forged {
    let mut later = log.clone();
    ahead(&mut later, variant)?;
    let head = later.files.remove("HEAD").ok_or("there is no HEAD")?;
    put(log, "HEAD.tmp", head);
    Ok(())
}

/// What is before a segment other than the first.
pub(super) fn anchor_of(log: &Log, variant: u64) -> AttackResult<(usize, Position)> {
    let later = log.segments().len().saturating_sub(1);
    let place = super::places::pick(variant, later).ok_or("there is one segment")? + 1;
    Ok((place, log.before(first_record_of(log, place)?)))
}

pub(super) fn set_anchor(log: &mut Log, anchor: &Position) -> Forged {
    forge_head(log, |block| {
        block.set_number(head::ANCHOR_SEQUENCE, anchor.sequence);
        block.set(head::ANCHOR_LINK, &anchor.link);
    })
}

fn anchor_on_whole(log: &mut Log, variant: u64) -> Forged {
    let (_, anchor) = anchor_of(log, variant)?;
    set_anchor(log, &anchor)
}

fn anchor_in_segment(log: &mut Log, variant: u64) -> Forged {
    let at = an_end(log, variant)?;
    let record = log.record(at);
    let anchor = Position { sequence: record.sequence(), link: record.link(), time: record.time() };
    set_anchor(log, &anchor)
}

fn anchor_link(log: &mut Log, variant: u64) -> Forged {
    forge_head(log, |block| block.flip(head::ANCHOR_LINK, super::places::mixed(variant)))
}

fn anchor_ahead(log: &mut Log, _: u64) -> Forged {
    forge_head(log, |block| {
        let newest = block.number(head::NEWEST_SEQUENCE);
        block.set_number(head::ANCHOR_SEQUENCE, newest + 1);
    })
}

fn anchor_removed(log: &mut Log, variant: u64) -> Forged {
    let (segment, anchor) = anchor_of(log, variant)?;
    remove_segments_before(log, segment);
    set_anchor(log, &anchor)
}

fn anchor_removed_other_link(log: &mut Log, variant: u64) -> Forged {
    anchor_removed(log, variant)?;
    anchor_link(log, variant)
}

fn lock_number(log: &mut Log, field: crate::Field, value: u64) -> Forged {
    forge_lock(log, |block| block.set_number(field, value))
}

fn lock_recovering(log: &mut Log, _: u64) -> Forged {
    forge_lock(log, |block| {
        block.set_number(lock::STATE, lock::RECOVERING);
        block.set_number(lock::PREVIOUS_STATE, lock::RECOVERING);
    })
}

fn lock_boot(log: &mut Log, variant: u64) -> Forged {
    forge_lock(log, |block| block.flip(lock::BOOT, super::places::mixed(variant)))
}
