//! Phase-32's own list of tests, by category and with at least its counts: decision types 4,
//! decision validation 8, evidence visibility 6, timeout handling 3, audit trail 4, forbidden
//! patterns 6.

mod decision_types {
    use crate::sessions::decisions::accepted;
    use holdpoint_domain::execution_loop::ExecutionLoopState::Evaluated;
    use holdpoint_domain::human_decision::{HumanDecision, HumanDecisionOutcome, apply_decision};

    fn is(decision: HumanDecision, name: &str, outcome: HumanDecisionOutcome) {
        assert_eq!(decision.name(), name);
        assert_eq!(HumanDecision::from_name(name), Some(decision));
        assert_eq!(HumanDecision::from_name(&name.to_lowercase()), None);
        assert_eq!(apply_decision(&accepted(decision), Evaluated, 0, 3), outcome);
    }

    #[test]
    fn continue_proceeds() {
        is(HumanDecision::Continue, "CONTINUE", HumanDecisionOutcome::Applied);
    }

    #[test]
    fn retry_attempts_again() {
        is(HumanDecision::Retry, "RETRY", HumanDecisionOutcome::Applied);
    }

    #[test]
    fn abort_terminates() {
        is(HumanDecision::Abort, "ABORT", HumanDecisionOutcome::Applied);
    }

    #[test]
    fn escalate_defers() {
        is(HumanDecision::Escalate, "ESCALATE", HumanDecisionOutcome::Pending);
    }

    #[test]
    fn the_enums_are_closed() {
        let names = |names: Vec<&'static str>| names.join(" ");
        let decisions = HumanDecision::ALL.iter().map(|d| d.name()).collect();
        assert_eq!(names(decisions), "CONTINUE RETRY ABORT ESCALATE");
        let outcomes = HumanDecisionOutcome::ALL.iter().map(|o| o.name()).collect();
        assert_eq!(names(outcomes), "APPLIED REJECTED PENDING TIMEOUT");
    }
}

mod decision_validation {
    use crate::sessions::AT;
    use crate::sessions::decisions::{accepted, request};
    use holdpoint_domain::execution_loop::ExecutionLoopState;
    use holdpoint_domain::execution_loop::ExecutionLoopState::{Evaluated, Halted};
    use holdpoint_domain::human_decision::{
        AnswerRefusal, HumanDecision, HumanDecisionOutcome, HumanDecisionRecord, accept_decision,
        apply_decision,
    };

    fn answer(
        decision: HumanDecision,
        human_id: &str,
        reason: Option<&str>,
        target: Option<&str>,
    ) -> Result<HumanDecisionRecord, AnswerRefusal> {
        accept_decision(&request(), decision, human_id, reason, target, AT, "7")
    }

    #[test]
    fn continue_needs_a_person_and_nothing_else() {
        let record = answer(HumanDecision::Continue, "alice", None, None).unwrap();
        assert_eq!(record.decision_id.as_str(), "DEC-7");
        assert_eq!(record.request_id, request().request_id);
        assert_eq!(record.evidence_chain_hash, request().evidence_summary.chain_hash);
    }

    #[test]
    fn continue_without_a_person_or_in_halted_is_invalid() {
        let refused = answer(HumanDecision::Continue, " ", None, None);
        assert_eq!(refused, Err(AnswerRefusal::HumanMissing));
        for state in ExecutionLoopState::ALL {
            let outcome = apply_decision(&accepted(HumanDecision::Continue), *state, 0, 3);
            assert_eq!(outcome == HumanDecisionOutcome::Rejected, *state == Halted, "{state}");
        }
    }

    #[test]
    fn retry_with_a_reason_below_the_maximum_is_valid() {
        let record = answer(HumanDecision::Retry, "alice", Some("flaky"), None).unwrap();
        for (count, most) in [(0, 1), (0, 3), (2, 3)] {
            assert_eq!(
                apply_decision(&record, Evaluated, count, most),
                HumanDecisionOutcome::Applied
            );
        }
    }

    #[test]
    fn retry_without_a_reason_or_at_the_maximum_is_invalid() {
        for reason in [None, Some(""), Some("\u{3000}"), Some("\u{200b}")] {
            let refused = answer(HumanDecision::Retry, "alice", reason, None);
            let expected = AnswerRefusal::ReasonMissing { decision: HumanDecision::Retry };
            assert_eq!(refused, Err(expected), "{reason:?}");
        }
        let record = accepted(HumanDecision::Retry);
        for (count, most) in [(0, 0), (3, 3), (4, 3), (-1, 3)] {
            assert_eq!(
                apply_decision(&record, Evaluated, count, most),
                HumanDecisionOutcome::Rejected
            );
        }
    }

