//! The verbs that read, as they are typed.

use super::sample::Sample;
use serde_json::Value;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// On the whole log. With `[--json]` both ways.
const ON_LOG: [&str; 52] = [
    "verify [--json]",
    "verify --caches [--json]",
    "verify --map [--json]",
    "verify 5..30 [--json]",
    "verify --fail-fast",
    "log [--json]",
    "log -n 5 [--json]",
    "log --reverse --json",
    "log --since 10 --until 40 --json",
    "log --since 2026-01-01T00:00:00Z --json",
    "log kind=execution_loop.halted [--json]",
    "log loop=LOOP [--json]",
    "log decision=DECISION [--json]",
    "log entity=REQUEST --reverse --json",
    "log entity=acme/talk --json",
    "log actor=selene-os text=talk --json",
    "log --stat [--json]",
    "show --trace 12 [--json]",
    "runs --date utc",
    "runs --json",
    "runs status=1 --json",
    "runs status=running --json",
    "runs --since 5 --json",
    "runs --after LOOP --json",
    "show LOOP --json",
    "show BEGINNING --json",
    "show 12 --json",
    "output LOOP [--json]",
    "inbox [--json]",
    "inbox --all --json",
    "replay [--json]",
    "replay LOOP --story [--json]",
    "replay --live [--json]",
    "replay DECISION --json",
    "replay --until 30 --json",
    "export",
    "export --format csv",
    "diff 10 [--json]",
    "diff --when totals.loops_initialized>3 [--json]",
    "decision list [--json]",
    "decision show REQUEST [--json]",
    "decision list [--json]",
    "decision list state=all --whole --json",
    "decision show DECISION [--json]",
    "thread list [--json]",
    "thread list state=open [--json]",
    "thread show talk [--json]",
    "thread show --rows talk [--json]",
    "thread show --story talk [--json]",
    "policy show [--json]",
    "doctor [--json]",
    "thread list --health [--json]",
];

/// From the whole log to a directory or file that is not there yet.
const FROM_LOG: [&str; 7] = [
    "copy --salvage OLD NEW",
    "copy --salvage OLD NEW --json",
    "copy OLD NEW",
    "copy OLD NEW --json",
    "export --format sqlite --output NEW",
    "export --format html LOOP --output NEW",
    "export --format html --since 1 --include-evidence --output NEW --json",
];

/// On the log whose first records are in an archive.
const ON_MOVED: [&str; 11] = [
    "verify --json",
    "verify --archive ARCHIVE [--json]",
    "log --json",
    "log decision=DECISION --json",
    "replay --json",
    "export",
    "diff 140 --json",
    "runs --json",
    "inbox --json",
    "decision list --json",
    "decision list --json",
];

/// On the log, where the calls on the archive fail.
const WITH_ARCHIVE: [&str; 9] = [
    "verify --archive ARCHIVE --json",
    "log --archive ARCHIVE --json",
    "log --archive ARCHIVE --reverse --json",
    "replay --archive ARCHIVE LOOP --story --json",
    "show --trace 12 --archive ARCHIVE --json",
    "runs --archive ARCHIVE --json",
    "show LOOP --archive ARCHIVE --json",
    "output LOOP --archive ARCHIVE",
    "export --archive ARCHIVE",
];

/// On the archive, and beside it on the log.
const ON_ARCHIVE: [&str; 4] =
    ["verify --json", "log -n 5 --json", "replay --json", "decision list --json"];

/// Where the list is of many logs.
const INBOX: &str = "inbox";

/// So many characters of the id of a loop are no other one's.
const BEGINNING: usize = 21;

/// What the name of a salvage ends with that was not finished.
const UNFINISHED: &str = "salvaging";

/// A command line on one of the logs.
pub(crate) struct Verb {
    name: String,
    log: PathBuf,
    words: Vec<String>,
    /// Where its calls are looked at.
    pub(crate) watched: PathBuf,
    /// What it makes.
    made: Option<PathBuf>,
}

