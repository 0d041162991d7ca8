//! Whole governed sessions, as commands through the World.
//!
//! What a vector records is first told again by `session_oracle.rs`, from the words of its
//! document, hashes included. Then its steps are commands (`session_world.rs`). Every step has to
//! come to what is recorded, in the events and in the state, or to what a category of
//! `session_categories.rs` prescribes for it; the evidence chain and the audit trail are hashed
//! again, record by record.

use holdpoint_domain::core::text::{
    MAX_IDENTIFIER_BYTES, check_identifier, has_visible_character, hidden_character, visible,
};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::evidence_capture::StopCondition;
use holdpoint_domain::execution_loop::{
    ExecutionLoopEvent, ExecutionLoopState, HaltReason, ResponseEvaluated,
};
use holdpoint_domain::human_decision::{
    HumanDecision, HumanDecisionAnswered, HumanDecisionEvent, HumanDecisionOutcome,
    HumanDecisionRequested,
};
use holdpoint_domain::{Event, Refusal};
use holdpoint_testing::story::halt_reason;
use serde_json::{Value, json};

use crate::decode::Decoded;
use crate::judge::Verdict;
use crate::session_categories::{
    ATTEMPTS, CONTINUE, Departure, ESCALATE, EXECUTOR, HASHES, LONG_HASH, NAMELESS, NOT_OFFERED,
    OFFER, OUTSIDE, TIMEOUT, UNDATED, UNSEEN, WORDS,
};
use crate::session_chains::Chains;
use crate::session_oracle::{self, is_blank, shape};
use crate::session_times;
use crate::session_world::{self, Came, Cycle, Human, Input, Told, can_be_asked};
use crate::vectors::Case;

/// Which categories a session falls into.
pub(crate) type Departures = Vec<&'static Departure>;

/// Judges a recorded session.
pub(crate) fn governed_session(case: &Case) -> Verdict {
    let Some(recorded) = case.expect.get("ok") else {
        return Verdict::Fails("a session has a value".into());
    };
    match session_oracle::session(&case.input) {
        Ok(told) if told == *recorded => {}
        told => return Verdict::Fails(format!("the words of the document give {told:?}")),
    }
    match run(&case.input, recorded) {
        Ok(departures) => Verdict::Departs(departures),
        Err(why) => Verdict::Fails(why),
    }
}

/// Runs a session as commands and compares every step; the categories that it falls into.
pub(crate) fn run(of: &Value, recorded: &Value) -> Decoded<Departures> {
    let input = match (session_world::input(of), has_no_place(of)) {
        (Ok(input), false) => input,
        (Err(_), true) => return Ok(vec![&OUTSIDE]),
        (input, _) => return Err(format!("decoded as {input:?}")),
    };
    let begin = input.t0.parse().unwrap_or(Timestamp::from_nanoseconds(1));
    let mut told = Told::new(&input, &of["entropy"], begin);
    let mut departures = vec![&HASHES];
    if is_nameless(&input) {
        refused(told.begin(1), None)?;
        // Nothing but the rules that were adopted is on record.
        same("newest record", told.world().totals().last_sequence, 1)?;
        return Ok(vec![&NAMELESS]);
    }
    if dated(&input).any(|time| time.parse::<Timestamp>().is_err()) {
        departures.push(&UNDATED);
    }
    let session = Session {
        input: &input,
        recorded,
        told,
        chains: Chains::default(),
        next: Next::Begin,
        retries: 0,
        unheard: 0,
        applied: 0,
        attempts: 0,
        worth: String::new(),
        decided: 0,
        passed_on: 0,
        departures: Vec::new(),
    };
    departures.extend(session.run()?);
    departures.extend(session_times::as_stated(&input, &of["entropy"])?);
    departures.sort_by_key(|departure| departure.name);
    departures.dedup();
    Ok(departures)
}

