//! The block of records of a page, taken apart and put together again.

use base64ct::{Base64, Encoding};
use holdpoint_log_format::record::encode_header;
use holdpoint_log_format::{ChecksumSeed, Flags, Link, LinkPrefix, LogId, RecordHeader};
use sha2::{Digest, Sha256};

const START: &str = "<script type=\"text/plain\" id=\"holdpoint-records\">";
const END: &str = "</script>";

/// Lines of a page between what stands before and behind them.
#[derive(Clone)]
pub(crate) struct Block {
    before: String,
    lines: Vec<String>,
    behind: String,
    /// Whether the sum stays as it was.
    is_unsealed: bool,
    is_twice: bool,
    is_gone: bool,
}

impl Block {
    /// Where the lines of a page begin and end.
    pub(super) fn bounds(page: &str) -> (usize, usize) {
        let begin = page.find(START).unwrap() + START.len();
        (begin, begin + page[begin..].find(END).unwrap())
    }

    pub(super) fn of(page: &str) -> Self {
        let (begin, end) = Self::bounds(page);
        Self {
            before: page[..begin].to_string(),
            lines: page[begin..end].lines().map(String::from).collect(),
            behind: page[end..].to_string(),
            is_unsealed: false,
            is_twice: false,
            is_gone: false,
        }
    }

