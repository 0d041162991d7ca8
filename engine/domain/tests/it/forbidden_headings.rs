//! Headings that no writer makes: each is found, whatever the event.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::log::ClockStepped;
use holdpoint_domain::{Envelope, Event, ForbiddenEvent, Idempotency};
use holdpoint_testing::story::samples::samples;
use holdpoint_testing::story::{Story, envelope};

#[track_caller]
fn assert_found(findings: &[ForbiddenEvent], rule: Rule) {
    assert!(findings.iter().any(|finding| finding.rule == rule), "{rule}: {findings:?}");
}

/// Forges the heading of an event that is allowed otherwise.
fn forged_heading(event: Event, change: impl Fn(&mut Envelope)) -> Vec<ForbiddenEvent> {
    let mut story = Story::initialized();
    let mut forged = envelope(event);
    change(&mut forged);
    story.record_envelope(forged)
}

/// An event that may follow any other.
fn stepped() -> Event {
    ClockStepped { step_ns: 1 }.into()
}

#[test]
fn names_beyond_their_bounds_are_found_in_every_place_of_a_heading() {
    type Place = fn(&mut Envelope) -> &mut String;
    let places: [Place; 5] = [
        |it| &mut it.actor.id,
        |it| &mut it.correlation,
        |it| &mut it.idempotency.as_mut().unwrap().tenant,
        |it| &mut it.idempotency.as_mut().unwrap().engine,
        |it| &mut it.idempotency.as_mut().unwrap().key,
    ];
    let named = |place: Place, name: &str| {
        forged_heading(stepped(), |it| {
            let [tenant, engine, key] = ["tenant", "engine", "key"].map(String::from);
            it.idempotency = Some(Idempotency { tenant, engine, key, content: sha256(b"") });
            *place(it) = name.into();
        })
    };
    for place in places {
        for name in ["", &"x".repeat(257), "a\nb", "\u{7f}"] {
            assert_found(&named(place, name), Rule::Names);
        }
        for name in ["x", &"x".repeat(256), "a b", "\u{e9}"] {
            assert_eq!(named(place, name), []);
        }
    }
}

#[test]
fn a_cause_that_is_no_earlier_record_is_found() {
    let caused = |cause: u64| forged_heading(stepped(), |it| it.causation = Some(cause));
    let newest = Story::initialized().records.len() as u64;
    for cause in [0, newest + 1, newest + 2, u64::MAX] {
        assert_found(&caused(cause), Rule::Cause);
    }
    assert_eq!((caused(1), caused(newest)), (vec![], vec![]));
}

#[test]
fn what_happened_to_the_log_itself_is_said_by_system_alone() {
    for speaker in [Actor::Human, Actor::Agent, Actor::Automation] {
        assert_found(&forged_heading(stepped(), |it| it.actor.kind = speaker), Rule::Speaker);
    }
    for sample in samples().into_iter().filter(|it| it.event.is_of_system()) {
        let found = forged_heading(sample.event, |it| it.actor.kind = Actor::Agent);
        assert_found(&found, Rule::Speaker);
    }
}
