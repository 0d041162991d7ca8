//! A decision as a person reads it: first what others wrote of it, behind a mark, and then its
//! head, which this program worded.

mod start;

use crate::args::Global;
use crate::questions::hold_view::{ALL_OVER, RECORDED_NEXT, add_root};
use crate::ui::program::program_words;
use crate::ui::screen::{columns_of_stderr, quoted, quoted_up_to};
use crate::ui::text::bytes;
use crate::ui::time_format::span;
use crate::ui::{Page, moment, named, streams};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::clocks::EndedBy;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::decision_point::{
    ApprovalPolicy, AtDeadline, ClaimedOutcome, DecisionOption, DecisionPoint, DecisionPointState,
    GivenResponse, ResolutionKind, Response,
};
use holdpoint_domain::log::{RELAX_TOOL, RUN_TOOL};
use holdpoint_domain::{Time, World};
use holdpoint_engine::shell::{StartSummary, asking_user};
use holdpoint_replay::question::{at_deadline, time_of};
use holdpoint_replay::records_named;

/// How much is told at once of a reason.
const REASON_CHARACTERS: usize = 300;

/// Reasons to doubt an answer, whatever it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubts {
    /// Records that are unproven, or lost: the approval cannot be spent.
    pub(crate) of_records: Option<Doubt>,
    /// The log does not verify, so nothing is added to it and the approval cannot be spent.
    pub(crate) is_log_damaged: bool,
    /// The number of the user who asks; root may answer as anybody.
    pub(crate) asked_by: Option<u32>,
    /// One clock ends its time before the other: no default is taken then.
    pub(crate) are_clocks_apart: bool,
    /// By how many nanoseconds its times are ahead of the clock by which it is seen.
    pub(crate) ahead_ns: u64,
    /// A hook's claim of what became of the action waits to be recorded.
    pub(crate) is_outcome_waiting: bool,
}

impl Doubts {
    /// Reads them off the state of the log.
    pub(crate) fn of(world: &World, point: &DecisionPoint, now: Time) -> Self {
        let terms = world.person_for_point(&point.decision_id).filter(|_| point.needs_person());
        let asked_by = terms.and_then(|terms| terms.asked_by);
        let becomes = at_deadline(world, point, now);
        Self {
            of_records: world.doubt_of_point(point),
            is_log_damaged: false,
            asked_by,
            are_clocks_apart: becomes != point.at_deadline(EndedBy::Both),
            ahead_ns: time_of(world, &point.decision_id, now).nanoseconds_since(now),
            is_outcome_waiting: false,
        }
    }

    /// A time by the clock on the scale of the decision's times.
    fn on_its_scale(self, now: Time) -> Time {
        Time::from_nanoseconds(now.nanoseconds().saturating_add(self.ahead_ns))
    }

    /// The same about a question of this process.
    pub(crate) fn of_own() -> Self {
        Self { asked_by: asking_user(), ..Self::default() }
    }
}

/// The decision in lines, as seen at a time and in so many columns. Its head comes last.
pub(crate) fn lines(
    global: &Global,
    point: &DecisionPoint,
    (now, columns): (Time, usize),
    doubts: Doubts,
) -> Vec<String> {
    let now = doubts.on_its_scale(now);
    let mut page = Page::new(columns);
    point.terms.proposal.context.iter().for_each(|context| page.foreign("context", context));
    add_texts(&mut page, point);
    add_answered_texts(&mut page, point);
    add_title(&mut page, point);
    add_terms(&mut page, point, now, doubts);
    add_root(&mut page, doubts.asked_by);
    add_purpose(&mut page, point);
    add_answers(&mut page, point, doubts);
    match is_over(point, now) {
        true => page.sentence(ALL_OVER),
        false => add_ways(&mut page, global, point, doubts.of_records.is_some()),
    }
    page.lines()
}

/// The same for whoever is to answer: of a start so many lines at most, with what would run.
pub(crate) fn brief_lines(
    global: &Global,
    point: &DecisionPoint,
    (now, columns, most): (Time, usize, usize),
    doubts: Doubts,
) -> Vec<String> {
    let is_start = point.binding().is_some_and(|binding| *binding.tool == *RUN_TOOL);
    let context = point.terms.proposal.context.as_deref().filter(|_| is_start);
    let summary = context.and_then(StartSummary::of).filter(|summary| !summary.says_more);
    let seen = (doubts.on_its_scale(now), columns, most);
    let start = summary.and_then(|it| start::lines(global, point, &it, seen, doubts));
    start.unwrap_or_else(|| lines(global, point, (now, columns), doubts))
}

