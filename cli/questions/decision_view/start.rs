//! A start as it is shown to whoever is to let it begin: the command first, what would run and what
//! is not bound, then who asks and where all else is.

use super::{Doubts, approval, time_left, votes, who};
use crate::args::Global;
use crate::questions::choice::DETAILS_HAS_ALL;
use crate::questions::hold_view::ROOT;
use crate::ui::named;
use crate::ui::program::program;
use crate::ui::screen::{PartTexts, PromptPart, brief, in_line};
use holdpoint_domain::Time;
use holdpoint_domain::decision_point::{
    APPROVE, DENY, DecisionOption, DecisionPoint, DecisionPointState, OnTimeout,
};
use holdpoint_engine::shell::{NamedLine, StartSummary, carries_code};
use std::ffi::OsStr;

/// What a program opens of its own accord is never bound.
const BY_ITSELF: &str = "what it reads by itself: a Makefile, imports, files of `sh -c`";
/// Between a program and the directory that it runs in.
const IN: &str = ", in ";
/// The answers, and what the question before a start says of them.
const ANSWERS: [(&str, &str); 2] =
    [(APPROVE, "Start it, exactly so and once"), (DENY, "Do not start it")];

/// The question in so many lines at most, that are read at one look; `None` where it says more than
/// whether to start what its circumstances have, so that all of it is to be read.
pub(crate) fn lines(
    global: &Global,
    point: &DecisionPoint,
    summary: &StartSummary,
    (now, columns, most): (Time, usize, usize),
    doubts: Doubts,
) -> Option<Vec<String>> {
    if !asks_that_alone(point, summary) || doubts.of_records.is_some() || doubts.is_log_damaged {
        return None;
    }
    let left = match time_left(point, now).as_str() {
        "" => String::new(),
        "overdue" => "; overdue: nothing starts".to_string(),
        left => format!("; {left} left, then nothing starts"),
    };
    let root = (doubts.asked_by == Some(ROOT)).then(|| "root is any approver".to_string());
    let approval = point.terms.policy.as_ref().map(approval);
    let approval: Vec<String> = approval.into_iter().chain(votes(point)).chain(root).collect();
    let named_files = if summary.binds_named_files { "" } else { "; files that it names" };
    let id = named(&point.decision_id);
    let ways = [
        format!("from elsewhere  `{} {APPROVE} {id}`, or {DENY}", program(&global.log)),
        format!("or `holdpoint {APPROVE} {id}`"),
    ];
    let mut parts = beside(summary);
    parts.extend([
        PromptPart::row(columns, ("asked by", 2), &format!("{}{left}", who(&point.requested_by))),
        PromptPart::row(columns, ("approval", 4), &approval.join("; ")),
        PromptPart::row(columns, ("not bound", 5), &format!("{BY_ITSELF}{named_files}")),
        PromptPart::ways(columns, &ways),
    ]);
    Some(brief(&in_line(&summary.command), &parts, (columns, most, DETAILS_HAS_ALL)))
}

/// What the command finds around it, and what of that is not bound.
fn beside(summary: &StartSummary) -> Vec<PromptPart> {
    let StartSummary { directory, program, .. } = summary;
    let is_told_apart = ![program, directory].iter().any(|path| path.contains(IN));
    let program = match is_told_apart {
        true => vec![format!("{program}{IN}{directory}")],
        false => vec![program.clone(), directory.clone()],
    };
    let value = |it: &NamedLine| format!("{} = {}", it.name, it.shown);
    let variables = summary.unbound.iter().map(|it| {
        let is_code = it.name == "PATH" || carries_code(OsStr::new(&it.name));
        let carries = if is_code { " (IT CARRIES CODE)" } else { "" };
        format!("{}{carries} = {} when it was asked", it.name, it.shown)
    });
    let mut unbound: Vec<_> = variables.chain(summary.unread.iter().map(value)).collect();
    unbound.sort_by_key(|it| !it.contains("(IT CARRIES CODE)"));
    let besides = summary.unbound_besides;
    unbound.extend((besides > 0).then(|| format!("{besides} more, which have no room here")));
    let parts = [
        ("program", 3, program),
        ("NOT bound", 1, unbound),
        ("code", 6, summary.code.iter().map(value).collect()),
        ("PATH", 7, summary.search.clone().into_iter().collect()),
        ("input", 8, summary.input.clone().into_iter().collect()),
        ("file", 9, summary.files.clone()),
    ];
    parts
        .into_iter()
        .map(|(name, rank, texts)| PromptPart(name, rank, PartTexts::Foreign(texts)))
        .collect()
}

/// Whether each answer does what the usual question of a start says, and silence starts nothing.
fn asks_that_alone(point: &DecisionPoint, summary: &StartSummary) -> bool {
    let proposal = &point.terms.proposal;
    let is_answer = |option: &DecisionOption| {
        let is_one = |(id, label): &(&str, &str)| *option.id == **id && *option.label == **label;
        ANSWERS.iter().any(is_one) && option.description.is_none()
    };
    summary.is_asked_as(&proposal.prompt)
        && point.state == DecisionPointState::Pending
        && point.guidance.is_none()
        && !point.terms.allow_text
        && point.terms.on_timeout == OnTimeout::Abort
        && proposal.options.iter().all(is_answer)
}