    /// The page, with the sum made anew.
    pub(super) fn page(&self) -> String {
        let mut lines = self.lines.clone();
        if !self.is_unsealed && lines.pop().is_some() {
            let before: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let sum = Sha256::digest(before.as_bytes());
            lines.push(format!("sum {}", base16ct::lower::encode_string(&sum)));
        }
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let Self { before, behind, .. } = self;
        let page = format!("{before}{lines}{behind}");
        match (self.is_twice, self.is_gone) {
            (true, _) => format!("{page}{START}{lines}{END}"),
            (_, true) => page.replace(START, "<script type=\"text/plain\">"),
            (false, false) => page,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn line(&self, at: usize) -> &str {
        &self.lines[at]
    }

    /// The lines that are records.
    pub(super) fn records(&self) -> Vec<usize> {
        let is_record = |at: &usize| self.lines[*at].starts_with("record ");
        (0..self.lines.len()).filter(is_record).collect()
    }

    fn frame(&self, at: usize) -> Vec<u8> {
        Base64::decode_vec(self.lines[at].strip_prefix("record ").unwrap()).unwrap()
    }

    fn header(&self, at: usize) -> RecordHeader {
        RecordHeader::decode(self.frame(at).first_chunk().unwrap()).unwrap()
    }

    pub(super) fn sequence(&self, at: usize) -> u64 {
        self.header(at).sequence
    }

    fn put(&mut self, at: usize, frame: &[u8]) {
        self.lines[at] = format!("record {}", Base64::encode_string(frame));
    }

    fn log(&self) -> LogId {
        let mut id = [0; 16];
        base16ct::lower::decode(&self.lines[1]["log ".len()..], &mut id).unwrap();
        LogId(id)
    }

    fn seed(&self, at: usize) -> ChecksumSeed {
        let segment = self.lines[..at].iter().rev().find_map(|it| it.strip_prefix("segment "));
        ChecksumSeed::new(self.log(), segment.unwrap().parse().unwrap())
    }

    /// A record in the middle for which something holds, and its sequence.
    fn some(&self, wanted: impl Fn(&RecordHeader) -> bool) -> (usize, u64) {
        let found = self.records().into_iter().skip(2).find(|at| wanted(&self.header(*at)));
        let at = found.expect("such a record is on the page");
        (at, self.sequence(at))
    }

    pub(super) fn with_payload(&self) -> (usize, u64) {
        self.some(|header| !header.flags.withheld())
    }

    pub(super) fn left_out(&self) -> (usize, u64) {
        self.some(|header| header.flags.withheld())
    }

    pub(super) fn with_padding(&self) -> (usize, u64) {
        self.some(|header| header.size % 8 != 0)
    }

    pub(super) fn second_segment(&self) -> usize {
        let is_segment = |at: &usize| self.lines[*at].starts_with("segment ");
        (0..self.lines.len()).filter(is_segment).nth(1).unwrap()
    }

    /// With bytes of a record changed.
    pub(super) fn changed(&self, at: usize, change: impl Fn(&mut Vec<u8>)) -> Self {
        let (mut block, mut frame) = (self.clone(), self.frame(at));
        change(&mut frame);
        block.put(at, &frame);
        block
    }

    /// The same, with the checksum made anew.
    pub(super) fn forged(&self, at: usize, change: impl Fn(&mut Vec<u8>)) -> Self {
        let seed = self.seed(at);
        self.changed(at, |frame| {
            change(frame);
            let size = u32::from_le_bytes(*frame.first_chunk().unwrap()) as usize;
            let checksum = seed.of(&[&frame[..4], &frame[8..size]]);
            frame[4..8].copy_from_slice(&checksum.to_le_bytes());
        })
    }

    /// With a number in a header, and every link from there on made anew.
    pub(super) fn rechained_at(&self, at: usize, field: usize, number: u32) -> Self {
        let changed = self.forged(at, |frame| {
            frame[field..field + 4].copy_from_slice(&number.to_le_bytes());
            if field == 24 {
                frame[28..32].fill(0);
            }
        });
        changed.linked_from(at)
    }

    /// With a byte of a payload changed, and everything behind it made to fit.
    pub(super) fn rechained(&self, at: usize) -> Self {
        self.changed(at, |frame| frame[64] ^= 1).linked_from(at)
    }

    fn linked_from(mut self, at: usize) -> Self {
        let before = self.records().into_iter().rfind(|record| *record < at).unwrap();
        let mut previous = self.header(before).link;
        for record in self.records().into_iter().filter(|record| *record >= at) {
            previous = self.link(record, &previous);
        }
        let (last, end) = (self.end().0, self.lines.len() - 3);
        self.lines[end] = format!("end {last} {previous}");
        self.lines[end + 1] = format!("head {last} {previous}");
        self
    }

    fn link(&mut self, at: usize, previous: &Link) -> Link {
        let (mut frame, log, seed) = (self.frame(at), self.log(), self.seed(at));
        let mut header = self.header(at);
        let payload = frame[64..header.size as usize].to_vec();
        let digest = match header.flags.withheld() {
            true => payload.clone().try_into().unwrap(),
            false => Sha256::digest(&payload).into(),
        };
        let RecordHeader { kind, version, flags, unsynced, sequence, time, .. } = header;
        let prefix = LinkPrefix::new(log, kind, version, flags, &digest);
        header.link = prefix.link(previous, unsynced, sequence, time);
        encode_header(&mut frame, &header, payload.len(), seed);
        self.put(at, &frame);
        header.link
    }

    /// The last record, and its link.
    pub(super) fn end(&self) -> (u64, String) {
        let mut words = self.lines[self.lines.len() - 3].split(' ').skip(1);
        (words.next().unwrap().parse().unwrap(), words.next().unwrap().to_string())
    }

    /// A page with two such blocks.
    pub(super) fn twice(&self) -> Self {
        Self { is_twice: true, ..self.clone() }
    }

    /// A page with a block that has no name.
    pub(super) fn gone(&self) -> Self {
        Self { is_gone: true, ..self.clone() }
    }

    pub(super) fn without(&self, at: usize) -> Self {
        let mut block = self.clone();
        block.lines.remove(at);
        block
    }

    pub(super) fn repeated(&self, at: usize) -> Self {
        let mut block = self.clone();
        block.lines.insert(at, self.lines[at].clone());
        block
    }

    pub(super) fn exchanged(&self, one: usize, other: usize) -> Self {
        let mut block = self.clone();
        block.lines.swap(one, other);
        block
    }

    pub(super) fn with_line(&self, at: usize, line: &str) -> Self {
        let mut block = self.clone();
        block.lines[at] = line.to_string();
        block
    }

    pub(super) fn with_lines_alone(&self, lines: &[&str]) -> Self {
        let lines = lines.iter().map(ToString::to_string).collect();
        Self { lines, ..self.clone() }
    }

    /// With the last digit of a line changed.
    pub(super) fn with_digit_flipped(&self, at: usize) -> Self {
        let mut line = self.lines[at].clone();
        let last = line.pop().unwrap();
        line.push(if last == '0' { '1' } else { '0' });
        self.with_line(at, &line)
    }

    /// With the sum as it was.
    pub(super) fn unsealed(&self, change: impl Fn(&mut Vec<String>)) -> Self {
        let mut block = Self { is_unsealed: true, ..self.clone() };
        change(&mut block.lines);
        block
    }

    /// Up to a record that says that its batch goes on, with an end that names it.
    pub(super) fn cut_in_batch(&self) -> Self {
        let (at, last) = self.some(|header| header.flags.more_follows());
        let link = self.header(at).link;
        assert!(self.header(at).flags.without_withheld() == Flags::MORE_FOLLOWS);
        let mut block = self.clone();
        block.lines.truncate(at + 1);
        block.lines.extend([format!("end {last} {link}"), "head none".into(), "sum".into()]);
        block
    }
}
