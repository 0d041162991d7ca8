//! Logs made byte by byte, so that a test can put into them what no writer would; and what a
//! salvage made of them.
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptured, EvidenceContent, EvidenceType, ObservationPoint, Offered,
};
use holdpoint_domain::world::envelope;
use holdpoint_domain::{ActorId, Envelope};
use holdpoint_engine::shell::{SalvageError, SalvageReport, SystemClock, salvage};
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::{
    BootId, ChainPosition, ChecksumSeed, Flags, Head, LinkPrefix, LogId, RecordHeader, Seal,
    SegmentHeader, link, names,
};
use holdpoint_testing::log::{Stored, content_of, memory_directory, records_of};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::TempDir;

/// `evidence_capture.evidence_captured`: its payloads name no other record, and are copied as they
/// are.
pub(crate) const KIND: u16 = 65;
/// `log.salvaged`, `log.records_lost` and `log.records_unproven`.
pub(crate) const REPORT_KIND: u16 = 7;
pub(crate) const LOST_KIND: u16 = 8;
pub(crate) const UNPROVEN_KIND: u16 = 13;

/// Capacity of a forged segment.
pub(crate) const CAPACITY: usize = 8_192;
/// Where records begin.
pub(crate) const FIRST_RECORD: usize = 4_096;

/// A record that lies in a forged log.
#[derive(Clone, Debug)]
pub(crate) struct Forged {
    pub(crate) sequence: u64,
    pub(crate) segment: u64,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) payload: Vec<u8>,
}

/// A log as files, made of small sealed segments.
#[derive(Clone, Debug)]
pub(crate) struct Forge {
    pub(crate) log: LogId,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) records: Vec<Forged>,
    chain: ChainPosition,
    seal_offset: u64,
}

impl Forge {
    pub(crate) fn new(log: u8) -> Self {
        let log = LogId([log; 16]);
        let chain = ChainPosition::genesis(log);
        Self { log, files: BTreeMap::new(), records: Vec::new(), chain, seal_offset: 0 }
    }

    /// Segments of `each` records, the last one active; HEAD names the newest record.
    pub(crate) fn of_segments(log: u8, segments: usize, each: usize) -> Self {
        let mut forge = Self::new(log);
        for number in 1..=segments {
            let payloads: Vec<Vec<u8>> =
                (0..each).map(|index| format!("record {number}-{index}").into_bytes()).collect();
            forge.add_segment(&payloads, number < segments);
        }
        forge.witness();
        forge
    }

    /// Appends a segment; a sealed one names its last record.
    pub(crate) fn add_segment(&mut self, payloads: &[Vec<u8>], sealed: bool) -> String {
        let header = SegmentHeader {
            log: self.log,
            previous: self.chain,
            capacity: CAPACITY as u64,
            previous_seal_offset: self.seal_offset,
        };
        let mut bytes = header.encode().to_vec();
        for content in payloads {
            let payload = &event_of(content);
            let start = bytes.len();
            let time = 1_000 + self.chain.sequence;
            self.chain = encode(&mut bytes, self.log, header.seed(), self.chain, time, payload);
            let (sequence, segment) = (self.chain.sequence, header.first_sequence());
            let payload = payload.clone();
            self.records.push(Forged { sequence, segment, start, end: bytes.len(), payload });
        }
        if sealed {
            self.seal_offset = bytes.len() as u64;
            let seal = Seal { last: self.chain, offset: self.seal_offset };
            bytes.extend(seal.encode(header.seed()));
        }
        bytes.resize(CAPACITY, 0);
        let name = path_of(header.first_sequence());
        self.files.insert(name.clone(), bytes);
        name
    }

    /// Writes HEAD: the newest record, or an older one.
    pub(crate) fn witness(&mut self) {
        self.witness_at(self.records.len());
    }

