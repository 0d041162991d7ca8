//! No document says how a payload is laid out: the order of its values was read off the golden
//! bytes of the events and the types that they are made of, and the encoder was written anew.
//!
//! A payload is a heading (kind, who, story, cause, key) and the event's own values. Numbers take
//! one byte below 251, else a byte that names the width and the number in it; texts and bytes begin
//! with their length; what may be missing begins with 0 or 1; a digest is its 32 bytes.

use crate::append::Fact;
use crate::block::number;

const FINGERPRINT_RECORDED: u16 = 4;
const COMMAND_REFUSED: u16 = 5;
const SALVAGED: u16 = 7;
pub(crate) const HISTORY_ARCHIVED: u16 = 9;
pub(crate) const SEGMENT_INDEXED: u16 = 10;
const RECORDS_UNPROVEN: u16 = 13;
pub(crate) const LOOP_INITIALIZED: u16 = 32;

/// The place of SYSTEM among the kinds of actors.
const SYSTEM: u64 = 3;

/// The fingerprint of the state before this record.
pub fn fingerprint_recorded(schema: u64, fingerprint: &[u8; 32]) -> Fact {
    Payload::of(FINGERPRINT_RECORDED).number(schema).digest(fingerprint).fact(FINGERPRINT_RECORDED)
}

/// The index of a segment, of this version of the index's format, has this digest.
pub fn segment_indexed(first: u64, last: u64, format: u64, digest: &[u8; 32]) -> Fact {
    let body = Payload::of(SEGMENT_INDEXED).number(first).number(last).number(format);
    body.digest(digest).fact(SEGMENT_INDEXED)
}

/// Records that something was changed or missing behind are unproven.
pub fn records_unproven(first: u64, last: u64) -> Fact {
    Payload::of(RECORDS_UNPROVEN).number(first).number(last).number(0).fact(RECORDS_UNPROVEN)
}

/// The report of a salvage whose records end with this one.
pub fn salvaged_up_to(last: u64) -> Fact {
    let of_source = Payload::of(SALVAGED).raw(&[b'0'; 32]);
    // Six numbers of the other log, no run, no finding; no range of unproven records.
    let body = [0; 10].into_iter().fold(of_source, Payload::number).number(last).number(0);
    Fact { version: 2, ..body.fact(SALVAGED) }
}

/// What `log.history_archived` states.
#[derive(Debug, Clone)]
pub struct Archived {
    pub first: u64,
    pub anchor: u64,
    pub link: [u8; 32],
    pub to: String,
    pub schema: u64,
    pub state: Vec<u8>,
}

/// The first records were moved away.
pub fn history_archived(archived: &Archived) -> Fact {
    let Archived { first, anchor, link, to, schema, state } = archived;
    let fingerprint = crate::snapshot::fingerprint(*schema, state);
    let place = Payload::of(HISTORY_ARCHIVED).number(*first).number(*anchor).digest(link);
    let body = place.raw(to.as_bytes()).number(*schema).digest(&fingerprint).raw(state);
    body.fact(HISTORY_ARCHIVED)
}

/// What a record of kind 9 states of an anchor whose link is known.
pub fn stated_archive(payload: &[u8], anchor: u64, link: [u8; 32]) -> Option<Archived> {
    let at = payload.windows(32).position(|bytes| bytes == link)?;
    let mut rest = &payload[at + 32..];
    let to = String::from_utf8(take_raw(&mut rest)?).ok()?;
    let schema = take_number(&mut rest)?;
    rest = rest.get(32..)?;
    let state = take_raw(&mut rest)?;
    Some(Archived { first: 1, anchor, link, to, schema, state })
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let (first, behind) = rest.split_first()?;
    let length = match first {
        0..=250 => 0,
        251 => 2,
        252 => 4,
        _ => 8,
    };
    let (bytes, behind) = behind.split_at_checked(length)?;
    *rest = behind;
    Some(if length == 0 { u64::from(*first) } else { number(bytes) })
}

fn take_raw(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    let (bytes, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(bytes.to_vec())
}

/// A command was refused, with these words.
pub fn command_refused(message: &str) -> Fact {
    let class = 0;
    let rule = Payload::of(COMMAND_REFUSED).raw(b"human_decision.answer").number(class);
    let subject = rule.raw(b"ALREADY_ANSWERED").number(1).raw(b"REQ-1");
    subject.raw(message.as_bytes()).fact(COMMAND_REFUSED)
}

/// Fingerprint and schema, as a record of kind 4 ends with them.
pub fn stated_schema(kind: u16, payload: &[u8]) -> Option<u64> {
    let is_one = kind == FINGERPRINT_RECORDED;
    let place = payload.len().checked_sub(33).filter(|_| is_one)?;
    Some(u64::from(payload[place]))
}

struct Payload(Vec<u8>);

impl Payload {
    fn of(kind: u16) -> Self {
        let actor = Self(Vec::new()).number(u64::from(kind)).number(SYSTEM).raw(b"holdpoint");
        let story = actor.raw(b"0123456789abcdef0123456789abcdef");
        let (no_cause, no_key) = (0, 0);
        story.number(no_cause).number(no_key)
    }

    fn number(mut self, value: u64) -> Self {
        let bytes = value.to_le_bytes();
        let (width, length) = match value {
            0..=250 => (None, 1),
            251..=0xffff => (Some(251), 2),
            0x1_0000..=0xffff_ffff => (Some(252), 4),
            _ => (Some(253), 8),
        };
        self.0.extend(width);
        self.0.extend(&bytes[..length]);
        self
    }

    fn raw(self, bytes: &[u8]) -> Self {
        let mut longer = self.number(bytes.len() as u64);
        longer.0.extend(bytes);
        longer
    }

    fn digest(mut self, digest: &[u8; 32]) -> Self {
        self.0.extend(digest);
        self
    }

    fn fact(self, kind: u16) -> Fact {
        Fact { kind, version: 1, payload: self.0 }
    }
}
