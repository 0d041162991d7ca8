//! What a policy demands is kept, whatever it is joined with.

use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::decision_point::ApprovalPolicy;
use holdpoint_domain::human_decision::{HoldPolicy, HoldTerms, HumanDecisionTimeout};
use holdpoint_domain::log::{GatePolicy, GateTerms};

fn named(names: &[&str]) -> List<Text> {
    names.iter().map(|name| Text::from(*name)).collect()
}

fn samples() -> Vec<GatePolicy> {
    let none = GatePolicy::default();
    let time = |ms| HumanDecisionTimeout::from_milliseconds(ms).ok();
    let claims = Some(Authentication::None);
    Vec::from([
        GatePolicy { before: true, ..none.clone() },
        GatePolicy { after: HoldPolicy::OnFailure, ..none.clone() },
        GatePolicy { after: HoldPolicy::After, ..none.clone() },
        GatePolicy { approvers: named(&["a"]), ..none.clone() },
        GatePolicy { approvers: named(&["a", "b"]), quorum: 2, ..none.clone() },
        GatePolicy { authentication: claims, ..none.clone() },
        GatePolicy { before: true, authentication: claims, ..none.clone() },
        GatePolicy { authentication: Some(Authentication::Terminal), ..none.clone() },
        GatePolicy { separation: true, retry_needs_person: true, ..none.clone() },
        GatePolicy { decision_timeout_ms: time(5), ..none.clone() },
        GatePolicy { approval_timeout_ms: time(7), ..none.clone() },
        GatePolicy { escalation_approvers: Some(named(&["b"])), ..none.clone() },
        GatePolicy { override_approvers: Some(named(&[])), ..none.clone() },
        none,
    ])
}

/// Over every pair: both together are kept by nothing that one of them is not kept by.
#[test]
fn both_at_once_keep_each() {
    for one in &samples() {
        assert_eq!(one.check_kept_by(one), Ok(()));
        assert_eq!(one.and(&GatePolicy::default()).as_ref(), Ok(one));
        for other in &samples() {
            let Ok(both) = one.and(other) else { continue };
            assert_eq!(one.check_kept_by(&both), Ok(()), "{one:?} {other:?}");
            assert_eq!(other.check_kept_by(&both), Ok(()), "{one:?} {other:?}");
            assert_eq!(other.and(one), Ok(both));
        }
    }
}

#[test]
fn whatever_is_demanded_is_demanded_of_proven_people() {
    for policy in samples() {
        let stated = policy.authentication.is_some();
        let claims = GateTerms { authentication: Authentication::None, ..GateTerms::default() };
        let hold = HoldTerms::never();
        let is_kept = policy.check_run(&hold, &claims).is_ok();
        assert!(!is_kept || stated || policy.is_none(), "{policy:?}");
        let agents = ApprovalPolicy { allow_agents: true, ..ApprovalPolicy::people() };
        assert!(policy.check_approval(&agents, true, Some(1)).is_err() || policy.is_none());
    }
}