/// The command that a question before a start is about, else the question's own words.
pub(crate) fn what_starts(point: &DecisionPoint) -> String {
    let summary = point.terms.proposal.context.as_deref().and_then(StartSummary::of);
    summary.map_or_else(|| point.terms.proposal.prompt.to_string(), |summary| summary.command)
}

/// The command line that answers it, and what else may be answered; nothing once it is over.
pub(crate) fn how_to_answer(global: &Global, point: &DecisionPoint, columns: usize) -> Vec<String> {
    let mut page = Page::new(columns);
    add_answer(&mut page, global, point);
    page.lines()
}

/// Says the same on stderr, in lines as they are: a command that goes on in another line is pasted
/// as one.
pub(crate) fn tell_how_to_answer(global: &Global, point: &DecisionPoint) {
    // Where stderr is closed there is nobody to tell.
    let _ = streams::mention(&how_to_answer(global, point, columns_of_stderr()).join("\n"));
}

/// How much time is left, or that none is; nothing where there is no end.
pub(crate) fn time_left(point: &DecisionPoint, now: Time) -> String {
    match point.terms.expires_at.filter(|_| point.is_open()) {
        Some(_) if point.is_overdue(now) => "overdue".to_string(),
        Some(end) => span(end.nanoseconds_since(now)),
        None => String::new(),
    }
}

/// Whether nobody can answer any more, although nobody recorded that yet.
fn is_over(point: &DecisionPoint, now: Time) -> bool {
    point.deadline().is_some_and(|end| end <= now)
}

/// Somebody, with what proves the name.
pub(crate) fn who(by: &Principal) -> String {
    match doubt(by) {
        Some(doubt) => format!("{} ({doubt})", named(&by.id)),
        None => named(&by.id),
    }
}

