//! The names of files in a log's directory: built and parsed here only.

use alloc::format;
use alloc::string::String;

/// The lock file.
pub const LOCK: &str = "LOCK";
/// The file whose lock is held by whoever syncs records for all: it holds nothing.
pub const SYNC: &str = "SYNC";
/// The witness.
pub const HEAD: &str = "HEAD";
/// The witness while it is being replaced.
pub const HEAD_TEMPORARY: &str = "HEAD.tmp";
/// The mark of an archive: nothing but a move of records to it writes to the log beside it.
pub const ARCHIVE: &str = "ARCHIVE";
/// File that keeps the log out of a work tree of git around it: made with the log, and needed by
/// nobody.
pub const GITIGNORE: &str = ".gitignore";
/// The directory of segments.
pub const SEGMENTS: &str = "segments";
/// The directory of bytes that recovery cut, copied aside before anything was overwritten.
pub const CUT: &str = "cut";

/// The directory of the files of runs under way: no reader of records looks at them.
pub const RUNS: &str = "runs";

/// The directory of snapshots: derived, and ignored by whoever reads segments.
pub const SNAPSHOTS: &str = "snapshots";

/// The directory of what the application's reducers keep: derived, and read by nobody who has not
/// the reducer.
pub const REDUCERS: &str = "reducers";

const ROOM_SUFFIX: &str = ".room";
const LOOP_PREFIX: &str = "LOOP-";
const LOOP_DIGITS: usize = 32;
const DECISION_PREFIX: &str = "DP-";
const OUTCOME_PREFIX: &str = "OUTCOME-";
const DIGITS: usize = 20;

