//! A record whose checksum holds and whose link does not: what was changed, where undoing one
//! change of one field gives the link that it carries.

use super::cause::{Explained, Gap};
use super::region::{Cause, Certainty};
use super::view::{Next, View};
use holdpoint_log_files::ReadFile;
use holdpoint_log_files::damage_scan::{Frame, link_of};
use holdpoint_log_format::limits::RECORD_HEADER_LENGTH;
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::{ChainPosition, Flags, Link, LogId, RecordHeader};
use std::io;

/// Longest payload of which every bit is tried, in bytes.
const PAYLOAD_TRIED_MAX: usize = 4_096;

/// Most times between two neighbours that are tried.
const TIMES_TRIED_MAX: u64 = 4_096;

/// Fault of a record whose checksum and link hold.
pub(super) const TIME_OR_CLAIM: &str = "time or claim";

/// Explains a gap that one such record fills.
pub(super) fn explain<F: ReadFile>(
    view: &mut View<F>,
    gap: &Gap<'_>,
    frame: &Frame,
) -> io::Result<Explained> {
    let (log, due) = (view.header.log, gap.after.sequence.saturating_add(1));
    // Its time may be what was forged, or the time before it: the next record's need not be behind
    // either of them.
    let time = gap.after.time.min(frame.header.time);
    let here = ChainPosition { sequence: due, time, ..frame.chain() };
    if frame.header.sequence != due {
        let header = RecordHeader { sequence: due, ..frame.header.clone() };
        let is_restored = link_of(log, &header, &frame.digest, &gap.after.link) == here.link;
        if !is_restored && view.holds_elsewhere(frame, &gap.after, gap.to)? {
            return Ok(Explained::proven(Cause::Duplicated { sequence: frame.header.sequence }));
        }
        let certainty = if is_restored { Certainty::Proven } else { Certainty::Fits };
        let forged = Explained::new(forged("sequence"), certainty);
        return Ok(if is_restored { forged.going_on(here) } else { forged });
    }
    let computed = frame.link_behind(log, &gap.after.link);
    if computed == here.link {
        return Ok(Explained::fits(forged(TIME_OR_CLAIM)).going_on(here));
    }
    let ties = |link: &Link| gap.next.map(|next| next.ties(log, link));
    if ties(&computed) == Some(true) {
        let before = ChainPosition { link: computed, ..here };
        return Ok(Explained::proven(forged("link")).going_on(before));
    }
    if ties(&here.link) == Some(false) {
        return Ok(Explained::proven(forged("the whole record")));
    }
    Ok(match restored(view, gap, frame)? {
        Some(field) => Explained::proven(forged(field)),
        None => Explained::fits(Cause::ForgedOrRechained),
    }
    .going_on(here))
}

fn forged(field: &str) -> Cause {
    Cause::Forged { field: field.to_string() }
}

/// The field in which one change explains the link.
fn restored<F: ReadFile>(
    view: &mut View<F>,
    gap: &Gap<'_>,
    frame: &Frame,
) -> io::Result<Option<&'static str>> {
    let guess = Guess { log: view.header.log, previous: &gap.after.link, frame };
    let next = gap.next.map(|next| match next {
        Next::Record(next) => next.header.time,
        Next::Seal(_, seal) => seal.last.time,
        Next::Head(_) => frame.header.time,
    });
    if let Some(field) = guess.field().or_else(|| guess.time(gap.after.time, next)) {
        return Ok(Some(field));
    }
    if view.restores == 0 || u64::from(frame.header.size) > TRIED_MAX {
        return Ok(None);
    }
    view.restores -= 1;
    let payload = view.window.bytes(frame.offset, u64::from(frame.header.size))?;
    let payload = payload.get(RECORD_HEADER_LENGTH..).unwrap_or_default();
    Ok(guess.payload(payload).then_some("payload"))
}

const TRIED_MAX: u64 = (RECORD_HEADER_LENGTH + PAYLOAD_TRIED_MAX) as u64;

/// A frame, and the link before it.
struct Guess<'g> {
    log: LogId,
    previous: &'g Link,
    frame: &'g Frame,
}

impl Guess<'_> {
    fn fits(&self, header: &RecordHeader) -> bool {
        link_of(self.log, header, &self.frame.digest, self.previous) == self.frame.header.link
    }

    /// Every bit of every field of the header but sequence, size, checksum and link.
    fn field(&self) -> Option<&'static str> {
        let is = &self.frame.header;
        let with = |change: &dyn Fn(u32) -> RecordHeader, bits| {
            (0..bits).any(|bit| self.fits(&change(bit)))
        };
        if with(&|bit| RecordHeader { kind: is.kind ^ 1 << bit, ..is.clone() }, 16) {
            return Some("kind");
        }
        if with(&|bit| RecordHeader { version: is.version ^ 1 << bit, ..is.clone() }, 8) {
            return Some("version");
        }
        if with(&|bit| RecordHeader { unsynced: is.unsynced ^ 1 << bit, ..is.clone() }, 32) {
            return Some("unsynced");
        }
        if with(&|bit| RecordHeader { time: is.time ^ 1 << bit, ..is.clone() }, 64) {
            return Some("time");
        }
        let flags = [0, 1].into_iter().filter_map(Flags::from_bits);
        let mut headers = flags.map(|flags| RecordHeader { flags, ..is.clone() });
        headers.any(|header| self.fits(&header)).then_some("flags")
    }

    /// A time between those of the neighbours.
    fn time(&self, before: u64, next: Option<u64>) -> Option<&'static str> {
        let last = next.unwrap_or(before).min(before.saturating_add(TIMES_TRIED_MAX));
        let mut times = before..=last;
        let with = |time| RecordHeader { time, ..self.frame.header.clone() };
        times.any(|time| self.fits(&with(time))).then_some("time")
    }

    fn payload(&self, payload: &[u8]) -> bool {
        let mut guessed = payload.to_vec();
        let mut frame = self.frame.clone();
        (0..payload.len() * 8).any(|place| {
            let (at, bit) = (place / 8, 1 << (place % 8));
            guessed.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bit);
            frame.digest = payload_digest(&guessed);
            guessed.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bit);
            frame.follows(self.log, self.previous)
        })
    }
}