/// Why a name may not be that of a person who is called so.
pub(crate) fn doubt(by: &Principal) -> Option<String> {
    let kind = match by.kind {
        Actor::Human if by.authenticated_by == Authentication::OsUser => Some("person not proven"),
        Actor::Human => None,
        Actor::Agent => Some("agent"),
        Actor::Automation => Some("automation"),
        Actor::System => Some("system"),
    };
    let is_proven = by.authenticated_by != Authentication::None;
    let proof = (!is_proven).then_some("name not proven");
    let said: Vec<&str> = kind.into_iter().chain(proof).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// How it ended, in one line, with what proves who ended it.
pub(crate) fn outcome(point: &DecisionPoint) -> String {
    let Some(ending) = &point.ending else { return "no answer yet".to_string() };
    let by = ending.by.as_ref().map_or_else(|| "the deadline".to_string(), who);
    let what = match (&ending.kind, &ending.response) {
        (_, Some(response)) => said_in_words(response),
        (Some(ResolutionKind::Default), None) => {
            format!("default {}", named(ending.default_taken.as_deref().unwrap_or_default()))
        }
        (Some(kind), None) => kind.to_string(),
        (None, None) => "guidance".to_string(),
    };
    let after = match (&ending.superseded_by, &point.next_id) {
        (Some(other), _) => format!(", see {}", named(other)),
        (None, Some(next)) => format!(", go on with {}", named(next)),
        (None, None) => String::new(),
    };
    let revoked = point.revoked.as_ref().map(|revoked| {
        let why = revoked.reason.as_deref().map(|why| quoted_up_to(REASON_CHARACTERS, why));
        let why = why.map(|why| format!(", who said {why}")).unwrap_or_default();
        format!("; revoked by {} at {}{why}", who(&revoked.by), revoked.at)
    });
    format!("{what} by {by} at {}{after}{}", ending.ended_at, revoked.unwrap_or_default())
}

/// The same, with what whoever ended it said beside it: the beginning, in quotes.
pub(crate) fn outcome_with_reason(point: &DecisionPoint) -> String {
    let said = outcome(point);
    let comment = point.ending.as_ref().and_then(|ending| ending.comment.as_deref());
    match comment {
        Some(comment) => format!("{said}, who said {}", quoted_up_to(REASON_CHARACTERS, comment)),
        None => said,
    }
}

/// How many have chosen what, where that takes several.
pub(crate) fn votes(point: &DecisionPoint) -> Option<String> {
    let policy = point.terms.policy.as_ref()?;
    let last = point.votes.last()?;
    let (found, needed) = (point.votes_for(&last.response), policy.quorum);
    Some(format!("{found} of {needed} chose {}", said(&last.response)))
}

/// What whoever asks wrote, without the context.
fn add_texts(page: &mut Page, point: &DecisionPoint) {
    let proposal = &point.terms.proposal;
    page.foreign("prompt", &proposal.prompt);
    point.guidance.iter().for_each(|words| page.foreign("guidance", words));
    for option in proposal.options.iter() {
        let name = format!("option {}", named(&option.id));
        page.foreign(&name, &option.label);
        let description = option.description.iter();
        description.for_each(|text| page.foreign(&format!("{name}, described"), text));
    }
    let why = point.escalation.as_ref().and_then(|escalation| escalation.reason.as_deref());
    why.iter().for_each(|why| page.foreign("why it was escalated", why));
}

/// What whoever answered wrote.
fn add_answered_texts(page: &mut Page, point: &DecisionPoint) {
    let mut add = |name: String, response: Option<&Response>, comment: Option<&str>| {
        let words = response.and_then(Response::words);
        words.iter().for_each(|words| page.foreign(&format!("answer {name}"), words));
        comment.iter().for_each(|comment| page.foreign(&format!("comment {name}"), comment));
    };
    let by = |by: &Principal| format!("of {}", who(by));
    // The vote that ended it is on record as what ended it as well, and is shown once.
    let ended = |vote: &&GivenResponse| {
        point.ended_by(&vote.by, &vote.response, vote.comment.as_deref()).is_some()
    };
    for vote in point.votes.iter().filter(|vote| !ended(vote)) {
        add(by(&vote.by), Some(&vote.response), vote.comment.as_deref());
    }
    if let Some(ending) = &point.ending {
        let name = ending.by.as_ref().map_or_else(|| "of nobody".to_string(), by);
        add(name, ending.response.as_ref(), ending.comment.as_deref());
    }
    for late in &point.late_responses {
        add(format!("{}, too late", by(&late.by)), Some(&late.response), late.comment.as_deref());
    }
}

fn add_title(page: &mut Page, point: &DecisionPoint) {
    let round = format!("round {} of {}", point.iteration, point.terms.max_iterations);
    page.row("decision", &format!("{}, {round}", named(&point.decision_id)));
    point.terms.issue_id.iter().for_each(|issue| page.row("issue", &named(issue)));
    let words = state_words(point.state).map(|words| format!(": {words}")).unwrap_or_default();
    page.row("state", &format!("{}{words}", point.state));
    let asked = format!("{}, {}", who(&point.requested_by), moment(point.created_at));
    page.row("asked by", &asked);
    point.prior_id.iter().for_each(|prior| page.row("round before", &named(prior)));
    point.next_id.iter().for_each(|next| page.row("next round", &named(next)));
}

/// What a state means, where its name does not say so.
const fn state_words(state: DecisionPointState) -> Option<&'static str> {
    match state {
        DecisionPointState::Pending
        | DecisionPointState::Resolved
        | DecisionPointState::Cancelled => None,
        DecisionPointState::Refining => Some("whoever asked is to propose anew, as guidance says"),
        DecisionPointState::Iterated => Some("guidance led to another round"),
        DecisionPointState::Expired => Some("expired, and the default was taken"),
        DecisionPointState::Aborted => Some("expired without a decision"),
        DecisionPointState::Superseded => Some("another decision took its place"),
    }
}

fn add_terms(page: &mut Page, point: &DecisionPoint, now: Time, doubts: Doubts) {
    page.row("urgency", point.terms.urgency.name());
    point.terms.expires_at.iter().for_each(|end| page.row("time", &time(point, *end, now, doubts)));
    point.terms.policy.iter().for_each(|policy| page.row("approval", &approval(policy)));
    if let Some(escalation) = &point.escalation {
        let to = format!("{}, {}", named(&escalation.to), moment(escalation.at));
        page.row("escalated to", &to);
    }
    if point.reminders > 0 {
        page.row("reminders", &point.reminders.to_string());
    }
}

