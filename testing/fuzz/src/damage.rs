//! What happens to a log's directory: bytes, names, and parts that are valid and say other things.

use super::edit::Edit;
use super::image::{Image, Node};
use super::written::{Segment, Written};
use arbitrary::{Arbitrary, Unstructured};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::record::{Record, encode_into};
use holdpoint_log_format::{Flags, Head, Lock, RecordHeader, Seal, SegmentHeader, names};

/// Most things that happen to one directory.
const DAMAGES_MAX: usize = 6;

/// One thing that happens. Numbers choose among what is there.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Damage {
    /// A file's bytes change.
    Edit(u8, Edit),
    /// A name goes away.
    Remove(u8),
    /// A file takes another name.
    Rename(u8, Name),
    /// A file stands under a second name as well.
    Duplicate(u8, Name),
    /// A directory stands where a file was.
    BecomeDirectory(u8),
    /// Something else is in the directory.
    Foreign(Vec<u8>),
    /// A HEAD that is valid and says anything.
    Head(Head),
    /// HEAD with one field that says something else.
    HeadField(u8, u64),
    /// A LOCK that is valid and says anything.
    Lock(Lock),
    /// A segment's header with one field that says something else.
    HeaderField(u8, u8, u64),
    /// A record with one field that says something else, and a good checksum.
    RecordField(u8, u8, u8, u64),
    /// A seal that is valid and says anything, behind a segment's records.
    Seal(u8, Seal),
    /// The last segment as a roll leaves it that lost power before its header was written.
    BlankLast,
}

/// A name to give to a file.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Name {
    /// The segment that begins at this sequence.
    Segment(u16),
    /// A segment under preparation.
    Prepared(u16),
    /// HEAD.
    Head,
    /// LOCK.
    Lock,
    /// No name of a log's.
    Foreign,
}

impl Damage {
    /// Lets happen to a log's directory what the input says; whether something is forged by that.
    pub(crate) fn happen(
        image: &mut Image,
        written: &Written,
        input: &mut Unstructured<'_>,
    ) -> arbitrary::Result<bool> {
        let mut is_forged = false;
        for damage in input.arbitrary_iter::<Self>()?.take(DAMAGES_MAX) {
            let damage = damage?;
            is_forged |= damage.is_forgery();
            damage.apply(image, written);
        }
        Ok(is_forged)
    }

    /// Lets it happen.
    pub(crate) fn apply(&self, image: &mut Image, written: &Written) {
        match self {
            Self::Edit(file, edit) => {
                with_file(image, *file, |_, bytes| edit.apply(bytes));
            }
            Self::Remove(file) => {
                with_file(image, *file, |path, _| path.clear());
            }
            Self::Rename(file, name) => {
                with_file(image, *file, |path, _| *path = name.path());
            }
            Self::Duplicate(file, name) => {
                let copy = chosen(image, *file).and_then(|path| image.file(&path).cloned());
                copy.into_iter().for_each(|bytes| image.put(&name.path(), bytes));
            }
            Self::BecomeDirectory(file) => {
                let path = chosen(image, *file);
                path.into_iter().for_each(|path| drop(image.0.insert(path, Node::Directory)));
            }
            Self::Foreign(bytes) => image.put("notes.txt", bytes.clone()),
            Self::Head(head) => image.put(names::HEAD, head.encode().to_vec()),
            Self::HeadField(field, value) => change_head(image, *field, *value),
            Self::Lock(lock) => image.put(names::LOCK, lock.encode().to_vec()),
            _ => self.apply_to_segment(image, written),
        }
    }

    fn apply_to_segment(&self, image: &mut Image, written: &Written) {
        match self {
            Self::HeaderField(segment, field, value) => {
                with_segment(image, written, *segment, |_, bytes| {
                    change_header(bytes, *field, *value);
                });
            }
            Self::RecordField(segment, record, field, value) => {
                with_segment(image, written, *segment, |segment, bytes| {
                    change_record(segment, bytes, *record, *field, *value);
                });
            }
            Self::Seal(segment, seal) => {
                with_segment(image, written, *segment, |segment, bytes| {
                    let seal = Seal { offset: segment.end as u64, ..*seal };
                    put(bytes, segment.end, &seal.encode(segment.header.seed()));
                });
            }
            Self::BlankLast => {
                let last = written.segments.len().saturating_sub(1) as u8;
                with_segment(image, written, last, |_, bytes| bytes.fill(0));
            }
            _ => {}
        }
    }

    /// Whether it makes parts that hold, and say what nobody wrote: that takes a program, not an
    /// accident, and the newest records have no witness against it.
    pub(crate) fn is_forgery(&self) -> bool {
        matches!(
            self,
            Self::Head(_)
                | Self::HeadField(..)
                | Self::HeaderField(..)
                | Self::RecordField(..)
                | Self::Seal(..)
        )
    }
}

