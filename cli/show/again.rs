//! What ties a run to others that were begun again: the one that it came after, and those that came
//! after it, each by a person's RETRY that the later one names as its cause.

use super::run::{outcome, proven};
use crate::directory::Directory;
use crate::exit::Failure;
use crate::runs::again::RetryOf;
use crate::screen::{Page, named};
use crate::text::counted;
use crate::when::ago;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_replay::{Begun, Listed, Retry, Run, Searched, again_after, retries_of, runs_of};
use serde::Serialize;
use std::slice;

/// So many of the later ones are told.
const LATER_MAX: usize = 20;

/// The runs before and behind one.
#[derive(Default)]
pub(crate) struct Again {
    /// The RETRY with which it says that it began.
    pub(super) retry: Option<Retry>,
    /// The first of those that say that they began with a RETRY about it.
    pub(super) later: Vec<Run>,
    /// Those of them that do not count.
    pub(super) uncounted: Vec<Begun>,
    /// How many more there are.
    pub(super) more: usize,
}

/// What a program is shown of that.
#[derive(Serialize)]
pub(super) struct ShownAgain<'r> {
    retry_of: Option<RetryOf<'r>>,
    /// The loops that say that they began with a RETRY about it.
    caused: Vec<&'r str>,
    /// How many more there are.
    caused_more: usize,
}

impl Again {
    /// Reads them, and joins what was read for that.
    pub(super) fn read(
        directory: &Directory,
        run: &Run,
        searched: &mut Searched,
    ) -> Result<Self, Failure> {
        let (mut retries, read) =
            directory.read(|log, options| retries_of(log, slice::from_ref(run), options))?;
        let (begun, also_read) = directory.read(|log, options| again_after(log, run, options))?;
        let mut again = Self { retry: retries.remove(run.entity.loop_id()), ..Self::default() };
        read.into_iter().chain(also_read).for_each(|read| searched.join(read));
        let told = begun.get(..LATER_MAX).unwrap_or(&begun);
        again.more = begun.len().saturating_sub(told.len());
        if !told.is_empty() {
            let Listed { runs, uncounted, searched: read } =
                directory.read(|log, options| runs_of(log, told, options))?;
            searched.join(read);
            (again.later, again.uncounted) = (runs, uncounted);
        }
        Ok(again)
    }

    pub(super) fn shown(&self) -> ShownAgain<'_> {
        ShownAgain {
            retry_of: self.retry.as_ref().map(RetryOf::of),
            caused: self.later.iter().map(|run| run.entity.loop_id()).collect(),
            caused_more: self.more,
        }
    }

    /// The run that it came after. That the RETRY is the cause is what its own record says.
    pub(super) fn put_before(&self, page: &mut Page) {
        let Some(Retry { run, sequence, by, reason }) = &self.retry else { return };
        let by = proven(&by.actor, by.proof);
        page.row(
            "again",
            &format!(
                "after {}; its cause is given as record {sequence}, RETRY by {by}",
                named(run)
            ),
        );
        if let Some(reason) = reason {
            page.foreign("reason", reason);
        }
    }

    /// Those that came after it.
    pub(super) fn put_later(&self, page: &mut Page, now: Timestamp) {
        for run in &self.later {
            let (id, began) = (run.entity.loop_id(), ago(now, run.entity.started_at));
            let cause = run.cause.map(|cause| format!("record {cause}, ")).unwrap_or_default();
            let outcome = outcome(run);
            page.row(
                "caused",
                &format!(
                    "{id}, begun again {began} ({cause}RETRY, is given as its cause): {outcome}"
                ),
            );
        }
        if self.more > 0 {
            page.row("caused", &format!("{} more", counted(self.more as u64, "run")));
        }
    }
}
