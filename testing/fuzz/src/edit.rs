//! Changes to a file's bytes: what disks, crashes and people do to one.

use arbitrary::Arbitrary;
use holdpoint_log_format::limits::PAGE;
use std::ops::Range;

/// Longest range that one edit changes: more than a page, less than a segment.
const RANGE_MAX: u16 = 6_000;

/// Longest file that an edit makes.
const FILE_LENGTH_MAX: usize = 40_960;

/// One change. Places are taken modulo the file's length, so that all of them mean something.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Edit {
    /// One byte differs.
    Flip(u16, u8),
    /// These bytes stand there instead.
    Overwrite(u16, Vec<u8>),
    /// A range reads as zero.
    Zero(u16, u16),
    /// From a page's start on all is zero, as a torn write leaves it.
    TearAtPage(u8),
    /// A range stands a second time elsewhere.
    Copy(u16, u16, u16),
    /// Two ranges changed places.
    Swap(u16, u16, u16),
    /// The file was cut.
    Truncate(u16),
    /// The file grew.
    Extend(u16, u8),
}

impl Edit {
    /// Makes the change.
    pub(crate) fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Flip(at, change) => overwrite(bytes, *at, |byte, _| *byte ^= change.max(&1), 1),
            Self::Overwrite(at, new) => {
                let put = |byte: &mut u8, index| *byte = new.get(index).copied().unwrap_or(*byte);
                overwrite(bytes, *at, put, new.len());
            }
            Self::Zero(at, length) => {
                overwrite(bytes, *at, |byte, _| *byte = 0, usize::from(length % RANGE_MAX));
            }
            Self::TearAtPage(page) => {
                let pages = bytes.len().div_ceil(PAGE as usize).max(1);
                let from = usize::from(*page) % pages * PAGE as usize;
                bytes.iter_mut().skip(from).for_each(|byte| *byte = 0);
            }
            Self::Copy(from, to, length) => {
                let source = bytes.get(range(bytes, *from, *length)).unwrap_or_default().to_vec();
                let put = |byte: &mut u8, index| *byte = source.get(index).copied().unwrap_or(0);
                overwrite(bytes, *to, put, source.len());
            }
            Self::Swap(one, other, length) => swap(bytes, *one, *other, *length),
            Self::Truncate(length) => bytes.truncate(usize::from(*length)),
            Self::Extend(by, byte) => {
                let longer = bytes.len() + usize::from(by % RANGE_MAX);
                bytes.resize(longer.min(FILE_LENGTH_MAX.max(bytes.len())), *byte);
            }
        }
    }
}

fn overwrite(bytes: &mut [u8], at: u16, put: impl Fn(&mut u8, usize), length: usize) {
    let at = place(bytes, at);
    bytes.iter_mut().skip(at).take(length).enumerate().for_each(|(index, byte)| put(byte, index));
}

fn swap(bytes: &mut [u8], one: u16, other: u16, length: u16) {
    let before = bytes.to_vec();
    for (from, to) in [(one, other), (other, one)] {
        let moved = before.get(range(&before, from, length)).unwrap_or_default();
        let put = |byte: &mut u8, index| *byte = moved.get(index).copied().unwrap_or(0);
        overwrite(bytes, to, put, moved.len());
    }
}

fn range(bytes: &[u8], at: u16, length: u16) -> Range<usize> {
    let start = place(bytes, at);
    start..(start + usize::from(length % RANGE_MAX)).min(bytes.len())
}

/// Items begin at multiples of eight: half of all places do, too.
fn place(bytes: &[u8], at: u16) -> usize {
    let at = if at.is_multiple_of(2) { usize::from(at) / 2 * 8 } else { usize::from(at) };
    at % bytes.len().max(1)
}
