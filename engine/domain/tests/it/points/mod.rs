//! Decision points in a live world, in one that keeps what ended, and in one that is rebuilt from
//! encoded records only.

pub(crate) mod accountant;

use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, CancelDecisionPoint, ConsumeApproval, CreateDecisionPoint,
    DecisionOption, DecisionPoint, DecisionPointCommand, DecisionPointEvent, DecisionPointState,
    EscalateDecisionPoint, ExpireDecisionPoint, OnTimeout, OutcomeClaim, RefineDecisionPoint,
    RemindDecisionPoint, ReportOutcome, RespondToDecisionPoint, Response,
};
use holdpoint_domain::log::{RecordsUnproven, UnprovenReason};
use holdpoint_domain::world::envelope;
use holdpoint_domain::{
    ActorId, Command, Envelope, Event, Refusal, Time, World, decide, kind_name,
};
use holdpoint_testing::story::adoption;

/// Who asks in most tests, and who answers.
pub(crate) const REQUESTER: &str = "ann";
pub(crate) const APPROVER: &str = "bob";

pub(crate) const HOUR_MS: u64 = 60 * 60 * 1000;

/// 2026-01-25T16:00:00Z: when everything begins.
const BEGIN_NS: u64 = 1_769_356_800_000_000_000;

/// What came of a command: its events, or the rule that says no.
pub(crate) type Outcome = Result<Vec<Event>, Refusal>;

