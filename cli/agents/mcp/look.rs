//! The tools that read decisions, and write nothing.

use super::arguments::{ListThem, Show, Standing};
use super::caller::Caller;
use super::page::{LIMIT_MAX, Page};
use crate::log::Directory;
use crate::log::archives::not_listed;
use crate::log::decision_id::known;
use crate::log::question_look::{Linked, Look};
use crate::log::verdict::damaged;
use crate::questions::question_filter::select_known;
use crate::ui::Failure;
use holdpoint_domain::decision_point::DecisionPointState as State;
use holdpoint_replay::question_filter::{QuestionFilter, StateFilter};
use serde_json::{Value, json};

/// `decision_list`: the most urgent first, then the oldest.
pub(super) fn list(caller: &Caller<'_>, arguments: &ListThem) -> Result<Value, Failure> {
    let mut page = Page::new(arguments.limit)?;
    let directory = Directory::open(&caller.server.global)?;
    let filter = arguments.filter();
    let wanted: &Linked<'_> = &|world, now| select_known(&filter, world, LIMIT_MAX.into(), now);
    let is_live = filter.state.is_live();
    let look = match is_live {
        true => Look::live(&directory, false, wanted)?,
        false => Look::newest(&directory, wanted)?,
    };
    expect_sound(&look, &directory)?;
    let after = filter.after.as_deref().map(|id| look.state.find(id)).transpose()?;
    let total = filter.select(look.world(), None, look.now()).len();
    let found = filter.select(look.world(), after, look.now());
    let mut shown = found.iter().take_while(|question| page.push(json!(look.shown(**question))));
    let last = shown.by_ref().last().map(|question| question.id().to_string());
    let next_after = last.filter(|_| page.is_full());
    let not_listed = if is_live { None } else { not_listed(&directory) };
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
    let question = look.state.find(&arguments.decision_id)?;
    Ok(json!({ "decision": look.shown(question) }))
}

/// Of a log that does not verify nothing is believed: a person has to look.
fn expect_sound(look: &Look, directory: &Directory) -> Result<(), Failure> {
    look.expect_log(directory)?;
    let Some(report) = look.state.report().filter(|report| report.failed()) else { return Ok(()) };
    Err(damaged(report, "decide nothing by it, and tell a person; audit_verify tells all"))
}

impl ListThem {
    fn filter(&self) -> QuestionFilter {
        QuestionFilter {
            state: self.state.filter(),
            issue: self.issue_id.clone(),
            requested_by: self.requested_by.clone(),
            urgency: self.urgency,
            after: self.after.clone(),
            ..QuestionFilter::default()
        }
    }
}

impl Standing {
    fn filter(self) -> StateFilter {
        StateFilter::In(match self {
            Self::Open => return StateFilter::Open,
            Self::All => return StateFilter::All,
            Self::Pending => State::Pending,
            Self::Refining => State::Refining,
            Self::Resolved => State::Resolved,
            Self::Iterated => State::Iterated,
            Self::Expired => State::Expired,
            Self::Aborted => State::Aborted,
            Self::Cancelled => State::Cancelled,
            Self::Superseded => State::Superseded,
        })
    }
}
