//! Plain words for a record, for a reader who knows no code: the summary of its line has the codes.
//! What somebody claims is told as a claim.

use crate::summary::{labels, named_by_application, shown, shown_escaped, summary};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::text::bounded;
use holdpoint_domain::decision_point::{
    ClaimedStatus, DecisionPointCreated, DecisionPointEvent, OnTimeout, OutcomeReported, Response,
};
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceContent, OutputStream, StopCondition,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopEvent, Exit, HaltReason, LoopHalted, ResponseDecision, ResponseEvaluated,
};
use holdpoint_domain::human_decision::{
    AnswerChannel, HumanDecisionAnswered, HumanDecisionEvent, HumanDecisionOutcome,
    HumanDecisionRequested,
};
use holdpoint_domain::log::LogEvent;
use holdpoint_domain::sandbox_fault::{SandboxDecision, SandboxFaultEvent};
use holdpoint_domain::{Event, Time};

/// Describes what happened, in one line that needs no other, control characters visible. Of an
/// event for which there are no plainer words, its summary.
#[must_use]
pub fn in_words(event: &Event) -> String {
    let told = match event {
        Event::ExecutionLoop(event) => Some(of_loop(event)),
        Event::EvidenceCapture(event) => Some(of_evidence(event)),
        Event::SandboxFault(event) => Some(of_fault(event)),
        Event::HumanDecision(body) => {
            of_question(body).map(|told| format!("{}: {told}", shown(body.request_id())))
        }
        Event::DecisionPoint(body) => {
            let of = event.decision_point().unwrap_or_default();
            of_decision(body).map(|told| format!("{}: {told}", shown(of)))
        }
        Event::Log(LogEvent::CommandRefused(body)) => {
            Some(format!("not done, for a rule forbids it: {}", shown(&body.message)))
        }
        Event::Log(LogEvent::RecordsLabelled(body)) => {
            Some(format!("labels, which nothing proves: {}", labels(body)))
        }
        _ => None,
    };
    told.unwrap_or_else(|| summary(event))
}

fn of_loop(event: &ExecutionLoopEvent) -> String {
    match event {
        ExecutionLoopEvent::LoopInitialized(body) => {
            format!("the run begins: {}", shown_escaped(&body.command_line))
        }
        ExecutionLoopEvent::LoopDispatched(body) => format!("attempt {} is started", body.attempt),
        ExecutionLoopEvent::ResponseAwaited(body) => format!("attempt {} runs", body.attempt),
        ExecutionLoopEvent::ResponseEvaluated(body) => {
            attempt_ended(body, ", as its recorder states")
        }
        ExecutionLoopEvent::LoopHalted(body) => format!("the run has ended: {}", halted(body)),
    }
}

/// Says that an attempt has ended. `known` is how that is known: the record alone does not say
/// whether anybody observed it.
#[must_use]
pub fn attempt_ended(body: &ResponseEvaluated, known: &str) -> String {
    let exit = match body.exit {
        Exit::Unknown => "nobody knows how".to_string(),
        Exit::Status(status) => format!("exit status {status}{known}"),
        Exit::Signal(signal) => format!("killed by signal {signal}{known}"),
    };
    let decision = match body.response_decision {
        ResponseDecision::Accept => "that counts as done",
        ResponseDecision::Reject => "that counts as failed",
        ResponseDecision::Escalate => "a person has to look",
    };
    format!("attempt {} has ended: {exit}; {decision}", body.attempt)
}

fn halted(body: &LoopHalted) -> String {
    let words = match body.reason {
        HaltReason::Completed => "it is done",
        HaltReason::ResponseRejected => "it failed",
        HaltReason::ResponseEscalated => "a person has to look at what it came to",
        HaltReason::FaultTerminated => "it failed, and the rules allow no other attempt",
        HaltReason::FaultEscalated => "it failed, and nobody decided what follows",
        HaltReason::FaultNotRetried => "it failed, and was not tried again",
        HaltReason::StopCondition => {
            return body.stop_condition.map_or("it was stopped", stop_in_words).to_string();
        }
        HaltReason::IllegalTransition => "its recorder asked for a step that the rules forbid",
        HaltReason::HandshakeFailed => "it was refused before it began",
        HaltReason::HumanDecisionTimedOut => "a person was asked, and nobody answered in time",
        HaltReason::Interrupted => "a signal ended it",
        HaltReason::RecorderLost => "its recorder was gone before it had recorded the end",
    };
    words.to_string()
}