    pub(crate) fn witness_at(&mut self, count: usize) {
        let anchor = ChainPosition::genesis(self.log);
        let mut head = Head::at_anchor(self.log, &anchor, BootId::UNKNOWN);
        let record = &self.records[count - 1];
        let bytes = &self.files[&path_of(record.segment)][record.start..record.end];
        let stored = RecordHeader::decode(bytes.first_chunk().unwrap()).unwrap();
        (head.newest_sequence, head.newest_link) = (record.sequence, stored.link);
        (head.segment, head.record_offset) = (record.segment, record.start as u64);
        head.end_offset = record.end as u64;
        self.files.insert(names::HEAD.into(), head.encode().to_vec());
    }

    pub(crate) fn chain(&self) -> ChainPosition {
        self.chain
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.files.keys().filter(|name| name.contains('/')).cloned().collect()
    }

    pub(crate) fn record(&self, sequence: u64) -> Forged {
        self.records[sequence as usize - 1].clone()
    }

    pub(crate) fn bytes(&mut self, record: &Forged) -> &mut [u8] {
        let file = self.files.get_mut(&path_of(record.segment)).unwrap();
        &mut file[record.start..record.end]
    }

    pub(crate) fn write(&self, directory: &Path) {
        std::fs::create_dir_all(directory.join(names::SEGMENTS)).unwrap();
        for (name, bytes) in &self.files {
            std::fs::write(directory.join(name), bytes).unwrap();
        }
    }

    /// Salvages the log as it is now.
    pub(crate) fn salvaged(&self) -> Salvaged {
        Salvaged::of(|old| self.write(old)).unwrap()
    }
}

/// The payload of an event that ends with these bytes, which begin at a multiple of 8 in it.
pub(crate) fn event_of(content: &[u8]) -> Vec<u8> {
    let event = |padding: usize| {
        let (observation_point, evidence_type) =
            (ObservationPoint::PreDispatch, EvidenceType::ExecutorOutput);
        let raw_data = content.to_vec().into();
        let captured = EvidenceCaptured {
            loop_id: "loop".into(),
            chain_id: "chain".into(),
            index: 0,
            record_id: "record".into(),
            observation_point,
            evidence_type,
            timestamp: "now".into(),
            raw_data: Vec::new().into(),
            prior_hash: "".into(),
            self_hash: "".into(),
            injective_hash: Digest::from_bytes([0; 32]),
            content: EvidenceContent::Opaque,
            offered: Some(Offered { observation_point, evidence_type, raw_data }),
        };
        let envelope = Envelope {
            clock: None,
            proof: None,
            actor: ActorId { kind: Actor::System, id: "somebody".into() },
            correlation: "x".repeat(padding),
            causation: None,
            idempotency: None,
            event: captured.into(),
        };
        envelope::encode(&envelope).unwrap().payload
    };
    let events = (1..=8).map(event);
    events.into_iter().find(|event| (event.len() - content.len()).is_multiple_of(8)).unwrap()
}

/// Encodes the record that follows `chain`.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    log: LogId,
    seed: ChecksumSeed,
    chain: ChainPosition,
    time: u64,
    payload: &[u8],
) -> ChainPosition {
    let (flags, sequence, unsynced) = (Flags::NONE, chain.sequence + 1, 0);
    let digest = link::payload_digest(payload);
    let prefix = LinkPrefix::new(log, KIND, 1, flags, &digest);
    let link = prefix.link(&chain.link, unsynced, sequence, time);
    let (kind, version, size, checksum) = (KIND, 1, 0, 0);
    let header =
        RecordHeader { size, checksum, kind, version, flags, unsynced, sequence, time, link };
    encode_into(out, &header, payload, seed);
    ChainPosition { sequence, link, time }
}

/// Path of a segment in a log's directory.
pub(crate) fn path_of(first_sequence: u64) -> String {
    format!("{}/{}", names::SEGMENTS, names::segment(first_sequence))
}

