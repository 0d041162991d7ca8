use std::collections::BTreeMap;

use super::places::{active_segment, first_record_of, put, room};
use super::{Attack, Forged, attack, row};
use crate::chain::{Position, Reach};
use crate::derived::alter;
use crate::layout::header;
use crate::log::{File, Log};
use crate::outcome::Outcome;
use crate::pair::{ARCHIVE, Pair};

pub(super) const ATTACKS: &[Attack<Pair>] = &[
    row("archived-record-flipped", "One bit of an archived record was turned over.", |pair, v| {
        on_archive(pair, v, "flip-record-payload")
    }),
    row(
        "archived-header-flipped",
        "One bit of an archived header's link was turned over.",
        |pair, v| on_archive(pair, v, "flip-header-previous-link"),
    ),
    row("archived-seal-flipped", "One bit of an archived seal was turned over.", |pair, v| {
        on_archive(pair, v, "flip-seal-last-link")
    }),
    row("archived-record-zeroed", "Zeros stand where an archived record was.", |pair, v| {
        on_archive(pair, v, "zero-record")
    }),
    row(
        "archived-record-dropped",
        "An archived record is gone, and what was behind it moved up.",
        |pair, v| on_archive(pair, v, "drop-record"),
    ),
    row("archived-records-swapped", "Two archived neighbours changed places.", |pair, v| {
        on_archive(pair, v, "swap-neighbours")
    }),
    row(
        "archived-record-forged",
        "An archived record was forged, checksum and link with it.",
        |pair, v| on_archive(pair, v, "forge-payload-and-link"),
    ),
    row(
        "archived-time-forged",
        "An archived record's time was forged, checksum and link with it.",
        |pair, v| on_archive(pair, v, "forge-time-and-link"),
    ),
    row(
        "archived-segment-rechained",
        "An archived record was forged, and the chain made anew up to its segment's seal.",
        |pair, v| on_archive(pair, v, "rechain-to-segment-end-with-seal"),
    ),
    row(
        "archive-rechained-with-head",
        "An archived record was forged, and the archive chained anew up to its HEAD.",
        |pair, v| on_archive(pair, v, "rechain-to-log-end-with-head"),
    ),
    row(
        "archive-and-log-rechained",
        "An archived record was forged, and archive and log were chained anew under both HEADs.",
        all_anew,
    ),
    row(
        "archived-record-withheld",
        "An archived payload was taken out, its digest left.",
        |pair, v| on_archive(pair, v, "withhold-payload"),
    ),
    row(
        "archived-image",
        "Archived records are damaged, and one lies in what was printed.",
        |pair, v| on_archive(pair, v, "image-behind-zeroed-header"),
    ),
    row("archived-index-lies", "An archived segment's index leaves out a term.", |pair, v| {
        on_archive(pair, v, "index-without-term")
    }),
    row("archived-index-of-no-terms", "An archived segment's index has no terms.", |pair, v| {
        on_archive(pair, v, "index-of-no-terms")
    }),
    row("archive-head-of-other-link", "The archive's HEAD has another link.", |pair, v| {
        on_archive(pair, v, "head-of-other-link")
    }),
    row(
        "archive-head-behind",
        "The archive's HEAD names an older record, correctly.",
        |pair, v| on_archive(pair, v, "head-behind"),
    ),
    row("archive-head-removed", "The archive has no HEAD.", |pair, v| {
        on_archive(pair, v, "remove-head")
    }),
    row(
        "archive-anchored",
        "The archive's HEAD has an anchor, and the segments before it are gone.",
        |pair, v| on_archive(pair, v, "anchor-with-segments-removed"),
    ),
    row("archive-without-mark", "The file that makes it an archive is gone.", |pair, _| {
        pair.archive_mut().files.remove("ARCHIVE");
        Ok(())
    }),
    row("archive-removed", "The archive is gone.", |pair, _| {
        pair.0.remove(ARCHIVE);
        Ok(())
    }),
    row("archive-first-segment-missing", "The archive's first segment is gone.", |pair, _| {
        remove_segment(pair.archive_mut(), 0)
    }),
    row("archive-newest-segment-missing", "The archive's newest segment is gone.", |pair, _| {
        let last = pair.archive().segments().len().saturating_sub(1);
        remove_segment(pair.archive_mut(), last)
    }),
    row(
        "archive-older",
        "The archive is as it was before its newest segment was moved to it.",
        |pair, _| {
            let last = pair.archive().segments().len().saturating_sub(1);
            remove_segment(pair.archive_mut(), last)?;
            pair.archive_mut().head_follows();
            Ok(())
        },
    ),
    row("archive-newer", "The archive also holds the segment that the log begins with.", newer),
    row("archive-of-other-log", "The archive is another log's that says the same.", |pair, _| {
        *pair.archive_mut() =
            pair.archive().of_other_identity().ok_or("it does not begin at genesis")?;
        Ok(())
    }),
    row("archive-of-other-history", "The archive is of another history of this log.", |pair, _| {
        let first = first_record_of(pair.archive(), 0)?;
        *pair.archive_mut() =
            pair.archive().of_other_history(first).ok_or("there is no room for it")?;
        Ok(())
    }),
    row(
        "archived-segments-left",
        "Before the log's anchor the archive's newest segment still stands, forged.",
        left,
    ),
];

