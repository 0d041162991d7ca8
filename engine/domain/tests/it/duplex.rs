//! Duplex sessions: while the user speaks, plans are words; a turn is committed only behind both
//! gates, and only as the branch table decides it.

use holdpoint_domain::Time;
use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::core::refusal::Malformed;
use holdpoint_domain::interruption_thread::{
    COMMIT_THRESHOLD, CommitRefusal, Directive, DuplexBranch, Heard, IntentClass, IntentHypothesis,
    InterruptCandidate, PartialTranscript, ReasonCode, ResumePolicy, SpeculativePlan,
    SubjectRelation, ThreadRefusal, ThreadState, Turn, TurnCommitDecision, TurnInput, TurnRequest,
    decide_turn,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_testing::threads::requests::{chat, intent, interrupting, points, relating, request};

const NOW: u64 = 1_000_000_000_000;

/// What three engines say about one request.
#[derive(Clone)]
struct Said {
    candidate: Option<InterruptCandidate>,
    transcript: PartialTranscript,
    hypothesis: IntentHypothesis,
}

impl Said {
    /// Surely this request.
    fn of(request: &TurnRequest) -> Self {
        let confidence_bp = BasisPoints::MAX;
        let candidate = request.interruption.as_ref().map(|of| InterruptCandidate {
            phrase_id: of.phrase_id,
            t_event: of.t_event,
            confidence_bp,
        });
        let intent_type = match &request.input {
            TurnInput::Intent { intent_type, .. } => Some(intent_type.clone()),
            _ => None,
        };
        let hypothesis = IntentHypothesis {
            subject_ref: request.subject_ref.clone(),
            intent_type,
            confidence_bp,
            subject_relation: request.interrupt_subject_relation,
            subject_relation_confidence_bp: request.interrupt_subject_relation_confidence_bp,
        };
        let transcript = PartialTranscript { text: "wait a moment".into(), is_final: true };
        Self { candidate, transcript, hypothesis }
    }

    fn heard(&self) -> Heard<'_> {
        Heard {
            candidate: self.candidate.as_ref(),
            transcript: &self.transcript,
            hypothesis: &self.hypothesis,
        }
    }
}

fn turn(request: &TurnRequest) -> Turn<'_> {
    let (session_status, at) = (SessionStatus::Active, Time::from_nanoseconds(NOW));
    Turn { turn_id: 2, session_id: None, session_status, request, at }
}

/// A thread in which anna was interrupted.
fn interrupted() -> ThreadState {
    let barge_in = request("anna", "weather", TurnInput::None);
    let barge_in = interrupting(barge_in, NOW, "It will rain. Take a coat.", 13);
    let barge_in = relating(barge_in, SubjectRelation::Same, 9_000);
    let turn = Turn { turn_id: 1, ..turn(&barge_in) };
    let state = ThreadState::default();
    let decision = decide_turn(&state, &turn).unwrap();
    state.after_turn(&turn, &decision)
}

fn commit(state: &ThreadState, request: &TurnRequest) -> TurnCommitDecision {
    TurnCommitDecision::commit(&Said::of(request).heard(), state, &turn(request)).unwrap()
}

fn draft(state: &ThreadState, request: &TurnRequest) -> SpeculativePlan {
    SpeculativePlan::draft(&Said::of(request).heard(), state, &turn(request)).unwrap()
}

/// Requests of every branch, with the state that leads there.
fn branches() -> Vec<(DuplexBranch, ThreadState, TurnRequest)> {
    let answer = || request("anna", "weather", chat("Mondays are dry."));
    let act = |class| request("anna", "weather", intent(class));
    let same = |of| relating(of, SubjectRelation::Same, 7_000);
    let switch = |of| relating(of, SubjectRelation::Switch, 7_000);
    let fresh = ThreadState::default;
    vec![
        (DuplexBranch::None, fresh(), answer()),
        (DuplexBranch::None, fresh(), act(IntentClass::ReadOnlyTool)),
        (DuplexBranch::Same, interrupted(), same(answer())),
        (DuplexBranch::Same, interrupted(), same(act(IntentClass::ReadOnlyTool))),
        (DuplexBranch::Switch, interrupted(), switch(answer())),
        (DuplexBranch::Switch, interrupted(), switch(act(IntentClass::Impactful))),
        (DuplexBranch::Uncertain, interrupted(), answer()),
        (DuplexBranch::Uncertain, interrupted(), act(IntentClass::ReadOnlyTool)),
        (DuplexBranch::Uncertain, interrupted(), relating(answer(), SubjectRelation::Same, 6_999)),
        (DuplexBranch::Uncertain, interrupted(), request("ben", "weather", chat("Hello."))),
    ]
}

