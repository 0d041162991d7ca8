//! What is registered by a record that is unproven, or that lies before records that are lost,
//! permits nothing until it is registered anew as the refusal says.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::interruption_thread::{Directive, IntentClass, InterruptionThreadCommand};
use holdpoint_domain::log::{RecordsUnproven, UnprovenReason};
use holdpoint_domain::{ActorId, Command, Envelope, Event, Time, World, decide};
use holdpoint_testing::threads::drawn::row;
use holdpoint_testing::threads::registering::{register, with};
use holdpoint_testing::threads::requests::{chat, intent, request};
use holdpoint_testing::threads::{Stage, caller, permission, turn};
use serde_json::json;

use crate::lost::lost;

const AT: u64 = 10;

/// What the thread below presumes, in the order in which one presumes the other; what refuses a
/// dispatch where it is in doubt; and how it is registered anew.
const PRESUMED: [(&str, &str, [&str; 2]); 6] = [
    ("tenant", "X_FAIL_TENANT_SCOPE_INVALID", ["SUSPENDED", "ACTIVE"]),
    ("user", "X_FAIL_TENANT_SCOPE_INVALID", ["SUSPENDED", "ACTIVE"]),
    ("device", "X_FAIL_TENANT_SCOPE_INVALID", ["SUSPENDED", "ACTIVE"]),
    ("session", "X_FAIL_TENANT_SCOPE_INVALID", ["SUSPENDED", "ACTIVE"]),
    ("work_order", "X_FAIL_WORK_ORDER_SCOPE_INVALID", ["CONFIRM", "EXECUTING"]),
    ("lease", "X_FAIL_LEASE_REQUIRED", ["REVOKED", "ACTIVE"]),
];

/// Everything that a dispatch presumes, and the record that registered each.
fn registered() -> (Stage, Vec<u64>) {
    let mut stage = Stage::default();
    stage.allow_caller();
    let register_one = |(what, _, [_, status]): (&str, &str, [&str; 2])| {
        stage.give(&register(what, status), AT).events();
        stage.sequence
    };
    let records = PRESUMED.map(register_one).to_vec();
    (stage, records)
}

/// A dispatch in a thread that is new, with the lease of this token.
fn dispatch(stage: &Stage, token: &str) -> Command {
    let mut of = turn(stage, ["acme", "t", "alice", "phone"], 1, request("alice", "s", chat("hi")));
    of.session_id = Some("s".into());
    of.work_order_id = "w".into();
    of.lease_token_hash = Some(sha256(token.as_bytes()));
    row(of, Directive::Dispatch)
}

fn refusal(world: &World, command: &Command) -> Option<(&'static str, String)> {
    let refused = decide(world, command, Time::from_nanoseconds(AT)).err()?;
    Some((refused.code(), refused.to_string()))
}

fn say(stage: &mut Stage, event: Event) {
    say_as(stage, ActorId { kind: Actor::System, id: "holdpoint".into() }, event);
}

fn say_as(stage: &mut Stage, actor: ActorId, event: Event) {
    let correlation = "salvage".into();
    let (proof, causation, idempotency) = (None, None, None);
    let said = Envelope { clock: None, proof, actor, correlation, causation, idempotency, event };
    stage.record(&said, Time::from_nanoseconds(AT));
}

/// As the refusal advises it; a lease is taken anew with another token, which is returned.
fn register_anew(stage: &mut Stage, what: &str, [between, now]: [&str; 2]) -> &'static str {
    if what == "lease" {
        let hash = sha256(b"another").to_string();
        stage.give(&with(&register(what, now), "lease_token_hash", json!(hash)), AT).events();
        return "another";
    }
    stage.give(&register(what, between), AT).events();
    stage.give(&register(what, now), AT).events();
    "token"
}

/// A person takes the caller's capability away, and grants it anew.
fn grant_anew(stage: &mut Stage) {
    let person = ActorId { kind: Actor::Human, id: "person".into() };
    for is_granted in [false, true] {
        let at = stage.world.totals().last_at;
        stage.give_as(&person, &permission(is_granted), at).events();
    }
}

fn doubted(world: &World) -> Vec<(&'static str, Option<Doubt>)> {
    let doubted = world.registrations().filter(|it| it.status == "DOUBTED");
    doubted.map(|it| (it.name.kind, it.doubt)).collect()
}

#[test]
fn what_an_unproven_record_registers_permits_nothing_until_it_is_registered_anew() {
    let (stage, records) = registered();
    assert_eq!(refusal(&stage.world, &dispatch(&stage, "token")), None);
    for ((what, code, statuses), record) in PRESUMED.into_iter().zip(records) {
        let mut stage = stage.clone();
        let (first_sequence, last_sequence) = (record, record);
        let reason = UnprovenReason::NoWitness;
        say(&mut stage, RecordsUnproven { first_sequence, last_sequence, reason }.into());
        let carried = World::from_carried(&stage.world.carry()).unwrap();
        let doubt = Doubt::Unproven { first: record, last: record };
        for world in [&stage.world, &stage.rebuilt, &carried] {
            let (found, words) = refusal(world, &dispatch(&stage, "token")).unwrap();
            assert_eq!(found, code, "{what}");
            assert!(words.contains(&format!("which {doubt}")), "{words}");
            assert_eq!(doubted(world), [(what, Some(doubt))]);
        }
        let token = register_anew(&mut stage, what, statuses);
        assert_eq!(refusal(&stage.world, &dispatch(&stage, token)), None, "{what}");
        stage.give(&dispatch(&stage, token), AT).events();
        stage.assert_rebuilt();
    }
}

