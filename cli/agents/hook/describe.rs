//! What hooks say. An agent reads it, and a person may: what agents wrote is shown with control
//! characters visible, and every "no" says what not to do next.

use super::own::{is_own, wait_command};
use crate::log::verdict::and_permits;
use crate::questions::decision_view::doubt;
use crate::ui::path;
use crate::ui::program::program_on;
use crate::ui::text::{cut, quoted};
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::decision_point::{DecisionPoint, Response};
use holdpoint_domain::{Time, World};
use std::path::{Path, absolute};

/// How the list of a session's decisions begins.
pub(super) const TOLD_FIRST: &str = "Holdpoint: decisions that this session asked for, newest \
                                     first. A decision that waits is not an approval.";

/// Whose keys those of hooks are.
pub(super) const KEY_ENGINE: &str = "hook";
pub(super) const KEY_TENANT: &str = "local";

/// How much of a name is shown, in bytes.
const NAME_BYTES_MAX: usize = 64;

const DO_NOT: &str = "do not retry, rephrase or split this call, and do not try another way";

/// A person approved this call, and the approval is spent now.
pub(super) fn spent(point: &DecisionPoint) -> String {
    format!("approved by {}, decision {}, spent by this call", who(point), point.decision_id)
}

/// What it means that spending an approval failed: it may be on record all the same.
pub(super) fn may_be_spent(point: &DecisionPoint, reason: &str) -> String {
    let id = &point.decision_id;
    format!(
        "the approval {id} may be spent by this all the same, and then a person is asked again: \
         {reason}"
    )
}

/// A person is asked.
pub(super) fn pending(log: &Path, point: &DecisionPoint, before: Option<&str>) -> String {
    let id = &point.decision_id;
    let before = before.map(|before| format!("{before}; ")).unwrap_or_default();
    let (program, wait) = (called(log), wait_command(log, id));
    let meanwhile = match is_own(&wait) {
        true => format!("Wait with `{wait}`, about which nobody is asked, or stop here"),
        // The place of the log or of this program needs quotes: a person would be asked once more.
        false => "Stop here".to_string(),
    };
    format!(
        "{before}pending, decision {id}: {DO_NOT}. A person answers with `{program} decision \
         respond {id} --option approve`, not you. {meanwhile}; once it is approved, make exactly \
         this call again"
    )
}

/// A person said no, or took the yes back.
pub(super) fn rejected(point: &DecisionPoint) -> String {
    if let Some(revoked) = &point.revoked {
        let why = revoked.reason.as_deref().map(|why| format!(", saying \"{}\"", visible(why)));
        let (by, why) = (cut(&revoked.by.id, NAME_BYTES_MAX), why.unwrap_or_default());
        return format!("revoked by {by}, decision {}{why}: {DO_NOT}", point.decision_id);
    }
    let comment = point.ending.as_ref().and_then(|ending| ending.comment.as_deref());
    let comment = comment.map(|comment| format!(", saying \"{}\"", visible(comment)));
    format!(
        "rejected by {}, decision {}{}: {DO_NOT}",
        who(point),
        point.decision_id,
        comment.unwrap_or_default()
    )
}

/// Nobody answered while the hook waited.
pub(super) fn unanswered(point: &DecisionPoint) -> String {
    format!("{}: {DO_NOT}", was_before(point, None))
}

/// An approval waits to be used.
pub(super) fn approved_unspent(point: &DecisionPoint) -> String {
    let call = call(point);
    format!("decision {} was approved ({call}): retry the action", point.decision_id)
}

/// What comes before a call asks a person: nobody is asked while the policy is not known.
fn first(world: &World) -> &'static str {
    match world.is_policy_lost() {
        true => "once a person has set the policy (`holdpoint policy set`), ",
        false => "",
    }
}

/// What a session asked for permits nothing, and nobody was asked anew.
pub(super) fn to_be_asked_anew(point: &DecisionPoint, doubt: Doubt, world: &World) -> String {
    let how = if point.is_open() { "waits" } else { "was approved" };
    let told = format!("decision {} {how} ({})", point.decision_id, call(point));
    let told = and_permits(&told, Some(doubt));
    format!("{told}: {}make the same call again, and a person is asked anew", first(world))
}

