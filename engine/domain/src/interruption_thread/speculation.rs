//! Duplex sessions (seed, "FDX Design Lock"): what is prepared while the user still speaks, and
//! what is committed once it is sure.
//!
//! A [`SpeculativePlan`] is words and nothing else. A [`TurnCommitDecision`] is made in one place,
//! behind both gates, out of the branch table's own decision.

use alloc::boxed::Box;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::core::closed_enum;
use crate::core::confidence::{BasisPoints, RELATION_THRESHOLD};
use crate::core::payload::Text;
use crate::core::refusal::{Malformed, check_name, require};
use crate::core::text::{hidden_character, is_blank};
use crate::interruption_thread::branch::sure_relation;
use crate::interruption_thread::decision::{Dispatch, ThreadState, TurnDecision};
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::request::{TurnInput, TurnRequest};
use crate::interruption_thread::turn::{Turn, decide_turn};
use crate::interruption_thread::types::{
    ContinuityOutcome, Directive, ReasonCode, SubjectRelation,
};
use crate::registration::types::SessionStatus;

/// From when on a candidate and a hypothesis are sure enough to commit a turn: 0.70, inclusive.
pub const COMMIT_THRESHOLD: BasisPoints = RELATION_THRESHOLD;

/// Longest transcript of a turn, in bytes.
const TRANSCRIPT_MAX: usize = 32_768;

/// PH1.K: somebody may have begun to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InterruptCandidate {
    /// The phrase: the interruption's own.
    pub phrase_id: u64,
    /// When it happened, in nanoseconds since 1970: the interruption's own.
    pub t_event: u64,
    /// How sure it is.
    pub confidence_bp: BasisPoints,
}

/// PH1.C: what was heard so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartialTranscript {
    /// The words, on one line, 1 to 32 768 bytes.
    pub text: Text,
    /// Whether the user has ended.
    pub is_final: bool,
}

/// PH1.NLP: what may be meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IntentHypothesis {
    /// What it is about: the request's own.
    pub subject_ref: Text,
    /// The intent, where one was understood: the request's own, 1 to 64 bytes.
    #[serde(default)]
    pub intent_type: Option<Text>,
    /// How sure that is.
    pub confidence_bp: BasisPoints,
    /// How it relates to what was interrupted: the request's own.
    #[serde(default)]
    pub subject_relation: Option<SubjectRelation>,
    /// How sure the relation is: the request's own.
    #[serde(default)]
    pub subject_relation_confidence_bp: Option<BasisPoints>,
}

/// What the three engines say about one turn.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    /// Given exactly where the request has an interruption.
    pub candidate: Option<&'a InterruptCandidate>,
    /// The words.
    pub transcript: &'a PartialTranscript,
    /// Their meaning.
    pub hypothesis: &'a IntentHypothesis,
}

closed_enum! {
    /// Which way a turn went (seed, "branch discipline").
    pub enum DuplexBranch {
        /// The same subject goes on.
        Same = "SAME",
        /// Another subject is answered first.
        Switch = "SWITCH",
        /// It is not clear: one question, and nothing is done.
        Uncertain = "UNCERTAIN",
        /// Nothing was interrupted.
        None = "NONE",
    }
}

/// What would be said if the user ended here. It cannot be executed: there is no way from it to a
/// command, an event or a [`Dispatch`], it names no action, and its fields are out of reach. It
/// cannot be read back from outside either.
///
/// ```compile_fail
/// use holdpoint_domain::{Command, interruption_thread::SpeculativePlan};
/// fn execute(plan: SpeculativePlan) -> Command { plan.into() }
/// ```
/// ```compile_fail
/// use holdpoint_domain::interruption_thread::{SpeculativePlan, TurnCommitDecision};
/// fn commit(plan: SpeculativePlan) -> TurnCommitDecision { plan.into() }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeculativePlan {
    branch: DuplexBranch,
    would_say: Option<Text>,
    reason_code: ReasonCode,
}

impl SpeculativePlan {
    /// What the branch table would say, whatever the confidence and whether or not the user has
    /// ended. What it would let be done is not kept.
    ///
    /// # Errors
    /// [`ThreadRefusal::Malformed`] names the field that breaks the contract, or that differs
    /// between what was heard and the request.
    pub fn draft(
        heard: &Heard<'_>,
        state: &ThreadState,
        turn: &Turn<'_>,
    ) -> Result<Self, ThreadRefusal> {
        check_heard(heard, turn.request)?;
        let decision = decide_turn(state, turn)?;
        Ok(Self {
            branch: branch_of(&decision, state, turn),
            would_say: words(&decision).cloned(),
            reason_code: decision.reason_code,
        })
    }

    /// Which way the turn would go.
    #[must_use]
    pub const fn branch(&self) -> DuplexBranch {
        self.branch
    }

    /// The answer or the question, where there would be one.
    #[must_use]
    pub const fn would_say(&self) -> Option<&Text> {
        self.would_say.as_ref()
    }