/// Makes an attack of those on a log.
pub(super) fn on_archive(pair: &mut Pair, variant: u64, name: &str) -> Forged {
    on(pair.archive_mut(), variant, name)
}

pub(super) fn on(log: &mut Log, variant: u64, name: &str) -> Forged {
    match attack(name).ok_or("there is no such attack")?.apply(log, variant) {
        Outcome::Applied(_) => Ok(()),
        Outcome::NotApplicable(why) => Err(why),
    }
}

/// With its index.
fn remove_segment(log: &mut Log, place: usize) -> Forged {
    let path = log.segment_paths().into_iter().nth(place).ok_or("there is no segment")?;
    log.files.remove(&path.replace(".seg", ".idx"));
    log.files.remove(&path);
    Ok(())
}

fn newer(pair: &mut Pair, _: u64) -> Forged {
    let path = pair.log().segment_paths().into_iter().next().ok_or("the log has no segment")?;
    let segment = pair.log().files[&path].clone();
    if segment.segment().is_none_or(|one| one.seal_place().is_none()) {
        return Err("the log has no sealed segment");
    }
    put(pair.archive_mut(), &path, segment);
    pair.archive_mut().head_follows();
    Ok(())
}

fn left(pair: &mut Pair, _: u64) -> Forged {
    const NEWEST: u64 = 2;
    let mut archive = pair.archive().clone();
    on(&mut archive, NEWEST, "rechain-whole-segment")?;
    let paths = archive.segment_paths();
    let path = paths.last().ok_or("the archive has no segment")?;
    let file: File = archive.files[path].clone();
    put(pair.log_mut(), path, file);
    Ok(())
}

/// All links hold in both, and the log's statement and anchor name the archive's new end.
fn all_anew(pair: &mut Pair, variant: u64) -> Forged {
    let archive = pair.archive_mut();
    let at = super::places::a_record(archive, variant)?;
    alter(archive.record_mut(at))?;
    room(archive.remake(at, Reach::Log))?;
    archive.head_follows();
    let end = archive.newest_end().ok_or("the archive has no record")?;
    let record = archive.record(end);
    let anchor = Position { sequence: record.sequence(), link: record.link(), time: record.time() };
    super::hints::state(pair.log_mut(), |stated| stated.link = anchor.link)?;
    follow(pair.log_mut(), &anchor)
}

/// Chains a log anew behind another anchor.
fn follow(log: &mut Log, anchor: &Position) -> Forged {
    active_segment(log)?;
    let first = log.segment_mut(0);
    first.header.set(header::PREVIOUS_LINK, &anchor.link);
    first.remake_header_checksum();
    let first = first_record_of(log, 0)?;
    room(log.remake(first, Reach::Log))?;
    super::heads::set_anchor(log, anchor)?;
    log.head_follows();
    Ok(())
}

/// Another archive under another name.
pub(super) fn another(pair: &mut Pair, name: &str, archive: Log) {
    let others: &mut BTreeMap<String, Log> = &mut pair.0;
    others.insert(name.to_owned(), archive);
}
