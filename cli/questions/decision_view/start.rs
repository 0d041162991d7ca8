//! A start as it is shown to whoever is to let it begin: the command and who asks, what would run
//! and what is not bound, then what each answer does, and where all else is.

use super::{Doubts, approval, time_left, who};
use crate::args::Global;
use crate::questions::hold_view::add_root;
use crate::ui::program::program;
use crate::ui::{Page, counted, moment, named};
use holdpoint_domain::Time;
use holdpoint_domain::decision_point::{
    APPROVE, DENY, DecisionOption, DecisionPoint, DecisionPointState, OnTimeout, Urgency,
};
use holdpoint_engine::shell::{NamedLine, StartSummary, carries_code};
use std::ffi::OsStr;

/// How wide the names of circumstances are.
const KIND_WIDTH: usize = 10;
/// What a program opens of its own accord is never bound.
const BY_ITSELF: &str = "what the program reads by itself: a Makefile, imports, files in \
                         directories, files that a script in its arguments names (`sh -c`)";
/// The answers, and what the question before a start says of them.
const ANSWERS: [(&str, &str); 2] =
    [(APPROVE, "Start it, exactly so and once"), (DENY, "Do not start it")];

/// The question in lines that are read at one look; `None` where it says more than whether to start
/// what its circumstances have, so that all of it is to be read.
pub(crate) fn lines(
    global: &Global,
    point: &DecisionPoint,
    summary: &StartSummary,
    (now, columns): (Time, usize),
    doubts: Doubts,
) -> Option<Vec<String>> {
    if !asks_that_alone(point, summary) || doubts.of_records.is_some() || doubts.is_log_damaged {
        return None;
    }
    let mut page = Page::new(columns);
    add_command(&mut page, point, summary);
    if let Some(end) = point.terms.expires_at {
        let left = match time_left(point, now).as_str() {
            "overdue" => "overdue".to_string(),
            left => format!("{left} left"),
        };
        page.row("time", &format!("{left}, until {}; then nothing starts", moment(end)));
    }
    point.terms.policy.iter().for_each(|policy| page.row("approval", &approval(policy)));
    add_root(&mut page, doubts.asked_by);
    add_surroundings(&mut page, summary);
    page.row(APPROVE, &format!("starts it, exactly so and once; {DENY} starts nothing"));
    page.row("and bound to", &rest(global, point, summary));
    let (id, program) = (named(&point.decision_id), program(&global.log));
    page.row("from elsewhere", &format!("`{program} {APPROVE} {id}`, or {DENY}"));
    Some(page.lines())
}

/// The command and who asks.
pub(crate) fn add_command(page: &mut Page, point: &DecisionPoint, summary: &StartSummary) {
    page.foreign("what would start", &line("command", "", &summary.command));
    page.row("asked by", &format!("{}, {}", who(&point.requested_by), moment(point.created_at)));
}

/// What the command finds around it, and what of that is not bound.
pub(crate) fn add_surroundings(page: &mut Page, summary: &StartSummary) {
    let mut found =
        vec![line("directory", "", &summary.directory), line("program", "", &summary.program)];
    found.extend(summary.files.iter().map(|file| format!("  {:<KIND_WIDTH$} {file}", "file")));
    found.extend(summary.code.iter().map(|code| line("code", &code.name, &code.shown)));
    found.extend(summary.search.iter().map(|search| line("search", "PATH", search)));
    found.extend(summary.input.iter().map(|input| line("input", "", input)));
    page.foreign("with", &found.join("\n"));
    let files = summary.unread.iter().map(|file| line("file", &file.name, &file.shown));
    let unbound: Vec<String> = files.chain(summary.unbound.iter().map(unbound_variable)).collect();
    if !unbound.is_empty() {
        page.foreign("NOT bound", &unbound.join("\n"));
    }
    if summary.unbound_besides > 0 {
        let more = u64::try_from(summary.unbound_besides).unwrap_or(u64::MAX);
        page.row("NOT bound", &format!("{} more, which have no room here", counted(more, "name")));
    }
    match summary.binds_named_files {
        true => page.row("not bound", BY_ITSELF),
        false => page.row(
            "not bound",
            &format!("{BY_ITSELF}; also files that the command names, but for those above"),
        ),
    }
}

fn unbound_variable(variable: &NamedLine) -> String {
    let carries = match variable.name == "PATH" || carries_code(OsStr::new(&variable.name)) {
        true => "; IT CARRIES CODE",
        false => "",
    };
    line("variable", &variable.name, &format!("{} when it was asked{carries}", variable.shown))
}

fn line(kind: &str, name: &str, value: &str) -> String {
    match name.is_empty() {
        true => format!("  {kind:<KIND_WIDTH$} = {value}"),
        false => format!("  {kind:<KIND_WIDTH$} {name} = {value}"),
    }
}

/// What is bound and not shown, and where it is.
pub(crate) fn rest(global: &Global, point: &DecisionPoint, summary: &StartSummary) -> String {
    let variables = u64::try_from(summary.variables).unwrap_or(u64::MAX);
    format!(
        "{} of its environment; `{} decision show {}` has them, all digests, and what is not bound",
        counted(variables, "more variable"),
        program(&global.log),
        named(&point.decision_id)
    )
}

/// Whether the question is the usual one, and has nothing that [`lines`] leaves away but what the
/// circumstances say as well.
fn asks_that_alone(point: &DecisionPoint, summary: &StartSummary) -> bool {
    let terms = &point.terms;
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
    summary.is_asked_as(&terms.proposal.prompt)
        && point.state == DecisionPointState::Pending
        && terms.proposal.options.iter().all(is_answer)
        && !has_more.contains(&true)
}