/// A decision waits, and the agent is not to stop before it is answered.
pub(super) fn still_waits(log: &Path, point: &DecisionPoint) -> String {
    let (id, call) = (&point.decision_id, call(point));
    let wait = wait_command(log, id);
    format!(
        "decision {id} still waits for a person ({call}): wait with `{wait}`, and do not answer it \
         yourself"
    )
}

/// One decision, for a session that starts.
pub(super) fn told(log: &Path, point: &DecisionPoint, now: Time, world: &World) -> String {
    let doubt = world.doubt_of_point(point);
    let (id, call) = (&point.decision_id, call(point));
    let anew = |told: &str| {
        let told = and_permits(told, doubt);
        let first = first(world);
        format!("{told}: where nobody was asked anew since, {first}the same call asks a person")
    };
    let how = if super::stop::waits(point, now) {
        match doubt {
            Some(_) => anew("waits"),
            None => format!("waits; `{}`", wait_command(log, id)),
        }
    } else if point.is_open() {
        "nobody answered in time: silence is not consent".to_string()
    } else if super::stop::is_to_be_spent(point, now) {
        let approved = format!("approved by {}", who(point));
        match doubt {
            Some(_) => anew(&approved),
            None => format!("{approved}: retry the action"),
        }
    } else if point.consumed.is_some() {
        "approved, and spent already".to_string()
    } else {
        ended(point)
    };
    format!("- {id}: {call}: {how}")
}

/// What became of the last time that this was asked.
pub(super) fn was_before(point: &DecisionPoint, doubt: Option<Doubt>) -> String {
    let id = &point.decision_id;
    let is_silence = point.ending.as_ref().is_some_and(|ending| ending.by.is_none());
    if point.consumed.is_some() {
        format!("the approval {id} is spent already")
    } else if point.lapsed_at.is_some() {
        format!("the approval {id} was not used in time")
    } else if is_silence {
        format!("nobody answered decision {id} in time, and silence is not consent")
    } else if point.is_open() {
        and_permits(&format!("decision {id} waits"), doubt)
    } else {
        and_permits(&format!("decision {id}: {}", ended(point)), doubt.filter(|_| point.is_live()))
    }
}

/// The program as a shell calls it for this log, wherever the agent is when it does.
fn called(log: &Path) -> String {
    program_on(&absolute(log).unwrap_or_else(|_| log.to_path_buf()))
}

/// There is no log, so nothing can be asked, or recorded.
pub(super) fn no_log(log: &Path) -> String {
    let log = absolute(log).unwrap_or_else(|_| log.to_path_buf());
    format!("there is no log at {}: a person makes it with `{} init`", path(&log), called(&log))
}

/// How a decision ended, without the words of anybody.
fn ended(point: &DecisionPoint) -> String {
    let option = point.ending.as_ref().and_then(|ending| match &ending.response {
        Some(Response::Option(id)) => Some(format!(" with {}", quoted(id))),
        _ => None,
    });
    format!("{}{} by {}", point.state, option.unwrap_or_default(), quoted(&who(point)))
}

fn who(point: &DecisionPoint) -> String {
    let by = point.ending.as_ref().and_then(|ending| ending.by.as_ref());
    let named = |by: &Principal| match doubt(by) {
        Some(doubt) => format!("{} ({doubt})", cut(&by.id, NAME_BYTES_MAX)),
        None => cut(&by.id, NAME_BYTES_MAX),
    };
    by.map_or_else(|| "nobody".to_string(), named)
}

/// Which call a decision is about. Its directory and input were an agent's, and are left away.
fn call(point: &DecisionPoint) -> String {
    let tool = point.binding().map_or("", |binding| &binding.tool);
    format!("a call of {}", quoted(&cut_raw(tool)))
}

fn cut_raw(text: &str) -> String {
    let cut = bounded(text, NAME_BYTES_MAX);
    let more = if cut.len() < text.len() { ".." } else { "" };
    format!("{cut}{more}")
}