/// A log that was salvaged, and the one that came of it.
pub(crate) struct Salvaged {
    pub(crate) directory: TempDir,
    pub(crate) report: SalvageReport,
    pub(crate) records: Vec<Stored>,
}

impl Salvaged {
    /// Salvages what `write` puts into a directory. Whatever it is, it is as it was afterwards, and
    /// what comes of it is intact.
    pub(crate) fn of(write: impl FnOnce(&Path)) -> Result<Self, SalvageError> {
        let directory = memory_directory();
        let (old, new) = (directory.path().join("old"), directory.path().join("new"));
        std::fs::create_dir(&old).unwrap();
        write(&old);
        let before = state_of(&old);
        let salvaged = salvage(&old, &new, &SystemClock, &mut |_| {});
        assert!(state_of(&old) == before, "the old log was touched");
        let report = salvaged?;
        let records = records_of(&new);
        assert_eq!(records.first().map(|record| record.header.kind), Some(REPORT_KIND));
        assert_eq!(report.newest_sequence, records.len() as u64);
        let times: Vec<u64> = records.iter().map(|record| record.header.time).collect();
        assert!(times.is_sorted(), "{times:?}");
        let salvaged = Self { directory, report, records };
        salvaged.assert_accounted();
        Ok(salvaged)
    }

    /// Payloads of the records that were kept, in order.
    pub(crate) fn payloads(&self) -> Vec<Vec<u8>> {
        self.kept().into_iter().map(|record| record.payload).collect()
    }

    /// Payloads of the records that are said to be unproven, in order.
    pub(crate) fn unproven(&self) -> Vec<Vec<u8>> {
        let is_unproven = |record: &Stored| {
            self.report.unproven.iter().any(|range| {
                (range.first_sequence..=range.last_sequence).contains(&record.header.sequence)
            })
        };
        self.kept().into_iter().filter(is_unproven).map(|record| record.payload).collect()
    }

    /// The records that were kept, in order.
    pub(crate) fn kept(&self) -> Vec<Stored> {
        let own = [REPORT_KIND, LOST_KIND, UNPROVEN_KIND];
        let kept = self.records.iter().filter(|record| !own.contains(&record.header.kind));
        kept.cloned().collect()
    }

    /// Every loss has its bytes in the file that it names, and the totals are those of the parts.
    fn assert_accounted(&self) {
        let old = self.directory.path().join("old");
        let (new, mut bytes) = (self.directory.path().join("new"), 0);
        for loss in &self.report.losses {
            bytes += loss.length;
            let Some(copy) = &loss.copied_to else { continue };
            let source = std::fs::read(old.join(loss.file.as_str())).unwrap();
            let range = loss.offset as usize..(loss.offset + loss.length) as usize;
            assert!(source[range] == std::fs::read(new.join(copy.as_str())).unwrap(), "{loss:?}");
        }
        let salvaged = &self.report.salvaged;
        assert_eq!(salvaged.bytes_not_kept, bytes);
        assert_eq!(salvaged.records_kept, self.kept().len() as u64);
    }
}

/// What a reader must leave as it is: names, bytes, times of change.
#[derive(PartialEq, Eq)]
struct State {
    content: BTreeMap<PathBuf, Vec<u8>>,
    times: Vec<(PathBuf, SystemTime)>,
}

fn state_of(directory: &Path) -> State {
    let mut times = Vec::new();
    times_of(directory, &mut times);
    times.sort();
    let is_small = |path: &PathBuf| path.metadata().is_ok_and(|found| found.len() < 1 << 30);
    let small = times.iter().all(|(path, _)| is_small(path));
    let content = if small { content_of(directory) } else { BTreeMap::new() };
    State { content, times }
}

fn times_of(directory: &Path, times: &mut Vec<(PathBuf, SystemTime)>) {
    times.push((directory.into(), directory.metadata().unwrap().modified().unwrap()));
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        times.push((path.clone(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            times_of(&path, times);
        }
    }
}
