//! The tools that read decisions, and write nothing.

use super::arguments::{ListThem, Show, Standing};
use super::caller::Caller;
use super::page::Page;
use crate::decision::{Look, all, place, resolve};
use crate::directory::Directory;
use crate::exit::Failure;
use crate::verify::damaged;
use holdpoint_domain::decision_point::DecisionPointState as State;
use holdpoint_domain::world::DecisionPoint;
use holdpoint_replay::{Report, Until};
use serde_json::{Value, json};

/// `decision_list`: what presses most first, then what was asked first.
pub(super) fn list(caller: &Caller<'_>, arguments: &ListThem) -> Result<Value, Failure> {
    let mut page = Page::new(arguments.limit)?;
    let directory = Directory::open(&caller.office.global)?;
    let look = Look::at(&directory, Until::End)?;
    directory.expect_log(&look.rebuilt.report)?;
    expect_sound(&look.rebuilt.report)?;
    let world = &look.rebuilt.world;
    let after = arguments.after.as_deref().map(|id| resolve(world, id)).transpose()?;
    let mut found: Vec<&DecisionPoint> =
        all(world).filter(|point| arguments.wants(point)).collect();
    let total = found.len();
    found.sort_by_key(|point| place(point));
    found.retain(|point| after.is_none_or(|after| place(point) > place(after)));
    let mut shown = found.iter().take_while(|point| page.push(json!(look.view(point))));
    let last = shown.by_ref().last().map(|point| point.decision_id.to_string());
    let next_after = last.filter(|_| page.is_full());
    Ok(json!({ "decisions": page.into_items(), "total": total, "next_after": next_after }))
}

/// `decision_show`.
pub(super) fn show(caller: &Caller<'_>, arguments: &Show) -> Result<Value, Failure> {
    let directory = Directory::open(&caller.office.global)?;
    let look = Look::at(&directory, Until::End)?;
    directory.expect_log(&look.rebuilt.report)?;
    expect_sound(&look.rebuilt.report)?;
    let point = look.find(&arguments.decision_id)?;
    Ok(json!({ "decision": look.view(point) }))
}

/// Of a log that does not verify nothing is believed: a person has to look.
fn expect_sound(report: &Report) -> Result<(), Failure> {
    if !report.failed() {
        return Ok(());
    }
    Err(damaged(report, "decide nothing by it, and tell a person; audit_verify tells all"))
}

impl ListThem {
    fn wants(&self, point: &DecisionPoint) -> bool {
        let issue = point.terms.issue_id.as_deref();
        self.state.includes(point.state)
            && self.issue_id.as_deref().is_none_or(|wanted| issue == Some(wanted))
            && self.requested_by.as_deref().is_none_or(|name| *point.requested_by.id == *name)
            && self.urgency.is_none_or(|urgency| point.terms.urgency == urgency)
    }
}

impl Standing {
    fn includes(self, state: State) -> bool {
        match self {
            Self::Pending => state == State::Pending,
            Self::Refining => state == State::Refining,
            Self::Open => state.is_open(),
            Self::Resolved => state == State::Resolved,
            Self::Iterated => state == State::Iterated,
            Self::Expired => state == State::Expired,
            Self::Aborted => state == State::Aborted,
            Self::Cancelled => state == State::Cancelled,
            Self::Superseded => state == State::Superseded,
            Self::All => true,
        }
    }
}
