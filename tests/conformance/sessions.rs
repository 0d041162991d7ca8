//! Whole governed sessions, through the functions of all phases.

use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::evidence_capture::{
    EvidenceType, ObservationContext, ObservationPoint, OfferedEvidence, attach_observer,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopContext, ExecutionLoopState, ExecutorRawResponse, NormalizedExecutionResult,
    initialize_execution_loop, normalize_executor_response, transition_execution_state,
};
use holdpoint_domain::human_decision::{
    EvidenceSummary, HumanDecision, HumanDecisionOutcome, HumanDecisionRecord,
    HumanDecisionRequest, HumanDecisionTimeout, accept_decision, apply_decision, create_request,
    create_timeout_decision,
};
use holdpoint_testing::chains::{DecisionTrail, EvidenceChain};
use serde_json::{Value, json};

use crate::decisions::timeout;
use crate::decode::{Answer, Decoded, bytes, field, text, typed};

/// Runs a session; `None` if the function is another one.
pub(crate) fn run(function: &str, input: &Value) -> Option<Decoded<Answer>> {
    (function == "governed_session").then(|| match session(input) {
        Ok(value) => Ok(Answer::Value(value)),
        Err(Stopped::Undecodable(why)) => Err(why),
        Err(Stopped::Refused(why)) => Ok(Answer::Refused(why)),
    })
}

/// Why a session does not run to its end.
enum Stopped {
    Undecodable(String),
    Refused(String),
}

impl From<String> for Stopped {
    fn from(why: String) -> Self {
        Self::Undecodable(why)
    }
}

fn refused(why: impl std::fmt::Display) -> Stopped {
    Stopped::Refused(why.to_string())
}

/// A session under way.
struct Session {
    current: ExecutionLoopContext,
    observer: ObservationContext,
    chain: EvidenceChain,
    audit: DecisionTrail,
    entropy: std::vec::IntoIter<String>,
    timeout: HumanDecisionTimeout,
    retries: i64,
    max_retries: i64,
}

/// What a cycle is told and what it led to.
struct Cycle {
    normalized: NormalizedExecutionResult,
    request: HumanDecisionRequest,
    record: HumanDecisionRecord,
    outcome: HumanDecisionOutcome,
}

fn session(input: &Value) -> Result<Value, Stopped> {
    let mut session = begin(input)?;
    let mut cycles = Vec::new();
    for cycle in list(input, "cycles")? {
        let times: Vec<String> = typed(cycle, "ts")?;
        let done = session.cycle(cycle, &times)?;
        cycles.push(session.shape(&done));
        let goes_on = done.outcome == HumanDecisionOutcome::Applied
            && matches!(done.record.decision, HumanDecision::Continue | HumanDecision::Retry);
        if !goes_on {
            session.halt(&done.record, &times[5])?;
            break;
        }
        session.retries += i64::from(done.record.decision == HumanDecision::Retry);
    }
    if session.entropy.next().is_some() {
        return Err(Stopped::Undecodable("entropy is left".into()));
    }
    Ok(session.result(&cycles))
}

fn list<'a>(input: &'a Value, name: &str) -> Decoded<&'a Vec<Value>> {
    field(input, name)?.as_array().ok_or_else(|| format!("{name} is no list"))
}

fn begin(input: &Value) -> Result<Session, Stopped> {
    let entropy: Vec<String> = typed(input, "entropy")?;
    let mut entropy = entropy.into_iter();
    let (hash, executor) = (text(input, "instruction_envelope_hash")?, text(input, "executor_id")?);
    let current = initialize_execution_loop(hash, executor, &next(&mut entropy)?);
    let expectation = ObservationContext {
        session_id: format!("OBS-{}", next(&mut entropy)?),
        loop_id: current.loop_id().into(),
        executor_id: executor.into(),
        envelope_hash: hash.into(),
        created_at: text(input, "t0")?.into(),
        is_halted: false,
    };
    let observer = attach_observer(&current, &expectation);
    let audit_id = text(input, "audit_id")?;
    Ok(Session {
        chain: EvidenceChain::empty(&observer, text(input, "chain_id")?),
        audit: DecisionTrail::empty(audit_id, &observer.session_id),
        current,
        observer,
        entropy,
        timeout: timeout(input)?,
        retries: 0,
        max_retries: typed(input, "max_retries")?,
    })
}

fn next(entropy: &mut std::vec::IntoIter<String>) -> Result<String, Stopped> {
    entropy.next().ok_or_else(|| Stopped::Undecodable("entropy is spent".into()))
}

impl Session {
    fn cycle(&mut self, cycle: &Value, times: &[String]) -> Result<Cycle, Stopped> {
        use EvidenceType::{ExecutorOutput, StateTransition};
        let [at0, at1, at2, at3, at4, at5] = times else {
            return Err(Stopped::Undecodable("six times in a cycle".into()));
        };
        let state = self.go(ExecutionLoopState::Dispatched);
        self.capture(ObservationPoint::PreDispatch, StateTransition, state, at0)?;
        let state = self.go(ExecutionLoopState::AwaitingResponse);
        self.capture(ObservationPoint::PostDispatch, StateTransition, state, at1)?;
        let raw = response(cycle)?;
        let payload = raw.raw_payload.clone();
        self.capture_raw(ObservationPoint::PreEvaluate, ExecutorOutput, payload, at2)?;
        let expected = self.current.instruction_envelope_hash();
        let normalized = normalize_executor_response(&raw, expected);
        self.go(ExecutionLoopState::Evaluated);
        let name = normalized.decision.name();
        self.capture(ObservationPoint::PostEvaluate, StateTransition, name, at3)?;
        let request = self.ask(&normalized, at4)?;
        let record = self.answer(field(cycle, "human")?, &request, at5)?;
        record.check().map_err(refused)?;
        self.audit = self.audit.with(record.clone());
        let state = self.current.current_state();
        let outcome = apply_decision(&record, state, self.retries, self.max_retries);
        Ok(Cycle { normalized, request, record, outcome })
    }