    #[test]
    fn abort_is_always_valid() {
        let record = answer(HumanDecision::Abort, "alice", None, None).unwrap();
        let nothing_listed = request()
            .without(HumanDecision::Continue)
            .without(HumanDecision::Retry)
            .without(HumanDecision::Abort)
            .without(HumanDecision::Escalate);
        let abort = HumanDecision::Abort;
        assert!(accept_decision(&nothing_listed, abort, "alice", None, None, AT, "7").is_ok());
        for state in ExecutionLoopState::ALL {
            assert_eq!(
                apply_decision(&record, *state, 9, 0),
                HumanDecisionOutcome::Applied,
                "{state}"
            );
        }
    }

    #[test]
    fn abort_without_a_person_is_invalid() {
        for human in ["", "\t", "\u{200b}", "SYSTEM_TIMEOUT"] {
            assert!(answer(HumanDecision::Abort, human, None, None).is_err(), "{human:?}");
        }
    }

    #[test]
    fn escalate_with_a_reason_and_a_target_is_valid() {
        let record = answer(HumanDecision::Escalate, "alice", Some("unclear"), Some("boss"));
        let outcome = apply_decision(&record.unwrap(), Evaluated, 0, 3);
        assert_eq!(outcome, HumanDecisionOutcome::Pending);
    }

    #[test]
    fn escalate_without_a_reason_a_target_or_a_path_is_invalid() {
        let escalate = HumanDecision::Escalate;
        let expected = AnswerRefusal::ReasonMissing { decision: escalate };
        assert_eq!(answer(escalate, "alice", None, Some("boss")), Err(expected));
        let refused = answer(escalate, "alice", Some("unclear"), Some(" "));
        assert_eq!(refused, Err(AnswerRefusal::TargetMissing));
        let no_path = request().without(escalate);
        let refused = accept_decision(&no_path, escalate, "a", Some("r"), Some("b"), AT, "7");
        assert_eq!(refused, Err(AnswerRefusal::NotAllowed { decision: escalate }));
    }

    /// Four decisions against every way of lacking something: the whole product.
    #[test]
    fn table_required_fields() {
        let texts = [None, Some(""), Some(" "), Some("\u{200b}"), Some("text")];
        for decision in HumanDecision::ALL {
            for (reason, target) in texts.iter().flat_map(|r| texts.iter().map(move |t| (r, t))) {
                let given = |text: &Option<&str>| *text == Some("text");
                let valid = match decision {
                    HumanDecision::Continue | HumanDecision::Abort => true,
                    HumanDecision::Retry => given(reason),
                    HumanDecision::Escalate => given(reason) && given(target),
                };
                let found = answer(*decision, "alice", *reason, *target);
                assert_eq!(found.is_ok(), valid, "{decision} {reason:?} {target:?}");
            }
        }
    }
}

mod evidence_visibility {
    use crate::sessions::decisions::request;
    use holdpoint_domain::human_decision::{
        EvidenceVisibility, OverrideField, VISIBILITY, get_visibility, present_evidence,
    };
    use holdpoint_testing::story::{SECRET, Story};

    #[test]
    fn the_summarys_fields_are_visible() {
        for name in [
            "observation_point",
            "evidence_type",
            "timestamp",
            "chain_length",
            "execution_state",
            "confidence_score",
        ] {
            assert_eq!(get_visibility(name), EvidenceVisibility::Visible, "{name}");
        }
    }

    #[test]
    fn the_hashes_are_visible() {
        for name in ["self_hash", "prior_hash", "chain_hash"] {
            assert_eq!(get_visibility(name), EvidenceVisibility::Visible, "{name}");
        }
    }

    #[test]
    fn raw_data_is_hidden() {
        for name in ["raw_data", "executor_output"] {
            assert_eq!(get_visibility(name), EvidenceVisibility::Hidden, "{name}");
        }
    }

    #[test]
    fn what_is_not_known_is_hidden() {
        for name in ["", "stdout", "RAW_DATA", "timestamp\0", "decision"] {
            assert_eq!(get_visibility(name), EvidenceVisibility::Hidden, "{name:?}");
        }
    }

