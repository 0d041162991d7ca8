//! What PH1.X presumes is registered, by who may, in an order that makes sense; what is not
//! registered is outside of every scope.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::text::BLANK_CODE_POINTS;
use holdpoint_domain::interruption_thread::{
    FateReason, InterruptionThreadCommand, InterruptionThreadEvent, TurnInput,
};
use holdpoint_domain::log::{RecordsUnproven, UnprovenReason};
use holdpoint_domain::registration::{
    Capability, ChangeCapability, LeaseRegistered, LeaseStatus, RegistrationCommand,
    RegistrationStatus, SessionStatus, TenantRegistered, UserRegistered, WorkOrderStatus,
};
use holdpoint_domain::{
    ActorId, Command, Envelope, Event, ForbiddenEvent, Refusal, Time, World, decide,
};
use holdpoint_testing::threads::registering::{register, with};
use holdpoint_testing::threads::{CALLER, Outcome, Stage, requests, turn};
use serde_json::{Value, json};

/// The caller is allowed; nothing else is there.
fn empty() -> Stage {
    let mut stage = Stage::default();
    stage.allow_caller();
    stage
}

/// What each kind presumes, nearest last.
fn presumed(what: &str) -> &'static [(&'static str, &'static str)] {
    match what {
        "tenant" => &[],
        "user" | "work_order" => &[("tenant", "ACTIVE")],
        "device" => &[("tenant", "ACTIVE"), ("user", "ACTIVE")],
        "session" => &[("tenant", "ACTIVE"), ("user", "ACTIVE"), ("device", "ACTIVE")],
        _ => &[("tenant", "ACTIVE"), ("work_order", "EXECUTING")],
    }
}

pub(crate) fn ready_for(what: &str) -> Stage {
    let mut stage = empty();
    for (parent, status) in presumed(what) {
        stage.give(&register(parent, status), 1).events();
    }
    stage
}

/// Everything is registered.
fn whole() -> Stage {
    let mut stage = ready_for("session");
    stage.give(&register("session", "ACTIVE"), 1).events();
    stage.give(&register("work_order", "EXECUTING"), 1).events();
    stage.give(&register("lease", "ACTIVE"), 1).events();
    stage
}

/// The statuses of each kind; whether they are final; whether something is done under them.
pub(crate) fn statuses(what: &str) -> Vec<(&'static str, bool, bool)> {
    match what {
        "work_order" => WorkOrderStatus::ALL
            .iter()
            .map(|status| (status.name(), status.is_final(), !status.is_final()))
            .collect(),
        "lease" => LeaseStatus::ALL
            .iter()
            .map(|status| (status.name(), *status != LeaseStatus::Active, false))
            .collect(),
        _ => RegistrationStatus::ALL
            .iter()
            .map(|status| {
                let (closed, active) = (RegistrationStatus::Closed, RegistrationStatus::Active);
                (status.name(), *status == closed, *status == active)
            })
            .collect(),
    }
}

pub(crate) const KINDS: [&str; 6] = ["tenant", "user", "device", "session", "work_order", "lease"];

/// The registry's bytes in a carried state.
pub(crate) fn registry_of(world: &World) -> Option<Vec<u8>> {
    let configuration = bincode::config::standard();
    let sections: Vec<(String, u32, Vec<u8>)> =
        bincode::serde::decode_from_slice(&world.carry(), configuration).unwrap().0;
    sections.into_iter().find(|(name, _, _)| name == "registry").map(|(_, _, bytes)| bytes)
}

#[track_caller]
fn assert_refused(stage: &mut Stage, command: &Command, at: u64, code: &str, field: &str) {
    let before = registry_of(&stage.world);
    let outcome = stage.give(command, at);
    let refusal = outcome.refusal().unwrap_or_else(|| panic!("{command:?}: {outcome:?}"));
    assert_eq!(refusal.code(), code, "{refusal}");
    assert!(refusal.to_string().contains(field), "{field} is not named: {refusal}");
    assert_eq!(registry_of(&stage.world), before, "{refusal}");
    stage.assert_rebuilt();
}

