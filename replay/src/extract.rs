//! Records in a row as they lie in a log, for whoever carries them elsewhere: each with its frame,
//! whole for those that are told, and for the others with the digest in the place of the payload,
//! as the format has it. So the chain of all of them can be checked without what is left out.

use crate::captured_output::{CapturedOutput, Outputs};
use crate::finding::{Finding, named};
use crate::read::{Committed, Content, ReadError};
use crate::records::Line;
use holdpoint_domain::Event;
use holdpoint_domain::decision_point::DecisionPointEvent;
use holdpoint_domain::evidence_capture::EvidenceCaptureEvent;
use holdpoint_log_files::{
    Finding as LogFinding, LogReader, ReadStorage, RecordPlace, Run, Standing,
};
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::{
    ChainPosition, ChecksumSeed, Flags, LogId, Record, RecordHeader, SegmentHeader,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Records that are taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The first record; batches are taken whole.
    pub first: u64,
    /// The last record.
    pub last: u64,
    /// Those that are told: their payloads are taken too.
    pub told: BTreeSet<u64>,
    /// True if payloads that hold raw evidence are taken as well.
    pub evidence: bool,
    /// So many records at most.
    pub most_records: usize,
    /// So many bytes of frames at most.
    pub most_bytes: usize,
}

/// A record that was taken.
#[derive(Clone, Debug)]
pub struct TakenRecord {
    /// First sequence of the segment that it lies in: its checksum is seeded with it.
    pub segment: u64,
    /// Its header as it lies in the log.
    pub header: RecordHeader,
    /// SHA-256 of its payload.
    pub digest: [u8; 32],
    /// Header, payload or the digest of it, and padding.
    pub frame: Vec<u8>,
    /// True if the payload is in the frame.
    pub has_payload: bool,
    /// Line of it: of those that are told.
    pub line: Option<Line>,
}

impl TakenRecord {
    /// The name of its kind: of the registry, or `kind N` where it has none.
    #[must_use]
    pub fn kind(&self) -> String {
        named(self.header.kind)
    }
}

/// Records in a row.
#[derive(Clone, Debug, Default)]
pub struct Extract {
    /// The log's identity; `None` where nothing could be read.
    pub log: Option<LogId>,
    /// The place before the first one.
    pub before: Option<ChainPosition>,
    /// Each of them. Where something is wrong they end before that.
    pub records: Vec<TakenRecord>,
    /// Findings in the segments that were read for them.
    pub findings: Vec<Finding>,
}

impl Extract {
    /// Returns the outputs of runs, as far as these records hold them, by the run's id. Nothing is
    /// asked of the records' standing.
    #[must_use]
    pub fn outputs(&self) -> BTreeMap<&str, Vec<CapturedOutput>> {
        let mut outputs: BTreeMap<&str, Outputs> = BTreeMap::new();
        for line in self.records.iter().filter_map(|record| record.line.as_ref()) {
            let Some((loop_id, event)) = line.loop_id.as_deref().zip(line.event.as_ref()) else {
                continue;
            };
            outputs.entry(loop_id).or_default().take(event, line.sequence, Standing::Unproven);
        }
        outputs.into_iter().map(|(loop_id, of_run)| (loop_id, of_run.into_all())).collect()
    }
}

/// Outcome of taking records.
pub enum Extracted {
    /// These.
    Records(Box<Extract>),
    /// They are more than may be taken: those up to here are not.
    TooMuch {
        /// The last record of the last batch that may still be taken; `None`: not even one may.
        fits_to: Option<u64>,
    },
}