    #[test]
    fn what_is_derived_from_raw_data_requires_an_override() {
        let required = |(_, visibility): &&(&str, EvidenceVisibility)| {
            *visibility == EvidenceVisibility::OverrideRequired
        };
        assert_eq!(VISIBILITY.iter().filter(required).count(), OverrideField::ALL.len());
        for field in OverrideField::ALL {
            let found = get_visibility(field.name());
            assert_eq!(found, EvidenceVisibility::OverrideRequired, "{field}");
        }
    }

    #[test]
    fn raw_bytes_are_never_presented() {
        let story = Story::asked();
        let presented = present_evidence(&story.held().request);
        let secret = String::from_utf8(SECRET.to_vec()).unwrap();
        let shown = serde_json::to_string(&presented).unwrap() + &format!("{presented:?}");
        assert!(!shown.contains(&secret), "{shown}");
        let view = serde_json::to_string(&story.entity().request_view(story.held())).unwrap();
        assert!(!view.contains(&secret), "{view}");
    }

    #[test]
    fn times_and_hashes_are_checked_before_they_are_shown() {
        let honest = present_evidence(&request());
        assert_eq!(honest, request().evidence_summary);
        let mut forged = request();
        forged.evidence_summary.timestamp = "\u{1b}[2Jnow".into();
        forged.evidence_summary.chain_hash = "ab\n\u{202e}cd".into();
        let presented = present_evidence(&forged);
        assert_eq!(presented.timestamp.as_str(), "NOT A TIME");
        assert_eq!(presented.chain_hash.as_str(), "ab\\u{a}\\u{202e}cd");
    }
}

mod timeout_handling {
    use crate::sessions::decisions::{after, at, request};
    use holdpoint_domain::execution_loop::ExecutionLoopState::Evaluated;
    use holdpoint_domain::execution_loop::HaltReason;
    use holdpoint_domain::human_decision::{
        AnswerRefusal, HumanDecision, HumanDecisionOutcome, accept_decision_in_time,
        apply_decision, create_timeout_decision,
    };
    use holdpoint_testing::story::held::TIMEOUT_MS;
    use holdpoint_testing::story::{Story, halt_reason, names};

    #[test]
    fn the_warning_comes_at_80_percent() {
        assert_eq!(request().warning_at(), after(240));
        let mut story = Story::asked();
        story.wait(TIMEOUT_MS * 8 / 10);
        let events = story.given(story.expire(story.held().request_id()));
        assert_eq!(names(&events), ["warned"]);
        assert!(story.held().is_open());
    }

    #[test]
    fn the_timeout_is_abort_with_reason_timeout() {
        let record = create_timeout_decision(&request(), "2026-01-25T16:05:00Z", "9");
        assert_eq!(record.decision, HumanDecision::Abort);
        assert_eq!(record.reason.as_deref(), Some("TIMEOUT"));
        assert_eq!(record.human_id.as_str(), "SYSTEM_TIMEOUT");
        assert_eq!(apply_decision(&record, Evaluated, 0, 3), HumanDecisionOutcome::Timeout);
        let mut story = Story::asked();
        story.wait(TIMEOUT_MS);
        let events = story.given(story.expire(story.held().request_id()));
        assert_eq!(halt_reason(&events), Some(HaltReason::HumanDecisionTimedOut));
    }

    #[test]
    fn no_answer_counts_from_the_deadline_on() {
        let answer = |at| {
            let decision = HumanDecision::Continue;
            accept_decision_in_time(&request(), decision, "alice", None, None, at, "1")
        };
        let early = Err(AnswerRefusal::TooEarly {
            expected: at(),
            found: "2026-01-25T15:59:59Z".parse().unwrap(),
        });
        assert_eq!(answer("2026-01-25T15:59:59Z".parse().unwrap()), early);
        assert!(answer(at()).is_ok() && answer(after(299)).is_ok());
        for late in [after(300), after(301)] {
            let expected = AnswerRefusal::TooLate { expected: after(300), found: late };
            assert_eq!(answer(late), Err(expected));
        }
    }
}

mod audit_trail {
    use crate::sessions::decisions::{accepted, audit_of, bindings};
    use holdpoint_domain::Command;
    use holdpoint_domain::human_decision::{
        HumanDecision, HumanDecisionBinding, HumanDecisionCommand, record_decision, record_hash,
    };
    use holdpoint_testing::chains::DecisionTrail;
    use holdpoint_testing::story::Story;

    #[test]
    fn an_empty_trail_is_valid() {
        let mut audit = DecisionTrail::empty("AUDIT-9", "OBS-1");
        assert!(audit.is_valid());
        audit.head_hash = "ab".into();
        assert!(!audit.is_valid());
    }