impl Verb {
    /// Every verb on every log.
    pub(crate) fn all(sample: &Sample) -> Vec<Self> {
        let (log, moved, archive) = (&sample.place.log, &sample.moved, &sample.archive);
        let lists: [(&[&str], &str, &PathBuf, &PathBuf); 5] = [
            (&ON_LOG, "", log, log),
            (&FROM_LOG, "", log, log),
            (&ON_MOVED, "moved: ", moved, moved),
            (&WITH_ARCHIVE, "moved, its archive: ", moved, archive),
            (&ON_ARCHIVE, "archive: ", archive, archive),
        ];
        let verbs = lists.into_iter().flat_map(|(lines, place, log, watched)| {
            let lines = lines.iter().flat_map(|line| both(line));
            lines.map(move |line| Self::new(sample, place, &line, (log, watched)))
        });
        verbs.collect()
    }

    fn new(sample: &Sample, place: &str, line: &str, (log, watched): (&PathBuf, &PathBuf)) -> Self {
        let made = sample.place.directory.path().join("made");
        let words = line.split(' ').map(|word| match word {
            "LOOP" => sample.held_loop.clone(),
            "BEGINNING" => sample.held_loop[..BEGINNING].to_string(),
            "REQUEST" => sample.request.clone(),
            "DECISION" => sample.decision.clone(),
            "loop=LOOP" => format!("loop={}", sample.held_loop),
            "decision=DECISION" => format!("decision={}", sample.decision),
            "entity=REQUEST" => format!("entity={}", sample.request),
            "OLD" => log.to_str().unwrap().to_string(),
            "NEW" => made.to_str().unwrap().to_string(),
            "ARCHIVE" => sample.archive.to_str().unwrap().to_string(),
            word => word.to_string(),
        });
        Self {
            name: format!("{place}{line}"),
            log: log.clone(),
            words: words.collect(),
            watched: watched.clone(),
            made: line.contains("NEW").then_some(made),
        }
    }

    /// The program, with what it made before out of its way.
    pub(crate) fn command(&self, sample: &Sample) -> Command {
        // What a salvage that fails leaves has another end.
        let left =
            self.made.iter().flat_map(|made| [made.clone(), made.with_extension(UNFINISHED)]);
        for left in left.filter(|left| left.exists()) {
            match left.is_dir() {
                true => std::fs::remove_dir_all(left).unwrap(),
                false => std::fs::remove_file(left).unwrap(),
            }
        }
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let mut command = sample.place.command(&words);
        command.arg("--log").arg(&self.log).stdin(Stdio::null());
        command
    }

    /// What it shows, without what is another each time, and without how much was read for it:
    /// where an index or a snapshot cannot be read, more is.
    pub(crate) fn steady(&self, shown: &str) -> String {
        let known_by = match (self.is_look(), self.travels()) {
            (true, _) => &KNOWN_BY[..],
            (_, true) => &STATES_KNOWN_BY[..],
            _ => &[],
        };
        let unsteady =
            |line: &str| UNSTEADY.iter().chain(known_by).any(|words| line.contains(words));
        let mut is_in_ties = false;
        let lines = shown.lines().filter(|line| {
            let is_of_ties = is_in_ties || TIES_BEGIN.iter().any(|it| line.contains(it));
            is_in_ties = is_of_ties && line.trim() != TIES_END;
            !is_of_ties && !unsteady(line)
        });
        let of_salvage = |line: &&str| !self.name.contains("salvage") || !is_of_new_log(line);
        let steady = if self.words[0] == INBOX { steady_item } else { steady_line };
        let steady = lines.filter(of_salvage).map(steady);
        if self.travels() {
            return steady.map(|line| line.replace(STATED, PROVEN)).collect();
        }
        steady.collect()
    }
}

