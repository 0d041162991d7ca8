//! Samples of plans that own words, and of their ends.

use holdpoint_domain::Event;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::interruption_thread::{
    Fate, FateReason, InterruptionThreadEvent, PlanDrafted, PlanEnded, ReasonCode, Remainder,
    RemainderDisplaced, ResumePolicy, RowCommitted, RowRefused,
};

use super::at;
use super::threads::{TENANT, THREAD, plans, remainder, row_committed, row_refused};

/// Plans that own words, and their ends.
pub(super) fn plan_ends() -> Vec<Event> {
    let of_plan = |event| match event {
        Event::InterruptionThread(InterruptionThreadEvent::PlanDrafted(plan)) => Some(plan),
        _ => None,
    };
    let drafted = plans().into_iter().find_map(of_plan).expect("a plan among the samples");
    let codes = [ReasonCode::PlanLapsed, ReasonCode::PlanReplaced, ReasonCode::PlanPassedBy];
    let reasons = [FateReason::PlanLapsed, FateReason::PlanReplaced, FateReason::PlanPassedBy];
    let words = |fate, reason| Remainder { fate, reason, ..remainder(0) };
    let ended = |(reason_code, reason): (ReasonCode, FateReason), passed_to_turn: Option<u64>| {
        let fate = if passed_to_turn.is_none() { Fate::Captured } else { Fate::KeptForLater };
        PlanEnded {
            tenant_id: TENANT.into(),
            correlation_id: THREAD.into(),
            turn_id: 300,
            plan_key: "plan".into(),
            remainder: words(fate, reason),
            expires_at: passed_to_turn.is_none().then(|| at(60)),
            passed_to_turn,
            interrupt_resume_policy: ResumePolicy::ResumeLater,
            reason_code,
            issue_fingerprint: passed_to_turn.map(|_| Text::from("topic:weather")),
        }
        .into()
    };
    let ends = codes.into_iter().zip(reasons);
    let mut events = vec![
        PlanDrafted { unsaid: Some(words(Fate::Captured, FateReason::Interrupted)), ..drafted }
            .into(),
    ];
    events.extend(ends.clone().map(|end| ended(end, None)));
    events.extend(ends.map(|end| ended(end, Some(301))));
    let displaced = RemainderDisplaced {
        tenant_id: TENANT.into(),
        correlation_id: THREAD.into(),
        displaced_by_turn: 300,
        remainder: words(Fate::Discarded, FateReason::PlanReplaced),
        interrupt_resume_policy: ResumePolicy::Discard,
        reason_code: ReasonCode::PlanReplaced,
        issue_fingerprint: None,
    };
    events.push(displaced.into());
    events.push(match row_committed(1) {
        Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(row)) => {
            let touched = [words(Fate::Captured, FateReason::Interrupted)];
            RowCommitted { remainders: touched.into_iter().collect(), ..*row }.into()
        }
        other => other,
    });
    events.push(match row_refused(1) {
        Event::InterruptionThread(InterruptionThreadEvent::RowRefused(row)) => {
            let kept = words(Fate::KeptForLater, FateReason::StillKept);
            RowRefused { remainders: [kept].into_iter().collect(), ..row }.into()
        }
        other => other,
    });
    events
}