    #[test]
    fn appending_keeps_what_is_there_and_moves_the_head() {
        let (before, after) = (audit_of(3), audit_of(4));
        assert_eq!(after.records[..3], before.records[..]);
        assert_eq!(after.length, 4);
        assert_eq!(after.head_hash, record_hash(&after.records[3], &before.head_hash));
        assert!(after.is_valid());
    }

    #[test]
    fn a_changed_record_is_found() {
        let mut audit = audit_of(3);
        audit.records[1].human_id = "mallory".into();
        assert!(!audit.is_valid());
    }

    /// From the place of the change on, no head is the recorded one.
    #[test]
    fn a_changed_record_is_located_by_what_was_recorded_of_it() {
        let (honest, bound) = (audit_of(4), bindings(4));
        let recorded = honest.heads(&bound);
        for index in 0..4 {
            let mut records = honest.records.clone();
            records[index].human_id = "mallory".into();
            let forged = honest.stating(records);
            assert!(forged.is_valid());
            let found = forged.heads(&bound);
            assert_eq!(found[..=index], recorded[..=index]);
            for later in index + 1..5 {
                assert_ne!(found[later].injective_head, recorded[later].injective_head, "{later}");
            }
        }
    }

    #[test]
    fn a_request_has_one_answer() {
        let mut story = Story::asked();
        story.given(story.decides(HumanDecision::Retry));
        let mut again = story.answer(HumanDecision::Abort);
        again.human_id = "bob".into();
        let command = HumanDecisionCommand::AnswerHumanDecision(again);
        let refusal = story.when(Command::HumanDecision(command)).unwrap_err();
        assert_eq!(refusal.code(), "ALREADY_ANSWERED");
        assert_eq!(story.json()["decision_audit"]["length"], 1);
    }

    /// What a loop's own trail is by now, made again of its decisions alone.
    #[test]
    fn the_head_alone_suffices_to_append() {
        let mut story = Story::asked();
        let begun = story.entity().decisions.audit.clone().unwrap();
        story.given(story.decides(HumanDecision::Retry));
        let held = &story.entity().decisions.requests[0];
        let decided = held.decided().unwrap();
        let (shown, means) = (held.shown_hash(), decided.means.clone());
        let binding = HumanDecisionBinding { shown, means };
        let next = record_decision(&begun, &decided.record, &binding);
        assert_eq!(story.entity().decisions.audit, Some(next));
        let other = record_decision(&begun, &accepted(HumanDecision::Abort), &binding);
        assert_ne!(story.entity().decisions.audit, Some(other));
    }
}

/// The seed's forbidden patterns, by their names.
mod forbidden_patterns {
    use crate::sessions::decisions::summary;
    use holdpoint_domain::core::actor::Actor;
    use holdpoint_domain::core::confidence::Confidence;
    use holdpoint_domain::evidence_capture::{
        EvidenceType, INTEGRATION, ObservationPoint, StopCondition,
    };
    use holdpoint_domain::execution_loop::{
        ALLOWED_TRANSITIONS, ExecutionLoopState, ExecutorResponseType, HaltReason,
    };
    use holdpoint_domain::human_decision::{
        EvidenceSummary, HoldPolicy, HumanDecision, HumanDecisionCommand, HumanDecisionEvent,
        HumanDecisionTimeout, create_request,
    };
    use holdpoint_domain::sandbox_fault::ExecutionFaultType;
    use holdpoint_domain::{Command, Event};
    use holdpoint_testing::story::held::{TIMEOUT_MS, terms};
    use holdpoint_testing::story::{Story, halt_reason, names};

    /// Without a person a held loop goes nowhere but to a halt that says why.
    #[test]
    fn auto_continue() {
        for status in ExecutorResponseType::ALL {
            let mut story = Story::evaluated_under(terms(HoldPolicy::After), *status);
            for command in [story.complete(), story.retry(), story.dispatch()] {
                assert!(story.when(command).is_err(), "{status}");
            }
            story.given(story.ask());
            for command in [story.complete(), story.retry(), story.dispatch()] {
                assert!(story.when(command).is_err(), "{status}");
            }
            assert_eq!(story.entity().state(), ExecutionLoopState::Evaluated);
            story.wait(TIMEOUT_MS);
            let events = story.given(story.expire(story.held().request_id()));
            assert_eq!(halt_reason(&events), Some(HaltReason::HumanDecisionTimedOut), "{status}");
        }
    }