/// Names of 20 digits and an ending: how each is built, and how it is read.
macro_rules! numbered {
    ($(
        $(#[$doc:meta])* $name:ident($sequence:ident) = $ending:literal,
        $(#[$parse_doc:meta])* $parse:ident;
    )+) => {
        $($(#[$doc])* #[must_use] pub fn $name($sequence: u64) -> String {
            format!("{:0DIGITS$}{}", $sequence, $ending)
        }

        $(#[$parse_doc])* #[must_use] pub fn $parse(name: &str) -> Option<u64> {
            parse(name, $ending)
        })+
    };
}

numbered! {
    /// File name of the segment that begins at `first_sequence`: 20 digits and `.seg`.
    segment(first_sequence) = ".seg",
    /// The first sequence in a segment's name, or `None` when it is not exactly such a name.
    parse_segment;
    /// File name of a segment under preparation. It is no segment until it is renamed.
    prepared(first_sequence) = ".prepared",
    /// The first sequence in a prepared file's name, or `None`.
    parse_prepared;
    /// File name of the index of the segment that begins at `first_sequence`. It is derived:
    /// whoever reads segments ignores it.
    index(first_sequence) = ".idx",
    /// The first sequence in an index's name, or `None`.
    parse_index;
    /// File name of an index while it is written. It is no index until it is renamed.
    index_temporary(first_sequence) = ".idx.tmp",
    /// The first sequence in the name of an index that is being written, or `None`.
    parse_index_temporary;
    /// File name of the snapshot of the state behind record `sequence`.
    snapshot(sequence) = ".snapshot",
    /// The sequence in a snapshot's name, or `None`.
    parse_snapshot;
    /// File name of a snapshot while it is written. It is no snapshot until it is renamed.
    snapshot_temporary(sequence) = ".snapshot.tmp",
    /// The sequence in the name of a snapshot that is being written, or `None`.
    parse_snapshot_temporary;
}

/// File name of the `number`th copy of bytes cut at `offset` of the segment `first_sequence`.
#[must_use]
pub fn cut(first_sequence: u64, offset: u64, number: u32) -> String {
    format!("{first_sequence:0DIGITS$}-{offset}-{number}.cut")
}

/// The path of a run's own file, locked while its recorder lives.
#[must_use]
pub fn run(loop_id: &str) -> String {
    format!("{RUNS}/{loop_id}")
}

/// The path of the `number`th file of space that a run holds for its ending.
#[must_use]
pub fn run_room(loop_id: &str, number: u32) -> String {
    format!("{RUNS}/{loop_id}.{number}{ROOM_SUFFIX}")
}

/// The loop whose run's own file has this name, or `None`.
#[must_use]
pub fn parse_run(name: &str) -> Option<&str> {
    is_loop_id(name).then_some(name)
}

/// Number of further names that an outcome has: one digit.
const OTHER_OUTCOMES: u8 = 9;

/// The loop whose run holds the space in a file of this name, or `None`.
#[must_use]
pub fn parse_run_room(name: &str) -> Option<&str> {
    let (loop_id, number) = name.strip_suffix(ROOM_SUFFIX)?.split_once('.')?;
    let is_number = number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && is_loop_id(loop_id)).then_some(loop_id)
}

/// Names, in the directory of the runs' files, of the file in which the outcome of what an approval
/// was spent for waits: the first, and those that are taken where something else stands in its
/// place. `None`: that is no id of a decision point.
pub fn outcomes(decision_id: &str) -> Option<impl Iterator<Item = String>> {
    let digits = decision_id.strip_prefix(DECISION_PREFIX).filter(|digits| is_digits(digits))?;
    let others = (1..=OTHER_OUTCOMES).map(move |n| format!("{OUTCOME_PREFIX}{digits}.{n}"));
    Some(core::iter::once(format!("{OUTCOME_PREFIX}{digits}")).chain(others))
}

/// The decision point whose outcome waits in a file of this name, or `None`.
#[must_use]
pub fn parse_outcome(name: &str) -> Option<String> {
    let name = name.strip_prefix(OUTCOME_PREFIX)?;
    let (digits, other) = name.split_once('.').map_or((name, None), |(it, n)| (it, Some(n)));
    let is_other = |n: &str| matches!(n.as_bytes(), [b'1'..=b'9']);
    let is_outcome = is_digits(digits) && other.is_none_or(is_other);
    is_outcome.then(|| format!("{DECISION_PREFIX}{digits}"))
}

/// `LOOP-` and 32 lower-case hexadecimal digits.
fn is_loop_id(name: &str) -> bool {
    name.strip_prefix(LOOP_PREFIX).is_some_and(is_digits)
}

fn is_digits(digits: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    digits.len() == LOOP_DIGITS && digits.bytes().all(is_digit)
}

/// Returns whether a name in the log's directory is one that a log may hold.
#[must_use]
pub fn is_own(name: &str) -> bool {
    let files = [LOCK, SYNC, HEAD, HEAD_TEMPORARY, ARCHIVE, GITIGNORE];
    files.contains(&name) || [SEGMENTS, CUT, SNAPSHOTS, REDUCERS, RUNS].contains(&name)
}

fn parse(name: &str, suffix: &str) -> Option<u64> {
    let digits = name.strip_suffix(suffix)?;
    let all_digits = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    if all_digits { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_built_and_parsed_as_a_pair() {
        for sequence in [0, 1, 42, u64::MAX] {
            assert_eq!(parse_segment(&segment(sequence)), Some(sequence));
            assert_eq!(parse_prepared(&prepared(sequence)), Some(sequence));
            assert_eq!(parse_index(&index(sequence)), Some(sequence));
            assert_eq!(parse_index_temporary(&index_temporary(sequence)), Some(sequence));
            assert_eq!(parse_segment(&prepared(sequence)), None);
            assert_eq!(parse_segment(&index(sequence)), None);
            assert_eq!(parse_index(&index_temporary(sequence)), None);
        }
        assert_eq!(segment(1), "00000000000000000001.seg");
    }

    #[test]
    fn near_names_are_not_segments() {
        for name in ["1.seg", "0000000000000000001.seg", "99999999999999999999.seg", ".seg"] {
            assert_eq!(parse_segment(name), None, "{name}");
        }
        assert_eq!(parse_segment("+0000000000000000001.seg"), None);
    }
}