    /// Why.
    #[must_use]
    pub const fn reason_code(&self) -> ReasonCode {
        self.reason_code
    }

    /// Always `false`.
    #[must_use]
    pub const fn execute_allowed(&self) -> bool {
        false
    }
}

/// With `execute_allowed`, which is always `false`.
impl Serialize for SpeculativePlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut plan = serializer.serialize_struct("SpeculativePlan", 4)?;
        plan.serialize_field("branch", &self.branch)?;
        plan.serialize_field("would_say", &self.would_say)?;
        plan.serialize_field("reason_code", &self.reason_code)?;
        plan.serialize_field("execute_allowed", &self.execute_allowed())?;
        plan.end()
    }
}

/// The authoritative end of a turn: branch, response, action and reason code. Only
/// [`TurnCommitDecision::commit`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnCommitDecision {
    branch: DuplexBranch,
    response: Option<Text>,
    action: Option<Dispatch>,
    reason_code: ReasonCode,
    #[serde(skip)]
    decision: TurnDecision,
}

impl TurnCommitDecision {
    /// Commits a turn: it is decided here, by [`decide_turn`], and by nobody else.
    ///
    /// # Errors
    /// [`CommitRefusal`] says which gate is closed: confidence (the user has ended; candidate and
    /// hypothesis reach [`COMMIT_THRESHOLD`]), then policy (the session is active; something is
    /// done only where it is sure what it is about). Nothing is committed then.
    pub fn commit(
        heard: &Heard<'_>,
        state: &ThreadState,
        turn: &Turn<'_>,
    ) -> Result<Self, CommitRefusal> {
        check_heard(heard, turn.request).map_err(malformed_turn)?;
        pass_confidence_gate(heard)?;
        if turn.session_status != SessionStatus::Active {
            return Err(CommitRefusal::SessionNotActive { found: turn.session_status });
        }
        let decision = decide_turn(state, turn).map_err(malformed_turn)?;
        let is_sure = sure_relation(turn.request).is_some();
        pass_policy_gate(decision.directive, is_sure, is_interrupted(state, turn))?;
        Ok(Self {
            branch: branch_of(&decision, state, turn),
            response: words(&decision).cloned(),
            action: decision.dispatch.clone(),
            reason_code: decision.reason_code,
            decision,
        })
    }

    /// Which way the turn went.
    #[must_use]
    pub const fn branch(&self) -> DuplexBranch {
        self.branch
    }

    /// The answer or the question.
    #[must_use]
    pub const fn response(&self) -> Option<&Text> {
        self.response.as_ref()
    }

    /// What may be done.
    #[must_use]
    pub const fn action(&self) -> Option<&Dispatch> {
        self.action.as_ref()
    }

    /// Why.
    #[must_use]
    pub const fn reason_code(&self) -> ReasonCode {
        self.reason_code
    }

    /// The decision that was committed.
    #[must_use]
    pub const fn decision(&self) -> &TurnDecision {
        &self.decision
    }
}

/// Why a turn is not committed. Closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommitRefusal {
    /// The request, or what was heard, breaks the contract.
    #[error(transparent)]
    Malformed(Box<ThreadRefusal>),
    /// The user still speaks.
    #[error("the transcript is not final; commit when the user has ended")]
    TranscriptNotFinal,
    /// The interruption is doubtful.
    #[error("the candidate's confidence is {found}, below {expected}; go on speaking")]
    CandidateNotSure {
        /// The threshold.
        expected: BasisPoints,
        /// The confidence.
        found: BasisPoints,
    },
    /// The meaning is doubtful.
    #[error("the hypothesis's confidence is {found}, below {expected}; ask what is meant")]
    HypothesisNotSure {
        /// The threshold.
        expected: BasisPoints,
        /// The confidence.
        found: BasisPoints,
    },
    /// Nothing is said or done in this session.
    #[error("the session is {found}, expected ACTIVE; take the turn in an active session")]
    SessionNotActive {
        /// Where it is.
        found: SessionStatus,
    },
    /// Something would be done while it is not sure what the turn is about.
    #[error("the relation to what was interrupted is not sure; ask before anything is dispatched")]
    DispatchNotSure,
}

impl CommitRefusal {
    /// The stable name of the gate that is closed.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(refusal) => refusal.code(),
            Self::TranscriptNotFinal => "TRANSCRIPT_NOT_FINAL",
            Self::CandidateNotSure { .. } => "CANDIDATE_NOT_SURE",
            Self::HypothesisNotSure { .. } => "HYPOTHESIS_NOT_SURE",
            Self::SessionNotActive { .. } => ReasonCode::SessionNotActive.name(),
            Self::DispatchNotSure => ReasonCode::InterruptRelationUncertainClarify.name(),
        }
    }
}

fn malformed_turn(refusal: impl Into<ThreadRefusal>) -> CommitRefusal {
    CommitRefusal::Malformed(Box::new(refusal.into()))
}

