//! Words for codes that several rows and screens have: one word for each, wherever it stands.

use crate::tell::{named_by_application, shown};
use holdpoint_domain::Time;
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::decision_point::{ClaimedStatus, Response};
use holdpoint_domain::evidence_capture::{EvidenceContent, OutputStream, StopCondition};
use holdpoint_domain::execution_loop::{Exit, HaltReason, ResponseDecision, ResponseEvaluated};
use holdpoint_domain::sandbox_fault::SandboxDecision;
use std::collections::BTreeSet;

/// Each of these names once, where it stands first.
pub fn each_once<N: Ord + Clone>(names: impl IntoIterator<Item = N>) -> Vec<N> {
    let mut met = BTreeSet::new();
    names.into_iter().filter(|name| met.insert(name.clone())).collect()
}

/// Says that an attempt has ended. `known` is how that is known: the record alone does not say
/// whether anybody observed it.
#[must_use]
pub fn attempt_ended(body: &ResponseEvaluated, known: &str) -> String {
    let exit = match body.exit {
        Exit::Unknown => "nobody knows how".to_string(),
        exit => format!("{}{known}", exit_in_words(exit, "", "killed by signal")),
    };
    let decision = match body.response_decision {
        ResponseDecision::Accept => "that counts as done",
        ResponseDecision::Reject => "that counts as failed",
        ResponseDecision::Escalate => "a person has to look",
    };
    format!("attempt {} has ended: {exit}; {decision}", body.attempt)
}

/// Says how a process ended: `unknown` where nobody knows, and what stands before a signal.
#[must_use]
pub fn exit_in_words(exit: Exit, unknown: &str, signalled: &str) -> String {
    match exit {
        Exit::Unknown => unknown.to_string(),
        Exit::Status(status) => format!("exit status {status}"),
        Exit::Signal(signal) => format!("{signalled} {signal}"),
    }
}

/// Says why a run has ended.
pub(crate) fn halt_in_words(reason: HaltReason, stop: Option<StopCondition>) -> &'static str {
    match reason {
        HaltReason::Completed => "it is done",
        HaltReason::ResponseRejected => "it failed",
        HaltReason::ResponseEscalated => "a person has to look at what it came to",
        HaltReason::FaultTerminated => "it failed, and the rules allow no other attempt",
        HaltReason::FaultEscalated => "it failed, and nobody decided what follows",
        HaltReason::FaultNotRetried => "it failed, and was not tried again",
        HaltReason::StopCondition => stop.map_or("it was stopped", stop_in_words),
        HaltReason::IllegalTransition => "its recorder asked for a step that the rules forbid",
        HaltReason::HandshakeFailed => "it was refused before it began",
        HaltReason::HumanDecisionTimedOut => "a person was asked, and nobody answered in time",
        HaltReason::Interrupted => "a signal ended it",
        HaltReason::RecorderLost => "its recorder was gone before it had recorded the end",
    }
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

/// Says what follows from a fault by the rules.
pub(crate) const fn followed_by(decision: SandboxDecision) -> &'static str {
    match decision {
        SandboxDecision::Terminate => "the run ends",
        SandboxDecision::Retry => "another attempt is allowed",
        SandboxDecision::Escalate => "a person has to decide",
    }
}

/// A code of capital letters as words: `timeout`, `resource exhausted`.
#[must_use]
pub fn code_in_words(name: &str) -> String {
    name.to_lowercase().replace('_', " ")
}

/// A moment as the record's own is told: with milliseconds.
pub(crate) fn moment(time: Time) -> String {
    format!("{}Z", bounded(&time.to_string(), 23))
}

/// Returns what is answered.
#[must_use]
pub fn responded(response: &Response) -> String {
    match response {
        Response::Option(id) => format!("option {}", named_by_application(id)),
        Response::Text(words) => format!("in own words {}", quoted(words)),
        Response::Accept => "that the guidance is taken as it is".to_string(),
        Response::Proposal(None) => "that the proposal is taken as it is".to_string(),
        Response::Proposal(Some(id)) => {
            format!("that the proposal is taken, with option {}", named_by_application(id))
        }
        Response::Guidance(words) => format!("guidance {}", quoted(words)),
    }
}

/// Says what a host claims of a call.
#[must_use]
pub const fn claimed(status: ClaimedStatus) -> &'static str {
    match status {
        ClaimedStatus::Succeeded => "succeeded",
        ClaimedStatus::Failed => "failed",
        ClaimedStatus::Interrupted => "was interrupted",
    }
}

/// Returns what somebody wrote, in quotes with no end but its own: else it could go on as the line
/// does.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(&text.replace('"', "'")))
}

/// Longest piece of a conversation in a line, in bytes.
const SPEECH_BYTES_MAX: usize = 240;

/// Quotes the beginning of a text, and says how long it is where that is not all.
#[must_use]
pub fn beginning(text: &str) -> String {
    let cut = bounded(text, SPEECH_BYTES_MAX);
    match cut.len() < text.len() {
        true => format!("\"{}\".. ({} bytes)", visible(cut), text.len()),
        false => format!("\"{}\"", visible(text)),
    }
}

/// Quotes the end of a text, and says how long it is where that is not all.
#[must_use]
pub fn end(text: &str) -> String {
    let from = text.len().saturating_sub(SPEECH_BYTES_MAX);
    let start = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    match text.get(start..) {
        Some(cut) if start > 0 => format!("({} bytes) ..\"{}\"", text.len(), visible(cut)),
        _ => format!("\"{}\"", visible(text)),
    }
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
    use crate::tell::in_words;
    use holdpoint_domain::core::actor::Principal;
    use holdpoint_domain::decision_point::VoteCast;
    use holdpoint_domain::execution_loop::{ExecutionLoopState, LoopHalted};

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
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let long = "\u{e9}".repeat(200);
        assert_eq!(beginning(&long), format!("\"{}\".. (400 bytes)", "\u{e9}".repeat(120)));
        assert_eq!(end(&long), format!("(400 bytes) ..\"{}\"", "\u{e9}".repeat(120)));
        assert_eq!(end("short"), "\"short\"");
        assert_eq!(beginning("a\u{202e}b\n"), "\"a\\u{202e}b\\u{a}\"");
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