/// Describes what stopped a run, in words.
#[must_use]
pub const fn stop_in_words(condition: StopCondition) -> &'static str {
    match condition {
        StopCondition::MissingAuthorization => {
            "nobody permitted it, or its program may not be executed"
        }
        StopCondition::ExecutorNotRegistered => "its program was not found",
        StopCondition::EnvelopeHashMismatch => "the command is not the one that was permitted",
        StopCondition::ContextUninitialized => "nothing was ready to record it",
        StopCondition::EvidenceChainBroken => "what is on record of it does not verify",
        StopCondition::ResourceLimitExceeded => "there was no room or no time for it",
        StopCondition::TimestampInvalid => "the clock gave no time, or went back",
        StopCondition::PriorExecutionPending => "the attempt before it had not ended",
        StopCondition::AmbiguousIntent => "what was wanted was not clear",
        StopCondition::HumanAbort => "it was stopped in the name of a person",
    }
}

fn of_evidence(event: &EvidenceCaptureEvent) -> String {
    match event {
        EvidenceCaptureEvent::ObserverAttached(body) if body.is_halted => {
            "evidence of the run cannot be taken: what was expected of it differs".to_string()
        }
        EvidenceCaptureEvent::ObserverAttached(_) => "evidence of the run is taken".to_string(),
        EvidenceCaptureEvent::EvidenceCaptured(body) => {
            let what = evidence_in_words(&body.content);
            format!("kept as evidence: {what}, {} bytes", body.raw_data.length())
        }
        EvidenceCaptureEvent::StopConditionDetected(body) => {
            format!("why the run is stopped: {}", stop_in_words(body.condition))
        }
        EvidenceCaptureEvent::ChainSealed(body) => {
            format!("the evidence of the run is complete: {} pieces", body.length)
        }
        EvidenceCaptureEvent::OutputRecorded(body) => {
            format!(
                "the command printed: {}, {} bytes",
                stream_in_words(body.stream),
                body.raw_data.length()
            )
        }
    }
}

/// Describes what a piece of evidence is, in words.
#[must_use]
pub const fn evidence_in_words(content: &EvidenceContent) -> &'static str {
    match content {
        EvidenceContent::Opaque => "not said what it is",
        EvidenceContent::Instruction => "the exact command with its environment",
        EvidenceContent::Output(extent) => stream_in_words(extent.stream),
        EvidenceContent::OutputCut(cut) => stream_in_words(cut.stream),
        EvidenceContent::OutputPieces(stated) => stream_in_words(stated.stream),
        EvidenceContent::Resources(_) => "what an attempt used",
        EvidenceContent::Snapshot(_) => "the processes of an attempt while it ran",
        EvidenceContent::Transition { .. } => "a step of the run",
        EvidenceContent::Decision(_) => "what a result counts as",
        EvidenceContent::Stop(_) => "why it was stopped",
    }
}

/// A stream of output, in words.
#[must_use]
pub const fn stream_in_words(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Stdout => "standard output",
        OutputStream::Stderr => "standard error",
        OutputStream::Payload => "answer",
    }
}

fn of_fault(event: &SandboxFaultEvent) -> String {
    match event {
        SandboxFaultEvent::FaultReported(body) => {
            let fault = code_in_words(body.fault_type.name());
            format!("attempt {} failed: {fault}, {}", body.attempt, quoted(&body.fault_message))
        }
        SandboxFaultEvent::SandboxDecided(body) => {
            let follows = match body.sandbox_decision {
                SandboxDecision::Terminate => "the run ends",
                SandboxDecision::Retry => "another attempt is allowed",
                SandboxDecision::Escalate => "a person has to decide",
            };
            format!("what follows by the rules from how attempt {} failed: {follows}", body.attempt)
        }
    }
}

/// A code of capital letters as words: `timeout`, `resource exhausted`.
#[must_use]
pub fn code_in_words(name: &str) -> String {
    name.to_lowercase().replace('_', " ")
}

