//! Everything that waits for a person in many logs: the program itself, in a process of its own.

use super::errand::Errand;
use super::look::{holdpoint, timed};
use super::result::{InboxPoint, Looked};
use super::run::ScalePlan;
use crate::error::{Doing, MeasureError};
use crate::plan::Effort;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many logs, and how many questions in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxPlan {
    /// Logs.
    pub logs: usize,
    /// Questions in each of them.
    pub each: usize,
}

impl InboxPlan {
    /// As much as the effort of a run is.
    #[must_use]
    pub const fn of(effort: Effort) -> Self {
        match effort {
            Effort::Smoke => Self { logs: 3, each: 4 },
            Effort::Quick | Effort::Full => Self { logs: 200, each: 50 },
        }
    }
}

/// Writes the logs, and lists what waits in all of them, in rounds.
pub(super) fn measure(plan: &ScalePlan, home: &Path) -> Result<InboxPoint, MeasureError> {
    let InboxPlan { logs, each } = plan.inbox;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).doing("ask for the time")?;
    let clock_ns = u64::try_from(now.as_nanos()).doing("ask for the time")?;
    let places: Vec<PathBuf> = (0..logs).map(|log| home.join(format!("inbox-{log}"))).collect();
    for (seed, at) in (plan.seed..).zip(&places) {
        Errand::Ask { at: at.clone(), clock_ns, count: each, seed }.run::<()>(&plan.program)?;
    }
    let mut looked = Looked::default();
    for round in 0..=plan.rounds {
        let mut command = holdpoint(&plan.program, home);
        // Nothing but these logs: those that a user's own writers left are none of it.
        command.env("HOME", home).env("XDG_STATE_HOME", home).env("XDG_CONFIG_HOME", home);
        command.arg("inbox");
        for at in &places {
            command.arg("--log").arg(at);
        }
        let taken = timed(command, "`inbox`", false)?;
        if round > 0 {
            looked.add(taken);
        }
    }
    Ok(InboxPoint { logs, questions: logs * each, look: looked.point("`inbox`") })
}
