//! A question before a governed run starts, as an embedder puts it: an approval starts exactly that
//! run once, and nothing else does.

use holdpoint_domain::Refusal;
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::decision_point::{ApprovalPolicy, DecisionPoint};
use holdpoint_domain::human_decision::{HoldTerms, HumanDecisionTimeout};
use holdpoint_domain::log::GatePolicy;
use holdpoint_engine::executor::{
    Discard, ForwardedSignal, NoSignals, SignalSender, signal_channel,
};
use holdpoint_engine::shell::{
    ApprovalKeys, ApprovalOutcome, ApprovedStart, AskBefore, Bound, EngineOptions, GovernedRun,
    HeldRun, Identity, NoPrompt, RunError, StartAnswer, StartPrompter, WaitPolicy, Wake,
};
use holdpoint_engine::{Engine, Origin};
use holdpoint_testing::shell::{Place, origin, shell};
use std::collections::BTreeMap;

/// Somebody at a desk of the embedder's own, who says yes, no, or nothing while nobody waits.
struct Desk {
    says: Option<bool>,
    refused: Vec<&'static str>,
    /// Tells whoever asks to end when it was refused.
    end: Option<SignalSender>,
}

impl Desk {
    fn saying(says: Option<bool>) -> Self {
        Self { says, refused: Vec::new(), end: None }
    }
}

impl StartPrompter for Desk {
    fn asked(&mut self, _: &DecisionPoint) -> WaitPolicy {
        if self.says.is_some() { WaitPolicy::Wait } else { WaitPolicy::Leave }
    }

    fn wait(&mut self, _: &DecisionPoint, _: &Wake<'_>) -> Option<StartAnswer> {
        self.says.take().map(|approves| StartAnswer { approves, typed: None })
    }

    fn changed(&mut self, _: &DecisionPoint) {}
    fn refused(&mut self, _: &DecisionPoint, refusal: &Refusal) {
        self.refused.push(refusal.code());
        if let Some(end) = &self.end {
            end.send(ForwardedSignal::Terminate).expect("somebody listens");
        }
    }

    fn settled(&mut self, _: &DecisionPoint) {}
}

/// A run that leaves a line behind, and what it is bound to.
fn bound_run(place: &Place) -> (GovernedRun, Bound) {
    let run = shell(&format!("echo x >> {}", place.beside("witness").display()));
    let keys = ApprovalKeys::in_directory(&place.beside("keys"));
    let bound = Bound::take(&run, Default::default(), keys, &mut NoSignals).unwrap();
    (run, bound)
}

fn ask(timeout: HumanDecisionTimeout) -> AskBefore {
    AskBefore { policy: ApprovalPolicy::people(), separation: false, timeout }
}

fn started(place: &Place) -> usize {
    std::fs::read_to_string(place.beside("witness")).unwrap_or_default().lines().count()
}

fn spend(
    engine: &Engine,
    run: &GovernedRun,
    bound: &Bound,
    decision_id: &str,
) -> Result<HeldRun, &'static str> {
    let (terms, policy) = (&HoldTerms::never(), &GatePolicy::default());
    let start = ApprovedStart { run, terms, policy, bound, decision_id, labels: &BTreeMap::new() };
    let ran = engine.run_approved(&origin(), &start, &mut NoPrompt, &mut Discard, &mut NoSignals);
    ran.map_err(|error| error.code())
}

#[test]
fn an_embedder_asks_before_a_start_and_an_approval_starts_exactly_that_once() {
    let place = Place::new();
    let engine = place.engine();
    let (run, bound) = bound_run(&place);
    let ask = ask(HumanDecisionTimeout::DEFAULT);
    let put = |says: Option<bool>| {
        let mut desk = Desk::saying(says);
        let asked = engine.ask_before(&origin(), &run, &bound, &ask, &mut desk, &mut NoSignals);
        asked.expect("it is asked")
    };
    let unasked = GovernedRun {
        gate: holdpoint_domain::log::GateTerms { before: true, ..run.gate.clone() },
        ..run.clone()
    };
    let refused = engine.run(&origin(), (), &unasked, &mut Discard, &mut NoSignals);
    assert!(matches!(refused, Err(RunError::Refused(Refusal::ApprovalNeeded))), "{refused:?}");
    let ApprovalOutcome::LeftOpen(open) = put(None) else { panic!("nobody waits") };
    let ApprovalOutcome::Ended(denied) = put(Some(false)) else { panic!("it was denied") };
    for (point, code) in [(&open, "NOT_APPROVED"), (&denied, "NOT_APPROVED")] {
        let refused = spend(&engine, &run, &bound, &point.decision_id);
        assert_eq!(refused.expect_err("nobody approved"), code);
    }
    let ApprovalOutcome::Approved(point) = put(Some(true)) else { panic!("it was approved") };
    let other = GovernedRun { command: shell("echo y").command, ..run.clone() };
    let differs = spend(&engine, &other, &bound, &point.decision_id);
    assert_eq!(differs.expect_err("it is another command"), "BINDING_MISMATCH");
    assert_eq!(started(&place), 0);
    let ran = spend(&engine, &run, &bound, &point.decision_id).expect("it starts");
    assert!(matches!(&ran, HeldRun::Ended(report) if report.exit_status == 0), "{ran:?}");
    let again = spend(&engine, &run, &bound, &point.decision_id);
    assert_eq!(again.expect_err("it is spent"), "ALREADY_CONSUMED");
    assert_eq!(started(&place), 1);
    engine.close().expect("it closes");
    place.rebuilt();
}

#[test]
fn an_embedders_program_is_not_the_person_who_approves_its_start() {
    let place = Place::new();
    let identity = Identity::simulated_process(1000, "ada", None);
    let options = EngineOptions::default().identity(identity);
    let engine = Engine::open_with(place.storage(), options).expect("it opens");
    let (run, bound) = bound_run(&place);
    let ada = Origin::automation("ada");
    let (sender, mut signals) = signal_channel().expect("descriptors");
    let mut desk = Desk { end: Some(sender), ..Desk::saying(Some(true)) };
    let mut ask = ask(HumanDecisionTimeout::DEFAULT);
    // Nor does it ask for a weaker proof than the defaults demand.
    ask.policy.authentication = Authentication::OsUser;
    let weaker = engine.ask_before(&ada, &run, &bound, &ask, &mut desk, &mut signals);
    assert_eq!(weaker.expect_err("it is less").code(), "POLICY_LOOSENED");
    ask.policy.authentication = Authentication::Terminal;
    let asked = engine.ask_before(&ada, &run, &bound, &ask, &mut desk, &mut signals);
    let Ok(ApprovalOutcome::Interrupted { question, .. }) = asked else { panic!("{asked:?}") };
    assert_eq!(desk.refused, ["PROVEN_LESS"]);
    assert!(spend(&engine, &run, &bound, &question.decision_id).is_err());
    assert_eq!(started(&place), 0);
}
