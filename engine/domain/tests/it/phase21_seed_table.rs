//! Phase-21's own list of tests: fault classification, sandbox decision, retry policy, deny by
//! default, no browser imports; and its five invariants.

use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, FaultReport, RetryPolicy, SandboxContext, SandboxDecision,
    decide_sandbox_outcome,
};

fn context(attempt: i64, max: i64) -> SandboxContext {
    SandboxContext {
        execution_id: "EXEC-1".into(),
        instruction_id: "INSTR-1".into(),
        attempt_number: attempt,
        max_retries: max,
        timeout_ms: 30_000,
        timestamp: "2026-01-25T16:00:00Z".into(),
    }
}

fn fault(fault_type: ExecutionFaultType, attempt: i64) -> FaultReport {
    FaultReport {
        fault_id: "FAULT-1".into(),
        execution_id: "EXEC-1".into(),
        fault_type,
        fault_message: "boom".into(),
        occurred_at: "2026-01-25T16:00:01Z".into(),
        attempt_number: attempt,
    }
}

fn outcome(fault_type: ExecutionFaultType, attempt: i64, max: i64) -> (SandboxDecision, String) {
    let result = decide_sandbox_outcome(
        RetryPolicy::RetryLimited,
        &fault(fault_type, attempt),
        &context(attempt, max),
    );
    (result.decision, result.reason_code)
}

mod fault_classification {
    use holdpoint_domain::sandbox_fault::{ExecutionFaultType, RetryPolicy, classify_fault};

    #[test]
    fn table_six_faults_have_one_policy_each() {
        use ExecutionFaultType as Fault;
        let table = [
            (Fault::Crash, RetryPolicy::RetryLimited),
            (Fault::Timeout, RetryPolicy::RetryLimited),
            (Fault::Partial, RetryPolicy::NoRetry),
            (Fault::InvalidResponse, RetryPolicy::NoRetry),
            (Fault::ResourceExhausted, RetryPolicy::HumanDecision),
            (Fault::SecurityViolation, RetryPolicy::NoRetry),
        ];
        assert_eq!(table.map(|row| row.0).as_slice(), Fault::ALL);
        for (fault, policy) in table {
            assert_eq!(classify_fault(fault), policy, "{fault}");
        }
    }
}

mod sandbox_decision {
    use super::{context, fault, outcome};
    use holdpoint_domain::sandbox_fault::{
        ExecutionFaultType as Fault, RetryPolicy, SandboxDecision, decide_sandbox_outcome,
    };

    /// Six faults, every limit from 1 to 3, every attempt up to the limit and beyond.
    #[test]
    fn table_six_faults_by_attempts() {
        for max in 1..=3 {
            for attempt in 1..=max + 2 {
                let retry = if attempt < max {
                    (SandboxDecision::Retry, "SBX-OK")
                } else {
                    (SandboxDecision::Terminate, "SBX-004")
                };
                let table = [
                    (Fault::Crash, retry),
                    (Fault::Timeout, retry),
                    (Fault::Partial, (SandboxDecision::Terminate, "SBX-003")),
                    (Fault::InvalidResponse, (SandboxDecision::Terminate, "SBX-003")),
                    (Fault::ResourceExhausted, (SandboxDecision::Escalate, "SBX-002")),
                    (Fault::SecurityViolation, (SandboxDecision::Terminate, "SBX-001")),
                ];
                for (fault_type, (decision, code)) in table {
                    let found = outcome(fault_type, attempt, max);
                    assert_eq!(found, (decision, code.into()), "{fault_type} {attempt}/{max}");
                }
            }
        }
    }

    #[test]
    fn a_decision_says_why() {
        let says = |fault_type, attempt| {
            let (fault, context) = (fault(fault_type, attempt), context(attempt, 3));
            let result = decide_sandbox_outcome(RetryPolicy::RetryLimited, &fault, &context);
            (result.retry_policy, result.reason_description)
        };
        let retry = "CRASH: retry allowed (attempt 1/3)".to_owned();
        assert_eq!(says(Fault::Crash, 1), (RetryPolicy::RetryLimited, retry));
        let over = "TIMEOUT: max retries reached".to_owned();
        assert_eq!(says(Fault::Timeout, 3), (RetryPolicy::NoRetry, over));
        let human = "RESOURCE_EXHAUSTED: human decision required".to_owned();
        assert_eq!(says(Fault::ResourceExhausted, 1), (RetryPolicy::HumanDecision, human));
    }
}

mod retry_policy {
    use super::{context, fault};
    use holdpoint_domain::sandbox_fault::{
        DEFAULT_MAX_RETRIES, ExecutionFaultType as Fault, RetryPolicy, SandboxDecision,
        decide_sandbox_outcome, enforce_retry_limit, is_retry_allowed,
    };

    #[test]
    fn three_means_three_attempts() {
        assert_eq!(DEFAULT_MAX_RETRIES, 3);
        let retries = (1..=10).filter(|attempt| is_retry_allowed(&context(*attempt, 3))).count();
        assert_eq!(retries, 2);
    }

    #[test]
    fn the_limit_is_enforced_as_it_is_asked() {
        for max in -1..=5 {
            for attempt in -1..=5 {
                let context = context(attempt, max);
                assert_eq!(is_retry_allowed(&context), enforce_retry_limit(&context));
                let expected = (1..=3).contains(&attempt) && attempt < max && max <= 3;
                assert_eq!(is_retry_allowed(&context), expected, "{attempt}/{max}");
            }
        }
    }