#[test]
fn table_statuses_of_every_kind_follow_each_other_until_they_are_final() {
    for what in KINDS {
        for (known, is_final, _) in statuses(what) {
            for (stated, _, _) in statuses(what) {
                let mut stage = ready_for(what);
                stage.give(&register(what, known), 1).events();
                let command = register(what, stated);
                if known == stated || is_final {
                    assert_refused(&mut stage, &command, 1, "REGISTRATION_REFUSED", "status");
                } else {
                    assert_eq!(stage.give(&command, 1).events().len(), 1, "{what} {stated}");
                }
                stage.assert_rebuilt();
            }
        }
    }
}

/// What comes into being or becomes usable needs all that it presumes; what ends needs nothing.
#[test]
fn table_what_is_presumed_is_usable_where_something_becomes_so() {
    for what in KINDS {
        for (index, (parent, open)) in presumed(what).iter().enumerate() {
            for (stands, _, _) in statuses(parent).into_iter().filter(|(s, _, o)| s != open && !o) {
                for (stated, _, is_open) in statuses(what) {
                    let mut fresh = ready_for(what);
                    fresh.give(&register(parent, stands), 1).events();
                    let command = register(what, stated);
                    assert_refused(&mut fresh, &command, 1, "REGISTRATION_REFUSED", "expected");
                    let mut known = ready_for(what);
                    let first = statuses(what).into_iter().find(|(s, f, _)| *s != stated && !f);
                    let Some((first, _, _)) = first else { continue };
                    known.give(&register(what, first), 1).events();
                    known.give(&register(parent, stands), 1).events();
                    let outcome = known.give(&command, 1);
                    let leases_ended = *parent == "work_order";
                    let is_done = matches!(outcome, Outcome::Done(_));
                    assert_eq!(is_done, !is_open && !leases_ended, "{what} {index} {stated}");
                }
            }
        }
    }
}

#[test]
fn what_is_presumed_has_to_be_there() {
    for (what, field) in [
        ("user", "tenant_id"),
        ("device", "tenant_id"),
        ("session", "tenant_id"),
        ("work_order", "tenant_id"),
        ("lease", "tenant_id"),
    ] {
        let (name, _, _) = statuses(what)[0];
        assert_refused(&mut empty(), &register(what, name), 1, "REGISTRATION_REFUSED", field);
    }
    let mut stage = whole();
    for (what, field, value) in [
        ("user", "tenant_id", "other"),
        ("device", "user_id", "bob"),
        ("session", "tenant_id", "other"),
        ("work_order", "tenant_id", "other"),
        ("lease", "tenant_id", "other"),
        ("lease", "work_order_id", "w2"),
    ] {
        let (name, _, _) = statuses(what)[0];
        let command = with(&register(what, name), field, value.into());
        assert_refused(&mut stage, &command, 1, "REGISTRATION_REFUSED", field);
    }
}

#[test]
fn what_a_name_stands_for_never_changes() {
    let mut stage = whole();
    stage.user("acme", "bob", "phone");
    let later = Time::from_nanoseconds(101).to_string();
    for (what, status, field, value) in [
        ("session", "SUSPENDED", "user_id", json!("bob")),
        ("session", "SUSPENDED", "device_id", json!("tablet")),
        ("work_order", "DRAFT", "correlation_id", json!("t2")),
        ("lease", "RELEASED", "expires_at", json!(later)),
    ] {
        let command = with(&register(what, status), field, value);
        assert_refused(&mut stage, &command, 1, "REGISTRATION_REFUSED", field);
    }
}

#[test]
fn a_lease_ends_after_it_begins() {
    let lease = register("lease", "ACTIVE");
    for at in [100, 101, u64::MAX] {
        let mut stage = ready_for("lease");
        assert_refused(&mut stage, &lease, at, "REGISTRATION_REFUSED", "expires_at");
    }
    ready_for("lease").give(&lease, 99).events();
}

#[test]
fn names_are_visible_and_no_longer_than_their_bound() {
    for what in KINDS {
        let (name, _, _) = statuses(what)[0];
        let command = register(what, name);
        for (field, most) in [
            ("tenant_id", 64),
            ("user_id", 128),
            ("device_id", 128),
            ("session_id", 128),
            ("work_order_id", 128),
            ("correlation_id", 256),
        ] {
            if serde_json::to_value(&command).unwrap().get(field).is_none() {
                continue;
            }
            for hostile in hostile_names(most) {
                let mut stage = ready_for(what);
                let before = stage.sequence;
                let command = with(&command, field, hostile.into());
                assert_refused(&mut stage, &command, 1, "MALFORMED_REQUEST", field);
                assert_eq!(stage.sequence, before, "a malformed command leaves no record");
            }
        }
    }
    let longest = with(&register("tenant", "ACTIVE"), "tenant_id", "x".repeat(64).into());
    empty().give(&longest, 1).events();
    let two_bytes_each = "\u{e9}".repeat(64);
    let longest = with(&register("user", "ACTIVE"), "user_id", two_bytes_each.into());
    ready_for("user").give(&longest, 1).events();
}