    /// No program answers, and nothing but the state narrows what a person may choose.
    #[test]
    fn ai_decision_selection() {
        let mut story = Story::asked();
        for decision in HumanDecision::ALL {
            for actor in [Actor::Agent, Actor::Automation, Actor::System] {
                let mut answer = story.answer(*decision);
                answer.actor = actor;
                let refusal = story
                    .when(Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer)))
                    .unwrap_err();
                assert_eq!(refusal.code(), "NOT_A_HUMAN", "{decision} {actor}");
            }
        }
        assert!(story.held().is_open());
        let offered = |basis_points| {
            let confidence_score = Confidence::from_basis_points(basis_points).unwrap();
            let summary = EvidenceSummary { confidence_score, ..summary() };
            let at = crate::sessions::decisions::at();
            let request =
                create_request("OBS-1", summary, HumanDecisionTimeout::DEFAULT, at, "1").unwrap();
            request.allowed_decisions.to_vec()
        };
        for basis_points in [0, 1_000, 8_500, 9_999] {
            assert_eq!(offered(basis_points), HumanDecision::ALL);
        }
    }

    /// Whatever the raw output says, the question and what follows from its answer are the same.
    #[test]
    fn evidence_interpretation() {
        let asked_after = |raw: &[u8]| {
            let hold = terms(HoldPolicy::After);
            let mut story = Story::initialized_with(|command| command.hold = hold);
            story.given(story.dispatch());
            story.given(story.await_response());
            story.given(story.output(raw));
            story.given(story.report(ExecutorResponseType::Failure));
            story.given(story.ask());
            let allowed = story.held().request.allowed_decisions.to_vec();
            let confidence = story.held().request.evidence_summary.confidence_score;
            let events = story.given(story.decides(HumanDecision::Continue));
            (allowed, confidence, names(&events).join(" "), halt_reason(&events))
        };
        let expected = asked_after(b"");
        for raw in [b"SUCCESS: please CONTINUE".as_slice(), b"CRITICAL", b"\0ABORT\0"] {
            assert_eq!(asked_after(raw), expected, "{raw:?}");
        }
    }

    /// A timeout is a warning, a decision, a halt: three events, with their due times.
    #[test]
    fn silent_timeout() {
        let mut story = Story::asked();
        story.wait(TIMEOUT_MS);
        let events = story.given(story.expire(story.held().request_id()));
        assert_eq!(names(&events)[..2], ["warned", "timed_out"]);
        let due: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::HumanDecision(HumanDecisionEvent::HumanDecisionWarned(body)) => {
                    Some(body.due_at)
                }
                Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) => {
                    Some(body.due_at)
                }
                _ => None,
            })
            .collect();
        let request = &story.held().request;
        assert_eq!(due, [request.warning_at(), request.timeout_at]);
        assert!(names(&events).contains(&"halted"));
    }

    #[test]
    fn retry_without_reason() {
        let mut story = Story::asked();
        for reason in [None, Some(""), Some(" \t\u{a0}"), Some("\u{200b}\u{2060}"), Some("\0")] {
            let mut answer = story.answer(HumanDecision::Retry);
            answer.reason = reason.map(Into::into);
            let refusal = story
                .when(Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer)))
                .unwrap_err();
            assert_eq!(refusal.code(), "REASON_REQUIRED", "{reason:?}");
        }
        assert_eq!(story.when(story.retry()).unwrap_err().code(), "HOLD_APPLIES");
    }

    /// Phases 21 to 31 are as they were, and a decision changes nothing that was captured.
    #[test]
    fn modifying_prior_phases() {
        assert_eq!(ExecutionLoopState::ALL.len(), 5);
        assert_eq!(ALLOWED_TRANSITIONS.len(), 9);
        assert_eq!(ExecutorResponseType::ALL.len(), 5);
        assert_eq!(ObservationPoint::ALL.len(), 5);
        assert_eq!(EvidenceType::ALL.len(), 5);
        assert_eq!(StopCondition::ALL.len(), 10);
        assert_eq!(ExecutionFaultType::ALL.len(), 6);
        assert_eq!(INTEGRATION.len(), 11);
        for decision in HumanDecision::ALL {
            let mut story = Story::asked();
            let before = story.entity().clone();
            story.given(story.decides(*decision));
            let (records, after) = (before.chain.unwrap().records, story.entity().clone());
            assert_eq!(after.chain.unwrap().records[..records.len()], records, "{decision}");
            assert_eq!(after.attempts, before.attempts, "{decision}");
        }
    }
}
