use super::heads::{anchor_of, set_anchor};
use super::places::{AttackResult, active_segment, put, remove_segments_before};
use super::snapshots::forged_state;
use super::{Attack, Forged, row};
use crate::chain::Position;
use crate::log::{File, Log};
use crate::payload::{Archived, history_archived};

pub(super) const ATTACKS: &[Attack] = &[
    row("archive-marker", "A log was given the file that makes it an archive.", marker),
    row(
        "archive-marker-as-directory",
        "A directory stands where an archive has its mark.",
        marker_directory,
    ),
    row(
        "archive-statement",
        "The chain states that records were moved to a place that is none; nothing was moved.",
        statement,
    ),
    row(
        "archive-statement-and-anchor",
        "The chain states that records were moved, HEAD has that anchor, and nothing was moved.",
        statement_and_anchor,
    ),
    row(
        "archive-statement-and-removal",
        "The chain states an anchor with a forged state; HEAD has it, and what is before is gone.",
        removal,
    ),
    row(
        "archive-statement-of-other-link",
        "A stated anchor has another link; HEAD has the true one, and what is before is gone.",
        other_link,
    ),
    row(
        "archive-statement-of-other-fingerprint",
        "A stated anchor's state has not its fingerprint; HEAD has it, and what is before is gone.",
        other_fingerprint,
    ),
    row(
        "archive-statement-of-future",
        "The chain states that records were moved that are not there yet.",
        future,
    ),
];

fn marker(log: &mut Log, _: u64) -> Forged {
    put(log, "ARCHIVE", File::Other(b"an archive\n".to_vec()));
    Ok(())
}

fn marker_directory(log: &mut Log, _: u64) -> Forged {
    log.files.remove("ARCHIVE");
    log.directories.insert("ARCHIVE".into());
    Ok(())
}

/// A statement of an anchor, with a state that never was.
fn archived(log: &Log, variant: u64, anchor: &Position) -> AttackResult<Archived> {
    let first = log.segments().first().ok_or("there is no segment")?.first_sequence();
    let (schema, state) = forged_state(log, variant)?;
    let to = "/nowhere/at/all".to_owned();
    Ok(Archived { first, anchor: anchor.sequence, link: anchor.link, to, schema, state })
}

fn statement(log: &mut Log, variant: u64) -> Forged {
    stated(log, variant).map(drop)
}

/// The segment behind the anchor, and the anchor that is stated.
fn stated(log: &mut Log, variant: u64) -> AttackResult<(usize, Position)> {
    active_segment(log)?;
    let (segment, anchor) = anchor_of(log, variant)?;
    let archived = archived(log, variant, &anchor)?;
    log.append(&[history_archived(&archived)]);
    log.head_follows();
    Ok((segment, anchor))
}

fn statement_and_anchor(log: &mut Log, variant: u64) -> Forged {
    let (_, anchor) = stated(log, variant)?;
    set_anchor(log, &anchor)
}

fn removal(log: &mut Log, variant: u64) -> Forged {
    let (segment, anchor) = stated(log, variant)?;
    remove(log, segment, &anchor)
}

fn remove(log: &mut Log, segment: usize, anchor: &Position) -> Forged {
    remove_segments_before(log, segment);
    set_anchor(log, anchor)
}

fn other_link(log: &mut Log, variant: u64) -> Forged {
    active_segment(log)?;
    let (segment, anchor) = anchor_of(log, variant)?;
    let mut archived = archived(log, variant, &anchor)?;
    archived.link[0] ^= 1;
    log.append(&[history_archived(&archived)]);
    log.head_follows();
    remove(log, segment, &anchor)
}

fn other_fingerprint(log: &mut Log, variant: u64) -> Forged {
    active_segment(log)?;
    let (segment, anchor) = anchor_of(log, variant)?;
    let archived = archived(log, variant, &anchor)?;
    let mut fact = history_archived(&archived);
    // The state ends the payload: other bytes of it, under the fingerprint of the first.
    if let Some(last) = fact.payload.last_mut() {
        *last ^= 1;
    }
    log.append(&[fact]);
    log.head_follows();
    remove(log, segment, &anchor)
}

fn future(log: &mut Log, variant: u64) -> Forged {
    active_segment(log)?;
    let (_, mut anchor) = anchor_of(log, variant)?;
    anchor.sequence += 1 << 32;
    let archived = archived(log, variant, &anchor)?;
    log.append(&[history_archived(&archived)]);
    log.head_follows();
    Ok(())
}
