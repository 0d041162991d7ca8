//! A decision as a person reads it. Most of it was written by programs: every line of it is shown
//! with control and invisible characters visible.

use crate::arguments::{Global, program};
use crate::text::{bytes, moment};
use holdpoint_domain::Time;
use holdpoint_domain::decision_point::{
    ApprovalPolicy, Authentication, DecisionOption, DecisionPointState, OnTimeout, Principal,
    Response,
};
use holdpoint_domain::execution_loop::Actor;
use holdpoint_domain::text::visible;
use holdpoint_domain::world::{DecisionPoint, GivenResponse};
use std::time::Duration;

/// The decision, line by line, as seen at a time.
pub(super) fn lines(global: &Global, point: &DecisionPoint, now: Time) -> Vec<String> {
    let mut lines = title(point);
    lines.extend(question(point));
    lines.extend(terms(point, now));
    lines.extend(purpose(point));
    lines.extend(answers(point));
    lines.extend(how_to_answer(global, point));
    lines
}

/// The command line that answers it, and what else may be answered; nothing once it is over.
pub(super) fn how_to_answer(global: &Global, point: &DecisionPoint) -> Vec<String> {
    let id = &point.decision_id;
    let verb = |rest: String| format!("{} decision {rest}", program(&global.log));
    match point.state {
        DecisionPointState::Pending => {
            let (first, others) = ways(point);
            let mut lines = labelled("answer", &verb(format!("respond {id} {first}")));
            lines.extend((!others.is_empty()).then(|| row("", &format!("or {others}"))));
            lines
        }
        DecisionPointState::Refining => vec![
            row("propose anew", &verb(format!("refine {id} --option ID:LABEL"))),
            row("or accept", &verb(format!("respond {id} --accept"))),
        ],
        _ => Vec::new(),
    }
}

