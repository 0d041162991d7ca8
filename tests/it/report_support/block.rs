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

    /// The line of a record in the middle for which something holds.
    fn some(&self, wanted: impl Fn(&RecordHeader) -> bool) -> usize {
        let found = self.records().into_iter().skip(4).find(|at| wanted(&self.header(*at)));
        found.expect("such a record is on the page")
    }

    pub(super) fn with_payload(&self) -> usize {
        self.some(|header| !header.flags.withheld() && header.unsynced != 0)
    }

    pub(super) fn left_out(&self) -> usize {
        self.some(|header| header.flags.withheld())
    }

    pub(super) fn with_padding(&self) -> usize {
        self.some(|header| header.size % 8 != 0)
    }

    /// The first record behind a batch of several, and the one in it that does not end it.
    pub(super) fn behind_open_batch(&self) -> (usize, u64) {
        let open = self.some(|header| header.flags.more_follows());
        let is_end = |at: &usize| *at > open && !self.header(*at).flags.more_follows();
        let end = self.records().into_iter().find(is_end).unwrap();
        (self.behind(end), self.sequence(open))
    }

    /// The line of the record behind another one, in the same segment.
    pub(super) fn behind(&self, at: usize) -> usize {
        let next = self.records().into_iter().find(|record| *record > at).unwrap();
        assert_eq!(next, at + 1, "in the same segment");
        next
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
            seal(frame, seed);
        })
    }

    /// With the checksum that a record has in another segment.
    pub(super) fn with_checksum_of_segment(&self, at: usize, segment: u64) -> Self {
        let seed = ChecksumSeed::new(self.log(), segment);
        self.changed(at, |frame| seal(frame, seed))
    }

    /// With every checksum made anew.
    pub(super) fn resealed(&self) -> Self {
        self.records().into_iter().fold(self.clone(), |block, at| block.forged(at, |_| {}))
    }

    /// With the numbers and the links of the records of some lines made anew, from what is before.
    pub(super) fn relinked(&self, from: usize, to: usize) -> Self {
        let mut block = self.clone();
        let before = self.records().into_iter().rfind(|record| *record < from);
        let (mut sequence, mut link) = match before {
            Some(at) => (self.sequence(at), self.header(at).link),
            None => self.before(),
        };
        for at in self.records().into_iter().filter(|at| (from..=to).contains(at)) {
            sequence += 1;
            link = block.link(at, sequence, &link);
        }
        block
    }

    /// With the link of one record made anew from its number as it is.
    pub(super) fn with_link_alone(&self, at: usize) -> Self {
        let (mut block, sequence) = (self.clone(), self.sequence(at));
        let previous = self.header(at - 1).link;
        block.link(at, sequence, &previous);
        block
    }

    /// With an end and a head that name the last record.
    pub(super) fn with_end_named(&self) -> Self {
        let (mut block, end) = (self.clone(), self.lines.len() - 3);
        let last = self.header(*self.records().last().unwrap());
        block.lines[end] = format!("end {} {}", last.sequence, last.link);
        block.lines[end + 1] = format!("head {} {}", last.sequence, last.link);
        block
    }

    fn before(&self) -> (u64, Link) {
        let mut words = self.lines[2].split(' ').skip(1);
        let mut link = [0; 32];
        let sequence = words.next().unwrap().parse().unwrap();
        base16ct::lower::decode(words.next().unwrap(), &mut link).unwrap();
        (sequence, Link(link))
    }

    fn link(&mut self, at: usize, sequence: u64, previous: &Link) -> Link {
        let (mut frame, log, seed) = (self.frame(at), self.log(), self.seed(at));
        let mut header = self.header(at);
        let payload = frame[64..header.size as usize].to_vec();
        let digest = match header.flags.withheld() {
            true => payload.clone().try_into().unwrap(),
            false => Sha256::digest(&payload).into(),
        };
        let RecordHeader { kind, version, flags, unsynced, time, .. } = header;
        let prefix = LinkPrefix::new(log, kind, version, flags, &digest);
        header.link = prefix.link(previous, unsynced, sequence, time);
        header.sequence = sequence;
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

    /// With a record before another line, and with the old one as well.
    pub(super) fn moved(&self, from: usize, to: usize, is_kept: bool) -> Self {
        let mut block = self.clone();
        let line = self.lines[from].clone();
        match is_kept {
            true => block.lines.insert(to, line),
            false => {
                block.lines.remove(from);
                block.lines.insert(to, line);
            }
        }
        block
    }

    /// A line with as many zeros as a record has bytes.
    pub(super) fn zeros(&self, at: usize) -> String {
        format!("record {}", Base64::encode_string(&vec![0; self.frame(at).len()]))
    }

    /// With the payloads of two records exchanged that are equally long, and their checksums made
    /// anew.
    pub(super) fn with_payloads_exchanged(&self) -> Self {
        let one = self.left_out();
        let other = self.records().into_iter().filter(|at| *at > one);
        let mut others = other.filter(|at| self.header(*at).flags.withheld());
        let other = others.find(|at| self.frame(*at)[64..] != self.frame(one)[64..]).unwrap();
        let (of_one, of_other) = (self.frame(one)[64..].to_vec(), self.frame(other)[64..].to_vec());
        let first = self.forged(one, |frame| frame[64..].copy_from_slice(&of_other));
        first.forged(other, |frame| frame[64..].copy_from_slice(&of_one))
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

    /// Behind the last record, and with none.
    pub(super) fn without_records(&self) -> Self {
        let end = self.line(self.count() - 3);
        let before = end.replace("end", "before");
        self.with_lines_alone(&[self.line(0), self.line(1), &before, end, "head none", "sum"])
    }

    /// With the first records alone, whole batches of one segment.
    pub(super) fn shorter(&self) -> Self {
        let is_end = |at: &usize| !self.header(*at).flags.more_follows();
        let last = self.records().into_iter().find(is_end).unwrap();
        let end = format!("end {} {}", self.sequence(last), self.header(last).link);
        let lines = self.lines[..=last].iter().map(String::as_str);
        self.with_lines_alone(&lines.chain([&*end, "head none", "sum"]).collect::<Vec<_>>())
    }

    /// The block as it stands on the page.
    pub(super) fn element(&self) -> String {
        let page = self.page();
        let (begin, end) = Self::bounds(&page);
        page[begin - START.len()..end + END.len()].to_string()
    }

    /// The page with another text in the block's place.
    pub(super) fn replaced(&self, text: &str) -> String {
        let before = self.before.strip_suffix(START).unwrap();
        format!("{before}{text}{}", self.behind.strip_prefix(END).unwrap())
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
        let at = self.some(|header| header.flags.more_follows());
        let (last, link) = (self.sequence(at), self.header(at).link);
        assert!(self.header(at).flags.without_withheld() == Flags::MORE_FOLLOWS);
        let mut block = self.clone();
        block.lines.truncate(at + 1);
        block.lines.extend([format!("end {last} {link}"), "head none".into(), "sum".into()]);
        block
    }
}

/// Makes the checksum of a frame anew.
fn seal(frame: &mut [u8], seed: ChecksumSeed) {
    let size = u32::from_le_bytes(*frame.first_chunk().unwrap()) as usize;
    let checksum = seed.of(&[&frame[..4], &frame[8..size]]);
    frame[4..8].copy_from_slice(&checksum.to_le_bytes());
}