#[test]
fn a_plan_is_words_and_allows_nothing() {
    for (branch, state, request) in branches() {
        let plan = draft(&state, &request);
        assert_eq!((plan.branch(), plan.execute_allowed()), (branch, false), "{request:?}");
        let shown = serde_json::to_value(&plan).unwrap();
        let keys: Vec<_> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["branch", "execute_allowed", "reason_code", "would_say"]);
        assert_eq!(shown["execute_allowed"], false);
        let decision = decide_turn(&state, &turn(&request)).unwrap();
        if decision.directive == Directive::Dispatch {
            assert_eq!(plan.would_say(), None, "an action is no words: {request:?}");
        }
    }
}

#[test]
fn a_plan_is_drafted_while_nothing_is_sure_yet() {
    let request = request("anna", "weather", chat("Mondays are dry."));
    let mut said = Said::of(&request);
    said.transcript.is_final = false;
    said.hypothesis.confidence_bp = points(0);
    let state = ThreadState::default();
    let plan = SpeculativePlan::draft(&said.heard(), &state, &turn(&request)).unwrap();
    assert_eq!(plan.would_say().unwrap().as_str(), "Mondays are dry.");
    assert_eq!(plan.reason_code(), ReasonCode::NlpChat);
}

#[test]
fn table_each_branch_commits_what_the_branch_table_decides() {
    for (branch, state, request) in branches() {
        let committed = commit(&state, &request);
        let decision = decide_turn(&state, &turn(&request)).unwrap();
        assert_eq!(committed.branch(), branch, "{request:?}");
        assert_eq!(committed.decision(), &decision);
        assert_eq!(committed.reason_code(), decision.reason_code);
        assert_eq!(committed.action(), decision.dispatch.as_ref());
        if branch == DuplexBranch::Uncertain {
            assert_eq!(decision.directive, Directive::Clarify, "{request:?}");
            assert_eq!(committed.action(), None);
            assert_eq!(committed.response(), decision.clarify.as_ref().map(|c| &c.question));
        }
    }
}

#[test]
fn the_same_subject_resumes_now_and_another_one_later() {
    let answer = request("anna", "weather", chat("Mondays are dry."));
    let same = commit(&interrupted(), &relating(answer.clone(), SubjectRelation::Same, 9_000));
    assert_eq!(same.response().unwrap().as_str(), "Take a coat. Mondays are dry.");
    assert_eq!(same.decision().interrupt_resume_policy, Some(ResumePolicy::ResumeNow));
    let other = commit(&interrupted(), &relating(answer, SubjectRelation::Switch, 9_000));
    assert_eq!(other.reason_code(), ReasonCode::InterruptReturnCheckAsked);
    assert_eq!(other.decision().interrupt_resume_policy, Some(ResumePolicy::ResumeLater));
}

#[test]
fn a_commit_reads_as_branch_response_action_and_reason() {
    let request = request("anna", "weather", intent(IntentClass::ReadOnlyTool));
    let shown = serde_json::to_value(commit(&ThreadState::default(), &request)).unwrap();
    let action = serde_json::json!({
        "kind": "TOOL_REQUEST", "intent_type": "READ_ONLY_TOOL", "request_id": "TOOL-2",
    });
    let expected = serde_json::json!({
        "branch": "NONE", "response": null, "action": action, "reason_code": "X_DISPATCH_TOOL",
    });
    assert_eq!(shown, expected);
}

/// The first gate that is closed.
fn closed_gate(
    is_final: bool,
    candidate: Option<u16>,
    hypothesis: u16,
    session: SessionStatus,
) -> Option<&'static str> {
    if !is_final {
        return Some("TRANSCRIPT_NOT_FINAL");
    }
    if candidate.is_some_and(|confidence| confidence < 7_000) {
        return Some("CANDIDATE_NOT_SURE");
    }
    if hypothesis < 7_000 {
        return Some("HYPOTHESIS_NOT_SURE");
    }
    (session != SessionStatus::Active).then_some("X_SESSION_NOT_ACTIVE")
}