fn hostile_names(most: usize) -> Vec<String> {
    let blank = BLANK_CODE_POINTS.iter().map(char::to_string);
    let hidden = ["", "\0", "a\0", "\u{7}b", "\u{1b}[2J", "a\u{200b}b", "a\u{202e}", "\u{feff}"];
    let long = ["x".repeat(most + 1), "\u{e9}".repeat(most / 2 + 1)];
    blank.chain(hidden.map(String::from)).chain(long).collect()
}

fn change(actor: &ActorId, capability: Capability, is_granted: bool) -> Command {
    let (actor_kind, actor_id) = (actor.kind, actor.id.clone());
    Command::Registration(RegistrationCommand::ChangeCapability(ChangeCapability {
        actor_kind,
        actor_id,
        capability,
        is_granted,
    }))
}

#[test]
fn only_a_person_grants_and_only_who_was_granted_may_call() {
    let at = Time::from_nanoseconds(1);
    let (capability, tenant) = (Capability::SeleneOsOnly, register("tenant", "ACTIVE"));
    for kind in Actor::ALL {
        let actor = ActorId { kind: *kind, id: "somebody".into() };
        let person = ActorId { kind: Actor::Human, id: "person".into() };
        let mut stage = Stage::default();
        let grants = stage.give_as(&actor, &change(&person, capability, true), at);
        assert_eq!(grants.refusal().is_none(), *kind == Actor::Human, "{kind}");
        let refused = stage.world.check_caller(&actor, &tenant).unwrap_err();
        assert_eq!(refused.code(), "X_FAIL_CALLER_NOT_ALLOWED");
        assert!(refused.to_string().contains("actor"), "{refused}");
        stage.give_as(&person, &change(&actor, capability, true), at).events();
        assert_eq!(stage.world.check_caller(&actor, &tenant), Ok(()));
        for other in Actor::ALL.iter().filter(|other| *other != kind) {
            let other = ActorId { kind: *other, id: actor.id.clone() };
            assert!(stage.world.check_caller(&other, &tenant).is_err(), "{other:?}");
        }
        stage.give_as(&person, &change(&actor, capability, false), at).events();
        assert!(stage.world.check_caller(&actor, &tenant).is_err());
        stage.assert_rebuilt();
    }
}

#[test]
fn a_grant_that_changes_nothing_or_names_nobody_is_refused() {
    let person = ActorId { kind: Actor::Human, id: "person".into() };
    let caller = ActorId { kind: Actor::Automation, id: CALLER.into() };
    let stage = empty();
    for (actor, is_granted, code) in [
        (&caller, true, "REGISTRATION_REFUSED"),
        (&person, false, "REGISTRATION_REFUSED"),
        (&ActorId { kind: Actor::Agent, id: "a\0".into() }, true, "MALFORMED_REQUEST"),
    ] {
        let command = change(actor, Capability::SeleneOsOnly, is_granted);
        assert_eq!(stage.world.check_caller(&person, &command), Ok(()));
        let refusal = decide(&stage.world, &command, Time::from_nanoseconds(1)).unwrap_err();
        assert_eq!(refusal.code(), code);
    }
}

/// Time passes whoever looks: recording what expired needs no capability, everything else does.
#[test]
fn every_command_of_a_thread_but_expiry_needs_a_capability() {
    let nobody = ActorId { kind: Actor::System, id: "holdpoint".into() };
    let world = World::default();
    let mut commands: Vec<Command> =
        KINDS.iter().map(|what| register(what, statuses(what)[0].0)).collect();
    commands.extend([respond(1), dispatch(1, None)]);
    for name in ["read_audit_rows", "close"] {
        commands.push(on_thread(name));
    }
    for command in commands {
        let refused = world.check_caller(&nobody, &command).unwrap_err();
        assert_eq!(refused.code(), "X_FAIL_CALLER_NOT_ALLOWED", "{command:?}");
    }
    assert_eq!(world.check_caller(&nobody, &on_thread("expire")), Ok(()));
}