/// When the time is over, and what then becomes of a round that is still open.
fn time(point: &DecisionPoint, end: Time, now: Time, doubts: Doubts) -> String {
    let left = match time_left(point, now).as_str() {
        "" => return format!("until {}", moment(end)),
        "overdue" => "overdue".to_string(),
        left => format!("{left} left"),
    };
    let ended_by = if doubts.are_clocks_apart { EndedBy::OwnClock } else { EndedBy::Both };
    let then = match point.at_deadline(ended_by) {
        AtDeadline::StaysOpen => "it goes on waiting".to_string(),
        AtDeadline::Default(option) => format!("the default {} is taken", named(option)),
        AtDeadline::Undecided if doubts.are_clocks_apart => {
            "nothing is decided, for the log's time and this clock differ".to_string()
        }
        AtDeadline::Undecided => "nothing is decided".to_string(),
    };
    if is_over(point, now) {
        return format!("over since {}: {then}{RECORDED_NEXT}", moment(end));
    }
    let is_warned = point.warning.is_some() && left != "overdue";
    let warned = if is_warned { "; 80 % of the time are over" } else { "" };
    format!("{left}, until {}; then {then}{warned}", moment(end))
}

fn approval(policy: &ApprovalPolicy) -> String {
    let names: Vec<String> = policy.approvers.iter().map(|name| named(name)).collect();
    let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) };
    let proof = match policy.authentication {
        Authentication::None => "claimed names count",
        Authentication::OsUser => "by the system's user",
        Authentication::Terminal => "at a terminal",
    };
    let lets = [
        (policy.allow_requester, ", the requester too"),
        (policy.allow_agents, ", agents too"),
        (policy.default_approves, ", the default counts"),
    ];
    let lets: String = lets.iter().filter(|(is_let, _)| *is_let).map(|(_, words)| *words).collect();
    let people = if policy.quorum == 1 { "person" } else { "people" };
    format!("{} {people}{of}, {proof}{lets}", policy.quorum)
}

fn add_purpose(page: &mut Page, point: &DecisionPoint) {
    for file in point.terms.evidence.iter() {
        let (label, media) = (named(&file.label), named(&file.media_type));
        page.row("evidence", &format!("{label}, {media}, {}, {}", bytes(file.bytes), file.sha256));
    }
    if let Some(to) = point.binding() {
        page.row("bound to", &format!("{} with input {}", named(&to.tool), to.input_sha256));
    }
    let blocks: Vec<String> = point.terms.blocks.iter().map(|name| named(name)).collect();
    let released = point.released_at.map(|at| format!(", released {}", moment(at)));
    if !blocks.is_empty() {
        let released = released.unwrap_or_default();
        page.row("waits for it", &format!("{}{released}", blocks.join(", ")));
    }
    point.terms.supersedes.iter().for_each(|other| page.row("supersedes", &named(other)));
}

fn add_answers(page: &mut Page, point: &DecisionPoint, doubts: Doubts) {
    point.votes.iter().for_each(|vote| page.row("vote", &given(vote)));
    if point.ending.is_some() {
        page.row("outcome", &outcome(point));
    }
    let until = point.spendable_until();
    until.iter().for_each(|until| match doubts {
        Doubts { of_records: Some(_), .. } => page.row("approved", "cannot be consumed; ask again"),
        Doubts { is_log_damaged: true, .. } => {
            page.row("approved", "not to be spent as the log stands: it is damaged");
        }
        _ => page.row("approved", &format!("to be spent until {}", moment(*until))),
    });
    match doubts.of_records {
        Some(Doubt::Unproven { first, last }) => {
            page.row("unproven", &format!("it may rest on {}", records_named(first, last)));
        }
        Some(doubt @ Doubt::LostBefore(_)) => page.row("lost", &format!("it {doubt}")),
        None => {}
    }
    if let Some(consumed) = &point.consumed {
        page.row("spent", &format!("by {}, {}", who(&consumed.by), moment(consumed.at)));
    }
    let told = claimed_outcome(point, doubts.is_outcome_waiting);
    told.iter().for_each(|told| page.row("what it did", told));
    point.lapsed_at.iter().for_each(|at| page.row("lapsed", &moment(*at)));
    point.late_responses.iter().for_each(|late| page.row("too late", &given(late)));
    let kept = u64::try_from(point.late_responses.len()).unwrap_or(u64::MAX);
    let more = point.late_total.saturating_sub(kept);
    if more > 0 {
        page.row("too late", &format!("and {more} more"));
    }
}

/// The words for a claim that is in a file below `runs/`.
pub(crate) const CLAIM_WAITS: &str =
    "what its host claims waits in `runs/`, unproven, and the next writer records it";

