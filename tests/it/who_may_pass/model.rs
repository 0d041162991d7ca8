//! Who may pass, in a few words of its own: written from the documents, and asking none of the
//! product's rules. It is told who really did what, and what was recorded of it.

use holdpoint_domain::Event;
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, DecisionPointCreated, DecisionPointEvent, Response,
};
use holdpoint_domain::evidence_capture::StopCondition;
use holdpoint_domain::execution_loop::{
    ExecutionLoopEvent, ExecutorResponseType, HaltReason, LoopInitialized,
};
use holdpoint_domain::human_decision::{HoldPolicy, HoldTerms, HumanDecision, HumanDecisionEvent};
use holdpoint_domain::log::{
    GatePolicy, LogEvent, PolicyChanged, RELAX_TOOL, RUN_TOOL, relax_binding, run_binding,
};
use holdpoint_domain::registration::RegistrationEvent;
use holdpoint_domain::sandbox_fault::SandboxFaultEvent;
use std::collections::{BTreeMap, BTreeSet};

/// What proves a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Means {
    Claim,
    User,
    Terminal,
}

/// Who did something, in truth.
#[derive(Clone, Debug)]
pub(crate) struct Doer {
    /// `None`: nobody can know.
    pub(crate) user: Option<u32>,
    pub(crate) means: Means,
    pub(crate) kind: Actor,
    pub(crate) name: String,
}

/// What has to be true of a person.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    means: Means,
    separation: bool,
    /// Who asks; `None`: nobody can know.
    asked_by: Option<u32>,
}

impl Wanted {
    /// The user who asks counts only at a terminal, and not at all where another one is wanted.
    fn is_met_by(self, doer: &Doer) -> bool {
        let may_be_same = match (doer.user, self.asked_by) {
            (Some(user), Some(asker)) => user == asker,
            _ => true,
        };
        let is_barred = self.separation && may_be_same;
        let is_proven = doer.means >= self.means.max(Means::User)
            && (!may_be_same || doer.means == Means::Terminal);
        !is_barred && (self.means == Means::Claim || is_proven)
    }
}

#[derive(Clone, Debug)]
struct Question {
    wanted: Wanted,
    policy: Option<ApprovalPolicy>,
    requester: String,
    binding: Option<ActionBinding>,
    needs_person: bool,
    rejecting: BTreeSet<String>,
    voters: BTreeMap<String, BTreeSet<String>>,
    answered_in_words: bool,
    is_approved: bool,
    is_spent: bool,
}

#[derive(Clone, Debug)]
struct Run {
    hold: HoldTerms,
    wanted: Wanted,
    is_well: bool,
    decided: Option<HumanDecision>,
}

/// What has passed, by how.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passes(pub(crate) BTreeMap<&'static str, usize>);

impl Passes {
    pub(crate) fn add_all(&mut self, other: &Self) {
        for (how, times) in &other.0 {
            *self.0.entry(how).or_default() += times;
        }
    }

    fn add(&mut self, how: &'static str) {
        *self.0.entry(how).or_default() += 1;
    }
}

/// Everything that was recorded so far.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    floor: GatePolicy,
    of_log: GatePolicy,
    questions: BTreeMap<String, Question>,
    runs: BTreeMap<String, Run>,
    /// Of a request: its run, and to whom it was passed on.
    requests: BTreeMap<String, (String, Option<String>)>,
    /// The approval that the record before spent.
    just_spent: Option<String>,
    pub(crate) passes: Passes,
}

/// What is wrong, in words.
type Verdict = Result<(), String>;

fn check(is_right: bool, what: &str) -> Verdict {
    if is_right { Ok(()) } else { Err(what.to_string()) }
}

const fn means_of(stated: Authentication) -> Means {
    match stated {
        Authentication::None => Means::Claim,
        Authentication::OsUser => Means::User,
        Authentication::Terminal => Means::Terminal,
    }
}

/// What a policy wants of a name: whoever demands anything demands a user, unless it says less.
fn least(policy: &GatePolicy) -> Means {
    let usual = if *policy == GatePolicy::default() { Means::Claim } else { Means::User };
    policy.authentication.map_or(usual, means_of)
}