/// A length of time in its two largest units: `2h 5m`.
pub(super) fn span(nanoseconds: u64) -> String {
    let whole = Duration::from_secs(nanoseconds / 1_000_000_000);
    let text = humantime::format_duration(whole).to_string();
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// How much time is left, or that none is; nothing where there is no end.
pub(super) fn time_left(point: &DecisionPoint, now: Time) -> String {
    match point.terms.expires_at.filter(|_| point.is_open()) {
        Some(_) if point.is_overdue(now) => "overdue".to_string(),
        Some(end) => span(end.nanoseconds_since(now)),
        None => String::new(),
    }
}

/// Somebody, with what proves the name.
pub(super) fn who(by: &Principal) -> String {
    match doubt(by) {
        Some(doubt) => format!("{} ({doubt})", visible(&by.id)),
        None => visible(&by.id).to_string(),
    }
}

/// Why a name may not be that of a person who is called so.
fn doubt(by: &Principal) -> Option<String> {
    let kind = (by.kind != Actor::Human).then(|| by.kind_name());
    let is_proven = by.authenticated_by != Authentication::None;
    let proof = (!is_proven).then_some("name not proven");
    let said: Vec<&str> = kind.into_iter().chain(proof).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// How it ended, in one line, with what proves who ended it.
pub(crate) fn outcome(point: &DecisionPoint) -> String {
    let by = point.ending.as_ref().and_then(|ending| ending.by.as_ref());
    match by.and_then(doubt) {
        Some(doubt) => format!("{} ({doubt})", point.outcome_line()),
        None => point.outcome_line(),
    }
}

/// How many have chosen what, where that takes several.
pub(super) fn votes(point: &DecisionPoint) -> Option<String> {
    let policy = point.terms.policy.as_ref()?;
    let last = point.votes.last()?;
    let (found, needed) = (point.votes_for(&last.response), policy.quorum);
    Some(format!("{found} of {needed} chose {}", said(&last.response)))
}

fn title(point: &DecisionPoint) -> Vec<String> {
    let round = format!("round {} of {}", point.iteration, point.terms.max_iterations);
    let mut lines = vec![row("decision", &format!("{}, {round}", point.decision_id))];
    lines.extend(point.terms.issue_id.as_deref().map(|issue| row("issue", &shown(issue))));
    lines.push(row("state", point.state.name()));
    let asked = format!("{}, {}", who(&point.requested_by), moment(point.created_at));
    lines.push(row("asked by", &asked));
    lines.extend(point.prior_id.as_deref().map(|prior| row("round before", prior)));
    lines.extend(point.next_id.as_deref().map(|next| row("next round", next)));
    lines
}

fn question(point: &DecisionPoint) -> Vec<String> {
    let proposal = &point.terms.proposal;
    let mut lines = labelled("prompt", &proposal.prompt);
    lines.extend(proposal.context.iter().flat_map(|context| labelled("context", context)));
    lines.extend(point.guidance.iter().flat_map(|words| labelled("guidance", words)));
    let default = proposal.default_option.as_deref();
    let options = proposal.options.iter().flat_map(|option| option_lines(option, default));
    lines.extend(options);
    lines
}

fn option_lines(option: &DecisionOption, default: Option<&str>) -> Vec<String> {
    let is_default = default.is_some_and(|id| *option.id == *id);
    let marks = [(is_default, "default"), (option.reject, "says no")];
    let marks: Vec<&str> = marks.iter().filter(|(is_set, _)| *is_set).map(|(_, m)| *m).collect();
    let mark = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    let mut lines = labelled("option", &format!("{}{mark}: {}", option.id, option.label));
    let description = option.description.iter().flat_map(|text| labelled("", text));
    lines.extend(description);
    lines
}

fn terms(point: &DecisionPoint, now: Time) -> Vec<String> {
    let mut lines = vec![row("urgency", point.terms.urgency.name())];
    lines.extend(point.terms.expires_at.map(|end| row("time", &time(point, end, now))));
    lines.extend(point.terms.policy.as_ref().map(|policy| row("approval", &approval(policy))));
    lines.extend(point.escalation.iter().flat_map(|escalation| {
        let why = escalation.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let to = format!("{}, {}{why}", escalation.to, moment(escalation.at));
        labelled("escalated to", &to)
    }));
    lines.extend((point.reminders > 0).then(|| row("reminders", &point.reminders.to_string())));
    lines
}

/// When the time is over, and what then becomes of a round that is still open.
fn time(point: &DecisionPoint, end: Time, now: Time) -> String {
    let left = match time_left(point, now).as_str() {
        "" => return format!("until {}", moment(end)),
        "overdue" => "overdue".to_string(),
        left => format!("{left} left"),
    };
    // Somebody objected to what a round proposed that is to be refined: no default is taken of it.
    let then = match point.terms.on_timeout {
        OnTimeout::Hold => "it goes on waiting",
        OnTimeout::Default if point.state == DecisionPointState::Pending => "the default is taken",
        OnTimeout::Default | OnTimeout::Abort => "nothing is decided",
    };
    format!("{left}, until {}; then {then}", moment(end))
}

fn approval(policy: &ApprovalPolicy) -> String {
    let names: Vec<String> = policy.approvers.iter().map(|name| shown(name)).collect();
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

fn purpose(point: &DecisionPoint) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(point.terms.evidence.iter().map(|file| {
        let (label, media) = (visible(&file.label), visible(&file.media_type));
        row("evidence", &format!("{label}, {media}, {}, {}", bytes(file.bytes), file.sha256))
    }));
    lines.extend(point.binding().map(|to| {
        row("bound to", &format!("{} with input {}", visible(&to.tool), to.input_sha256))
    }));
    let blocks: Vec<String> = point.terms.blocks.iter().map(|name| shown(name)).collect();
    let released = point.released_at.map(|at| format!(", released {}", moment(at)));
    let released = released.unwrap_or_default();
    let waits = (!blocks.is_empty()).then(|| format!("{}{released}", blocks.join(", ")));
    lines.extend(waits.map(|waits| row("waits for it", &waits)));
    lines.extend(point.terms.supersedes.as_deref().map(|other| row("supersedes", other)));
    lines
}

fn answers(point: &DecisionPoint) -> Vec<String> {
    let mut lines: Vec<String> = point.votes.iter().flat_map(|vote| given("vote", vote)).collect();
    if let Some(ending) = &point.ending {
        lines.push(row("outcome", &outcome(point)));
        let words = ending.response.as_ref().and_then(Response::words);
        lines.extend(words.iter().flat_map(|words| labelled("in full", words)));
        lines.extend(ending.comment.iter().flat_map(|comment| labelled("comment", comment)));
    }
    lines.extend(
        point
            .spendable_until()
            .map(|until| row("approved", &format!("to be spent until {}", moment(until)))),
    );
    lines.extend(point.consumed.as_ref().map(|consumed| {
        row("spent", &format!("by {}, {}", who(&consumed.by), moment(consumed.at)))
    }));
    lines.extend(point.lapsed_at.map(|at| row("lapsed", &moment(at))));
    lines.extend(point.late_responses.iter().flat_map(|late| given("too late", late)));
    let kept = u64::try_from(point.late_responses.len()).unwrap_or(u64::MAX);
    let more = point.late_total.saturating_sub(kept);
    lines.extend((more > 0).then(|| row("too late", &format!("and {more} more"))));
    lines
}

/// An answer among others.
fn given(name: &str, given: &GivenResponse) -> Vec<String> {
    let head = format!("{} by {}, {}", said(&given.response), who(&given.by), moment(given.at));
    let mut lines = vec![row(name, &head)];
    let words = given.response.words().into_iter().chain(&given.comment);
    lines.extend(words.flat_map(|words| labelled("", words)));
    lines
}

fn said(response: &Response) -> String {
    match response {
        Response::Option(id) => format!("option {}", visible(id)),
        Response::Text(_) => "a text".to_string(),
        Response::Accept => "accept".to_string(),
        Response::Guidance(_) => "guidance".to_string(),
    }
}

/// The first way to answer as it is typed, and the others in words.
fn ways(point: &DecisionPoint) -> (String, String) {
    let proposal = &point.terms.proposal;
    let options = proposal.options.iter().map(|option| format!("--option {}", option.id));
    let accept = (point.iteration > 1).then(|| "--accept".to_string());
    let text = point.terms.allow_text.then(|| "--text TEXT".to_string());
    let may_guide = point.iteration < point.terms.max_iterations;
    let guidance = may_guide.then(|| "--guidance TEXT".to_string());
    let mut ways = options.chain(accept).chain(text).chain(guidance);
    (ways.next().unwrap_or_default(), ways.collect::<Vec<_>>().join(", "))
}

fn row(name: &str, value: &str) -> String {
    format!("{name:<16}{value}").trim_end().to_string()
}

/// A text of several lines under one name, each line made visible.
fn labelled(name: &str, text: &str) -> Vec<String> {
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    names.zip(text.split('\n')).map(|(name, line)| row(name, &shown(line))).collect()
}

fn shown(text: &str) -> String {
    visible(text).to_string()
}