    /// Under each ceiling, for each limit, the attempts of a crash that may be followed by
    /// another.
    #[test]
    fn table_ceilings_by_limits() {
        use RetryPolicy::{HumanDecision, NoRetry, RetryLimited, RetryOnce};
        let table: [(RetryPolicy, [&[i64]; 3]); 4] = [
            (NoRetry, [&[], &[], &[]]),
            (RetryOnce, [&[], &[1], &[1]]),
            (RetryLimited, [&[], &[1], &[1, 2]]),
            (HumanDecision, [&[], &[], &[]]),
        ];
        assert_eq!(table.map(|row| row.0).as_slice(), RetryPolicy::ALL);
        for (ceiling, row) in table {
            for (max, expected) in (1..=3).zip(row) {
                let retried: Vec<i64> = (1..=5)
                    .filter(|attempt| {
                        let (fault, context) =
                            (fault(Fault::Crash, *attempt), context(*attempt, max));
                        let result = decide_sandbox_outcome(ceiling, &fault, &context);
                        result.decision == SandboxDecision::Retry
                    })
                    .collect();
                assert_eq!(retried, expected, "{ceiling} max {max}");
            }
        }
    }

    #[test]
    fn retry_once_is_named_in_the_result() {
        let retried = |attempt| {
            let (fault, context) = (fault(Fault::Timeout, attempt), context(attempt, 3));
            decide_sandbox_outcome(RetryPolicy::RetryOnce, &fault, &context)
        };
        assert_eq!(retried(1).retry_policy, RetryPolicy::RetryOnce);
        assert_eq!(retried(1).reason_description, "TIMEOUT: retry allowed (attempt 1/2)");
        assert_eq!(retried(2).reason_code, "SBX-004");
    }
}

mod deny_by_default {
    use super::{context, fault, outcome};
    use holdpoint_domain::sandbox_fault::{
        ExecutionFaultType as Fault, FaultMismatch, FaultReport, RetryPolicy, SandboxDecision,
        check_fault_identity, decide_sandbox_outcome,
    };

    #[test]
    fn numbers_out_of_bounds_are_never_retried() {
        let table = [(0, 1), (-5, 0), (1, 4), (1_000_000, 1_000_000_000), (i64::MIN, i64::MAX)];
        for (attempt, max) in table {
            let expected = (SandboxDecision::Terminate, "SBX-006".to_owned());
            assert_eq!(outcome(Fault::Crash, attempt, max), expected, "{attempt}/{max}");
        }
    }

    #[test]
    fn a_fault_of_something_else_is_never_retried() {
        let context = context(1, 3);
        let other = FaultReport { execution_id: "EXEC-2".into(), ..fault(Fault::Crash, 1) };
        let late = fault(Fault::Timeout, 99);
        for fault in [&other, &late] {
            let result = decide_sandbox_outcome(RetryPolicy::RetryLimited, fault, &context);
            assert_eq!(result.decision, SandboxDecision::Terminate);
            assert_eq!(result.reason_code, "SBX-005");
        }
        assert!(matches!(
            check_fault_identity(&other, &context),
            Err(FaultMismatch::Execution { .. })
        ));
        assert!(matches!(
            check_fault_identity(&late, &context),
            Err(FaultMismatch::Attempt { expected: 1, found: 99 })
        ));
        assert_eq!(check_fault_identity(&fault(Fault::Crash, 1), &context), Ok(()));
    }

    #[test]
    fn a_fault_outside_the_closed_set_has_no_type() {
        for name in ["", "OOM", "crash", "CRASH ", "SUCCESS"] {
            assert_eq!(Fault::from_name(name), None, "{name:?}");
            assert!(serde_json::from_value::<Fault>(name.into()).is_err(), "{name:?}");
        }
    }
}

mod no_browser_imports {
    #[test]
    fn sources_name_no_browser() {
        let sources = crate::sources::all();
        let sources: Vec<_> = sources.iter().filter(|s| s.module() == "sandbox_fault").collect();
        assert!(sources.len() > 3);
        for word in ["playwright", "selenium", "webdriver", "chromium", "browser"] {
            assert!(!sources.iter().any(|s| s.text.to_lowercase().contains(word)), "{word}");
        }
    }
}

mod invariants {
    use super::{RetryPolicy, context, decide_sandbox_outcome, fault};
    use holdpoint_domain::sandbox_fault::{ExecutionFaultType, SandboxDecision};

    /// Crash, timeout and partial are not success: no fault has an outcome that goes on as if
    /// nothing had happened.
    #[test]
    fn no_fault_is_success() {
        for fault_type in ExecutionFaultType::ALL {
            let (decision, code) = super::outcome(*fault_type, 1, 1);
            assert_ne!(decision, SandboxDecision::Retry, "{fault_type}");
            assert_ne!(code, "SBX-OK", "{fault_type}");
        }
    }

    /// Faults never escalate privileges: no fault, ceiling, attempt or limit allows more attempts
    /// than the context does, and a stricter ceiling never allows more than a laxer one.
    #[test]
    fn table_faults_never_grow_privileges() {
        for fault_type in ExecutionFaultType::ALL {
            for max in 1..=3 {
                for attempt in 1..=4 {
                    let allowed = |ceiling| {
                        let (fault, context) = (fault(*fault_type, attempt), context(attempt, max));
                        let result = decide_sandbox_outcome(ceiling, &fault, &context);
                        result.decision == SandboxDecision::Retry
                    };
                    let limited = allowed(RetryPolicy::RetryLimited);
                    assert!(!limited || attempt < max);
                    assert!(!allowed(RetryPolicy::RetryOnce) || limited);
                    assert!(!allowed(RetryPolicy::HumanDecision));
                    assert!(!allowed(RetryPolicy::NoRetry));
                }
            }
        }
    }
}
