//! What was moved to an archive is still answered for: questions that were asked before it, runs
//! that wait meanwhile, and commands that are repeated.

use crate::apply_support;
use crate::apply_support::{answers, apply};
use crate::decision_support::asked;
use crate::filler::fill;
use crate::program::{Place, json, status, text, with_hold};
use crate::terminal::at_terminal;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::execution_loop::HaltReason;
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerHumanDecision, AnswerMeans, HoldPolicy, HoldTerms, HumanDecision,
    HumanDecisionCommand, HumanDecisionTimeout, RequestOutcome,
};
use holdpoint_domain::{ActorId, Command, Refusal};
use holdpoint_engine::Engine;
use holdpoint_engine::executor::{Discard, NoSignals};
use holdpoint_engine::log::Level;
use holdpoint_engine::shell::{
    ArchivePlan, EngineOptions, Origin, PersonInput, Prompter, Question, RunError, RunReport,
    SubmitError, Submitted, WaitPolicy, Wake,
};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::shell::{SECOND_NS, SetClock, origin, shell};
use serde_json::{Value, json};
use std::process::{Child, Output, Stdio};

/// So many fill more than a segment.
const FILLERS: u64 = 40;

/// Moves everything that was recorded by now to an archive, as other processes would.
fn archive(place: &Place) {
    fill(&place.log, FILLERS);
    let output = place.holdpoint(&["archive", "archive", "--json"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(json(&output)["anchor_sequence"].is_u64(), "something was moved");
}

fn open_request(place: &Place) -> Option<String> {
    let listed = place.holdpoint(&["decision", "list", "--kind", "hold", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
    let first = listed.as_array()?.first().cloned();
    first.map(|request| request["id"].as_str().unwrap().to_string())
}

fn await_request(place: &Place) -> String {
    loop {
        if let Some(request) = open_request(place) {
            return request;
        }
        std::thread::yield_now();
    }
}

fn answer(place: &Place, request: &str, options: &[&str]) -> Output {
    at_terminal(place, &[&["decision", "respond", request], options].concat())
}

/// A run in the background, with nobody at a terminal.
fn start(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_question_asked_before_the_anchor_is_answered_and_again_and_not_otherwise() {
    let place = Place::new();
    let left = place.holdpoint(&["run", "--hold", "after", "--no-wait", "--", "false"]);
    assert_eq!(status(&left), 122, "{}", text(&left.stderr));
    let request = await_request(&place);
    archive(&place);
    let first = answer(&place, &request, &["ABORT", "--json"]);
    assert_eq!(status(&first), 0, "{}", text(&first.stderr));
    let recorded = json(&first)["records"]["first"].clone();
    let line = text(&place.holdpoint(&["log", "--json"]).stdout);
    let found = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let answered = line.lines().map(found).find(|line| line["sequence"] == recorded).unwrap();
    let of_loop = with_hold(json(&place.holdpoint(&["decision", "show", &request, "--json"])));
    assert!(answered["causation"].is_u64(), "{answered:#}");
    assert_eq!(of_loop["state"], "ANSWERED", "{of_loop:#}");
    place.verified();
    archive(&place);
    let again = answer(&place, &request, &["ABORT", "--json"]);
    assert_eq!(status(&again), 0, "{}", text(&again.stderr));
    let again = json(&again);
    assert_eq!((&again["answer"], &again["records"]["first"]), (&json!("REPEATED"), &recorded));
    assert_eq!(
        (&again["decision"]["decision"], &again["records"]["at"]),
        (&json!("ABORT"), &json!(null))
    );
    assert_eq!(status(&answer(&place, &request, &["CONTINUE"])), 4);
    let shown = place.holdpoint(&["decision", "show", &request, "--json"]);
    let error = &json(&shown)["error"];
    assert_eq!((status(&shown), &error["code"]), (3, &json!("before_the_log")));
    let said = error["message"].as_str().unwrap();
    assert!(said.contains("decided ABORT by ") && said.contains("in the archive"), "{said}");
    assert_eq!(error["request"]["request_id"], *request, "{error:#}");
    place.verified();
}

#[test]
fn a_list_of_what_ended_says_which_records_it_did_not_look_through() {
    let place = Place::new();
    let id = asked(&place, &["PROJ-1"]);
    let cancelled = place.holdpoint(&["decision", "cancel", &id, "--as", "bot", "--agent"]);
    assert_eq!(status(&cancelled), 0, "{}", text(&cancelled.stderr));
    let told = |words: &[&str]| {
        let output = place.holdpoint(&[&["decision", "list"], words].concat());
        assert_eq!(status(&output), 0, "{words:?}");
        text(&output.stderr)
    };
    let all = ["state=all"];
    assert!(!told(&all).contains("archive"));
    archive(&place);
    for words in [&all[..], &["state=resolved"], &["state=all", "--json"]] {
        let said = told(words);
        assert!(said.contains("in the archive") && said.contains("is not listed"), "{said}");
    }
    for words in [&[][..], &["state=pending"]] {
        // That nothing waits is known by the state which the log carries, and of no archive else.
        let said = told(words);
        assert!(said.contains("as stated by record") && !said.contains("is not listed"), "{said}");
    }
}

#[test]
fn a_run_that_waits_gets_its_answer_while_the_log_is_archived_under_it() {
    for (decision, expected) in [("CONTINUE", 9), ("ABORT", 120)] {
        let place = Place::new();
        let waiting = start(&place, &["run", "--hold", "after", "--", "sh", "-c", "exit 9"]);
        let request = await_request(&place);
        archive(&place);
        let answered = answer(&place, &request, &[decision]);
        assert_eq!(status(&answered), 0, "{}", text(&answered.stderr));
        archive(&place);
        let output = waiting.wait_with_output().unwrap();
        assert_eq!(status(&output), expected, "{decision}: {}", text(&output.stderr));
        place.verified();
    }
}

#[test]
fn a_run_that_waits_tries_again_and_asks_again_after_an_archive() {
    let place = Place::new();
    let waiting = start(&place, &["run", "--hold", "after", "--", "false"]);
    let first = await_request(&place);
    archive(&place);
    let retried = answer(&place, &first, &["RETRY", "--reason", "flaky"]);
    assert_eq!(status(&retried), 0, "{}", text(&retried.stderr));
    let second = await_request(&place);
    assert_ne!(first, second);
    assert_eq!(status(&answer(&place, &second, &["ABORT"])), 0);
    assert_eq!(status(&waiting.wait_with_output().unwrap()), 120);
    place.verified();
}

#[test]
fn nobody_answers_an_archived_question_and_the_run_times_out() {
    let place = Place::new();
    let options = ["run", "--hold", "after", "--expires", "after=3s", "--", "true"];
    let waiting = start(&place, &options);
    await_request(&place);
    archive(&place);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(status(&output), 121, "{}", text(&output.stderr));
    place.verified();
}

#[test]
fn a_repeated_command_is_known_after_its_records_were_archived() {
    let place = Place::new();
    let key = json!({ "tenant": "t", "engine": "e", "key": "k" });
    let mut submit = apply_support::story(&"1".repeat(32)).remove(0);
    submit["correlation"] = json!("story");
    submit["idempotency"] = key;
    let first = answers(&apply(&place, std::slice::from_ref(&submit))).remove(0)["receipt"].take();
    archive(&place);
    let output = apply(&place, &[submit.clone()]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let again = answers(&output).remove(0)["receipt"].take();
    for field in ["first_sequence", "last_sequence"] {
        assert_eq!(again[field], first[field], "{field}");
    }
    assert_eq!((&again["repeated"], &again["events"]), (&json!(true), &json!([])));
    assert!(again.get("at").is_none(), "{again}");
    submit["submit"]["command_line"] = json!("other work");
    let output = apply(&place, &[submit]);
    assert_eq!(status(&output), 5, "{}", text(&output.stderr));
    assert_eq!(answers(&output)[0]["refusal"]["code"], "IDEMPOTENCY_CONFLICT");
}

/// Other processes decide and move the end of the loop to an archive, all in one wait.
struct Meanwhile<'a> {
    place: &'a Place,
    clock: SetClock,
    decision: Option<HumanDecision>,
    is_done: bool,
}

impl Meanwhile<'_> {
    fn decide(&self, question: &Question) {
        let options =
            EngineOptions::simulated().clock(Box::new(self.clock.clone())).level(Level::Os);
        let storage = DirectoryStorage::new(&self.place.log);
        let other = Engine::open_with(storage, options).unwrap();
        match self.decision {
            Some(decision) => answer_as_ada(&other, question, decision),
            None => {
                self.clock.pass(20 * SECOND_NS);
                assert!(!other.expire().unwrap().is_empty());
            }
        }
        fill(&self.place.log, FILLERS);
        let archive = DirectoryStorage::new(self.place.directory.path().join("archive"));
        assert!(other.archive(&archive, ArchivePlan::default()).unwrap().moved.is_some());
        assert!(other.query(|world| world.live_loops().count()).unwrap() == 0);
        other.close().unwrap();
    }
}

fn answer_as_ada(engine: &Engine, question: &Question, decision: HumanDecision) {
    let command =
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(AnswerHumanDecision {
            request_id: question.request_id().to_string(),
            loop_id: None,
            entropy: engine.entropy().unwrap(),
            actor: Actor::Human,
            human_id: "ada".to_string(),
            decision,
            reason: None,
            escalation_target: None,
            means: AnswerMeans { channel: AnswerChannel::Api, detail: "a test".into() },
        }));
    let actor = ActorId { kind: Actor::Human, id: "ada".to_string() };
    let origin = Origin { actor, correlation: "elsewhere".to_string(), causation: None };
    assert!(matches!(engine.submit(&origin, (), &command), Ok(Submitted::Accepted(_))));
}

impl Prompter for Meanwhile<'_> {
    fn asked(&mut self, _question: &Question) -> WaitPolicy {
        WaitPolicy::Wait
    }

    fn wait(&mut self, question: &Question, _wake: &Wake<'_>) -> Option<PersonInput> {
        if !std::mem::replace(&mut self.is_done, true) {
            self.decide(question);
        }
        None
    }

    fn show_output(&mut self, _question: &Question, _recorded: Result<(), &SubmitError>) {}

    fn warned(&mut self, _question: &Question) {}

    fn refused(&mut self, _question: &Question, refusal: &Refusal) {
        panic!("{refusal}");
    }

    fn settled(&mut self, _question: &Question, _outcome: &RequestOutcome) {}
}

fn run_meanwhile(decision: Option<HumanDecision>) -> Result<RunReport, RunError> {
    let (place, clock) = (Place::new(), SetClock::new());
    let options = EngineOptions::simulated().clock(Box::new(clock.clone()));
    let engine = Engine::open_with(DirectoryStorage::new(&place.log), options).unwrap();
    let timeout = HumanDecisionTimeout::from_milliseconds(10_000).unwrap();
    let terms = HoldTerms { decision_timeout_ms: timeout, ..HoldTerms::of(HoldPolicy::After) };
    let mut prompter = Meanwhile { place: &place, clock, decision, is_done: false };
    let (by, run, sink, signals) = (origin(), shell("exit 9"), &mut Discard, &mut NoSignals);
    engine.run_held(&by, (), &run, &terms, &mut prompter, sink, signals)?.ended()
}

#[test]
fn a_run_whose_very_end_was_archived_before_it_looked_ends_as_was_decided() {
    let cases = [
        (Some(HumanDecision::Continue), 9, HaltReason::ResponseRejected),
        (Some(HumanDecision::Abort), 120, HaltReason::StopCondition),
        (None, 121, HaltReason::HumanDecisionTimedOut),
    ];
    for (decision, exit_status, reason) in cases {
        let ended = run_meanwhile(decision);
        let report = ended.unwrap_or_else(|error| panic!("{decision:?}: {error}"));
        assert_eq!((report.exit_status, report.halted.reason), (exit_status, reason));
    }
}