/// A name outside its closed set, or a deadline out of range.
fn has_no_place(of: &Value) -> bool {
    let statuses = ["SUCCESS", "FAILURE", "TIMEOUT", "PARTIAL", "MALFORMED"];
    let decisions = ["CONTINUE", "RETRY", "ABORT", "ESCALATE"];
    let is_outside =
        |name: &Value, set: &[&str]| name.as_str().is_some_and(|name| !set.contains(&name));
    let seconds = of["timeout_seconds"].as_i64();
    let mut cycles = of["cycles"].as_array().into_iter().flatten();
    cycles.any(|cycle| {
        is_outside(&cycle["reported_status"], &statuses)
            || is_outside(&cycle["human"]["decision"], &decisions)
    }) || !seconds.is_some_and(|seconds| (1..=366 * 86_400).contains(&seconds))
}

/// Missing means blank, or what hides something, in a name.
fn is_nameless(input: &Input) -> bool {
    is_blank(&input.recorded_hash) || check_identifier("executor id", &input.executor_id).is_err()
}

/// Every time that the vector states.
fn dated(input: &Input) -> impl Iterator<Item = &String> {
    input.cycles.iter().flat_map(|cycle| &cycle.times).chain([&input.t0])
}

/// What the vector goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Another loop.
    Begin,
    /// Another attempt of the same one.
    Retry,
}

/// A session under way.
struct Session<'a> {
    input: &'a Input,
    recorded: &'a Value,
    told: Told<'a>,
    chains: Chains,
    next: Next,
    /// RETRY decisions that the reference applied, and those of them that we refused.
    retries: i64,
    unheard: i64,
    /// RETRY decisions that we applied.
    applied: i64,
    /// How many attempts the loop that lives may have.
    attempts: u8,
    /// What the newest response is worth.
    worth: String,
    /// Decisions in the audit trails of all loops.
    decided: u64,
    /// Those of them that nobody made for a target.
    passed_on: u64,
    departures: Departures,
}

/// The event of this kind that a batch has to have, once.
macro_rules! the {
    ($events:expr, $System:ident, $Event:ident::$Kind:ident) => {{
        let mut found = $events.iter().filter_map(|event| match event {
            Event::$System($Event::$Kind(body)) => Some(body),
            _ => None,
        });
        match (found.next(), found.next()) {
            (Some(body), None) => Ok(body),
            _ => Err(format!("not one {} in {:?}", stringify!($Kind), $events)),
        }
    }};
}

/// Two things that have to be the same.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: T, has_to_be: T) -> Decoded<()> {
    if is == has_to_be {
        return Ok(());
    }
    Err(format!("{what}: expected {has_to_be:?}, found {is:?}"))
}

/// A command that has to be accepted.
pub(crate) fn done(came: Came) -> Decoded<Vec<Event>> {
    came.map_err(|refusal| format!("{}: {refusal}", refusal.code()))
}

/// A command that has to be refused, with this code where one is known.
pub(crate) fn refused(came: Came, code: Option<&str>) -> Decoded<Refusal> {
    match came {
        Err(refusal) if code.is_none_or(|code| refusal.code() == code) => Ok(refusal),
        came => Err(format!("expected a refusal {code:?}, found {came:?}")),
    }
}

