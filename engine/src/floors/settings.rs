//! Settings that a policy file may have, and the places where it has others.

use super::table::{EvidenceTable, HoldTable};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::log::Loosened;
use holdpoint_domain::world::OpenBounds;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The longest file that is read, in bytes (1 MiB).
pub(super) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A whole file. What is not stated demands nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Settings {
    /// Settings of who is asked, when and how.
    pub(super) hold: HoldTable,
    /// Settings of what goes on record.
    pub(super) evidence: EvidenceTable,
    /// For which log.
    pub(super) policy: PolicyTable,
    /// Logs that `holdpoint inbox` looks at. The table demands nothing.
    pub(super) inbox: InboxTable,
    /// Number of questions that may be open at once.
    pub(super) questions: QuestionsTable,
    /// Known logs, from the machine's file alone.
    pub(super) logs: Option<toml::Spanned<LogsTable>>,
}

/// The table `questions`: how many may be open at once. What is not stated is as usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuestionsTable {
    /// Bound for one session of an agent.
    pub per_session: Option<NonZeroUsize>,
    /// Bound for one user.
    pub per_user: Option<NonZeroUsize>,
    /// Bound for a log.
    pub per_log: Option<NonZeroUsize>,
}

impl QuestionsTable {
    /// The bounds, where what is not stated here is as these are.
    #[must_use]
    pub fn over(&self, usual: OpenBounds) -> OpenBounds {
        let stated =
            |stated: Option<NonZeroUsize>, usual: usize| stated.map_or(usual, NonZeroUsize::get);
        OpenBounds {
            per_session: stated(self.per_session, usual.per_session),
            per_user: stated(self.per_user, usual.per_user),
            per_log: stated(self.per_log, usual.per_log),
        }
    }

    /// The first key that states more than these bounds, as a policy names what loosens it.
    #[must_use]
    pub fn loosens(&self, bounds: OpenBounds) -> Option<Loosened> {
        let rows = [
            ("questions.per_session", self.per_session, bounds.per_session),
            ("questions.per_user", self.per_user, bounds.per_user),
            ("questions.per_log", self.per_log, bounds.per_log),
        ];
        rows.into_iter().find_map(|(field, stated, most)| {
            let stated = stated.map(NonZeroUsize::get).filter(|stated| *stated > most)?;
            let expected = format!("at most {most}");
            Some(Loosened { field, expected, found: stated.to_string() })
        })
    }

    /// The smaller one of each that is stated.
    fn and(self, other: Self) -> Self {
        let least = |one: Option<NonZeroUsize>, other: Option<NonZeroUsize>| {
            one.into_iter().chain(other).min()
        };
        Self {
            per_session: least(self.per_session, other.per_session),
            per_user: least(self.per_user, other.per_user),
            per_log: least(self.per_log, other.per_log),
        }
    }

    /// Joins the statements of several files.
    pub(super) fn join<'a>(tables: impl Iterator<Item = &'a Self>) -> Self {
        tables.fold(Self::default(), |all, table| all.and(*table))
    }
}

/// The table `logs`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LogsTable {
    /// The directories of logs that answer for people here, whoever began them.
    pub(super) trusted: Vec<PathBuf>,
}

/// The table `inbox`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InboxTable {
    /// The directories of the logs.
    pub(super) logs: Vec<PathBuf>,
}

/// The table `policy`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PolicyTable {
    /// The one log that may be written to.
    pub(super) log: Option<PathBuf>,
}

/// Fault of a file, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileFault {
    line: usize,
    column: usize,
    message: String,
}

/// Format of compilers: `line:column: what is wrong`.
impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, visible(&self.message))
    }
}

/// Reads what a TOML file says.
///
/// # Errors
/// [`FileFault`] says what it may not say, and where.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FileFault> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(fault(bytes, error.valid_up_to(), "this byte is not UTF-8")),
    };
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        fault(bytes, at, error.message())
    })
}

/// The fault of what stands at so many bytes, in words.
pub(super) fn fault_at(bytes: &[u8], at: usize, message: &str) -> FileFault {
    fault(bytes, at, message)
}

/// A fault after so many bytes. Lines and columns count from 1, columns in bytes.
fn fault(bytes: &[u8], at: usize, message: &str) -> FileFault {
    let before = bytes.get(..at).unwrap_or(bytes);
    let line = before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1);
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count().saturating_add(1);
    FileFault { line, column, message: message.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_policy_may_not_say_is_told_with_line_and_column() {
        let table: [(&[u8], &str, &str); 16] = [
            (b"[hold]\nwait = 1\n", "2:1: ", "unknown field `wait`"),
            (b"x = 1", "1:1: ", "unknown field `x`"),
            (b"[evidence]\nrecord = 1", "2:1: ", "unknown field `record`"),
            (b"[inbox]\nlog = \"/a\"", "2:1: ", "unknown field `log`"),
            (b"[hold]\ndefault = \"sometimes\"", "2:11: ", "never, before, on-failure"),
            (b"[hold]\ndefault = \"\"", "2:11: ", "never, before, on-failure"),
            (b"[hold]\ndecision_timeout = \"0s\"", "2:20: ", "out of range"),
            (b"[hold]\napproval_timeout = \"400days\"", "2:20: ", "out of range"),
            (b"[hold]\ndecision_timeout = 5", "2:20: ", "expected a string"),
            (b"[hold]\napprovers = [\"a\", \" \"]", "2:13: ", "missing or invisible"),
            (b"[hold]\napprovers = [\"a\\u202eb\"]", "2:13: ", "hidden character"),
            (b"[hold]\nquorum = 300", "2:10: ", "u8"),
            (b"[hold]\nauthentication = \"vibes\"", "2:18: ", "unknown variant"),
            (b"[hold]\n\n[hold]\n", "3:2: ", "duplicate"),
            (b"[hold\n", "1:6: ", ""),
            (b"a = \"\xff\"", "1:6: ", "UTF-8"),
        ];
        for (file, place, message) in table {
            let found = parse::<Settings>(file).unwrap_err().to_string();
            assert!(found.starts_with(place), "{place}: {found}");
            assert!(found.contains(message), "{message}: {found}");
        }
    }

    #[test]
    fn what_is_not_stated_demands_nothing() {
        for file in ["", "[hold]\n[policy]\n", "[hold]\ndefault = \"never\"\nseparation = false\n"]
        {
            let read = parse::<Settings>(file.as_bytes()).unwrap();
            assert!(read.hold.policy().is_none() && read.policy.log.is_none(), "{file}");
        }
    }
}
