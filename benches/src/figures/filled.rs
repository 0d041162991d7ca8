//! A store that is filled once, before the first round.

use crate::error::{Doing, MeasureError};
use crate::plan::Plan;
use crate::store::{Candidate, payload};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Fills it, at a place.
type Fill = dyn Fn(&Path) -> Result<(), MeasureError>;

/// Where it lies; removed with it.
pub(crate) struct Filled {
    directory: PathBuf,
    fill: Box<Fill>,
    at: Option<TempDir>,
}

impl Filled {
    /// With so many records of a payload.
    pub(crate) fn with(plan: &Plan, candidate: Candidate, length: usize, records: u64) -> Self {
        Self::by(plan, move |at| candidate.fill(at, &payload(length), records))
    }

    /// With whatever the caller fills in.
    pub(crate) fn by(
        plan: &Plan,
        fill: impl Fn(&Path) -> Result<(), MeasureError> + 'static,
    ) -> Self {
        Self { directory: plan.directory.clone(), fill: Box::new(fill), at: None }
    }

    /// Fills it the first time.
    pub(crate) fn ready(&mut self) -> Result<&Path, MeasureError> {
        let at = match self.at.take() {
            Some(at) => at,
            None => {
                let at = tempfile::tempdir_in(&self.directory).doing("make a directory")?;
                (self.fill)(at.path())?;
                at
            }
        };
        Ok(self.at.insert(at).path())
    }
}
