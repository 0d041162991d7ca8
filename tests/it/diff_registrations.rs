//! What is registered is part of the state that `diff` tells of: by kind and name, with what
//! changed of it and the records that did it.

use crate::program::{Place, status, text};
use holdpoint_domain::Event;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::registration::{
    Capability, CapabilityChanged, DeviceRegistered, LeaseRegistered, LeaseStatus,
    RegistrationStatus, SessionRegistered, SessionStatus, TenantRegistered, UserRegistered,
    WorkOrderRegistered, WorkOrderStatus,
};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::BootId;
use holdpoint_replay::{Change, Difference, ReadOptions, Timeline, Until, diff, state_of};
use holdpoint_testing::hand_made::HandMadeLog;
use serde_json::json;

const OPTIONS: ReadOptions<'static> = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));

fn capability(is_granted: bool) -> Event {
    let (actor_kind, actor_id) = (Actor::Automation, "ci".into());
    CapabilityChanged { actor_kind, actor_id, capability: Capability::SeleneOsOnly, is_granted }
        .into()
}

fn session(status: SessionStatus) -> Event {
    SessionRegistered {
        tenant_id: "acme".into(),
        session_id: "s".into(),
        user_id: "alice".into(),
        device_id: "phone".into(),
        status,
    }
    .into()
}

fn work_order(status: WorkOrderStatus) -> Event {
    let (tenant_id, work_order_id) = ("acme".into(), "w".into());
    WorkOrderRegistered { tenant_id, work_order_id, correlation_id: "t".into(), status }.into()
}

/// One registration of every kind: records 1 to 7.
fn registered() -> Vec<Event> {
    let (tenant_id, status) = (|| "acme".into(), RegistrationStatus::Active);
    let user_id = || "alice".into();
    vec![
        capability(true),
        TenantRegistered { tenant_id: tenant_id(), status }.into(),
        UserRegistered { tenant_id: tenant_id(), user_id: user_id(), status }.into(),
        DeviceRegistered {
            tenant_id: tenant_id(),
            device_id: "phone".into(),
            user_id: user_id(),
            status,
        }
        .into(),
        session(SessionStatus::Active),
        work_order(WorkOrderStatus::Draft),
        LeaseRegistered {
            tenant_id: tenant_id(),
            work_order_id: "w".into(),
            lease_token_hash: sha256(b"token"),
            expires_at: Timestamp::from_nanoseconds(u64::MAX),
            status: LeaseStatus::Active,
        }
        .into(),
    ]
}

/// The log: everything is registered in one batch each, then changed, then ended.
fn place() -> Place {
    let mut log = HandMadeLog::new();
    registered().into_iter().for_each(|event| log.events(vec![event]));
    log.events(vec![session(SessionStatus::Suspended)]);
    log.events(vec![capability(false)]);
    log.events(vec![work_order(WorkOrderStatus::Canceled)]);
    let place = Place::new();
    log.write(&place.log);
    place
}

fn between(place: &Place, from: u64, to: u64) -> Difference {
    let storage = DirectoryStorage::new(&place.log);
    let line = Timeline::open(&storage, OPTIONS, &mut |_| {}).unwrap();
    let first = line.at(Until::Sequence(from)).unwrap();
    let (difference, last) = diff(&line, &first, Until::Sequence(to)).unwrap();
    let mut state = state_of(&first);
    json_patch::patch(&mut state, &difference.patch).unwrap();
    assert_eq!(state, state_of(&last));
    difference
}

/// Id, change, and the records about it.
fn told(difference: &Difference) -> Vec<(&str, Change, Option<u64>)> {
    let entities = difference.entities.iter().inspect(|one| assert_eq!(one.room, "registrations"));
    entities.map(|one| (one.id.as_str(), one.change, one.last_record)).collect()
}

#[test]
fn each_registration_is_told_with_the_record_that_made_it() {
    let place = place();
    let lease = format!("lease acme/w/{}", sha256(b"token"));
    let expected = [
        ("capability AUTOMATION/ci/SELENE_OS_ONLY", Change::Appeared, Some(1)),
        ("device acme/phone/alice", Change::Appeared, Some(4)),
        (lease.as_str(), Change::Appeared, Some(7)),
        ("session acme/s", Change::Appeared, Some(5)),
        ("tenant acme", Change::Appeared, Some(2)),
        ("user acme/alice", Change::Appeared, Some(3)),
        ("work_order acme/w", Change::Appeared, Some(6)),
    ];
    assert_eq!(told(&between(&place, 0, 7)), expected);
}

#[test]
fn what_changed_and_what_ended_is_told() {
    let place = place();
    let difference = between(&place, 7, 10);
    let lease = format!("lease acme/w/{}", sha256(b"token"));
    let expected = [
        ("capability AUTOMATION/ci/SELENE_OS_ONLY", Change::Settled, Some(9)),
        (lease.as_str(), Change::Settled, None),
        ("session acme/s", Change::Changed, Some(8)),
        ("work_order acme/w", Change::Changed, Some(10)),
    ];
    assert_eq!(told(&difference), expected);
    let change = &difference.entities[2].values[0];
    let (from, to) = (Some(json!("ACTIVE")), Some(json!("SUSPENDED")));
    assert_eq!((change.path.as_str(), &change.from, &change.to), ("/status", &from, &to));
    let granted = between(&place, 0, 10);
    let capability = ("capability AUTOMATION/ci/SELENE_OS_ONLY", Change::CameAndSettled, Some(9));
    assert_eq!(told(&granted)[0], capability);
}

#[test]
fn the_program_shows_them_and_can_be_asked_about_them() {
    let place = place();
    let shown = text(&place.holdpoint(&["diff", "7", "10"]).stdout);
    assert!(shown.contains("~ registered  session acme/s  changed"), "{shown}");
    assert!(shown.contains("/status  ACTIVE -> SUSPENDED"), "{shown}");
    let live = text(&place.holdpoint(&["replay", "--live", "--until", "7"]).stdout);
    let row = |id: &str| live.lines().find(|line| line.contains(id)).unwrap_or_default();
    assert!(row(" session acme/s ").ends_with("ACTIVE"), "{live}");
    let suspended = "registrations.session.acme.s.status == SUSPENDED";
    let output = place.holdpoint(&["diff", "--when", suspended, "7"]);
    let found = text(&output.stdout);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(found.starts_with("it holds after record 8, "), "{found}");
}
