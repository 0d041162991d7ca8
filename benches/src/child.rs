//! What is done in a process of its own: what has to crash, and what is watched from outside.

use crate::error::{Doing, MeasureError};
use crate::plan::Plan;
use crate::store::{Candidate, Mode, payload};
use std::path::Path;
use std::process::{Command, Stdio};

/// The first argument of a child.
pub const CHILD: &str = "as-child";

/// What a child is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// Whose store.
    pub candidate: String,
    /// How durable.
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
    /// As arguments.
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
        let store = (candidate.open)(at, self.mode, &payload(self.payload))?;
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
    let status = Command::new(program)
        .args(errand.arguments())
        .arg(at)
        .stderr(Stdio::null())
        .status()
        .doing("start a child")?;
    // An abort gives no code: one that has a code did not get so far.
    if status.code().is_none() { Ok(()) } else { Err(status).doing("crash a child") }
}