    /// Moves the loop and gives the resulting state's name.
    fn go(&mut self, to: ExecutionLoopState) -> &'static str {
        transition_execution_state(&mut self.current, to);
        self.current.current_state().name()
    }

    fn capture(
        &mut self,
        point: ObservationPoint,
        evidence_type: EvidenceType,
        raw: &str,
        timestamp: &str,
    ) -> Result<(), Stopped> {
        self.capture_raw(point, evidence_type, RawData::from(raw.as_bytes().to_vec()), timestamp)
    }

    fn capture_raw(
        &mut self,
        point: ObservationPoint,
        evidence_type: EvidenceType,
        raw: RawData,
        timestamp: &str,
    ) -> Result<(), Stopped> {
        let entropy = next(&mut self.entropy)?;
        let offer = OfferedEvidence { observation_point: point, evidence_type, raw_data: raw };
        let captured = self.chain.capture(&self.observer, offer, timestamp, &entropy);
        self.chain = captured.map_err(|fault| refused(format!("{fault:?}")))?;
        Ok(())
    }

    fn ask(
        &mut self,
        normalized: &NormalizedExecutionResult,
        timestamp: &str,
    ) -> Result<HumanDecisionRequest, Stopped> {
        let entropy = next(&mut self.entropy)?;
        let created_at: Timestamp = timestamp.parse().map_err(refused)?;
        let newest = self.chain.records.last().ok_or_else(|| refused("no evidence"))?;
        let summary = EvidenceSummary {
            observation_point: newest.observation_point,
            evidence_type: newest.evidence_type,
            timestamp: newest.timestamp.as_str().into(),
            chain_length: self.chain.length,
            execution_state: self.current.current_state(),
            confidence_score: normalized.confidence_score,
            chain_hash: self.chain.head_hash.as_str().into(),
        };
        create_request(&self.observer.session_id, summary, self.timeout, created_at, &entropy)
            .map_err(refused)
    }

    /// A human answers, or nobody does.
    fn answer(
        &mut self,
        human: &Value,
        request: &HumanDecisionRequest,
        timestamp: &str,
    ) -> Result<HumanDecisionRecord, Stopped> {
        if human.is_null() {
            let entropy = next(&mut self.entropy)?;
            return Ok(create_timeout_decision(request, timestamp, &entropy));
        }
        let (reason, target): (Option<String>, Option<String>) =
            (typed(human, "reason")?, typed(human, "escalation_target")?);
        let entropy = next(&mut self.entropy)?;
        accept_decision(
            request,
            typed(human, "decision")?,
            text(human, "human_id")?,
            reason.as_deref(),
            target.as_deref(),
            timestamp,
            &entropy,
        )
        .map_err(refused)
    }

    fn halt(&mut self, record: &HumanDecisionRecord, timestamp: &str) -> Result<(), Stopped> {
        self.go(ExecutionLoopState::Halted);
        let (point, condition) = (ObservationPoint::HaltEntry, EvidenceType::StopCondition);
        self.capture(point, condition, record.decision.name(), timestamp)
    }

    fn shape(&self, done: &Cycle) -> Value {
        let normalized = &done.normalized;
        let confidence = f64::from(normalized.confidence_score.basis_points()) / 10_000.0;
        json!({
            "normalized": {
                "decision": normalized.decision,
                "reason": normalized.reason,
                "confidence_score": confidence,
            },
            "state": self.current.current_state(),
            "request_id": done.request.request_id,
            "decision_id": done.record.decision_id,
            "decision": done.record.decision,
            "outcome": done.outcome,
            "chain_head": self.chain.head_hash,
            "audit_head": self.audit.head_hash,
        })
    }

    fn result(&self, cycles: &[Value]) -> Value {
        let hashes: Vec<&str> = self.chain.records.iter().map(|r| r.self_hash.as_str()).collect();
        json!({
            "loop": self.current,
            "observer": self.observer,
            "cycles": cycles,
            "chain_head": self.chain.head_hash,
            "chain_length": self.chain.length,
            "audit_head": self.audit.head_hash,
            "audit_length": self.audit.length,
            "retry_count": self.retries,
            "record_hashes": hashes,
        })
    }
}

fn response(cycle: &Value) -> Decoded<ExecutorRawResponse> {
    Ok(ExecutorRawResponse {
        executor_id: text(cycle, "executor_id")?.into(),
        instruction_hash: text(cycle, "instruction_hash")?.into(),
        raw_payload: bytes(cycle, "raw_payload_hex")?,
        reported_status: typed(cycle, "reported_status")?,
    })
}
