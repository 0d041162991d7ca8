//! The system calls of a traced program, in the order in which they began and returned.
//!
//! A thread that is traced stops at the entry and at the end of every call, and goes on when the
//! tracer has seen it. So where one line of the trace is before another, and the second call
//! depends on the first having returned, it had.

use super::{Load, Writers, words};
use holdpoint_testing::log::Stored;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether programs can be traced here.
pub fn is_possible() -> bool {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    strace.status().is_ok_and(|status| status.success())
}

/// The calls that are traced: everything that changes a log, and the acknowledgements.
const CALLS: &str = "trace=pwrite64,fdatasync,fsync,write,fallocate,ftruncate,?rename,?renameat,\
                     ?renameat2";

/// Runs the writers under the tracer; `injected` is what happens to their calls, as strace says it.
pub fn start(directory: &Path, load: Load, trace: &Path, injected: &[String]) -> Writers {
    let mut all: Vec<OsString> = vec!["strace".into(), "-f".into(), "-y".into(), "-qq".into()];
    all.extend(["-s", "24", "-e", "signal=none", "-e", CALLS, "-o"].map(OsString::from));
    all.push(trace.into());
    for what in injected {
        all.extend(["-e".into(), format!("inject={what}").into()]);
    }
    all.extend(words(directory, load));
    Writers::start_words(&all)
}

/// One call, with the places in the trace where it began and returned.
#[derive(Clone, Debug)]
pub struct Called {
    pub name: String,
    pub arguments: String,
    pub result: String,
    pub began: usize,
    pub returned: usize,
}

impl Called {
    pub fn has_succeeded(&self) -> bool {
        self.result.split(' ').next().is_some_and(|value| value.parse::<u64>().is_ok())
    }

    /// The file that its first argument is open on.
    pub fn file(&self) -> PathBuf {
        let path = self.arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        PathBuf::from(path.map_or("", |(path, _)| path))
    }

    /// First sequence of the segment that its first argument is open on.
    pub fn segment(&self) -> Option<u64> {
        let file = self.file();
        file.file_name()?.to_str()?.strip_suffix(".seg")?.parse().ok()
    }

    pub fn is_sync(&self) -> bool {
        ["fdatasync", "fsync"].contains(&self.name.as_str())
    }

    /// First byte written and how many, of a `pwrite64`.
    fn written(&self) -> Option<(u64, u64)> {
        let mut last = self.arguments.rsplit(", ");
        let offset = last.next()?.parse().ok()?;
        let length = last.next()?.parse().ok()?;
        Some((offset, length)).filter(|_| self.name == "pwrite64")
    }

    /// The sequence that a `write` acknowledges.
    fn acknowledged(&self) -> Option<u64> {
        let (_, text) = self.arguments.split_once("\"ack ")?;
        let (number, _) = text.split_once("\\n\"")?;
        number.parse().ok().filter(|_| self.name == "write")
    }
}

/// Every call of a trace that returned, in the order in which they returned.
pub fn read(trace: &Path) -> Vec<Called> {
    let text = std::fs::read(trace).unwrap();
    let mut begun: BTreeMap<String, (String, usize)> = BTreeMap::new();
    let mut calls = Vec::new();
    for (place, line) in String::from_utf8_lossy(&text).lines().enumerate() {
        let (thread, call) = line.split_once(' ').unwrap();
        let call = call.trim_start();
        if let Some(start) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(thread.to_string(), (start.to_string(), place));
        } else if let Some(rest) = call.strip_prefix("<... ") {
            let (_, end) = rest.split_once(" resumed>").unwrap();
            let (start, began) = begun.remove(thread).unwrap();
            calls.extend(called(&format!("{start}{end}"), began, place));
        } else {
            calls.extend(called(call, place, place));
        }
    }
    calls
}

/// `name(arguments) = result`; `None` for what is no call.
fn called(line: &str, began: usize, returned: usize) -> Option<Called> {
    let (call, result) = line.rsplit_once(" = ")?;
    let (name, arguments) = call.trim_end().strip_suffix(')')?.split_once('(')?;
    let [name, arguments, result] = [name, arguments, result].map(str::to_string);
    Some(Called { name, arguments, result, began, returned })
}

/// What was done to one segment, by places in the trace.
#[derive(Default)]
struct Touched {
    /// First byte, first byte behind, and where the write returned.
    writes: Vec<(u64, u64, usize)>,
    /// Where each sync began and returned.
    syncs: Vec<(usize, usize)>,
}

impl Touched {
    /// Where the last write to the record returned.
    fn written(&self, record: &Stored) -> usize {
        let end = record.offset + record.length;
        let writes = self.writes.iter().filter(|write| write.0 < end && record.offset < write.1);
        writes.map(|write| write.2).max().unwrap()
    }
}

/// The segments that calls which succeeded wrote to or synced, by first sequence.
fn segments(calls: &[Called]) -> BTreeMap<u64, Touched> {
    let mut segments: BTreeMap<u64, Touched> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.has_succeeded()) {
        let Some(first) = call.segment() else { continue };
        let touched = segments.entry(first).or_default();
        if let Some((offset, length)) = call.written() {
            touched.writes.push((offset, offset + length, call.returned));
        } else if call.is_sync() {
            touched.syncs.push((call.began, call.returned));
        }
    }
    segments
}

/// Asserts of every acknowledgement that a sync of the record's file returned before it, which
/// began after the last write to the record had returned. Gives the acknowledged sequences.
pub fn assert_synced_before_acknowledged(calls: &[Called], records: &[Stored]) -> Vec<u64> {
    let segments = segments(calls);
    let mut acknowledged = Vec::new();
    for call in calls {
        let Some(sequence) = call.acknowledged() else { continue };
        let record = records.get(usize::try_from(sequence - 1).unwrap());
        let record = record.unwrap_or_else(|| panic!("{sequence} is not there"));
        let touched = &segments[&record.segment];
        let written = touched.written(record);
        let mut syncs = touched.syncs.iter();
        let is_covered = syncs.any(|sync| sync.0 > written && sync.1 < call.began);
        assert!(is_covered, "{sequence}, written at line {written}: {call:?}");
        assert!(!acknowledged.contains(&sequence), "{sequence} twice");
        acknowledged.push(sequence);
    }
    acknowledged
}