/// Three worlds that are told the same.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    pub(crate) world: World,
    /// Out of nothing but the bytes of the records.
    pub(crate) rebuilt: World,
    /// The same, keeping what ended.
    pub(crate) kept: World,
    pub(crate) sequence: u64,
    now_ns: u64,
    minted: u128,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            world: World::default(),
            rebuilt: World::default(),
            kept: World::default().keeping_settled(),
            sequence: 0,
            now_ns: BEGIN_NS,
            minted: 0,
        }
    }

    /// A log that states the newest rules, in its first record.
    pub(crate) fn adopted() -> Self {
        let mut stage = Self::new();
        let Envelope { actor, event, .. } = adoption(&stage.world);
        stage.record(&actor, event);
        stage
    }

    pub(crate) fn now(&self) -> Time {
        Time::from_nanoseconds(self.now_ns)
    }

    /// The moment so many milliseconds from now.
    pub(crate) fn in_ms(&self, milliseconds: u64) -> Time {
        self.now().plus_ms(milliseconds)
    }

    /// Lets time pass; nothing is recorded.
    pub(crate) fn pass_ms(&mut self, milliseconds: u64) {
        self.now_ns = self.in_ms(milliseconds).nanoseconds();
    }

    /// Random bits that were not used before.
    pub(crate) fn fresh(&mut self) -> Entropy {
        self.minted += 1;
        Entropy::from_bytes(self.minted.to_be_bytes())
    }

    /// As a shell does it: the rules are asked at the time of the record; a refusal that is a fact
    /// is recorded in the command's place.
    pub(crate) fn give(&mut self, command: &Command) -> Outcome {
        let system = ActorId { kind: Actor::System, id: "holdpoint".into() };
        let actor = command.principal().map_or(system, Principal::actor);
        let at = self.now();
        let outcome = decide(&self.world, command, at);
        let events = match &outcome {
            Ok(events) => events.clone(),
            Err(refusal) => refusal.audit(&self.world, command).into_iter().collect(),
        };
        for event in events {
            self.record(&actor, event);
        }
        outcome
    }

    /// Applies a record to the live world, and its bytes to the others.
    pub(crate) fn record(&mut self, actor: &ActorId, event: Event) {
        let (actor, correlation) = (actor.clone(), "story".into());
        let envelope = Envelope {
            clock: None,
            proof: None,
            actor,
            correlation,
            causation: None,
            idempotency: None,
            event,
        };
        let encoded = envelope::encode(&envelope).expect("the event fits");
        let decoded = envelope::decode(encoded.kind, encoded.version, &encoded.payload).unwrap();
        assert_eq!(decoded, envelope);
        self.sequence += 1;
        let (sequence, at) = (self.sequence, self.now());
        let found = self.world.judge_and_evolve(sequence, at, &envelope);
        assert_eq!(found, [], "decide made what evolve forbids: {envelope:?}");
        assert_eq!(self.rebuilt.judge_and_evolve(sequence, at, &decoded), []);
        assert_eq!(self.kept.judge_and_evolve(sequence, at, &decoded), []);
    }

    /// Records what is due, as whoever writes next does before anything else.
    pub(crate) fn expire_due(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for due in self.world.due(self.now()) {
            events.extend(self.give(&due.command).expect("what is due can be recorded"));
        }
        events
    }

    /// All worlds hold the same.
    pub(crate) fn assert_rebuilt(&self) {
        assert_eq!(self.world, self.rebuilt);
        assert_eq!(self.world.fingerprint(), self.rebuilt.fingerprint());
        assert_eq!(self.world.fingerprint(), self.kept.fingerprint());
        let carried = World::from_carried(&self.world.carry()).expect("what was carried is read");
        assert_eq!(carried, self.world);
    }

    /// Asks a question that may be asked; its id.
    pub(crate) fn ask(&mut self, question: CreateDecisionPoint) -> String {
        self.try_ask(question).expect("the question may be asked").0
    }

    /// Asks; the new id and the events.
    pub(crate) fn try_ask(
        &mut self,
        question: CreateDecisionPoint,
    ) -> Result<(String, Vec<Event>), Refusal> {
        let question = CreateDecisionPoint { entropy: self.fresh(), ..question };
        let id = question.decision_id();
        let events = self.give(&Command::DecisionPoint(
            DecisionPointCommand::CreateDecisionPoint(Box::new(question)),
        ))?;
        Ok((id, events))
    }

    /// Asks as it was asked before silence could approve nothing any more: here it does.
    pub(crate) fn ask_where_silence_approves(&mut self, question: CreateDecisionPoint) -> String {
        let question = CreateDecisionPoint { entropy: self.fresh(), ..question };
        let (id, actor) = (question.decision_id(), question.by.actor());
        let command =
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(Box::new(question)));
        for mut event in decide(&self.world, &command, self.now()).expect("it may be asked") {
            if let Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body)) = &mut event
            {
                body.terms.policy.as_mut().expect("a policy").default_approves = true;
            }
            self.record(&actor, event);
        }
        id
    }

    pub(crate) fn respond(&mut self, id: &str, by: &Principal, response: Response) -> Outcome {
        self.respond_saying(id, by, response, None)
    }

    pub(crate) fn respond_saying(
        &mut self,
        id: &str,
        by: &Principal,
        response: Response,
        comment: Option<String>,
    ) -> Outcome {
        let entropy = self.fresh();
        self.give(&Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(
            RespondToDecisionPoint {
                decision_id: id.into(),
                entropy,
                by: by.clone(),
                response,
                comment,
            },
        )))
    }

    /// Guidance that opens another round; the id of that round.
    pub(crate) fn guide(&mut self, id: &str, by: &Principal, words: &str) -> String {
        self.respond(id, by, guidance(words)).expect("guidance may be given");
        self.point(id).next_id.as_ref().expect("another round").to_string()
    }

    pub(crate) fn refine(&mut self, refinement: RefineDecisionPoint) -> Outcome {
        self.give(&Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(refinement)))
    }

    /// A record says that this one is unproven.
    pub(crate) fn say_unproven(&mut self, sequence: u64) {
        let reason = UnprovenReason::NoWitness;
        let said = RecordsUnproven { first_sequence: sequence, last_sequence: sequence, reason };
        let actor = ActorId { kind: Actor::System, id: "holdpoint".into() };
        self.record(&actor, said.into());
    }

    /// The requester proposes anew: another prompt, the same options.
    pub(crate) fn refine_prompt(&mut self, id: &str) {
        let by = self.point(id).requested_by.clone();
        let prompt = Some("Better now?".into());
        self.refine(RefineDecisionPoint { prompt, ..refinement(id, &by) }).expect("it is refined");
    }

    pub(crate) fn cancel(&mut self, id: &str, by: &Principal) -> Outcome {
        self.give(&Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(
            CancelDecisionPoint { decision_id: id.into(), by: by.clone(), reason: None },
        )))
    }

    pub(crate) fn escalate(&mut self, id: &str, by: &Principal, to: &str) -> Outcome {
        self.give(&Command::DecisionPoint(DecisionPointCommand::EscalateDecisionPoint(
            EscalateDecisionPoint {
                decision_id: id.into(),
                by: by.clone(),
                to: to.into(),
                reason: None,
            },
        )))
    }

    pub(crate) fn remind(&mut self, id: &str, by: &Principal) -> Outcome {
        let (decision_id, by) = (id.into(), by.clone());
        self.give(&Command::DecisionPoint(DecisionPointCommand::RemindDecisionPoint(
            RemindDecisionPoint { decision_id, by },
        )))
    }

    pub(crate) fn consume(&mut self, id: &str, by: &Principal, binding: &ActionBinding) -> Outcome {
        let (decision_id, by, binding) = (id.into(), by.clone(), binding.clone());
        self.give(&Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(ConsumeApproval {
            decision_id,
            by,
            binding,
        })))
    }

    pub(crate) fn report(&mut self, id: &str, by: &Principal, claim: OutcomeClaim) -> Outcome {
        let (decision_id, by, claim) = (id.into(), by.clone(), Box::new(claim));
        self.give(&Command::DecisionPoint(DecisionPointCommand::ReportOutcome(ReportOutcome {
            decision_id,
            by,
            claim,
        })))
    }

    pub(crate) fn expire(&mut self, id: &str) -> Outcome {
        let decision_id = id.into();
        self.give(&Command::DecisionPoint(DecisionPointCommand::ExpireDecisionPoint(
            ExpireDecisionPoint { decision_id },
        )))
    }

    pub(crate) fn point(&self, id: &str) -> &DecisionPoint {
        self.world.decision_point(id).expect("it is remembered")
    }

    pub(crate) fn state(&self, id: &str) -> DecisionPointState {
        self.point(id).state
    }

    /// The refusal's own words.
    pub(crate) fn message(outcome: &Outcome) -> String {
        outcome.as_ref().expect_err("a refusal").to_string()
    }
}