impl Verb {
    /// A number that stands for the bytes of the file that it made; `None` where it made none.
    pub(crate) fn made(&self) -> Option<u64> {
        let bytes = std::fs::read(self.made.as_ref().filter(|made| made.is_file())?).unwrap();
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Some(hasher.finish())
    }

    /// Whether it can read beside somebody who writes.
    pub(crate) fn reads_beside_writers(&self) -> bool {
        !self.words.iter().any(|word| word == "--salvage")
    }

    /// Whether it shows what lives, from a snapshot where one can be read.
    fn is_look(&self) -> bool {
        let looks = ["decision", "thread", INBOX].contains(&self.words[0].as_str());
        looks && !self.name.contains("--health")
    }

    /// Whether it shows states, from snapshots where some can be read.
    fn travels(&self) -> bool {
        let is_of_state = self.name.contains("--live") || self.name.contains("replay DECISION");
        match self.words[0].as_str() {
            "replay" => is_of_state,
            verb => verb == "diff",
        }
    }

    /// Whether it exits alike where a log is not there and where it cannot be read.
    pub(crate) fn exits_alike(&self) -> bool {
        self.words[0] == INBOX
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What stands in lines that are others each time, or that say how much was read.
const UNSTEADY: [&str; 9] = [
    "\"time_left_ms\": ",
    "\"salvaged_at\": ",
    "\"states_from_snapshots\": ",
    "\"records_applied\": ",
    "\"segments_read\": ",
    "\"segments_by_index\": ",
    "\"segments_tied\": ",
    "\"tied_from\": ",
    " states looked at, ",
];

/// The lines that say what was tied by a state that a snapshot holds, and which records state the
/// indexes that were asked and the snapshots.
const TIES_BEGIN: [&str; 3] =
    ["\"tied_by_state\": [", "\"indexes_stated_by\": [", "\"stated_by\": ["];
const TIES_END: &str = "],";

/// What says how what lives is known.
const KNOWN_BY: [&str; 2] = ["\"standing\": ", "\"stated_by\": "];

/// What says whether states of the past were made from all records.
const STATES_KNOWN_BY: [&str; 1] = ["\"whole\": "];

/// How what is told of such states stands: proven where it was, and as stated where it was not made
/// from all records.
const STATED: &str = "\"standing\": \"stated\"";
const PROVEN: &str = "\"standing\": \"proven\"";

/// A new log has a new identity.
fn is_of_new_log(line: &str) -> bool {
    line.contains("\"log_id\": ") || line.contains(", of log ")
}

/// A line without times to go and ages, whether they are over or not, and without how far a record
/// was checked.
fn steady_line(line: &str) -> String {
    let (line, _) = line.split_once(",\"checked\":").unwrap_or((line, ""));
    let words = line.split(' ').filter(|word| !is_duration(word) && !["in", "ago"].contains(word));
    words.chain(["\n"]).collect()
}

/// What stands in a line of JSON as those of [`UNSTEADY`] and [`KNOWN_BY`] stand in lines.
const UNSTEADY_KEYS: [&str; 3] = ["time_left_ms", "standing", "stated_by"];

/// The same of an item of the inbox, which is one line of JSON where it is shown as such.
fn steady_item(line: &str) -> String {
    let Ok(Value::Object(mut item)) = serde_json::from_str(line) else { return steady_line(line) };
    item.retain(|key, _| !UNSTEADY_KEYS.contains(&key.as_str()));
    format!("{}\n", Value::Object(item))
}

/// `2h`, `29days`.
fn is_duration(word: &str) -> bool {
    let unit = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let units = ["months", "month", "days", "day", "h", "m", "s", "ms"];
    unit.len() < word.len() && units.contains(&unit)
}

/// A line with and without what stands in brackets.
fn both(line: &str) -> Vec<String> {
    match line.strip_suffix(" [--json]") {
        Some(line) => vec![line.to_string(), format!("{line} --json")],
        None => vec![line.to_string()],
    }
}
