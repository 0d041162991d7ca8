//! The tools that read decisions, and write nothing.

use super::arguments::{ListThem, Show, Standing};
use super::caller::Caller;
use super::page::{LIMIT_MAX, Page};
use crate::log::Directory;
use crate::log::archives::not_listed;
use crate::log::decision_id::{all, known, resolve};
use crate::log::decision_points::{Linked, Look};
use crate::log::verdict::damaged;
use crate::questions::decision_view::place;
use crate::ui::Failure;
use holdpoint_domain::World;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointState as State};
use serde_json::{Value, json};

/// `decision_list`: what presses most first, then what was asked first.
pub(super) fn list(caller: &Caller<'_>, arguments: &ListThem) -> Result<Value, Failure> {
    let mut page = Page::new(arguments.limit)?;
    let directory = Directory::open(&caller.server.global)?;
    let wanted: &Linked<'_> = &|world, _| arguments.links(world);
    let look = match arguments.state.is_live() {
        true => Look::live(&directory, false, wanted)?,
        false => Look::newest(&directory, wanted)?,
    };
    expect_sound(&look, &directory)?;
    let world = look.world();
    let after = arguments.after.as_deref().map(|id| resolve(world, id)).transpose()?;
    let total = all(world).filter(|point| arguments.wants(point)).count();
    let found = arguments.select(world, after);
    let mut shown = found.iter().take_while(|point| page.push(json!(look.shown(point))));
    let last = shown.by_ref().last().map(|point| point.decision_id.to_string());
    let next_after = last.filter(|_| page.is_full());
    let not_listed = if arguments.state.is_live() { None } else { not_listed(&directory) };
    Ok(json!({
        "decisions": page.into_items(),
        "total": total,
        "next_after": next_after,
        "stated_by": look.state.all_known_by(),
        "notes": not_listed.as_slice(),
    }))
}

/// `decision_show`.
pub(super) fn show(caller: &Caller<'_>, arguments: &Show) -> Result<Value, Failure> {
    let directory = Directory::open(&caller.server.global)?;
    let look =
        Look::newest(&directory, &|world, _| Some(vec![known(world, &arguments.decision_id)?]))?;
    expect_sound(&look, &directory)?;
    let point = look.find(&arguments.decision_id)?;
    Ok(json!({ "decision": look.shown(point) }))
}

/// Of a log that does not verify nothing is believed: a person has to look.
fn expect_sound(look: &Look, directory: &Directory) -> Result<(), Failure> {
    look.expect_log(directory)?;
    let Some(report) = look.state.report().filter(|report| report.failed()) else { return Ok(()) };
    Err(damaged(report, "decide nothing by it, and tell a person; audit_verify tells all"))
}

impl ListThem {
    /// Of what a page may hold; `None` where a state does not tell of all that is wanted.
    fn links<'w>(&self, world: &'w World) -> Option<Vec<&'w DecisionPoint>> {
        if !self.state.is_live() && world.forgets_decision_points() {
            return None;
        }
        let after = match &self.after {
            Some(wanted) => Some(known(world, wanted)?),
            None => None,
        };
        let mut found = self.select(world, after);
        found.truncate(LIMIT_MAX.into());
        Some(found)
    }

    /// Those behind a place, in their order.
    fn select<'w>(
        &self,
        world: &'w World,
        after: Option<&DecisionPoint>,
    ) -> Vec<&'w DecisionPoint> {
        let wanted = all(world).filter(|point| self.wants(point));
        let mut found: Vec<_> =
            wanted.filter(|point| after.is_none_or(|after| place(point) > place(after))).collect();
        found.sort_by_key(|point| place(point));
        found
    }

    fn wants(&self, point: &DecisionPoint) -> bool {
        let issue = point.terms.issue_id.as_deref();
        self.state.includes(point.state)
            && self.issue_id.as_deref().is_none_or(|wanted| issue == Some(wanted))
            && self.requested_by.as_deref().is_none_or(|name| *point.requested_by.id == *name)
            && self.urgency.is_none_or(|urgency| point.terms.urgency == urgency)
    }
}

impl Standing {
    /// Whether all that stand so live.
    fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Refining | Self::Open)
    }

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