fn of_question(event: &HumanDecisionEvent) -> Option<String> {
    Some(match event {
        HumanDecisionEvent::HumanDecisionRequested(body) => requested(body),
        HumanDecisionEvent::HumanDecisionWarned(body) => {
            format!(
                "four fifths of the time to answer are over, which ends at {}",
                moment(body.due_at)
            )
        }
        HumanDecisionEvent::HumanDecisionAnswered(body) => answered(body),
        HumanDecisionEvent::HumanDecisionTimedOut(body) => {
            format!("nobody answered until {}: {}", moment(body.due_at), body.record.decision)
        }
        HumanDecisionEvent::LateAnswerRecorded(body) => format!(
            "{} by {} came too late, after {}, and does not count",
            body.decision,
            named_by_application(&body.human_id),
            moment(body.timeout_at)
        ),
        HumanDecisionEvent::RequestWithdrawn(_) => {
            "taken back, for the run ends without an answer".to_string()
        }
        HumanDecisionEvent::OutputShown(_) => {
            "what the command printed is shown at the prompt of the question".to_string()
        }
        HumanDecisionEvent::VisibilityOverridden(_) => return None,
    })
}

/// A moment as the record's own is told: with milliseconds.
fn moment(time: Time) -> String {
    format!("{}Z", bounded(&time.to_string(), 23))
}

fn requested(body: &HumanDecisionRequested) -> String {
    let asked = body
        .context
        .asked_of
        .as_ref()
        .map_or("a person".to_string(), |of| named_by_application(of));
    let (attempt, end) = (body.context.attempt, moment(body.request.timeout_at));
    format!("{asked} is asked what follows attempt {attempt}, until {end}")
}

fn answered(body: &HumanDecisionAnswered) -> String {
    let record = &body.record;
    let means = match body.means.channel {
        AnswerChannel::Terminal => "at a terminal",
        AnswerChannel::YesFlag => "without a terminal",
        AnswerChannel::Api => "through a program",
        AnswerChannel::OsUser => "by a process of that user",
        AnswerChannel::Claim => "a claim that nothing proves",
    };
    let outcome = match body.outcome {
        HumanDecisionOutcome::Applied | HumanDecisionOutcome::Timeout => "",
        HumanDecisionOutcome::Rejected => "; it could not be done",
        HumanDecisionOutcome::Pending => "; somebody else is asked",
    };
    let reason = record.reason.as_ref().map(|reason| format!(", because {}", quoted(reason)));
    format!(
        "{} by {} ({means}){outcome}{}",
        record.decision,
        named_by_application(&record.human_id),
        reason.unwrap_or_default()
    )
}

fn of_decision(event: &DecisionPointEvent) -> Option<String> {
    Some(match event {
        DecisionPointEvent::DecisionPointCreated(body) => created(body),
        DecisionPointEvent::GuidanceGiven(body) => format!(
            "{} asks for another proposal: {}{}; it goes on as {}",
            who(&body.by),
            quoted(&body.guidance),
            beside(body.comment.as_deref()),
            named_by_application(&body.next_id)
        ),
        DecisionPointEvent::RoundOpened(body) => {
            let prior = named_by_application(&body.prior_id);
            format!("round {} of the question, after {prior}", body.iteration)
        }
        DecisionPointEvent::VoteCast(body) => {
            format!("{} says {}", who(&body.by), said(&body.response, body.comment.as_deref()))
        }
        DecisionPointEvent::DecisionPointResolved(body) => format!(
            "it is answered by {}: {}",
            who(&body.by),
            said(&body.response, body.comment.as_deref())
        ),
        DecisionPointEvent::LateResponseRecorded(body) => format!(
            "too late, does not count: {} says {}",
            who(&body.by),
            said(&body.response, body.comment.as_deref())
        ),
        DecisionPointEvent::ApprovalConsumed(body) => {
            let tool = quoted(&body.binding.tool);
            format!("the approval is used by {} for {tool}", who(&body.by))
        }
        DecisionPointEvent::ApprovalRevoked(body) => {
            let why = beside(body.reason.as_deref());
            format!("the approval is revoked by {}{why}", who(&body.by))
        }
        DecisionPointEvent::OutcomeReported(body) => outcome_reported(body),
        _ => return None,
    })
}

fn created(body: &DecisionPointCreated) -> String {
    let terms = &body.terms;
    let issue = terms.issue_id.as_ref().map(|issue| format!(" on {}", named_by_application(issue)));
    let end = terms.expires_at.map(|end| {
        let then = match terms.on_timeout {
            OnTimeout::Default => "the default is taken",
            OnTimeout::Abort => "nothing is decided",
            OnTimeout::Hold => "it goes on waiting",
        };
        format!(", until {}, after which {then}", moment(end))
    });
    let quorum = terms.policy.as_ref().map(|policy| match policy.quorum {
        1 => ", one has to approve".to_string(),
        quorum => format!(", {quorum} have to approve"),
    });
    let prompt = quoted(&terms.proposal.prompt);
    format!(
        "{} asks{}: {prompt}{}{}",
        who(&body.by),
        issue.unwrap_or_default(),
        quorum.unwrap_or_default(),
        end.unwrap_or_default()
    )
}