/// The kinds of the events without the system's name, or the refusal's code.
pub(crate) fn told(outcome: &Outcome) -> Result<Vec<&'static str>, &'static str> {
    match outcome {
        Ok(events) => Ok(kinds(events)),
        Err(refusal) => Err(refusal.code()),
    }
}

pub(crate) fn kinds(events: &[Event]) -> Vec<&'static str> {
    let name = |event: &Event| kind_name(event.kind().kind).unwrap();
    events.iter().map(|event| name(event).trim_start_matches("decision_point.")).collect()
}

/// A person, proven by the operating system.
pub(crate) fn person(id: &str) -> Principal {
    principal(Actor::Human, id, Authentication::OsUser)
}

/// A program that chooses its own steps.
pub(crate) fn agent(id: &str) -> Principal {
    principal(Actor::Agent, id, Authentication::OsUser)
}

pub(crate) fn system() -> Principal {
    principal(Actor::System, "holdpoint", Authentication::OsUser)
}

pub(crate) fn principal(kind: Actor, id: &str, authenticated_by: Authentication) -> Principal {
    Principal { kind, id: id.into(), authenticated_by, means: "uid 1000".into() }
}

pub(crate) fn option(id: &str) -> DecisionOption {
    let (short, label) = ("".into(), format!("Choose {id}.").into());
    DecisionOption { id: id.into(), short, label, description: None, reject: false }
}

/// An option that says no.
pub(crate) fn rejecting(id: &str) -> DecisionOption {
    DecisionOption { reject: true, ..option(id) }
}

pub(crate) fn choice(id: &str) -> Response {
    Response::Option(id.into())
}

pub(crate) fn text(words: &str) -> Response {
    Response::Text(words.into())
}

pub(crate) fn guidance(words: &str) -> Response {
    Response::Guidance(words.into())
}

/// A decision point as programs read it.
pub(crate) fn view(stage: &Stage, id: &str) -> serde_json::Value {
    serde_json::to_value(stage.point(id).view(stage.now(), None)).unwrap()
}

/// A question of [`REQUESTER`] with the options yes, also and no, of which no rejects.
pub(crate) fn question() -> CreateDecisionPoint {
    let options = vec![option("yes"), option("also"), rejecting("no")];
    CreateDecisionPoint {
        issue_id: Some("issue-1".into()),
        blocks: vec!["work-1".into()],
        ..CreateDecisionPoint::asking(Entropy::default(), person(REQUESTER), "Deploy?", options)
    }
}

/// The same with a time of one hour, after which this happens; the default is yes.
pub(crate) fn timed(on_timeout: OnTimeout) -> CreateDecisionPoint {
    CreateDecisionPoint {
        timeout_ms: Some(HOUR_MS),
        on_timeout: Some(on_timeout),
        default_option: Some("yes".into()),
        ..question()
    }
}

/// The same, to be approved by so many of these people; by anybody where none is named.
pub(crate) fn approval(approvers: &[&str], quorum: u8) -> CreateDecisionPoint {
    CreateDecisionPoint { policy: Some(policy(approvers, quorum)), ..question() }
}

/// The same, bound to an action.
pub(crate) fn bound() -> CreateDecisionPoint {
    CreateDecisionPoint { binding: Some(action("rm")), ..question() }
}

pub(crate) fn policy(approvers: &[&str], quorum: u8) -> ApprovalPolicy {
    ApprovalPolicy {
        approvers: approvers.iter().map(|name| (*name).into()).collect(),
        quorum,
        allow_requester: false,
        allow_agents: false,
        authentication: Authentication::OsUser,
        default_approves: false,
    }
}

/// The tool `bash` with an input.
pub(crate) fn action(input: &str) -> ActionBinding {
    ActionBinding { tool: "bash".into(), input_sha256: sha256(input.as_bytes()) }
}

/// Nothing is proposed anew yet.
pub(crate) fn refinement(id: &str, by: &Principal) -> RefineDecisionPoint {
    RefineDecisionPoint {
        decision_id: id.into(),
        by: by.clone(),
        prompt: None,
        context: None,
        options: None,
        default_option: None,
        drop_default: false,
    }
}
