//! A valid log of any shape, written by hand out of the format's own parts: what the targets then
//! damage.

use arbitrary::{Arbitrary, Unstructured};
use holdpoint_domain::Envelope;
use holdpoint_domain::world::envelope::encode;
use holdpoint_log_format::limits::{
    PAGE, SEAL_LENGTH, SEGMENT_CAPACITY_LEAST, SEGMENT_HEADER_LENGTH, record_footprint,
};
use holdpoint_log_format::record::{NO_CLAIM, encode_into};
use holdpoint_log_format::{
    BootId, ChainPosition, Flags, Head, LinkPrefix, LogId, RecordHeader, Seal, SegmentHeader, link,
};

/// Most batches of one log: more teach a fuzzer nothing.
const BATCHES_MAX: usize = 12;

/// What one record says.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Content {
    /// A byte, repeated.
    Filled(u16, u8),
    /// These bytes as an event of this kind and version.
    Raw(u8, u8, Vec<u8>),
    /// An event.
    Event(Box<Envelope>),
}

/// How far a record claims durability.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Claim {
    /// Not at all.
    Nothing,
    /// Up to the batch before.
    BatchBefore,
    /// Up to the log's beginning.
    Beginning,
}

/// One batch, and whether a roll comes before it.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) struct Batch {
    rolls: bool,
    claim: Claim,
    time_step: u8,
    first: Content,
    more: Vec<Content>,
}

/// A log as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Its identity.
    pub(crate) log: LogId,
    /// Its segments in order.
    pub(crate) segments: Vec<Segment>,
    /// Where batches end.
    pub(crate) ends: Vec<End>,
}

/// A segment as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Its header.
    pub(crate) header: SegmentHeader,
    /// The whole file.
    pub(crate) bytes: Vec<u8>,
    /// Offsets and headers of its records.
    pub(crate) records: Vec<(usize, RecordHeader)>,
    /// Offset behind the last record.
    pub(crate) end: usize,
}

/// The end of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Its last record.
    pub(crate) chain: ChainPosition,
    /// First sequence of its segment.
    pub(crate) segment: u64,
    /// Offset of its last record.
    pub(crate) record_offset: u64,
    /// Offset behind it.
    pub(crate) end_offset: u64,
}

impl Written {
    /// Writes a log as the input says.
    ///
    /// # Errors
    /// The input is used up.
    pub(crate) fn plan(input: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        let log = LogId([input.arbitrary::<u8>()? % 2 + 1; 16]);
        let mut written = Self { log, segments: Vec::new(), ends: Vec::new() };
        let pages = input.int_in_range(0..=2_u64)?;
        written.begin(ChainPosition::genesis(log), SEGMENT_CAPACITY_LEAST + pages * PAGE, 0);
        for _ in 0..input.int_in_range(0..=BATCHES_MAX)? {
            written.append(&input.arbitrary()?);
        }
        if input.ratio(1_u8, 8_u8)? {
            written.seal();
        }
        Ok(written)
    }

    /// The newest record.
    pub(crate) fn chain(&self) -> ChainPosition {
        let genesis = ChainPosition::genesis(self.log);
        self.ends.last().map_or(genesis, |end| end.chain)
    }

    /// HEAD as it names the end of this batch, or the log's beginning.
    pub(crate) fn head(&self, batch: Option<usize>) -> Head {
        let anchor = Head::at_anchor(self.log, &ChainPosition::genesis(self.log), BootId::UNKNOWN);
        let end = batch.and_then(|number| self.ends.get(number));
        end.map_or(anchor, |end| Head {
            newest_sequence: end.chain.sequence,
            newest_link: end.chain.link,
            segment: end.segment,
            record_offset: end.record_offset,
            end_offset: end.end_offset,
            ..anchor
        })
    }

    fn begin(&mut self, previous: ChainPosition, capacity: u64, previous_seal_offset: u64) {
        let header = SegmentHeader { log: self.log, previous, capacity, previous_seal_offset };
        let mut bytes = header.encode().to_vec();
        bytes.resize(capacity as usize, 0);
        let (records, end) = (Vec::new(), SEGMENT_HEADER_LENGTH);
        self.segments.push(Segment { header, bytes, records, end });
    }