/// An empty list is everybody.
fn is_within(asked: &[holdpoint_domain::core::payload::Text], demanded: &GatePolicy) -> bool {
    let allowed = &demanded.approvers;
    allowed.is_empty() || (!asked.is_empty() && asked.iter().all(|name| allowed.contains(name)))
}

impl Model {
    /// A floor's file that says that claims count, and nothing else, demands nothing.
    pub(crate) fn new(floor: GatePolicy) -> Self {
        let claims = Some(Authentication::None);
        let is_demanding = floor != GatePolicy { authentication: claims, ..GatePolicy::default() };
        let floor = if is_demanding { floor } else { GatePolicy::default() };
        Self {
            floor,
            of_log: GatePolicy::default(),
            questions: BTreeMap::new(),
            runs: BTreeMap::new(),
            requests: BTreeMap::new(),
            just_spent: None,
            passes: Passes::default(),
        }
    }

    /// One record: by whom, with which digest of what a start is made of, and what it says. `None`:
    /// Holdpoint itself, which lets nothing pass.
    pub(crate) fn record(
        &mut self,
        doer: Option<&Doer>,
        details: Option<Digest>,
        event: &Event,
    ) -> Verdict {
        let spent = self.just_spent.take();
        let by = || doer.ok_or_else(|| "nobody did it".to_string());
        match event {
            Event::Log(LogEvent::PolicyChanged(body)) => {
                self.policy_changed(by()?, body, spent.as_deref())
            }
            Event::DecisionPoint(event) => self.decision_point(doer, event),
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => {
                self.began(by()?, body, spent, details)
            }
            Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) => {
                self.dispatched(&body.loop_id, body.attempt)
            }
            Event::ExecutionLoop(ExecutionLoopEvent::ResponseEvaluated(body)) => {
                let is_well = body.response_type == ExecutorResponseType::Success;
                self.evaluated(&body.loop_id, is_well)
            }
            Event::SandboxFault(SandboxFaultEvent::FaultReported(body)) => {
                self.evaluated(&body.loop_id, false)
            }
            Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) => {
                let asked_of = body.context.asked_of.as_ref().map(ToString::to_string);
                let run = body.context.loop_id.to_string();
                self.requests.insert(body.request.request_id.to_string(), (run, asked_of));
                Ok(())
            }
            Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body)) => {
                let record = &body.record;
                self.answered(by()?, &record.request_id, &record.human_id, record.decision)
            }
            Event::HumanDecision(HumanDecisionEvent::VisibilityOverridden(body)) => {
                let (doer, run) = (by()?, &self.runs[&*body.loop_id]);
                let is_named = run.hold.override_approvers.iter().any(|name| **name == *doer.name);
                let is_person = doer.kind == Actor::Human && run.wanted.is_met_by(doer);
                self.passes.add("overridden");
                check(is_named && is_person, "overridden by somebody who may not")
            }
            Event::Registration(RegistrationEvent::CapabilityChanged(_)) => {
                let doer = by()?;
                let means = self.of_log.authentication.map_or(Means::Terminal, means_of);
                self.passes.add("granted");
                let is_person = doer.kind == Actor::Human && doer.means >= means;
                check(is_person, "a capability was granted by somebody who may not")
            }
            Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(body)) => {
                self.halted(doer, &body.loop_id, body)
            }
            _ => Ok(()),
        }
    }

    fn decision_point(&mut self, doer: Option<&Doer>, event: &DecisionPointEvent) -> Verdict {
        let by = || doer.ok_or_else(|| "nobody did it".to_string());
        match event {
            DecisionPointEvent::DecisionPointCreated(body) => self.asked(by()?, body),
            DecisionPointEvent::RoundOpened(body) => {
                self.next_round(&body.prior_id, &body.decision_id)
            }
            DecisionPointEvent::DecisionPointRefined(body) => {
                let question = self.questions.get_mut(&*body.decision_id).unwrap();
                let rejecting = body.proposal.options.iter().filter(|option| option.reject);
                question.rejecting.extend(rejecting.map(|option| option.id.to_string()));
                Ok(())
            }
            DecisionPointEvent::VoteCast(body) => {
                self.voted(by()?, &body.decision_id, &body.response)
            }
            DecisionPointEvent::GuidanceGiven(body) => self.may_answer(by()?, &body.decision_id),
            DecisionPointEvent::DecisionPointResolved(body) => {
                self.resolved(by()?, &body.decision_id, &body.response)
            }
            DecisionPointEvent::DependentsReleased(body) => {
                let question = &self.questions[&*body.decision_id];
                let in_words = question.answered_in_words
                    && question.policy.is_none()
                    && question.binding.is_none();
                self.passes.add("released");
                check(question.is_approved || in_words, "released and not approved")
            }
            DecisionPointEvent::ApprovalConsumed(body) => {
                self.spent(&body.decision_id, &body.binding)
            }
            _ => Ok(()),
        }
    }

    fn policy_changed(
        &mut self,
        doer: &Doer,
        body: &PolicyChanged,
        spent: Option<&str>,
    ) -> Verdict {
        let (before, after) = (self.of_log.clone(), &body.policy);
        let is_person = doer.kind == Actor::Human && doer.means == Means::Terminal;
        check(is_person, "a policy was set by somebody without a terminal")?;
        match &body.approval {
            None => {
                check(demands_as_much(after, &before), "a policy was loosened without approval")?;
            }
            Some(approval) => {
                check(spent == Some(&**approval), "relaxed without spending an approval")?;
                let question = &self.questions[&**approval];
                let is_this = question.binding.as_ref().is_some_and(|binding| {
                    *binding.tool == *RELAX_TOOL
                        && binding.input_sha256 == relax_binding(&before, after)
                });
                check(is_this, "relaxed by the approval of something else")?;
                check(is_asked_as(question, &before), "relaxed by others than the policy names")?;
                self.passes.add("relaxed");
            }
        }
        self.of_log = after.clone();
        Ok(())
    }

    fn asked(&mut self, doer: &Doer, body: &DecisionPointCreated) -> Verdict {
        let terms = &body.terms;
        let needs_person =
            terms.policy.is_some() || terms.binding.is_some() || !terms.blocks.is_empty();
        let usual = self.of_log.authentication.unwrap_or(Authentication::OsUser);
        let stated = terms.policy.as_ref().map_or(usual, |policy| policy.authentication);
        let options = terms.proposal.options.iter().filter(|option| option.reject);
        let question = Question {
            wanted: Wanted {
                means: means_of(stated),
                separation: body.separation,
                asked_by: doer.user,
            },
            policy: terms.policy.clone(),
            requester: doer.name.clone(),
            binding: terms.binding.clone(),
            needs_person,
            rejecting: options.map(|option| option.id.to_string()).collect(),
            voters: BTreeMap::new(),
            answered_in_words: false,
            is_approved: false,
            is_spent: false,
        };
        if needs_person {
            for demanded in [&self.floor, &self.of_log] {
                check(is_asked_as(&question, demanded), "asked on looser terms than demanded")?;
            }
        }
        self.questions.insert(body.decision_id.to_string(), question);
        Ok(())
    }

    fn next_round(&mut self, prior: &str, next: &str) -> Verdict {
        let mut question = self.questions[prior].clone();
        question.voters.clear();
        self.questions.insert(next.to_string(), question);
        Ok(())
    }

    /// Whether somebody may answer: a person who counts and is named, or an agent where agents may.
    fn may_answer(&self, doer: &Doer, id: &str) -> Verdict {
        let question = &self.questions[id];
        if !question.needs_person {
            return Ok(());
        }
        let policy = question.policy.as_ref();
        let counts = match doer.kind {
            Actor::Human => question.wanted.is_met_by(doer),
            Actor::Agent | Actor::Automation => {
                policy.is_some_and(|policy| policy.allow_agents)
                    && doer.means >= question.wanted.means
            }
            Actor::System => false,
        };
        check(counts, "answered by somebody who is no person")?;
        let Some(policy) = policy else { return Ok(()) };
        let is_named =
            policy.approvers.is_empty() || policy.approvers.iter().any(|name| **name == *doer.name);
        check(is_named, "answered by somebody who is not asked")?;
        let is_own = doer.name == question.requester && !policy.allow_requester;
        check(!is_own, "answered by whoever asks")
    }

    fn voted(&mut self, doer: &Doer, id: &str, response: &Response) -> Verdict {
        self.may_answer(doer, id)?;
        let voters = &mut self.questions.get_mut(id).unwrap().voters;
        voters.entry(format!("{response:?}")).or_default().insert(doer.name.clone());
        Ok(())
    }

    fn resolved(&mut self, doer: &Doer, id: &str, response: &Response) -> Verdict {
        self.may_answer(doer, id)?;
        let question = self.questions.get_mut(id).unwrap();
        let is_yes = match response {
            Response::Option(option) => !question.rejecting.contains(&**option),
            Response::Proposal(Some(option)) => !question.rejecting.contains(&**option),
            Response::Proposal(None) | Response::Accept => false,
            Response::Text(_) | Response::Guidance(_) => false,
        };
        question.answered_in_words = matches!(response, Response::Text(_));
        if is_yes && question.needs_person {
            let quorum = question.policy.as_ref().map_or(0, |policy| usize::from(policy.quorum));
            let voters = question.voters.get(&format!("{response:?}")).map_or(0, BTreeSet::len);
            question.is_approved = true;
            self.passes.add(match (doer.kind, doer.means) {
                (Actor::Agent | Actor::Automation, _) => "approved by an agent",
                (_, Means::Claim) => "approved by a claim",
                (_, Means::User) => "approved by another user",
                (_, Means::Terminal) => "approved at a terminal",
            });
            if quorum > 1 {
                self.passes.add("approved by two");
            }
            return check(voters >= quorum, "approved by fewer than were asked for");
        }
        Ok(())
    }

    fn spent(&mut self, id: &str, binding: &ActionBinding) -> Verdict {
        let question = self.questions.get_mut(id).unwrap();
        check(question.is_approved, "spent and not approved")?;
        check(!question.is_spent, "spent twice")?;
        check(question.binding.as_ref() == Some(binding), "spent for another action")?;
        question.is_spent = true;
        self.just_spent = Some(id.to_string());
        self.passes.add("spent");
        Ok(())
    }

    fn began(
        &mut self,
        doer: &Doer,
        body: &LoopInitialized,
        spent: Option<String>,
        details: Option<Digest>,
    ) -> Verdict {
        let gate = body.gate.clone().ok_or("a run without its gate")?;
        for demanded in [&self.floor, &self.of_log] {
            check(is_run_as(body, demanded), "a run on looser terms than demanded")?;
            check(!demanded.before || gate.before, "a run that is not asked about before")?;
        }
        if gate.before {
            let approval = body.approval.as_ref().ok_or("a start without an approval")?;
            check(spent.as_deref() == Some(&**approval), "a start without spending its approval")?;
            let question = &self.questions[&**approval];
            let details = details.ok_or("a start of nothing")?;
            let bound = run_binding(&body.instruction_envelope_hash, &details);
            let is_this = question
                .binding
                .as_ref()
                .is_some_and(|binding| *binding.tool == *RUN_TOOL && binding.input_sha256 == bound);
            check(is_this, "a start by the approval of something else")?;
            for demanded in [&self.floor, &self.of_log] {
                check(is_asked_as(question, demanded), "a start approved on looser terms")?;
            }
            self.passes.add("started with an approval");
        }
        let wanted = Wanted {
            means: means_of(gate.authentication),
            separation: gate.separation,
            asked_by: doer.user,
        };
        let hold = body.hold.clone();
        let run = Run { hold, wanted, is_well: false, decided: None };
        self.runs.insert(body.loop_id.to_string(), run);
        Ok(())
    }

    fn dispatched(&mut self, id: &str, attempt: u8) -> Verdict {
        let run = self.runs.get_mut(id).ok_or("an attempt of a run that never began")?;
        let is_held = attempt > 1 && is_held(run) && run.hold.retry_needs_person;
        let is_allowed = run.decided == Some(HumanDecision::Retry);
        check(!is_held || is_allowed, "another attempt without a person")?;
        if is_held {
            self.passes.add("tried again");
        }
        let run = self.runs.get_mut(id).unwrap();
        run.decided = None;
        Ok(())
    }

    fn evaluated(&mut self, id: &str, is_well: bool) -> Verdict {
        self.runs.get_mut(id).unwrap().is_well = is_well;
        Ok(())
    }

    fn answered(
        &mut self,
        doer: &Doer,
        request: &str,
        human: &str,
        decision: HumanDecision,
    ) -> Verdict {
        let (id, asked_of) = self.requests[request].clone();
        let run = self.runs.get_mut(&id).unwrap();
        check(doer.name == human, "answered in another's name")?;
        let is_person = doer.kind == Actor::Human && run.wanted.is_met_by(doer);
        check(is_person, "a hold was answered by somebody who is no person")?;
        let named: Vec<String> = match &asked_of {
            None => run.hold.approvers.iter().map(ToString::to_string).collect(),
            Some(target) => {
                let mut targets = run.hold.escalation_targets.iter();
                let target = targets.find(|entry| *entry.target == **target).unwrap();
                let mut names: Vec<String> =
                    target.approvers.iter().map(ToString::to_string).collect();
                if names.is_empty() {
                    names.push(target.target.to_string());
                }
                names
            }
        };
        let is_asked = named.is_empty() || named.contains(&doer.name);
        let is_abort = decision == HumanDecision::Abort;
        check(is_asked || is_abort, "a hold was answered by somebody who is not asked")?;
        run.decided = Some(decision);
        self.passes.add("answered after an attempt");
        self.passes.add(match decision {
            HumanDecision::Continue => "continued",
            HumanDecision::Retry => "decided to try again",
            HumanDecision::Escalate => "passed on",
            HumanDecision::Abort => "aborted",
        });
        Ok(())
    }

    /// A hold lets a run end as its attempt left it only after a CONTINUE; only a person aborts.
    fn halted(
        &self,
        doer: Option<&Doer>,
        id: &str,
        body: &holdpoint_domain::execution_loop::LoopHalted,
    ) -> Verdict {
        let Some(run) = self.runs.get(id) else { return Err("an end of no run".to_string()) };
        let passes = matches!(
            body.reason,
            HaltReason::Completed
                | HaltReason::ResponseRejected
                | HaltReason::ResponseEscalated
                | HaltReason::FaultEscalated
                | HaltReason::FaultNotRetried
        );
        if passes && is_held(run) {
            let is_allowed = run.decided == Some(HumanDecision::Continue);
            return check(is_allowed, "a held run went on without a person");
        }
        if body.stop_condition == Some(StopCondition::HumanAbort) {
            let doer = doer.ok_or("nobody aborted as a human")?;
            let wanted = Wanted { separation: false, ..run.wanted };
            let is_person = doer.kind == Actor::Human && wanted.is_met_by(doer);
            return check(is_person, "aborted as a human by somebody who is none");
        }
        Ok(())
    }
}