fn on_thread(name: &str) -> Command {
    let command = format!("interruption_thread.{name}");
    let json = json!({"command": command, "tenant_id": "acme", "correlation_id": "t"});
    serde_json::from_value(json).unwrap()
}

/// A row in the scope that is registered.
fn row(name: &str, turn_id: u64, own: (&str, &str)) -> Value {
    json!({
        "command": format!("interruption_thread.{name}_commit_row"),
        "tenant_id": "acme",
        "correlation_id": "t",
        "turn_id": turn_id,
        "session_id": "s",
        "user_id": "alice",
        "device_id": "phone",
        "work_order_id": "w",
        "work_order_status_snapshot": "EXECUTING",
        "pending_state": "NONE",
        "idempotency_key": format!("key {turn_id}"),
        "reason_code": "X_NLP_CHAT",
        own.0: own.1,
    })
}

fn respond(turn_id: u64) -> Command {
    serde_json::from_value(row("respond", turn_id, ("response_kind", "CHAT"))).unwrap()
}

fn dispatch(turn_id: u64, lease: Option<Digest>) -> Command {
    let mut json = row("dispatch", turn_id, ("dispatch_target", "TOOL"));
    json["lease_token_hash"] = serde_json::to_value(lease).unwrap();
    serde_json::from_value(json).unwrap()
}

#[test]
fn tenant_user_device_and_session_belong_together() {
    let mut stage = whole();
    stage.tenant("other");
    stage.user("other", "alice", "phone");
    stage.user("acme", "bob", "laptop");
    stage.user("other", "carol", "tablet");
    let code = "X_FAIL_TENANT_SCOPE_INVALID";
    for (field, value) in [
        ("tenant_id", json!("nowhere")),
        ("user_id", json!("carol")),
        ("device_id", json!("tablet")),
        ("device_id", json!("laptop")),
        ("session_id", json!("s2")),
    ] {
        assert_refused(&mut stage, &with(&respond(1), field, value), 1, code, field);
    }
    let elsewhere = with(&respond(1), "tenant_id", json!("other"));
    assert_refused(&mut stage, &elsewhere, 1, code, "session_id");
    stage.give(&respond(1), 1).events();
    let without = with(&respond(2), "session_id", Value::Null);
    stage.give(&without, 1).events();
    stage.assert_rebuilt();
}

#[test]
fn a_thread_that_may_rest_on_unproven_records_dispatches_nothing() {
    let mut stage = whole();
    let begun = stage.sequence + 1;
    stage.give(&respond(1), 1).events();
    let lease = Some(sha256(b"token"));
    stage.clone().give(&dispatch(2, lease), 1).events();
    let actor = ActorId { kind: Actor::System, id: "holdpoint".into() };
    let reason = UnprovenReason::NoWitness;
    let said = RecordsUnproven { first_sequence: begun, last_sequence: begun, reason };
    let (event, correlation, clock) = (said.into(), "salvage".into(), None);
    let (proof, causation, idempotency) = (None, None, None);
    let envelope = Envelope { clock, proof, actor, correlation, causation, idempotency, event };
    stage.record(&envelope, Time::from_nanoseconds(1));
    let refused = stage.give(&dispatch(2, lease), 1);
    assert_eq!(refused.refusal().map(Refusal::code), Some("RESTS_ON_UNPROVEN"));
    stage.give(&respond(3), 1).events();
}

/// A device is never bound to whoever came first; a session on it is its user's alone.
#[test]
fn a_device_may_be_shared_and_a_session_on_it_is_not() {
    let mut stage = whole();
    stage.user("acme", "bob", "phone");
    let bobs = with(&respond(1), "user_id", json!("bob"));
    let code = "X_FAIL_TENANT_SCOPE_INVALID";
    assert_refused(&mut stage, &bobs, 1, code, "user_id");
    // Whoever speaks first is the thread's speaker: each of them may, with the same device.
    stage.clone().give(&with(&bobs, "session_id", Value::Null), 1).events();
    stage.give(&respond(2), 1).events();
    stage.give(&with(&register("device", "CLOSED"), "user_id", json!("bob")), 1).events();
    stage.give(&respond(3), 1).events();
}

