//! A start as it is shown to whoever is to let it begin: what would run, then what each answer
//! does, and where all else is that is decided about.

use super::{Doubts, approval, time_left, who};
use crate::arguments::Global;
use crate::locate::program;
use crate::screen::{Page, named};
use crate::text::{counted, moment};
use holdpoint_domain::Time;
use holdpoint_domain::decision_point::{
    APPROVE, DENY, DecisionOption, DecisionPoint, DecisionPointState, OnTimeout, Urgency,
};

/// What stands before the command in the circumstances of a start.
const COMMAND: &str = "  command    = ";
/// What stands before each file there that `--bind-file` named.
const FILE: &str = "  file       ";
/// The answers, and what the question before a start says of them.
const ANSWERS: [(&str, &str); 2] =
    [(APPROVE, "Start it, exactly so and once"), (DENY, "Do not start it")];

/// The question in lines that are read at one look; `None` where it says more than whether to start
/// what its circumstances have, so that all of it is to be read.
pub(super) fn lines(
    global: &Global,
    point: &DecisionPoint,
    (brief, variables): &(String, usize),
    (now, columns): (Time, usize),
    doubts: Doubts,
) -> Option<Vec<String>> {
    if !asks_that_alone(point, brief) || doubts.of_records.is_some() || doubts.is_log_damaged {
        return None;
    }
    let mut page = Page::new(columns);
    page.foreign("what would start", brief);
    page.row("asked by", &format!("{}, {}", who(&point.requested_by), moment(point.created_at)));
    if let Some(end) = point.terms.expires_at {
        let left = match time_left(point, now).as_str() {
            "overdue" => "overdue".to_string(),
            left => format!("{left} left"),
        };
        page.row("time", &format!("{left}, until {}; then nothing starts", moment(end)));
    }
    point.terms.policy.iter().for_each(|policy| page.row("approval", &approval(policy)));
    page.row(APPROVE, "starts it, exactly so and once");
    page.row(DENY, "starts nothing");
    let id = named(&point.decision_id);
    let program = program(&global.log);
    let variables = counted(u64::try_from(*variables).unwrap_or(u64::MAX), "variable");
    page.row(
        "and bound to",
        &format!(
            "{variables} of its environment; `{program} decision show {id}` has them, and the rest"
        ),
    );
    page.row("not bound", &not_bound(brief));
    page.row("from elsewhere", &format!("`{program} answer {id} {APPROVE}`, or {DENY}"));
    Some(page.lines())
}

/// What may change until the command reads it.
fn not_bound(brief: &str) -> String {
    let bound = match brief.lines().filter(|line| line.starts_with(FILE)).count() {
        0 => ": `--bind-file` binds them".to_string(),
        files => format!(
            ", but for the {} above",
            counted(u64::try_from(files).unwrap_or(u64::MAX), "file")
        ),
    };
    format!("files that it reads, also a script{bound}")
}

/// The command in the circumstances of a start.
pub(super) fn command_in(context: &str) -> Option<&str> {
    context.lines().find_map(|line| line.strip_prefix(COMMAND))
}

/// Whether the question is the usual one, and has nothing that [`lines`] leaves away but what the
/// circumstances say as well.
fn asks_that_alone(point: &DecisionPoint, brief: &str) -> bool {
    let terms = &point.terms;
    let command = command_in(brief);
    let is_usual =
        command.is_some_and(|command| *terms.proposal.prompt == format!("Start `{command}`?"));
    let is_answer = |option: &DecisionOption| {
        let is_one = |(id, label): &(&str, &str)| *option.id == **id && *option.label == **label;
        ANSWERS.iter().any(is_one) && option.description.is_none()
    };
    let has_more = [
        point.iteration != 1,
        point.guidance.is_some(),
        !point.votes.is_empty(),
        !point.late_responses.is_empty(),
        point.escalation.is_some(),
        point.prior_id.is_some(),
        terms.issue_id.is_some(),
        terms.supersedes.is_some(),
        terms.evidence.iter().next().is_some(),
        terms.blocks.iter().next().is_some(),
        terms.allow_text,
        terms.urgency != Urgency::Medium,
        terms.on_timeout != OnTimeout::Abort,
    ];
    is_usual
        && point.state == DecisionPointState::Pending
        && terms.proposal.options.iter().all(is_answer)
        && !has_more.contains(&true)
}