#[test]
fn table_a_turn_is_committed_only_behind_every_gate() {
    let levels = [0, 6_999, 7_000, 7_001, 10_000];
    let candidates = levels.map(Some).into_iter().chain([None]);
    for candidate in candidates {
        let of = request("anna", "weather", TurnInput::Chat { response_text: "Yes.".into() });
        let of = match candidate {
            Some(_) => {
                relating(interrupting(of, NOW, "It rains.", 2), SubjectRelation::Same, 9_000)
            }
            None => of,
        };
        for (hypothesis, is_final) in levels.iter().flat_map(|l| [(*l, true), (*l, false)]) {
            let mut said = Said::of(&of);
            said.transcript.is_final = is_final;
            said.hypothesis.confidence_bp = points(hypothesis);
            if let (Some(heard), Some(confidence)) = (&mut said.candidate, candidate) {
                heard.confidence_bp = points(confidence);
            }
            for session in SessionStatus::ALL {
                let turn = Turn { session_status: *session, ..turn(&of) };
                let committed =
                    TurnCommitDecision::commit(&said.heard(), &ThreadState::default(), &turn);
                let found = committed.err().map(|refusal| refusal.code());
                let expected = closed_gate(is_final, candidate, hypothesis, *session);
                assert_eq!(found, expected, "{candidate:?} {hypothesis} {is_final} {session}");
            }
        }
    }
    assert_eq!(COMMIT_THRESHOLD, points(7_000));
}

#[test]
fn a_closed_gate_says_what_was_expected_and_found() {
    let of = request("anna", "weather", chat("Yes."));
    let mut said = Said::of(&of);
    said.hypothesis.confidence_bp = points(6_999);
    let refused = TurnCommitDecision::commit(&said.heard(), &ThreadState::default(), &turn(&of));
    let text = refused.unwrap_err().to_string();
    let expected = "the hypothesis's confidence is 0.6999, below 0.7000; ask what is meant";
    assert_eq!(text, expected);
}

/// The field for which both a draft and a commit are refused.
fn refused_field(said: &Said, request: &TurnRequest) -> &'static str {
    let state = interrupted();
    let drafted = SpeculativePlan::draft(&said.heard(), &state, &turn(request)).unwrap_err();
    match TurnCommitDecision::commit(&said.heard(), &state, &turn(request)) {
        Err(CommitRefusal::Malformed(refusal)) => assert_eq!(*refusal, drafted),
        other => panic!("{other:?}"),
    }
    match drafted {
        ThreadRefusal::Malformed(Malformed { field, .. }) => field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_heard_is_about_this_very_request() {
    let act = request("anna", "weather", intent(IntentClass::ReadOnlyTool));
    let plain = relating(act, SubjectRelation::Same, 9_000);
    let barge_in = interrupting(plain.clone(), NOW, "It rains.", 2);
    let change = |request: &TurnRequest, change: fn(&mut Said)| {
        let mut said = Said::of(request);
        change(&mut said);
        refused_field(&said, request)
    };
    assert_eq!(change(&barge_in, |said| said.candidate = None), "candidate");
    let other_phrase = |said: &mut Said| said.candidate.as_mut().unwrap().phrase_id = 1;
    assert_eq!(change(&barge_in, other_phrase), "candidate");
    let invented = |said: &mut Said| {
        let confidence_bp = BasisPoints::MAX;
        said.candidate = Some(InterruptCandidate { phrase_id: 9, t_event: NOW, confidence_bp });
    };
    assert_eq!(change(&plain, invented), "candidate");
    let other = |said: &mut Said| said.hypothesis.subject_ref = "holiday".into();
    assert_eq!(change(&plain, other), "hypothesis.subject_ref");
    let surer = |said: &mut Said| {
        said.hypothesis.subject_relation_confidence_bp = Some(BasisPoints::MAX);
    };
    assert_eq!(change(&plain, surer), "hypothesis.subject_relation");
    let other_intent = |said: &mut Said| said.hypothesis.intent_type = Some("PAY".into());
    assert_eq!(change(&plain, other_intent), "hypothesis.intent_type");
    assert_eq!(change(&plain, |said| said.hypothesis.intent_type = None), "hypothesis.intent_type");
}

#[test]
fn a_transcript_that_is_no_line_is_refused() {
    let of = request("anna", "weather", chat("Yes."));
    for text in ["", " \n", "a\nb", "a\0", "a\u{202e}b", &"a".repeat(32_769)] {
        let mut said = Said::of(&of);
        said.transcript.text = text.into();
        assert_eq!(refused_field(&said, &of), "transcript.text", "{} bytes", text.len());
    }
}

#[test]
fn a_request_that_breaks_the_contract_is_refused_by_its_own_field() {
    let mut of = request("anna", "weather", chat("Yes."));
    of.active_speaker_user_id = "".into();
    assert_eq!(refused_field(&Said::of(&of), &of), "request.active_speaker_user_id");
}