#[test]
fn what_is_suspended_or_closed_is_outside_of_every_scope() {
    for (what, field) in [("tenant", "tenant_id"), ("user", "user_id"), ("device", "device_id")] {
        for status in ["SUSPENDED", "CLOSED"] {
            let mut stage = whole();
            stage.give(&register(what, status), 1).events();
            let code = "X_FAIL_TENANT_SCOPE_INVALID";
            assert_refused(&mut stage, &respond(1), 1, code, field);
        }
    }
}

#[test]
fn table_a_work_order_is_as_it_is_stated_and_has_not_ended() {
    let code = "X_FAIL_WORK_ORDER_SCOPE_INVALID";
    let field = "work_order_status_snapshot";
    for known in WorkOrderStatus::ALL {
        for stated in WorkOrderStatus::ALL {
            let mut stage = ready_for("session");
            stage.give(&register("session", "ACTIVE"), 1).events();
            stage.give(&register("work_order", known.name()), 1).events();
            let command = with(&respond(1), field, json!(stated.name()));
            if known == stated && !known.is_final() {
                stage.give(&command, 1).events();
            } else {
                assert_refused(&mut stage, &command, 1, code, field);
            }
        }
    }
    let mut stage = whole();
    for (field, value) in [("work_order_id", "w2"), ("correlation_id", "t2")] {
        assert_refused(&mut stage, &with(&respond(1), field, json!(value)), 1, code, field);
    }
}

#[test]
fn a_lease_allows_a_dispatch_until_it_expires() {
    let (code, field) = ("X_FAIL_LEASE_REQUIRED", "lease_token_hash");
    let held = Some(sha256(b"token"));
    let mut stage = whole();
    stage.give(&dispatch(1, held), 99).events();
    for (lease, at) in [(held, 100), (held, 101), (None, 99), (Some(sha256(b"other")), 99)] {
        assert_refused(&mut stage.clone(), &dispatch(2, lease), at, code, field);
    }
    for status in ["RELEASED", "REVOKED"] {
        let mut stage = whole();
        stage.give(&register("lease", status), 1).events();
        assert_refused(&mut stage, &dispatch(1, held), 1, code, field);
    }
    let mut stage = whole();
    stage.give(&with(&register("work_order", "DRAFT"), "work_order_id", json!("w2")), 1).events();
    let elsewhere = with(&dispatch(1, held), "work_order_id", json!("w2"));
    let elsewhere = with(&elsewhere, "work_order_status_snapshot", json!("DRAFT"));
    assert_refused(&mut stage, &elsewhere, 1, code, field);
}

/// No lease outlives its work order, and none is registered after it.
#[test]
fn leases_end_with_their_work_order() {
    for status in WorkOrderStatus::ALL.iter().filter(|status| status.is_final()) {
        let mut stage = whole();
        stage.give(&register("work_order", status.name()), 1).events();
        for lease in LeaseStatus::ALL {
            let command = register("lease", lease.name());
            let code = "REGISTRATION_REFUSED";
            assert_refused(&mut stage, &command, 1, code, "work_order_id");
        }
    }
}

/// A thread of `alice` in a session, with words left unsaid at this time.
fn interrupted(at: u64) -> Stage {
    let mut stage = Stage::with_tenant("acme");
    stage.user("acme", "alice", "phone");
    stage.work_order("acme", "t");
    let scope = ["acme", "s", "alice", "phone"];
    stage.session(scope, SessionStatus::Active, 1).events();
    let request = requests::request("alice", "weather", TurnInput::None);
    let request = requests::interrupting(request, at, "It will rain. Take a coat.", 13);
    let mut command = turn(&stage, ["acme", "t", "alice", "phone"], 1, request);
    command.session_id = Some("s".into());
    stage
        .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command)), at)
        .events();
    assert_eq!(stage.state("acme", "t").resume_buffers.len(), 1);
    stage
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_closed_session_says_what_became_of_the_words_left_unsaid() {
    let at = 10 * SECOND;
    let mut stage = interrupted(at);
    let buffer = stage.state("acme", "t").resume_buffers[0].clone();
    let scope = ["acme", "s", "alice", "phone"];
    assert_eq!(stage.session(scope, SessionStatus::Suspended, at).events().len(), 1);
    let events = stage.session(scope, SessionStatus::Closed, at).events();
    let [
        _,
        Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(disarmed)),
        Event::InterruptionThread(InterruptionThreadEvent::RemaindersDiscarded(body)),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(disarmed.pending_state.name(), "CLARIFY");
    assert_eq!(body.reason_code.name(), "X_SESSION_CLOSED");
    let [remainder] = &body.remainders[..] else { panic!("{body:?}") };
    assert_eq!(remainder.captured_turn, buffer.captured_turn);
    assert_eq!(remainder.speaker_user_id.as_str(), "alice");
    assert_eq!(remainder.reason, FateReason::SessionClosed);
    assert_eq!(stage.state("acme", "t").resume_buffers, []);
    stage.assert_rebuilt();
}