    fn append(&mut self, batch: &Batch) {
        let payloads: Vec<_> =
            [&batch.first].into_iter().chain(&batch.more).take(4).map(payload).collect();
        let length = payloads.iter().map(|(_, _, payload)| record_footprint(payload.len())).sum();
        if !self.has_room(length) || batch.rolls {
            self.roll(length);
        }
        let before = self.chain();
        for (index, (kind, version, payload)) in payloads.iter().enumerate() {
            let is_last = index + 1 == payloads.len();
            let flags = if is_last { Flags::NONE } else { Flags::MORE_FOLLOWS };
            let header = RecordHeader {
                kind: *kind,
                version: *version,
                flags,
                unsynced: batch.claim.unsynced(before.sequence, index as u64),
                ..next(&before, index as u64, batch.time_step)
            };
            self.write(header, payload, is_last);
        }
    }

    /// Writes the record behind the newest one, with its link.
    fn write(&mut self, mut header: RecordHeader, payload: &[u8], ends_batch: bool) {
        let log = self.log;
        let Some(segment) = self.segments.last_mut() else { return };
        let previous = segment.newest();
        let digest = link::payload_digest(payload);
        header.link = LinkPrefix::new(log, header.kind, header.version, header.flags, &digest)
            .link(&previous.link, header.unsynced, header.sequence, header.time);
        let mut frame = Vec::new();
        encode_into(&mut frame, &header, payload, segment.header.seed());
        let at = segment.end;
        // Size and checksum are computed where the frame is.
        let framed = frame.first_chunk().and_then(|frame| RecordHeader::decode(frame).ok());
        segment.put(at, &frame);
        segment.end += frame.len();
        segment.records.push((at, framed.unwrap_or(header)));
        if ends_batch {
            self.ends.push(End {
                chain: segment.newest(),
                segment: segment.header.first_sequence(),
                record_offset: at as u64,
                end_offset: segment.end as u64,
            });
        }
    }

    fn has_room(&self, length: u64) -> bool {
        let Some(segment) = self.segments.last() else { return false };
        segment.end as u64 + length <= segment.header.records_end()
    }

    /// Seals the newest segment and begins the next. One that holds no record is replaced: no seal
    /// stands behind nothing.
    fn roll(&mut self, batch: u64) {
        let own =
            (SEGMENT_HEADER_LENGTH as u64 + batch + SEAL_LENGTH as u64).next_multiple_of(PAGE);
        let capacity = own.max(SEGMENT_CAPACITY_LEAST);
        match self.segments.pop_if(|segment| segment.records.is_empty()) {
            Some(empty) => {
                let SegmentHeader { previous, previous_seal_offset, .. } = empty.header;
                self.begin(previous, capacity, previous_seal_offset);
            }
            None => {
                let at = self.seal();
                self.begin(self.chain(), capacity, at);
            }
        }
    }

    fn seal(&mut self) -> u64 {
        let Some(segment) = self.segments.last_mut() else { return 0 };
        let at = segment.end;
        let seal = Seal { last: segment.newest(), offset: at as u64 };
        segment.put(at, &seal.encode(segment.header.seed()));
        at as u64
    }
}

impl Segment {
    /// The newest record up to here.
    fn newest(&self) -> ChainPosition {
        let last = self.records.last().map(|(_, header)| ChainPosition {
            sequence: header.sequence,
            link: header.link,
            time: header.time,
        });
        last.unwrap_or(self.header.previous)
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        let to = self.bytes.iter_mut().skip(at);
        to.zip(bytes).for_each(|(to, from)| *to = *from);
    }
}

impl Claim {
    /// The field of the record that comes `index` after the batch's first; `before` is the sequence
    /// of the record before the batch.
    fn unsynced(self, before: u64, index: u64) -> u32 {
        match self {
            Self::Nothing => NO_CLAIM,
            Self::BatchBefore => index as u32,
            Self::Beginning => (before + index) as u32,
        }
    }
}

/// The parts of a header that say its place.
fn next(before: &ChainPosition, index: u64, time_step: u8) -> RecordHeader {
    RecordHeader {
        size: 0,
        checksum: 0,
        kind: 0,
        version: 0,
        flags: Flags::NONE,
        unsynced: NO_CLAIM,
        sequence: before.sequence + 1 + index,
        time: before.time + u64::from(time_step),
        link: before.link,
    }
}

/// Kind, version and payload of a record.
fn payload(content: &Content) -> (u16, u8, Vec<u8>) {
    match content {
        Content::Filled(length, byte) => (3, 1, vec![*byte; usize::from(*length % 2_000)]),
        Content::Raw(kind, version, bytes) => (u16::from(*kind), *version, bytes.clone()),
        Content::Event(envelope) => {
            let encoded = encode(envelope).expect("no longer than a payload may be");
            (encoded.kind, encoded.version, encoded.payload)
        }
    }
}
