//! The decisions that belong to no run: each question, who answered what, and what became of it.

use super::gather::ReportContents;
use super::html::Html;
use crate::log::run_facts::who;
use crate::ui::text::bytes;
use crate::ui::{moment, named};
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::decision_point::{
    ClaimedOutcome, DecisionPoint, Ending, GivenResponse, ResolutionKind,
};
use holdpoint_domain::log::{RELAX_TOOL, RUN_TOOL};
use holdpoint_replay::records_named;
use holdpoint_replay::words::{claimed, responded};

/// Of a decision whose answer may lie in records that could not be read.
const UNKNOWN_ANSWER: &str =
    "nobody knows whether it was answered: not all of the log could be read";

/// Of one of which something may be claimed there.
const UNKNOWN_OUTCOME: &str =
    "nobody knows whether that was reported: not all of the log could be read";

/// Each of them: the question, and what became of it.
pub(super) fn decisions(html: &mut Html, told: &ReportContents) {
    for point in &told.decisions {
        html.markup("<h3>").text(&format!("Decision {}", point.decision_id));
        html.markup("</h3>\n<table class=\"facts\">\n");
        html.fact("question", &point.terms.proposal.prompt);
        html.fact(
            "asked",
            &format!("{}, by {}", moment(point.created_at), by(&point.requested_by)),
        );
        answers(html, point, told.is_damaged());
        if let Some(used) = &point.consumed {
            html.fact("used", &format!("{}, by {}", moment(used.at), by(&used.by)));
        }
        if let Some(outcome) = outcome(point, told.is_damaged()) {
            html.fact("what it did", &outcome);
        }
        html.fact("told by", &records_named(point.created_sequence, point.version));
        html.markup("</table>\n");
    }
}

/// Who said what, where several have to say the same, and what it came to.
fn answers(html: &mut Html, point: &DecisionPoint, is_lost: bool) {
    let votes = votes(point);
    for (name, text) in &votes {
        html.fact(name, text);
    }
    let Some(ending) = &point.ending else {
        html.fact(
            "answer",
            match (is_lost, votes.len()) {
                (true, _) => UNKNOWN_ANSWER,
                (false, 0 | 1) => "no answer yet",
                (false, _) => "none yet",
            },
        );
        return;
    };
    html.fact("answer", &ended(point, ending));
    if let Some(words) = &ending.comment {
        html.fact("said beside it", words);
    }
}

/// Where several have to say the same: how many, and who said what.
pub(super) fn votes(point: &DecisionPoint) -> Vec<(String, String)> {
    let quorum = point.terms.policy.as_ref().map_or(1, |policy| policy.quorum);
    if quorum < 2 {
        return Vec::new();
    }
    let told = |vote: &GivenResponse| {
        let text =
            format!("{}, by {}, {}", responded(&vote.response), by(&vote.by), moment(vote.at));
        ("said".to_string(), text)
    };
    let needs = ("needs".to_string(), format!("{quorum} who say the same"));
    std::iter::once(needs).chain(point.votes.iter().map(told)).collect()
}

fn ended(point: &DecisionPoint, ending: &Ending) -> String {
    let what = match (&ending.kind, &ending.response) {
        (_, Some(response)) => responded(response),
        (Some(ResolutionKind::Default), None) => {
            let option = named(ending.default_taken.as_deref().unwrap_or_default());
            format!("the default, option {option}, for nobody answered in time")
        }
        (Some(ResolutionKind::Abort), None) => {
            "nothing is decided, for nobody answered in time".to_string()
        }
        (Some(ResolutionKind::Cancel), None) => "none: it was taken back".to_string(),
        (Some(ResolutionKind::Supersede), None) => "none: another took its place".to_string(),
        (Some(kind), None) => kind.to_string(),
        (None, None) => "another proposal is asked for".to_string(),
    };
    let by = ending.by.as_ref().map(|it| format!(", by {}", by(it))).unwrap_or_default();
    let next = ending.superseded_by.as_ref().or(point.next_id.as_ref());
    let next = next.map(|next| format!("; it goes on as {}", named(next))).unwrap_or_default();
    format!("{what}{by}, {}{next}", moment(ending.ended_at))
}

fn by(by: &Principal) -> String {
    who(by.kind, &by.id, by.authenticated_by, "")
}

/// What a host claims of the action, and that nobody claims anything. What became of a run and of a
/// policy, the log itself has.
fn outcome(point: &DecisionPoint, is_lost: bool) -> Option<String> {
    let is_own = |tool: &str| [RUN_TOOL, RELAX_TOOL].contains(&tool);
    let is_recorded = point.binding().is_some_and(|binding| is_own(&binding.tool));
    match &point.outcome {
        Some(ClaimedOutcome { status, response_bytes, response_sha256, sequence, .. }) => {
            let became = claimed(*status);
            Some(format!(
                "its host claims, and nothing proves, that it {became}; what it answered has {} \
                 and the SHA-256 {response_sha256} (record {sequence})",
                bytes(*response_bytes)
            ))
        }
        None if point.consumed.is_some() && !is_recorded => Some(match is_lost {
            true => UNKNOWN_OUTCOME.to_string(),
            false => "unknown: no report".to_string(),
        }),
        None => None,
    }
}