impl Name {
    fn path(&self) -> String {
        let prepared = |sequence: u16| names::prepared(u64::from(sequence));
        match self {
            Self::Segment(sequence) => segment_path(u64::from(*sequence % 40)),
            Self::Prepared(sequence) => format!("{}/{}", names::SEGMENTS, prepared(*sequence)),
            Self::Head => names::HEAD.into(),
            Self::Lock => names::LOCK.into(),
            Self::Foreign => "copy of a segment".into(),
        }
    }
}

/// A file chosen among those that there are.
fn chosen(image: &Image, number: u8) -> Option<String> {
    let is_file = |(path, node): (&String, &Node)| match node {
        Node::File(_) => Some(path.clone()),
        Node::Directory => None,
    };
    let files: Vec<String> = image.0.iter().filter_map(is_file).collect();
    files.get(usize::from(number) % files.len().max(1)).cloned()
}

/// Takes a file out and puts it back under the name that it then has; no name: it stays away.
fn with_file(image: &mut Image, number: u8, change: impl FnOnce(&mut String, &mut Vec<u8>)) {
    let Some(mut path) = chosen(image, number) else { return };
    let Some(Node::File(mut bytes)) = image.0.remove(&path) else { return };
    change(&mut path, &mut bytes);
    if !path.is_empty() {
        image.put(&path, bytes);
    }
}

fn with_segment(
    image: &mut Image,
    written: &Written,
    number: u8,
    change: impl FnOnce(&Segment, &mut Vec<u8>),
) {
    let number = usize::from(number) % written.segments.len().max(1);
    let Some(segment) = written.segments.get(number) else { return };
    let path = segment_path(segment.header.first_sequence());
    if let Some(Node::File(bytes)) = image.0.get_mut(&path) {
        change(segment, bytes);
    }
}

fn change_head(image: &mut Image, field: u8, value: u64) {
    let Some(mut head) = image.file(names::HEAD).and_then(|bytes| Head::decode(bytes).ok()) else {
        return;
    };
    match field % 6 {
        0 => head.anchor_sequence = value,
        1 => head.newest_sequence = value,
        2 => head.segment = value,
        3 => head.record_offset = value,
        4 => head.end_offset = value,
        _ => head.newest_link = head.anchor_link,
    }
    image.put(names::HEAD, head.encode().to_vec());
}

fn change_header(bytes: &mut [u8], field: u8, value: u64) {
    let block = bytes.first_chunk::<SEGMENT_HEADER_LENGTH>();
    let Some(mut header) = block.and_then(|block| SegmentHeader::decode(block).ok()) else {
        return;
    };
    match field % 5 {
        0 => header.previous.sequence = value.min(u64::MAX - 1),
        1 => header.previous.time = value,
        2 => header.capacity = value,
        3 => header.previous_seal_offset = value,
        _ => header.log.0 = [value as u8; 16],
    }
    put(bytes, 0, &header.encode());
}

/// Changes a field and makes the checksum, and for one half of all fields the link, anew.
fn change_record(segment: &Segment, bytes: &mut [u8], number: u8, field: u8, value: u64) {
    let number = usize::from(number) % segment.records.len().max(1);
    let Some((at, _)) = segment.records.get(number) else { return };
    let seed = segment.header.seed();
    let Some(Ok(record)) = bytes.get(*at..).map(|rest| Record::decode(rest, seed)) else { return };
    let (header, mut payload) = (record.header.clone(), record.payload.to_vec());
    let mut header = changed(header, &mut payload, field, value);
    if field >= 128 {
        let before = number.checked_sub(1).and_then(|before| segment.records.get(before));
        let previous = before.map_or(segment.header.previous.link, |(_, header)| header.link);
        let changed = Record { header: header.clone(), payload: &payload };
        header.link = changed.expected_link(segment.header.log, &previous);
    }
    let mut frame = Vec::new();
    encode_into(&mut frame, &header, &payload, seed);
    put(bytes, *at, &frame);
}

fn changed(header: RecordHeader, payload: &mut [u8], field: u8, value: u64) -> RecordHeader {
    match field % 7 {
        0 => RecordHeader { kind: value as u16, ..header },
        1 => RecordHeader { version: value as u8, ..header },
        2 => RecordHeader { flags: Flags::from_bits(value as u8).unwrap_or(Flags::NONE), ..header },
        3 => RecordHeader { unsynced: value as u32, ..header },
        4 => RecordHeader { sequence: value, ..header },
        5 => RecordHeader { time: value, ..header },
        _ => {
            payload.iter_mut().take(1).for_each(|byte| *byte ^= (value as u8).max(1));
            header
        }
    }
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes.iter_mut().skip(at).zip(new).for_each(|(to, from)| *to = *from);
}