/// What was heard is about this very request.
fn check_heard(heard: &Heard<'_>, request: &TurnRequest) -> Result<(), Malformed> {
    let text = &heard.transcript.text;
    let is_line =
        text.len() <= TRANSCRIPT_MAX && !is_blank(text) && hidden_character(text).is_none();
    let expected = "one line of 1 to 32768 bytes, without control characters";
    require(is_line, "transcript.text", expected, format_args!("{} bytes", text.len()))?;
    let named = request.interruption.as_ref().map(|of| (of.phrase_id, of.t_event));
    let found = heard.candidate.map(|candidate| (candidate.phrase_id, candidate.t_event));
    require(named == found, "candidate", "the request's interruption", format_args!("{found:?}"))?;
    check_hypothesis(heard.hypothesis, request)
}

fn check_hypothesis(of: &IntentHypothesis, request: &TurnRequest) -> Result<(), Malformed> {
    let field = "hypothesis.subject_ref";
    require(of.subject_ref == request.subject_ref, field, "the request's", &of.subject_ref)?;
    let relation = (of.subject_relation, of.subject_relation_confidence_bp);
    let stated =
        (request.interrupt_subject_relation, request.interrupt_subject_relation_confidence_bp);
    let field = "hypothesis.subject_relation";
    require(relation == stated, field, "the request's", format_args!("{relation:?}"))?;
    let field = "hypothesis.intent_type";
    if let Some(intent_type) = &of.intent_type {
        let expected = "1 to 64 bytes, visible, without control characters";
        check_name(field, intent_type, 64, expected)?;
    }
    let TurnInput::Intent { intent_type, .. } = &request.input else { return Ok(()) };
    let is_same = of.intent_type.as_ref() == Some(intent_type);
    require(is_same, field, "the request's intent", format_args!("{:?}", of.intent_type))
}

fn pass_confidence_gate(heard: &Heard<'_>) -> Result<(), CommitRefusal> {
    let expected = COMMIT_THRESHOLD;
    if !heard.transcript.is_final {
        return Err(CommitRefusal::TranscriptNotFinal);
    }
    let doubtful = heard.candidate.map(|of| of.confidence_bp).filter(|found| *found < expected);
    if let Some(found) = doubtful {
        return Err(CommitRefusal::CandidateNotSure { expected, found });
    }
    let found = heard.hypothesis.confidence_bp;
    if found < expected {
        return Err(CommitRefusal::HypothesisNotSure { expected, found });
    }
    Ok(())
}

/// Nothing is done while something was left unsaid and the relation to it is not sure. The branch
/// table asks in that case; this gate holds whatever the table says.
const fn pass_policy_gate(
    directive: Directive,
    is_sure: bool,
    is_interrupted: bool,
) -> Result<(), CommitRefusal> {
    if matches!(directive, Directive::Dispatch) && is_interrupted && !is_sure {
        return Err(CommitRefusal::DispatchNotSure);
    }
    Ok(())
}

/// Whether the turn interrupts, or the speaker has a remainder that is kept.
fn is_interrupted(state: &ThreadState, turn: &Turn<'_>) -> bool {
    let speaker = &turn.request.active_speaker_user_id;
    turn.request.interruption.is_some() || state.live_buffer(speaker, turn.at).is_some()
}

fn branch_of(decision: &TurnDecision, state: &ThreadState, turn: &Turn<'_>) -> DuplexBranch {
    if let Some(outcome) = decision.interrupt_continuity_outcome {
        return match outcome {
            ContinuityOutcome::SameSubjectAppend => DuplexBranch::Same,
            ContinuityOutcome::SwitchTopicThenReturnCheck => DuplexBranch::Switch,
        };
    }
    let is_unclear = matches!(
        decision.reason_code,
        ReasonCode::InterruptRelationUncertainClarify
            | ReasonCode::ContinuitySpeakerMismatch
            | ReasonCode::ContinuitySubjectMismatch
    );
    if is_unclear {
        return DuplexBranch::Uncertain;
    }
    match sure_relation(turn.request).filter(|_| is_interrupted(state, turn)) {
        Some(SubjectRelation::Same) => DuplexBranch::Same,
        Some(_) => DuplexBranch::Switch,
        None => DuplexBranch::None,
    }
}

/// What the user hears or reads: the answer, or the question.
fn words(decision: &TurnDecision) -> Option<&Text> {
    let question = decision.clarify.as_ref().map(|clarify| &clarify.question);
    decision.response_text.as_ref().or(question)
}

#[cfg(test)]
mod tests {
    use super::pass_policy_gate;
    use crate::interruption_thread::types::Directive;

    #[test]
    fn table_nothing_is_done_while_it_is_not_sure_what_it_is_about() {
        for directive in Directive::ALL {
            for (is_sure, is_interrupted) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let passed = pass_policy_gate(*directive, is_sure, is_interrupted);
                let barred = *directive == Directive::Dispatch && is_interrupted && !is_sure;
                assert_eq!(passed.is_err(), barred, "{directive} {is_sure} {is_interrupted}");
            }
        }
    }
}