const fn is_held(run: &Run) -> bool {
    match run.hold.policy {
        HoldPolicy::Never => false,
        HoldPolicy::OnFailure => !run.is_well,
        HoldPolicy::After => true,
    }
}

/// Whether a question asks at least as much as a policy demands.
fn is_asked_as(question: &Question, demanded: &GatePolicy) -> bool {
    let people = ApprovalPolicy::people();
    let policy = question.policy.as_ref().unwrap_or(&people);
    let demands = *demanded != GatePolicy::default();
    is_within(&policy.approvers, demanded)
        && policy.quorum >= demanded.quorum
        && means_of(policy.authentication) >= least(demanded)
        && (!demanded.separation || question.wanted.separation)
        && !(demands && policy.allow_agents)
}

/// Whether the terms of a run are as tight as a policy demands.
fn is_run_as(body: &LoopInitialized, demanded: &GatePolicy) -> bool {
    let (hold, gate) = (&body.hold, body.gate.clone().unwrap_or_default());
    let after = hold.policy == HoldPolicy::Never
        || (is_within(&hold.approvers, demanded)
            && demanded.quorum <= 1
            && (hold.retry_needs_person || !demanded.retry_needs_person));
    hold.policy >= demanded.after
        && after
        && means_of(gate.authentication) >= least(demanded)
        && (gate.separation || !demanded.separation)
}

/// Whether one policy demands everything that another one does.
fn demands_as_much(after: &GatePolicy, before: &GatePolicy) -> bool {
    (after.before || !before.before)
        && after.after >= before.after
        && is_within(&after.approvers, before)
        && after.quorum >= before.quorum
        && least(after) >= least(before)
        && (after.separation || !before.separation)
        && (after.retry_needs_person || !before.retry_needs_person)
}