/// What expired is said to have expired, whoever looks first.
#[test]
fn a_session_closed_after_its_words_expired_gives_nothing_up() {
    let at = 10 * SECOND;
    let mut stage = interrupted(at);
    let scope = ["acme", "s", "alice", "phone"];
    let events = stage.session(scope, SessionStatus::Closed, at + 61 * SECOND).events();
    let [
        _,
        Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(body)),
        Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(_)),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(body.reason_code.name(), "X_BUFFER_EXPIRED");
    assert_eq!(stage.state("acme", "t").resume_buffers, []);
    stage.assert_rebuilt();
}

/// Puts an event on the record as this actor, whether or not the rules would have made it.
fn forged(stage: &mut Stage, kind: Actor, event: Event) -> Vec<ForbiddenEvent> {
    stage.sequence += 1;
    let envelope = Envelope {
        clock: None,
        proof: None,
        actor: ActorId { kind, id: CALLER.into() },
        correlation: "forged".into(),
        causation: None,
        idempotency: None,
        event,
    };
    let at = stage.world.totals().last_at;
    stage.world.judge_and_evolve(stage.sequence, at, &envelope)
}

#[track_caller]
fn assert_found(findings: &[ForbiddenEvent], rule: Rule) {
    assert!(findings.iter().any(|finding| finding.rule == rule), "{rule}: {findings:?}");
}

#[test]
fn registrations_that_the_rules_forbid_are_found() {
    let user = |tenant: &str, name: &str| {
        let (tenant_id, user_id) = (tenant.into(), name.into());
        Event::from(UserRegistered { tenant_id, user_id, status: RegistrationStatus::Active })
    };
    let mut stage = whole();
    let (elsewhere, other) = (user("nowhere", "mallory"), user("acme", "mallory"));
    assert_found(&forged(&mut stage, Actor::Automation, elsewhere), Rule::Registration);
    assert_found(&forged(&mut stage, Actor::Agent, other), Rule::CallerCapability);
    let again = forged(&mut stage, Actor::Automation, user("acme", "alice"));
    assert_found(&again, Rule::Registration);
    let status = RegistrationStatus::Closed;
    let blank = TenantRegistered { tenant_id: " ".into(), status };
    assert_found(&forged(&mut stage, Actor::Automation, blank.into()), Rule::Registration);
    let grant = stage_grant(&stage);
    assert_found(&forged(&mut stage, Actor::Automation, grant), Rule::CallerCapability);
}

/// A capability that a person would give away.
fn stage_grant(stage: &Stage) -> Event {
    let agent = ActorId { kind: Actor::Agent, id: "agent".into() };
    let command = change(&agent, Capability::SeleneOsOnly, true);
    decide(&stage.world, &command, Time::from_nanoseconds(1)).unwrap().remove(0)
}

#[test]
fn a_forged_lease_of_an_ended_work_order_allows_nothing() {
    let mut stage = whole();
    stage.give(&register("work_order", "COMPLETED"), 1).events();
    let lease = LeaseRegistered {
        tenant_id: "acme".into(),
        work_order_id: "w".into(),
        lease_token_hash: sha256(b"token"),
        expires_at: Time::from_nanoseconds(100),
        status: LeaseStatus::Active,
    };
    assert_found(&forged(&mut stage, Actor::Automation, lease.into()), Rule::Registration);
    let command = dispatch(1, Some(sha256(b"token")));
    let command = with(&command, "work_order_status_snapshot", json!("COMPLETED"));
    let refusal = decide(&stage.world, &command, Time::from_nanoseconds(1)).unwrap_err();
    assert_eq!(refusal.code(), "X_FAIL_WORK_ORDER_SCOPE_INVALID");
}