#[test]
fn what_was_registered_before_records_were_lost_permits_nothing_until_it_is_registered_anew() {
    let (mut stage, _) = registered();
    // What is on record behind the loss is judged as before: no finding, whatever it presumes.
    let recorded = decide(&stage.world, &dispatch(&stage, "token"), stage.world.totals().last_at);
    say(&mut stage, lost(2));
    let mut judged = stage.clone();
    recorded.unwrap().into_iter().for_each(|event| say_as(&mut judged, caller(), event));
    // The caller's own capability comes first.
    let refused = stage.give(&register("tenant", "SUSPENDED"), AT);
    assert_eq!(refused.refusal().unwrap().code(), "X_FAIL_CALLER_NOT_ALLOWED");
    grant_anew(&mut stage);
    assert_eq!(doubted(&stage.world).len(), PRESUMED.len());
    let mut token = "token";
    for (what, code, statuses) in PRESUMED {
        let (found, words) = refusal(&stage.world, &dispatch(&stage, token)).unwrap();
        assert_eq!(found, code, "{what}");
        assert!(words.contains("which may have ended in a record that is lost"), "{words}");
        token = register_anew(&mut stage, what, statuses);
    }
    assert_eq!(refusal(&stage.world, &dispatch(&stage, token)), None);
    stage.assert_rebuilt();
}

/// Registering it as it stands changes nothing: who tries is told the way that helps.
#[test]
fn who_registers_again_what_is_in_doubt_is_told_how_it_is_registered_anew() {
    let (mut stage, _) = registered();
    let told = |stage: &Stage, command: &Command| {
        let (code, words) = refusal(&stage.world, command).unwrap();
        assert_eq!(code, "REGISTRATION_REFUSED", "{words}");
        words
    };
    let unchanged = "expected a change, found granted already";
    assert!(told(&stage, &permission(true)).contains(unchanged));
    say(&mut stage, lost(2));
    assert!(told(&stage, &permission(true)).contains("take it away, grant it, then ask again"));
    grant_anew(&mut stage);
    for (what, _, statuses) in PRESUMED {
        let words = told(&stage, &register(what, statuses[1]));
        let due = match what {
            "work_order" => "register another status of it that is not final, then this one",
            "lease" => "register a lease with another token",
            _ => "suspend it, make it ACTIVE",
        };
        assert!(words.contains(due) && words.contains("in a record that is lost"), "{words}");
        register_anew(&mut stage, what, statuses);
    }
    assert!(told(&stage, &register("tenant", "ACTIVE")).ends_with("found ACTIVE already"));
}

/// Whichever command leads to the dispatch: a row, or a turn that comes to one.
#[test]
fn a_thread_that_began_before_records_were_lost_dispatches_nothing() {
    let (mut stage, _) = registered();
    stage.give(&dispatch(&stage, "token"), AT).events();
    let began = stage.sequence;
    let row = with(&dispatch(&stage, "another"), "turn_id", json!(2));
    let tool = intent(IntentClass::ReadOnlyTool);
    let mut of = turn(&stage, ["acme", "t", "alice", "phone"], 2, request("alice", "s", tool));
    of.work_order_id = "w".into();
    of.lease_token_hash = Some(sha256(b"another"));
    let turn = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(of));
    say(&mut stage, lost(2));
    grant_anew(&mut stage);
    for (what, _, statuses) in PRESUMED {
        register_anew(&mut stage, what, statuses);
    }
    for command in [&row, &turn] {
        assert_eq!(refusal(&stage.world, command).unwrap().0, "BEGAN_BEFORE_LOSS");
    }
    let reason = UnprovenReason::NoWitness;
    let (first_sequence, last_sequence) = (began, began);
    say(&mut stage, RecordsUnproven { first_sequence, last_sequence, reason }.into());
    for command in [row, turn] {
        assert_eq!(refusal(&stage.world, &command).unwrap().0, "RESTS_ON_UNPROVEN");
    }
}

/// Nothing is registered below what is in doubt, and nothing that has ended is.
#[test]
fn nothing_new_is_registered_that_presumes_what_is_in_doubt() {
    let (mut stage, records) = registered();
    let reason = UnprovenReason::NoWitness;
    let (first_sequence, last_sequence) = (records[0], records[4]);
    say(&mut stage, RecordsUnproven { first_sequence, last_sequence, reason }.into());
    for (what, field, mended) in [
        ("user", "user_id", "suspend it, make it ACTIVE"),
        ("device", "device_id", "suspend it, make it ACTIVE"),
        ("session", "session_id", "suspend it, make it ACTIVE"),
        ("work_order", "work_order_id", "suspend it, make it ACTIVE"),
    ] {
        let status = if what == "work_order" { "DRAFT" } else { "ACTIVE" };
        let new = with(&register(what, status), field, json!("another"));
        let (code, words) = refusal(&stage.world, &new).unwrap();
        assert_eq!(code, "REGISTRATION_REFUSED");
        assert!(words.contains(mended), "{what}: {words}");
    }
    register_anew(&mut stage, "tenant", ["SUSPENDED", "ACTIVE"]);
    let hash = sha256(b"another").to_string();
    let lease = with(&register("lease", "ACTIVE"), "lease_token_hash", json!(hash));
    let (_, words) = refusal(&stage.world, &lease).unwrap();
    assert!(
        words.contains("register another status of it that is not final, then this one"),
        "{words}"
    );
    for (what, status) in [("device", "CLOSED"), ("session", "CLOSED"), ("work_order", "FAILED")] {
        stage.give(&register(what, status), AT).events();
    }
    assert_eq!(doubted(&stage.world).len(), 1, "the user alone");
}