/// Takes the records of a range, batches whole, up to the first place where something is wrong.
/// Every segment is checked from its beginning on.
///
/// # Errors
/// [`ReadError`]: a file cannot be read, or is of a newer format version.
pub fn extract<S: ReadStorage>(storage: &S, taken: &Taken) -> Result<Extracted, ReadError> {
    let reader = LogReader::of(storage)?;
    let mut taking = Taking { taken, out: Extract::default(), batch: Vec::new(), bytes: 0 };
    let mut found: Vec<LogFinding> = Vec::new();
    let holding = reader.holding(taken.first).unwrap_or(0);
    for name in reader.firsts().iter().skip(holding).take_while(|name| **name <= taken.last) {
        let Some(mut segment) = reader.open(*name, &mut found)? else { break };
        if !found.is_empty() {
            break;
        }
        taking.out.log.get_or_insert(segment.header.log);
        let (header, mut onward) = (segment.header, Onward::On);
        taking.begin_segment(&header);
        let mut before = header.previous;
        reader.walk(&mut segment, Run::at_start(&header), &mut found, &mut |place, record| {
            onward = taking.take(place, record, &header, before);
            before = ChainPosition::of(&record.header);
            if onward == Onward::On { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        match onward {
            Onward::TooMuch => return Ok(Extracted::TooMuch { fits_to: taking.fits_to() }),
            Onward::Done => break,
            Onward::On if !found.is_empty() => break,
            Onward::On => {}
        }
    }
    let archives = storage.archives();
    let located = |finding| Finding::from(finding).located(&archives);
    taking.out.findings = found.into_iter().map(located).collect();
    Ok(Extracted::Records(Box::new(taking.out)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Onward {
    On,
    Done,
    TooMuch,
}

struct Taking<'t> {
    taken: &'t Taken,
    out: Extract,
    /// Records of a batch that has not ended yet, and the place before the first of them.
    batch: Vec<(TakenRecord, ChainPosition)>,
    bytes: usize,
}

impl Taking<'_> {
    /// A batch ends in the segment in which it began.
    fn begin_segment(&mut self, header: &SegmentHeader) {
        self.batch.clear();
        if header.previous.sequence.saturating_add(1) == self.taken.first {
            self.out.before.get_or_insert(header.previous);
        }
    }

    fn take(
        &mut self,
        place: &RecordPlace,
        record: &Record<'_>,
        header: &SegmentHeader,
        before: ChainPosition,
    ) -> Onward {
        let taken = self.record(place, record, header.seed());
        self.batch.push((taken, before));
        if record.header.flags.more_follows() {
            return Onward::On;
        }
        let batch = std::mem::take(&mut self.batch);
        if record.header.sequence < self.taken.first {
            return Onward::On;
        }
        let count = self.out.records.len().saturating_add(batch.len());
        let bytes: usize = batch.iter().map(|(taken, _)| taken.frame.len()).sum();
        self.bytes = self.bytes.saturating_add(bytes);
        if count > self.taken.most_records || self.bytes > self.taken.most_bytes {
            return Onward::TooMuch;
        }
        if let Some((_, before)) = batch.first().filter(|_| self.out.records.is_empty()) {
            self.out.before = Some(*before);
        }
        self.out.records.extend(batch.into_iter().map(|(taken, _)| taken));
        if record.header.sequence >= self.taken.last { Onward::Done } else { Onward::On }
    }

    fn record(&self, place: &RecordPlace, record: &Record<'_>, seed: ChecksumSeed) -> TakenRecord {
        let (header, digest) = (record.header.clone(), record.digest());
        let is_told = self.taken.told.contains(&header.sequence);
        let content = is_told.then(|| Committed::of(place, record));
        let is_evidence = content.as_ref().is_none_or(holds_evidence);
        let has_payload =
            !header.flags.withheld() && (!is_evidence || is_told && self.taken.evidence);
        let mut frame = Vec::new();
        match has_payload || header.flags.withheld() {
            true => encode_into(&mut frame, &header, record.payload, seed),
            false => encode_into(&mut frame, &withheld(&header), &digest, seed),
        }
        let line = content.map(|record| Line::of(&record));
        TakenRecord { segment: place.segment, header, digest, frame, has_payload, line }
    }

    fn fits_to(&self) -> Option<u64> {
        self.out.records.last().map(|record| record.header.sequence)
    }
}

/// Returns whether raw evidence is in the payload of a record, or may be: of one that cannot be
/// read nobody knows.
fn holds_evidence(record: &Committed) -> bool {
    match &record.content {
        // What became of a tool's call comes with the beginning and the end of its answer.
        Content::Event(envelope) => matches!(
            envelope.event,
            Event::EvidenceCapture(
                EvidenceCaptureEvent::EvidenceCaptured(_) | EvidenceCaptureEvent::OutputRecorded(_)
            ) | Event::DecisionPoint(DecisionPointEvent::OutcomeReported(_))
        ),
        Content::Opaque | Content::Withheld | Content::Undecodable(_) | Content::NotRead => true,
    }
}

/// The header of a record of which only the digest is left.
fn withheld(header: &RecordHeader) -> RecordHeader {
    let bits = header.flags.bits() | Flags::WITHHELD.bits();
    RecordHeader { flags: Flags::from_bits(bits).unwrap_or(Flags::WITHHELD), ..header.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_log_files::DirectoryStorage;
    use holdpoint_log_format::record::Record;
    use holdpoint_testing::hand_made::{HandMadeLog, SECRET, flip};
    use tempfile::TempDir;

    struct Sample {
        directory: TempDir,
        last: u64,
    }

    impl Sample {
        /// Two runs, in a segment each.
        fn new() -> Self {
            let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
            log.run();
            log.roll();
            log.run();
            log.write(directory.path());
            Self { directory, last: log.chain.sequence }
        }

        fn taken(&self) -> Taken {
            Taken {
                first: 1,
                last: self.last,
                told: (1..=self.last).collect(),
                evidence: true,
                most_records: usize::MAX,
                most_bytes: usize::MAX,
            }
        }

        fn extract(&self, taken: &Taken) -> Extract {
            match extract(&DirectoryStorage::new(self.directory.path()), taken).unwrap() {
                Extracted::Records(extract) => *extract,
                Extracted::TooMuch { fits_to } => panic!("too much behind {fits_to:?}"),
            }
        }
    }

    #[test]
    fn what_is_taken_follows_from_each_other_with_payloads_and_without() {
        let sample = Sample::new();
        for (evidence, told) in [(true, sample.last), (false, sample.last), (false, 0)] {
            let told = (1..=told).collect();
            let found = sample.extract(&Taken { evidence, told, ..sample.taken() });
            let (log, mut chain) = (found.log.unwrap(), found.before.unwrap());
            assert_eq!((found.records.len() as u64, found.findings.len()), (sample.last, 0));
            for taken in &found.records {
                let seed = ChecksumSeed::new(log, taken.segment);
                let record = Record::decode(&taken.frame, seed).unwrap();
                assert_eq!(record.header.flags.withheld(), !taken.has_payload);
                assert_eq!(record.digest(), taken.digest);
                chain.advance(log, &record).unwrap();
                chain = ChainPosition::of(&record.header);
            }
            let frames = found.records.iter().flat_map(|it| &it.frame).copied();
            let frames: Vec<u8> = frames.collect();
            let has_secret = frames.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
            assert_eq!(has_secret, evidence);
        }
    }

    #[test]
    fn more_than_may_be_taken_is_said_with_what_still_fits() {
        let sample = Sample::new();
        let storage = DirectoryStorage::new(sample.directory.path());
        let by_count = Taken { most_records: 7, ..sample.taken() };
        let by_bytes = Taken { most_bytes: 2_000, ..sample.taken() };
        for taken in [by_count, by_bytes] {
            let Extracted::TooMuch { fits_to } = extract(&storage, &taken).unwrap() else {
                panic!("all of it fits");
            };
            let last = fits_to.unwrap();
            let found = sample.extract(&Taken { last, ..taken.clone() });
            assert_eq!(found.records.last().unwrap().header.sequence, last);
        }
        let nothing = Taken { most_bytes: 1, ..sample.taken() };
        let found = extract(&storage, &nothing).unwrap();
        assert!(matches!(found, Extracted::TooMuch { fits_to: None }));
    }

    #[test]
    fn records_end_before_damage_and_those_of_a_segment_behind_it_can_be_taken() {
        let sample = Sample::new();
        let whole = sample.extract(&sample.taken()).records;
        let second = whole.last().unwrap().segment;
        let segment = sample.directory.path().join("segments/00000000000000000001.seg");
        let bytes = std::fs::read(&segment).unwrap();
        let at = bytes.windows(SECRET.len()).position(|it| it == SECRET.as_bytes()).unwrap();
        flip(&segment, at as u64);
        let found = sample.extract(&sample.taken());
        assert!(!found.findings.is_empty() && found.records.len() < second as usize);
        let behind = sample.extract(&Taken { first: second, ..sample.taken() });
        assert_eq!(behind.records.len() as u64, sample.last + 1 - second);
        assert!(behind.findings.is_empty());
    }
}