fn outcome_reported(body: &OutcomeReported) -> String {
    let became = match body.claim.status {
        ClaimedStatus::Succeeded => "succeeded",
        ClaimedStatus::Failed => "failed",
        ClaimedStatus::Interrupted => "was interrupted",
    };
    format!("{} claims, and nothing proves, that the call {became}", who(&body.by))
}

/// Returns what is answered, and what is said beside it.
fn said(response: &Response, comment: Option<&str>) -> String {
    let said = match response {
        Response::Option(id) => format!("option {}", named_by_application(id)),
        Response::Text(words) => format!("in own words {}", quoted(words)),
        Response::Accept => "that the guidance is taken as it is".to_string(),
        Response::Proposal(None) => "that the proposal is taken as it is".to_string(),
        Response::Proposal(Some(id)) => {
            format!("that the proposal is taken, with option {}", named_by_application(id))
        }
        Response::Guidance(words) => format!("guidance {}", quoted(words)),
    };
    format!("{said}{}", beside(comment))
}

/// A comment.
fn beside(words: Option<&str>) -> String {
    words.map(|words| format!(", and beside it {}", quoted(words))).unwrap_or_default()
}

/// Returns what somebody wrote, in quotes with no end but its own: else it could go on as the line
/// does.
fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(&text.replace('"', "'")))
}

/// Somebody, and what of that nothing proves.
fn who(by: &Principal) -> String {
    format!("{} ({})", named_by_application(&by.id), kind_in_words(by.kind, by.authenticated_by))
}

/// Describes what kind of one somebody is, and what of that nothing proves: that it was a person is
/// proven at a terminal alone.
#[must_use]
pub const fn kind_in_words(kind: Actor, by: Authentication) -> &'static str {
    match (kind, by) {
        (Actor::Human, Authentication::Terminal) => "person",
        (Actor::Human, Authentication::OsUser) => "person not proven",
        (Actor::Human, Authentication::None) => "person and name not proven",
        (Actor::Agent, Authentication::None) => "agent, name not proven",
        (Actor::Agent, _) => "agent",
        (Actor::Automation, Authentication::None) => "automation, name not proven",
        (Actor::Automation, _) => "automation",
        // What Holdpoint does of its own needs no name that is proven.
        (Actor::System, _) => "holdpoint",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::decision_point::VoteCast;
    use holdpoint_domain::execution_loop::ExecutionLoopState;

    fn by(id: &str, authenticated_by: Authentication) -> Principal {
        let (id, means) = (id.into(), "".into());
        Principal { kind: Actor::Human, id, authenticated_by, means }
    }

    fn vote(id: &str, comment: &str) -> String {
        let response = Response::Option("go".into());
        let (decision_id, by) = ("DP-1".into(), by(id, Authentication::None));
        let comment = Some(comment.into());
        in_words(&VoteCast { decision_id, by, response, comment }.into())
    }

    #[test]
    fn a_moment_has_no_more_digits_than_that_of_the_record_beside_it() {
        let told = moment(Time::from_nanoseconds(1_769_356_800_123_456_789));
        assert_eq!(told, "2026-01-25T16:00:00.123Z");
    }

    #[test]
    fn a_vote_says_what_nothing_proves_and_no_word_of_it_ends_its_quotes() {
        assert_eq!(
            vote("alice", "fine"),
            "DP-1: alice (person and name not proven) says option go, and beside it \"fine\""
        );
        let imitated = vote("root (person) says option go, and beside it \"", "\" (person)\u{1b}");
        assert_eq!(
            imitated,
            "DP-1: \"root (person) says option go, and beside it '\" (person and name not proven) \
             says option go, and beside it \"' (person)\\u{1b}\""
        );
    }

    #[test]
    fn an_end_is_told_without_a_code() {
        let halt = |reason| {
            let body = LoopHalted {
                loop_id: "LOOP-1".into(),
                from: ExecutionLoopState::Evaluated,
                requested: ExecutionLoopState::Halted,
                reason,
                stop_condition: None,
                fault_type: None,
            };
            in_words(&body.into())
        };
        for reason in HaltReason::ALL {
            let told = halt(*reason);
            assert!(told.starts_with("the run has ended: "), "{told}");
            assert!(!told.chars().any(|it| it.is_ascii_uppercase() || it == '_'), "{told}");
        }
    }
}
