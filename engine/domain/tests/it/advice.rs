//! What other engines suggest chooses words and nothing else: no branch, no directive, no reason,
//! no remainder, no gate and no state depends on it.

use holdpoint_domain::core::payload::Text;
use holdpoint_domain::core::refusal::Malformed;
use holdpoint_domain::interruption_thread::{
    Advice, ConfidenceBand, ConfirmAnswer, ExplainTrigger, Explanation, IntentClass, Interruption,
    InterruptionThreadCommand, Pending, Ph1kToPh1xInterruptHandoff, ReasonCode, RiskContextClass,
    Style, StyleAdvice, SubjectRelation, ThreadRefusal, ThreadState, ToolStatus, Turn,
    TurnDecision, TurnInput, TurnRequest, ValidationStatus, check_handoff, decide_turn,
    explanation, selected_missing_field, style,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_domain::{Command, Time};
use holdpoint_testing::threads::requests::{
    answering, chat, failure, intent, interrupting, interruption, relating, request, tool,
};
use holdpoint_testing::threads::{Stage, turn};
use quickcheck::{Arbitrary as _, Gen};

use crate::duplex::{branches, committed_turn, passed};

fn prune(field: &str) -> Advice {
    Advice { prune_selected_missing_field: Some(field.into()), ..Advice::default() }
}

fn handoff(of: &Interruption) -> Ph1kToPh1xInterruptHandoff {
    Ph1kToPh1xInterruptHandoff {
        candidate_confidence_band: of.candidate_confidence_band,
        gate_confidences: of.gate_confidences,
        degradation_context: of.degradation_context,
        risk_context_class: of.risk_context_class,
    }
}

fn profile(validation_status: ValidationStatus) -> StyleAdvice {
    StyleAdvice { validation_status, profile: "WARM".into() }
}

fn explain(trigger: ExplainTrigger) -> Explanation {
    Explanation { trigger, text: "Because it was asked.".into() }
}

#[test]
fn prune_chooses_among_several_missing_fields_and_adds_none() {
    let missing: Vec<Text> = ["WHEN", "WHO", "WHERE"].map(Text::from).to_vec();
    let chosen = |missing: &[Text], advice: &Advice| {
        selected_missing_field(missing, advice).map(|field| field.as_str().to_owned())
    };
    assert_eq!(chosen(&missing, &Advice::default()).as_deref(), Some("WHEN"));
    assert_eq!(chosen(&missing, &prune("WHERE")).as_deref(), Some("WHERE"));
    assert_eq!(chosen(&missing, &prune("HOW")).as_deref(), Some("WHEN"));
    assert_eq!(chosen(&missing[..1], &prune("WHO")).as_deref(), Some("WHEN"));
    assert_eq!(chosen(&[], &prune("WHO")), None);
}

#[test]
fn table_a_profile_is_used_only_where_it_was_validated() {
    let offers: Vec<Option<StyleAdvice>> =
        [None, Some(profile(ValidationStatus::Ok)), Some(profile(ValidationStatus::Fail))].into();
    for emo_guide in &offers {
        for persona in &offers {
            let advice = Advice {
                emo_guide: emo_guide.clone(),
                persona: persona.clone(),
                ..Advice::default()
            };
            let used = |offer: &Option<StyleAdvice>| {
                offer.as_ref().is_some_and(|o| o.validation_status == ValidationStatus::Ok)
            };
            let Style { emo_guide: guide, persona: profile } = style(&advice);
            assert_eq!(guide.is_some(), used(emo_guide), "{advice:?}");
            assert_eq!(profile.is_some(), used(persona), "{advice:?}");
        }
    }
}

#[test]
fn table_an_explanation_is_given_only_where_it_is_asked_for_or_owed() {
    for reason in ReasonCode::ALL {
        assert_eq!(explanation(&Advice::default(), *reason), None);
        let owed = reason.is_refusal() || matches!(reason.name(), "X_LAST_FAILURE" | "X_TOOL_FAIL");
        for trigger in ExplainTrigger::ALL {
            let advice = Advice { explain: Some(explain(*trigger)), ..Advice::default() };
            let expected = match trigger {
                ExplainTrigger::Explicit => true,
                ExplainTrigger::Accountability => owed,
                ExplainTrigger::None => false,
            };
            let given = explanation(&advice, *reason).is_some();
            assert_eq!(given, expected, "{trigger} {reason}");
        }
    }
}

/// Every door looks at the form of a command; records of before are judged without this.
#[test]
fn advice_that_nobody_can_use_is_refused_by_the_name_of_its_field_and_its_bound() {
    let refused = |advice: Advice| {
        let mut stage = Stage::with_tenant("acme");
        stage.user("acme", "ann", "phone");
        stage.work_order("acme", "t");
        let asked = TurnRequest { advice, ..request("ann", "weather", chat("It is sunny.")) };
        let of = turn(&stage, ["acme", "t", "ann", "phone"], 1, asked);
        let command = InterruptionThreadCommand::TakeTurn(of);
        Command::InterruptionThread(command).check_form().err()
    };
    let explained = |text: &str| {
        let explain = Explanation { text: text.into(), ..explain(ExplainTrigger::Explicit) };
        refused(Advice { explain: Some(explain), ..Advice::default() })
    };
    assert_eq!(explained("\u{2800}a"), None);
    for text in ["", " ", "\u{200b}", "\u{2800}", " \u{200b}\u{2800}", &"e".repeat(2_049)] {
        let Malformed { field, expected, .. } = explained(text).expect(text);
        assert_eq!(field, "request.advice.explain.text");
        assert!(expected.starts_with("1 to 2048 bytes"), "{expected}");
    }
    let style = || Some(StyleAdvice { profile: "".into(), ..profile(ValidationStatus::Ok) });
    for (advice, expected) in [
        (Advice { emo_guide: style(), ..Advice::default() }, "request.advice.emo_guide.profile"),
        (Advice { persona: style(), ..Advice::default() }, "request.advice.persona.profile"),
    ] {
        assert_eq!(refused(advice).expect(expected).field, expected);
    }
}

#[test]
fn a_handoff_speaks_of_this_very_interruption() {
    let of = interruption(1_000_000_000);
    let good = handoff(&of);
    assert_eq!(check_handoff(&of, &good), Ok(()));
    let mut gates = good;
    gates.gate_confidences.nearfield_bp = None;
    let mut degraded = good;
    degraded.degradation_context.aec_unstable = true;
    let cases = [
        (
            Ph1kToPh1xInterruptHandoff { candidate_confidence_band: ConfidenceBand::Low, ..good },
            "request.advice.interrupt_handoff.candidate_confidence_band",
        ),
        (gates, "request.advice.interrupt_handoff.gate_confidences"),
        (degraded, "request.advice.interrupt_handoff.degradation_context"),
        (
            Ph1kToPh1xInterruptHandoff { risk_context_class: RiskContextClass::High, ..good },
            "request.advice.interrupt_handoff.risk_context_class",
        ),
    ];
    for (handoff, expected) in cases {
        let refused = check_handoff(&of, &handoff);
        let Err(Malformed { field, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(field, expected);
    }
}

/// Every kind of advice that a request may carry, in every combination.
fn every_advice(request: &TurnRequest) -> Vec<Advice> {
    let prunes = [None, Some("WHO".into()), Some("HOW".into())];
    let handoffs = [None, request.interruption.as_ref().map(handoff)];
    let styles = [None, Some(profile(ValidationStatus::Ok)), Some(profile(ValidationStatus::Fail))];
    let explains = [
        None,
        Some(explain(ExplainTrigger::Explicit)),
        Some(explain(ExplainTrigger::Accountability)),
        Some(explain(ExplainTrigger::None)),
    ];
    let mut every = Vec::new();
    for prune_selected_missing_field in &prunes {
        for interrupt_handoff in handoffs {
            for (emo_guide, persona) in
                styles.iter().flat_map(|e| styles.iter().map(move |p| (e, p)))
            {
                every.extend(explains.iter().map(|explain| Advice {
                    prune_selected_missing_field: prune_selected_missing_field.clone(),
                    interrupt_handoff,
                    emo_guide: emo_guide.clone(),
                    persona: persona.clone(),
                    explain: explain.clone(),
                }));
            }
        }
    }
    every
}

fn several_missing() -> TurnInput {
    TurnInput::NlpClarify {
        question: "Who, and when?".into(),
        accepted_answer_formats: ["A name".into(), "A day".into()].into_iter().collect(),
        missing_fields: ["WHEN".into(), "WHO".into()].into_iter().collect(),
    }
}

/// What the turn does with the thread, whichever missing field it asks for.
fn apart_from_the_missing_field(mut decision: TurnDecision) -> TurnDecision {
    if decision.reason_code != ReasonCode::NlpClarify {
        return decision;
    }
    decision.kind = Text::default();
    if let Some(clarify) = &mut decision.clarify {
        clarify.what_is_missing = Text::default();
    }
    if let Some(Pending::Clarify { missing_field, attempts }) = &mut decision.after.pending {
        (*missing_field, *attempts) = (Text::default(), 0);
    }
    decision
}

/// The decision, and the state after it.
type Outcome = Result<(TurnDecision, ThreadState), ThreadRefusal>;

fn outcome(state: &ThreadState, turn: &Turn<'_>) -> Outcome {
    let decision = apart_from_the_missing_field(decide_turn(state, turn)?);
    let after = state.after_turn(turn, &decision);
    Ok((decision, after))
}

/// The commit gate lets pass what it would let pass without the advice, as the same.
fn check_gate() {
    for (_, stage, plain) in branches() {
        let committed = |request: &TurnRequest| {
            let mut stage = stage.clone();
            let events = committed_turn(&mut stage, request);
            let decision = passed(&events).0.decision.clone();
            (decision, stage.state("acme", "t"))
        };
        let expected = committed(&plain);
        for advice in every_advice(&plain) {
            let advised = TurnRequest { advice, ..plain.clone() };
            assert_eq!(committed(&advised), expected, "{advised:?}");
        }
    }
}

fn below(random: &mut Gen, bound: u64) -> u64 {
    u64::arbitrary(random) % bound
}

/// Any turn that the state may be offered, legal or not.
fn random_request(random: &mut Gen, state: &ThreadState, at: u64) -> TurnRequest {
    let speaker = *random.choose(&["anna", "anna", "anna", "ben"]).unwrap();
    let subject = *random.choose(&["weather", "weather", "holiday"]).unwrap();
    let awaited = match &state.marks.pending {
        Some(Pending::Tool { request_id, .. }) => request_id.clone(),
        _ => "TOOL-0".into(),
    };
    let inputs = [
        chat("It is sunny."),
        several_missing(),
        several_missing(),
        failure(),
        tool(&awaited, *random.choose(ToolStatus::ALL).unwrap()),
        intent(*random.choose(IntentClass::ALL).unwrap()),
        TurnInput::None,
    ];
    let input = random.choose(&inputs).unwrap().clone();
    let is_silent = input == TurnInput::None;
    let mut of = request(speaker, subject, input);
    of.sensitive_memory_present = below(random, 6) == 0;
    if below(random, 3) == 0 && !is_silent || is_silent && below(random, 2) == 0 {
        of = interrupting(of, at, "The forecast for tomorrow is rain.", 13);
    } else if is_silent {
        of = answering(of, *random.choose(ConfirmAnswer::ALL).unwrap());
    }
    if below(random, 4) > 0 && (of.interruption.is_some() || !state.resume_buffers.is_empty()) {
        let relation = *random.choose(SubjectRelation::ALL).unwrap();
        of = relating(of, relation, *random.choose(&[6_999, 7_000, 9_000]).unwrap());
    }
    of
}

/// Walks one thread; every turn is decided with every advice. Says how many turns were legal.
fn walk(random: &mut Gen) -> usize {
    let (mut state, mut at, mut legal) = (ThreadState::default(), 1_000_000_000_000, 0);
    for turn_id in 1..=24 {
        at += below(random, 30) * 1_000_000_000;
        let plain = random_request(random, &state, at);
        let session_status = match below(random, 12) {
            0 => *random.choose(SessionStatus::ALL).unwrap(),
            _ => SessionStatus::Active,
        };
        let at = Time::from_nanoseconds(at);
        let turn = Turn { turn_id, session_id: None, session_status, request: &plain, at };
        let expected = outcome(&state, &turn);
        for advice in every_advice(&plain) {
            let advised = TurnRequest { advice, ..plain.clone() };
            let found = outcome(&state, &Turn { request: &advised, ..turn });
            assert_eq!(found, expected, "{advised:?}");
        }
        if let Ok((_, after)) = expected {
            (state, legal) = (after, legal + 1);
        }
    }
    legal
}

#[test]
fn no_advice_changes_a_branch_a_directive_a_remainder_a_gate_or_a_state() {
    let seed = std::env::var("HOLDPOINT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(20_260_126);
    println!("HOLDPOINT_SEED={seed}");
    let mut random = Gen::from_size_and_seed(64, seed);
    let legal: usize = (0..60).map(|_| walk(&mut random)).sum();
    assert!(legal > 600, "most turns are legal, found {legal} of 1440");
    check_gate();
}

#[test]
fn prune_decides_which_of_several_missing_fields_a_turn_asks_for() {
    let asked = |advice: Advice| {
        let request = TurnRequest { advice, ..request("anna", "weather", several_missing()) };
        let session_status = SessionStatus::Active;
        let at = Time::from_nanoseconds(1_000_000_000);
        let turn = Turn { turn_id: 1, session_id: None, session_status, request: &request, at };
        let decision = decide_turn(&ThreadState::default(), &turn).unwrap();
        decision.clarify.unwrap().what_is_missing.into_string()
    };
    assert_eq!(asked(Advice::default()), "WHEN");
    assert_eq!(asked(prune("WHO")), "WHO");
    assert_eq!(asked(prune("HOW")), "WHEN");
}
