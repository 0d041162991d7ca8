//! Work that is done in a process of its own: what has to crash, and what is watched from outside.

use crate::error::{Doing, MeasureError};
use crate::plan::Plan;
use crate::store::{Candidate, Mode, Store, payload};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The first argument of a child.
pub const CHILD: &str = "as-child";

/// Work that a child is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// Candidate whose store it is.
    pub candidate: String,
    /// Durability of it.
    pub mode: Mode,
    /// Payload bytes.
    pub payload: usize,
    /// Commits.
    pub commits: u64,
    /// Records in each.
    pub records_each: u64,
    /// Aborts at the end instead of closing.
    pub crashes: bool,
}

impl Errand {
    /// Returns it as arguments.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        vec![
            CHILD.to_string(),
            self.candidate.clone(),
            self.mode.name().to_string(),
            self.payload.to_string(),
            self.commits.to_string(),
            self.records_each.to_string(),
            self.crashes.to_string(),
        ]
    }

    /// From the arguments behind [`CHILD`]; `None` where they are not an errand's.
    #[must_use]
    pub fn parse(arguments: &[String]) -> Option<Self> {
        let [candidate, mode, payload, commits, records_each, crashes] = arguments else {
            return None;
        };
        Some(Self {
            candidate: candidate.clone(),
            mode: Mode::named(mode)?,
            payload: payload.parse().ok()?,
            commits: commits.parse().ok()?,
            records_each: records_each.parse().ok()?,
            crashes: crashes.parse().ok()?,
        })
    }

    /// Runs it, in the child.
    ///
    /// # Errors
    /// What the store says.
    pub fn run(&self, candidates: &[Candidate], at: &Path) -> Result<(), MeasureError> {
        let named = candidates.iter().find(|candidate| candidate.name == self.candidate);
        let candidate = named.ok_or("nobody has that name").doing("find a candidate")?;
        let store = self.opened(candidate, at)?;
        for _ in 0..self.commits {
            if self.records_each == 1 {
                store.append()?;
            } else {
                store.append_batch(self.records_each)?;
            }
        }
        if self.crashes {
            std::process::abort();
        }
        store.close()
    }
}

impl Errand {
    /// In the mode that is asked for. What is to crash is opened to sync where it offers nothing
    /// weaker: to crash it needs no mode of its own.
    fn opened(&self, candidate: &Candidate, at: &Path) -> Result<Box<dyn Store>, MeasureError> {
        let payload = payload(self.payload);
        match (candidate.open)(at, self.mode, &payload) {
            Err(MeasureError::NotOffered(_)) if self.crashes => {
                (candidate.open)(at, Mode::Durable, &payload)
            }
            opened => opened,
        }
    }
}

/// Lets a child append so many records to a store, and abort.
pub(crate) fn crash(
    plan: &Plan,
    candidate: &str,
    at: &Path,
    commits: u64,
) -> Result<(), MeasureError> {
    let program = plan.child.as_ref().ok_or(MeasureError::NotOffered("needs a second process"))?;
    let errand = Errand {
        candidate: candidate.to_string(),
        mode: Mode::Os,
        payload: 256,
        commits,
        records_each: 1,
        crashes: true,
    };
    let output = Command::new(program)
        .args(errand.arguments())
        .arg(at)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .doing("start a child")?;
    // An abort gives no code: one that has a code did not get so far.
    match output.status.code() {
        None => Ok(()),
        Some(_) => Err(why_alive(output.status, &output.stderr)).doing("crash it"),
    }
}

/// Why a child did not get as far as to crash: how it ended, and the last that it said.
fn why_alive(status: ExitStatus, stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = last.unwrap_or("nothing");
    format!("its test program ended before it, with {status}, and said last: {last}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    struct Nothing;

    impl Store for Nothing {
        fn append(&self) -> Result<(), MeasureError> {
            Ok(())
        }
    }

    fn only_synced(_: &Path, mode: Mode, _: &str) -> Result<Box<dyn Store>, MeasureError> {
        match mode {
            Mode::Durable => Ok(Box::new(Nothing)),
            Mode::Staged | Mode::Os => Err(MeasureError::NotOffered("syncs every commit")),
        }
    }

    #[test]
    fn who_only_syncs_can_be_crashed_and_is_not_measured_as_what_it_is_not() {
        let candidate = Candidate::new("only synced", only_synced);
        let errand = |crashes| Errand {
            candidate: candidate.name.into(),
            mode: Mode::Os,
            payload: 1,
            commits: 0,
            records_each: 1,
            crashes,
        };
        assert!(errand(true).opened(&candidate, Path::new("")).is_ok());
        assert!(errand(false).opened(&candidate, Path::new("")).is_err());
    }

    #[test]
    fn a_child_that_did_not_crash_is_told_with_its_last_words() {
        let ended = ExitStatus::from_raw(1 << 8);
        let why = why_alive(ended, b"one\nresults: cannot open: no room\n\n");
        assert!(why.contains("exit status: 1"), "{why}");
        assert!(why.ends_with("said last: results: cannot open: no room"), "{why}");
        assert!(why_alive(ended, b"").ends_with("said last: nothing"));
    }
}