/// What a host claims of the action. What became of a run and of a policy, the log itself has.
fn claimed_outcome(point: &DecisionPoint, is_waiting: bool) -> Option<String> {
    let is_own = |tool: &str| [RUN_TOOL, RELAX_TOOL].contains(&tool);
    let is_recorded = point.binding().is_some_and(|binding| is_own(&binding.tool));
    match &point.outcome {
        Some(ClaimedOutcome { status, response_bytes, response_sha256, sequence, .. }) => {
            let answer = format!("answer of {}, {response_sha256}", bytes(*response_bytes));
            let said = format!("{status}, claimed by the host and not proven; {answer}");
            Some(format!("{said}; record {sequence}"))
        }
        None if point.consumed.is_some() && !is_recorded => Some(match is_waiting {
            true => format!("outcome unknown: {CLAIM_WAITS}"),
            false => "outcome unknown: no report".to_string(),
        }),
        None => None,
    }
}

/// An answer among others.
fn given(given: &GivenResponse) -> String {
    format!("{} by {}, {}", said(&given.response), who(&given.by), moment(given.at))
}

fn said(response: &Response) -> String {
    match response {
        Response::Option(id) => format!("option {}", named(id)),
        Response::Text(_) => "a text".to_string(),
        Response::Accept => "accept the guidance".to_string(),
        Response::Proposal(None) => "accept".to_string(),
        Response::Proposal(Some(id)) => format!("accept, which is option {}", named(id)),
        Response::Guidance(_) => "guidance".to_string(),
    }
}

/// An answer with the beginning of its words.
fn said_in_words(response: &Response) -> String {
    match response {
        Response::Text(words) => format!("text {}", quoted(words)),
        Response::Guidance(words) => format!("guidance {}", quoted(words)),
        Response::Option(_) | Response::Accept | Response::Proposal(_) => said(response),
    }
}

/// What may be answered, what each answer does, and how it is given; nothing once it is over.
fn add_ways(page: &mut Page, global: &Global, point: &DecisionPoint, is_doubted: bool) {
    if point.state == DecisionPointState::Pending {
        let options = point.ways_to_answer();
        options.iter().for_each(|option| page.row("option", &meaning(point, option, is_doubted)));
    }
    add_answer(page, global, point);
}

fn meaning(point: &DecisionPoint, option: &DecisionOption, is_doubted: bool) -> String {
    let default = point.terms.proposal.default_option.as_deref();
    let is_default = default.is_some_and(|id| *option.id == *id);
    let approves = !option.reject && point.terms.policy.is_some();
    let once = point.binding().is_some();
    let marks = [
        (is_default, "default"),
        (option.reject, "says no"),
        (approves && once && !is_doubted, "approves what it is bound to, once"),
        (approves && !once && !is_doubted, "approves"),
        (approves && is_doubted, "void; ask again"),
    ];
    let marks: Vec<&str> = marks.iter().filter(|(is_set, _)| *is_set).map(|(_, m)| *m).collect();
    let mark = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    format!("{}{mark}", named(&option.id))
}

fn add_answer(page: &mut Page, global: &Global, point: &DecisionPoint) {
    let id = named(&point.decision_id);
    let mut command = |name: &str, rest: &[&str]| {
        let mut words = program_words(&global.log);
        words.push("decision".to_string());
        words.extend(rest.iter().filter(|word| !word.is_empty()).map(ToString::to_string));
        page.command(name, &words);
    };
    match point.state {
        DecisionPointState::Pending => {
            let (first, others) = ways(point);
            let (option, value) = first.split_once(' ').unwrap_or((&first, ""));
            command("answer", &["respond", &id, option, value]);
            if !others.is_empty() {
                page.row("", &format!("or {others}"));
            }
        }
        DecisionPointState::Refining => {
            command("propose anew", &["create", "--revises", &id, "--option", "ID:LABEL"]);
            if let Some(way) = point.own_ways().next() {
                command("or accept", &["respond", &id, &way.id]);
            }
        }
        _ => {}
    }
}

/// The first way to answer as it is typed, and the others in words.
fn ways(point: &DecisionPoint) -> (String, String) {
    let options = point.ways_to_answer().into_iter();
    let options = options.map(|option| option.id.to_string());
    let text = point.terms.allow_text.then(|| "--text TEXT".to_string());
    let may_guide = point.iteration < point.terms.max_iterations;
    let guidance = may_guide.then(|| "--guidance TEXT".to_string());
    let mut ways = options.chain(text).chain(guidance);
    (ways.next().unwrap_or_default(), ways.collect::<Vec<_>>().join(", "))
}