impl Session<'_> {
    fn run(mut self) -> Decoded<Departures> {
        let recorded = self.recorded["cycles"].as_array().ok_or("no recorded cycles")?;
        for (cycle, recorded) in self.input.cycles.iter().zip(recorded) {
            if self.next == Next::Begin {
                self.begin()?;
            }
            self.evaluate(cycle, recorded)?;
            let asked = self.ask(cycle, recorded)?;
            self.decide(cycle, recorded, &asked)?;
            self.chains.check(&self.told)?;
            let is_retry = recorded["decision"] == "RETRY" && recorded["outcome"] == "APPLIED";
            self.retries += i64::from(is_retry);
            self.unheard += i64::from(is_retry && self.next == Next::Begin);
        }
        self.end(recorded.last().ok_or("no cycle")?)?;
        self.told.check_rebuilt()?;
        Ok(self.departures)
    }

    fn departs(&mut self, as_in: &'static Departure) {
        self.departures.push(as_in);
    }

    /// The time that the vector states, where a record may have it: not before the newest, and
    /// before the deadline of what is asked. What becomes of any other is `session_times`' matter.
    fn at(&mut self, stated: &str) {
        let open = self.told.entity().open_request();
        let deadline = open.map(|held| held.request.timeout_at);
        let now = self.told.now();
        let is_possible = |at: &Timestamp| *at >= now && deadline.is_none_or(|end| *at < end);
        let stated: Option<Timestamp> = stated.parse().ok();
        self.told.set_time(stated.filter(is_possible).unwrap_or(now));
    }

    /// A loop for the attempts that are left.
    fn begin(&mut self) -> Decoded<()> {
        self.close()?;
        let wanted = self.input.max_retries - self.retries + 1;
        let given = wanted.clamp(1, 3);
        if wanted != given {
            self.departs(&ATTEMPTS);
            if let Ok(wanted) = u8::try_from(wanted) {
                refused(self.told.begin(wanted), Some("ATTEMPTS_OUT_OF_RANGE"))?;
            }
        }
        self.attempts = u8::try_from(given).map_err(|error| error.to_string())?;
        let is_first = self.told.events.is_empty();
        done(self.told.begin(self.attempts))?;
        self.chains.begin();
        let entity = self.told.entity();
        let observer = entity.observer.as_ref().ok_or("no observer")?;
        let recorded = &self.recorded["observer"];
        same("executor_id", json!(entity.context.executor_id()), recorded["executor_id"].clone())?;
        let hash = entity.context.instruction_envelope_hash();
        same("instruction_envelope_hash", hash, self.input.envelope_hash.as_str())?;
        same("state", entity.state(), ExecutionLoopState::Init)?;
        same("observer's loop", observer.loop_id.as_str(), entity.loop_id())?;
        same("observer's executor", observer.executor_id.as_str(), entity.context.executor_id())?;
        same("observer's envelope", observer.envelope_hash.as_str(), hash)?;
        same("is_halted", observer.is_halted, false)?;
        same("created_at", observer.created_at.clone(), self.told.now().to_string())?;
        if is_first {
            begins_with("loop_id", entity.loop_id(), &self.recorded["loop"]["loop_id"])?;
        }
        Ok(())
    }

    /// The loop that lived is over: its decisions count.
    fn close(&mut self) -> Decoded<()> {
        if self.told.events.is_empty() {
            return Ok(());
        }
        let audit = self.told.entity().decisions.audit.as_ref().ok_or("no audit trail")?;
        self.decided += audit.length;
        Ok(())
    }

    /// From DISPATCHED to EVALUATED.
    fn evaluate(&mut self, cycle: &Cycle, recorded: &Value) -> Decoded<()> {
        let [dispatched, awaited, captured, evaluated, ..] = &cycle.times;
        self.at(dispatched);
        done(self.told.dispatch())?;
        same("state", self.told.entity().state(), ExecutionLoopState::Dispatched)?;
        self.at(awaited);
        done(self.told.await_response())?;
        same("state", self.told.entity().state(), ExecutionLoopState::AwaitingResponse)?;
        self.at(captured);
        done(self.told.capture(cycle))?;
        self.at(evaluated);
        let events = done(self.told.report(cycle))?;
        let body = the!(events, ExecutionLoop, ExecutionLoopEvent::ResponseEvaluated)?;
        self.check_normalized(cycle, recorded, body)?;
        let entity = self.told.entity();
        same("state", json!(entity.state()), recorded["state"].clone())?;
        let response = entity.current_attempt().and_then(|attempt| attempt.response.as_ref());
        let response = response.ok_or("the attempt has no response")?;
        let state = (response.response_decision, response.confidence, response.reason.as_str());
        same("response", state, (body.response_decision, body.confidence, &body.reason))?;
        self.chains.attempt(cycle);
        same("attempt", usize::from(entity.attempt_count()), self.chains.attempts())
    }

    fn check_normalized(
        &mut self,
        cycle: &Cycle,
        recorded: &Value,
        body: &ResponseEvaluated,
    ) -> Decoded<()> {
        let Input { executor_id, envelope_hash, recorded_hash, .. } = self.input;
        let rejected = |reason: &str| shape("REJECT", reason, 0.0);
        let expected = if !is_blank(&cycle.executor_id) && cycle.executor_id != *executor_id {
            self.departs(&EXECUTOR);
            rejected("Executor mismatch: not the executor of this loop")
        } else if cycle.instruction_hash.len() > MAX_IDENTIFIER_BYTES {
            self.departs(&LONG_HASH);
            rejected("MALFORMED: instruction_hash is too long")
        } else {
            let mut recorded = recorded["normalized"].clone();
            let reason = recorded["reason"].as_str().unwrap_or_default();
            let (theirs, ours) = (format!("expected {recorded_hash},"), envelope_hash);
            let reason = reason.replacen(&theirs, &format!("expected {ours},"), 1);
            recorded["reason"] = json!(shown(&reason));
            recorded
        };
        self.worth = expected["decision"].as_str().unwrap_or_default().into();
        let found = json!({
            "decision": body.response_decision,
            "reason": body.reason,
            "confidence_score": f64::from(body.confidence.basis_points()) / 10_000.0,
        });
        same("normalized", found, expected)
    }

    /// A person is asked, with what the newest evidence says.
    fn ask(&mut self, cycle: &Cycle, recorded: &Value) -> Decoded<HumanDecisionRequested> {
        self.at(&cycle.times[4]);
        let events = done(self.told.ask())?;
        let asked = the!(events, HumanDecision, HumanDecisionEvent::HumanDecisionRequested)?;
        let (request, now) = (&asked.request, self.told.now());
        begins_with("request_id", &request.request_id, &recorded["request_id"])?;
        let captured = self.told.captured();
        let newest = captured.last().ok_or("no evidence")?;
        let entity = self.told.entity();
        let summary = &request.evidence_summary;
        let confidence =
            entity.current_attempt().and_then(|a| Some(a.response.as_ref()?.confidence));
        let session = entity.observer.as_ref().map(|observer| observer.session_id.as_str());
        same("session_id", Some(request.session_id.as_str()), session)?;
        same("observation_point", summary.observation_point, newest.observation_point)?;
        same("evidence_type", summary.evidence_type, newest.evidence_type)?;
        same("timestamp", summary.timestamp.as_str(), &newest.timestamp)?;
        same("chain_length", summary.chain_length, captured.len() as u64)?;
        same("execution_state", json!(summary.execution_state), recorded["state"].clone())?;
        same("confidence_score", Some(summary.confidence_score), confidence)?;
        same("chain_hash", summary.chain_hash.as_str(), &newest.self_hash)?;
        same("created_at", request.created_at, now)?;
        same("timeout_at", Some(request.timeout_at), self.input.timeout.deadline(now))?;
        same("timeout_decision", request.timeout_decision, HumanDecision::Abort)?;
        let is_offered = |decision: &HumanDecision| match decision {
            HumanDecision::Continue | HumanDecision::Abort => true,
            HumanDecision::Retry => entity.attempt_count() < self.attempts,
            HumanDecision::Escalate => !self.input.targets.is_empty(),
        };
        let all = HumanDecision::ALL.iter().copied();
        let offered: Vec<HumanDecision> = all.filter(is_offered).collect();
        same("allowed_decisions", request.allowed_decisions.to_vec(), offered.clone())?;
        let held = entity.open_request().ok_or("nothing is asked")?;
        same("the open request", &held.request, request)?;
        if offered.len() < HumanDecision::ALL.len() {
            self.departs(&OFFER);
        }
        Ok(HumanDecisionRequested::clone(asked))
    }

    fn decide(
        &mut self,
        cycle: &Cycle,
        recorded: &Value,
        asked: &HumanDecisionRequested,
    ) -> Decoded<()> {
        let Some(human) = &cycle.human else { return self.time_out(recorded) };
        self.at(&cycle.times[5]);
        let is_offered = asked.request.allowed_decisions.contains(&human.decision);
        let is_retry = human.decision == HumanDecision::Retry;
        if is_unseen(human) {
            self.departs(&UNSEEN);
            refused(self.told.answer(human), None)?;
        } else if !is_offered {
            // Where the reference applies it, the loop has no fourth attempt.
            let is_applied = recorded["outcome"] == "APPLIED";
            self.departs(if is_applied && is_retry { &ATTEMPTS } else { &NOT_OFFERED });
            refused(self.told.answer(human), Some("DECISION_NOT_ALLOWED"))?;
        } else {
            return self.answered(human, recorded, asked);
        }
        same("the open request", self.told.entity().open_request().is_some(), true)?;
        self.next = Next::Begin;
        self.lapse()
    }

    /// Nobody decides: ABORT, at the deadline.
    fn time_out(&mut self, recorded: &Value) -> Decoded<()> {
        self.departs(&TIMEOUT);
        self.next = Next::Begin;
        self.lapse()?;
        let entity = self.told.entity();
        let decided = entity.decisions.requests.last().and_then(|held| held.decided());
        let record = &decided.ok_or("nothing was decided")?.record;
        begins_with("decision_id", &record.decision_id, &recorded["decision_id"])?;
        same("decision", json!(record.decision), recorded["decision"].clone())?;
        same("human_id", record.human_id.as_str(), "SYSTEM_TIMEOUT")?;
        same("reason", record.reason.as_deref(), Some("TIMEOUT"))
    }

    /// The open question comes to its deadline, and the loop halts.
    fn lapse(&mut self) -> Decoded<()> {
        let open = self.told.entity().open_request().ok_or("nothing is asked")?;
        self.told.set_time(open.request.timeout_at);
        let events = done(self.told.expire())?;
        same("halt", halt_reason(&events), Some(HaltReason::HumanDecisionTimedOut))?;
        let entity = self.told.entity();
        same("state", entity.state(), ExecutionLoopState::Halted)?;
        let decided = entity.decisions.requests.last().and_then(|held| held.decided());
        let outcome = decided.map(|decided| decided.outcome);
        same("outcome", outcome, Some(HumanDecisionOutcome::Timeout))?;
        self.chains.halted(true);
        Ok(())
    }

    fn answered(
        &mut self,
        human: &Human,
        recorded: &Value,
        asked: &HumanDecisionRequested,
    ) -> Decoded<()> {
        let mut events = done(self.told.answer(human))?;
        if human.decision == HumanDecision::Continue {
            events.extend(done(self.told.complete())?);
        }
        let body = the!(events, HumanDecision, HumanDecisionEvent::HumanDecisionAnswered)?;
        self.check_record(human, recorded, asked, body)?;
        let (halt, entity) = (halt_reason(&events), self.told.entity());
        let ending = match human.decision {
            HumanDecision::Continue => Some(match self.worth.as_str() {
                "ACCEPT" => HaltReason::Completed,
                "ESCALATE" => HaltReason::ResponseEscalated,
                _ => HaltReason::ResponseRejected,
            }),
            HumanDecision::Abort => Some(HaltReason::StopCondition),
            HumanDecision::Retry | HumanDecision::Escalate => None,
        };
        same("halt", halt, ending)?;
        same("halted", entity.halt.as_ref().map(|halt| halt.reason), ending)?;
        let stop = entity.stop.as_ref().map(|stop| stop.condition);
        let is_abort = human.decision == HumanDecision::Abort;
        same("stop", stop, is_abort.then_some(StopCondition::HumanAbort))?;
        self.next = Next::Begin;
        match human.decision {
            HumanDecision::Continue => {
                self.departs(&CONTINUE);
                self.chains.halted(false);
            }
            HumanDecision::Abort => self.chains.halted(true),
            HumanDecision::Retry => {
                same("state", entity.state(), ExecutionLoopState::Evaluated)?;
                (self.next, self.applied) = (Next::Retry, self.applied + 1);
            }
            HumanDecision::Escalate => {
                self.departs(&ESCALATE);
                let open = self.told.entity().open_request().ok_or("nobody is asked")?;
                let target = human.escalation_target.as_deref();
                same("asked_of", open.context.asked_of.as_deref(), target)?;
                self.passed_on += 1;
                self.lapse()?;
            }
        }
        Ok(())
    }

    fn check_record(
        &mut self,
        human: &Human,
        recorded: &Value,
        asked: &HumanDecisionRequested,
        body: &HumanDecisionAnswered,
    ) -> Decoded<()> {
        let (record, request) = (&body.record, &asked.request);
        begins_with("decision_id", &record.decision_id, &recorded["decision_id"])?;
        same("request_id", &record.request_id, &request.request_id)?;
        same("human_id", record.human_id.as_str(), &human.human_id)?;
        same("decision", json!(record.decision), recorded["decision"].clone())?;
        let reason = human.reason.as_deref().filter(|reason| has_visible_character(reason));
        let reason = reason.map(shown);
        same("reason", record.reason.as_deref(), reason.as_deref())?;
        let target = human.escalation_target.as_deref();
        same("escalation_target", record.escalation_target.as_deref(), target)?;
        same("timestamp", record.timestamp.to_string(), self.told.now().to_string())?;
        let summary = &request.evidence_summary;
        same("evidence_chain_hash", &record.evidence_chain_hash, &summary.chain_hash)?;
        same("outcome", json!(body.outcome), recorded["outcome"].clone())?;
        let mut held = self.told.entity().decisions.requests.iter();
        let held = held.find(|held| held.request_id() == request.request_id.as_str());
        let decided = held.and_then(|held| held.decided()).ok_or("the state has no decision")?;
        same("the state's decision", &decided.record, record)?;
        same("the state's outcome", decided.outcome, body.outcome)?;
        if reason != human.reason {
            self.departs(&WORDS);
        }
        Ok(())
    }

    /// What the whole session comes to.
    fn end(&mut self, last: &Value) -> Decoded<()> {
        self.close()?;
        let entity = self.told.entity();
        // The departures of a decision say how its loop ends; one that is retried goes on.
        let is_retried = self.next == Next::Retry;
        let ours = if is_retried { "EVALUATED" } else { "HALTED" };
        same("state", entity.state().name(), ours)?;
        let is_ended = last["outcome"] != "APPLIED" || last["decision"] == "ABORT";
        let recorded = &self.recorded["loop"]["current_state"];
        if is_ended || is_retried {
            same("state", json!(entity.state()), recorded.clone())?;
        }
        let applied = self.applied + self.unheard;
        same("retry_count", json!(applied), self.recorded["retry_count"].clone())?;
        let decided = json!(self.decided - self.passed_on);
        same("audit_length", decided, self.recorded["audit_length"].clone())
    }
}

/// Ids are as recorded, and more random.
fn begins_with(what: &str, id: &str, recorded: &Value) -> Decoded<()> {
    let recorded = recorded.as_str().ok_or("no recorded id")?;
    id.starts_with(recorded).then_some(()).ok_or_else(|| format!("{what}: {recorded} and {id}"))
}

/// What a person says, or nothing of it, is refused.
fn is_unseen(human: &Human) -> bool {
    let Human { human_id, decision, reason, escalation_target } = human;
    let is_missing = |text: &Option<String>| !text.as_deref().is_some_and(has_visible_character);
    let needs_reason = matches!(decision, HumanDecision::Retry | HumanDecision::Escalate);
    check_identifier("human id", human_id).is_err()
        || human_id == "SYSTEM_TIMEOUT"
        || (needs_reason && is_missing(reason))
        || reason.as_ref().is_some_and(|reason| reason.len() > 4_096)
        || is_missing(escalation_target) == (*decision == HumanDecision::Escalate)
        || escalation_target.as_deref().is_some_and(|target| !can_be_asked(target))
}

/// What hides nothing stays as it is; the rest is made visible, whole.
fn shown(text: &str) -> String {
    if hidden_character(text).is_none() { text.into() } else { visible(text).to_string() }
}
