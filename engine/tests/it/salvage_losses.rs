//! What a record that is lost may have taken back, spent or ended counts no more in the new log.

use crate::conversation::{caller, origin_of};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::decision_point::{
    ActionBinding, ConsumeApproval, CreateDecisionPoint, DecisionOption, DecisionPointCommand,
    RespondToDecisionPoint, Response,
};
use holdpoint_domain::log::{ChangePolicy, GatePolicy, LogCommand};
use holdpoint_domain::registration::{
    Capability, ChangeCapability, RegisterTenant, RegistrationCommand, RegistrationStatus,
};
use holdpoint_domain::{ActorId, Command, Event};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{EngineOptions, SalvageReport, Submitted, SystemClock, salvage};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{BootId, Head, Lock, names};
use holdpoint_testing::hand_made::change_head;
use holdpoint_testing::log::records_of;
use holdpoint_testing::shell::Place;
use std::fs;
use std::path::Path;

/// The kind of the event that says that the policy is not known.
const POLICY_UNKNOWN: u16 = 12;

pub(crate) fn ada() -> ActorId {
    ActorId { kind: Actor::Human, id: "ada".to_string() }
}

fn by(actor: &ActorId) -> Principal {
    let (kind, id) = (actor.kind, actor.id.as_str().into());
    Principal { kind, id, authenticated_by: Authentication::None, means: "test".into() }
}

/// Hands a command in, and says what came of it: the first event, or the code of the refusal.
pub(crate) fn give(
    engine: &Engine,
    actor: &ActorId,
    command: &Command,
) -> Result<Event, &'static str> {
    match engine.submit(&origin_of(actor.clone()), (), command).expect("the log works") {
        Submitted::Accepted(receipt) => Ok(receipt.events.first().cloned().expect("an event")),
        Submitted::Refused(refusal) => Err(refusal.code()),
        Submitted::Repeated(_) => Err("repeated"),
    }
}

/// A person lets the caller call, or takes that back.
pub(crate) fn change(is_granted: bool) -> Command {
    Command::Registration(RegistrationCommand::ChangeCapability(ChangeCapability {
        actor_kind: caller().kind,
        actor_id: caller().id,
        capability: Capability::SeleneOsOnly,
        is_granted,
    }))
}

pub(crate) fn call() -> Command {
    let (tenant_id, status) = ("acme".to_string(), RegistrationStatus::Active);
    Command::Registration(RegistrationCommand::RegisterTenant(RegisterTenant { tenant_id, status }))
}

fn action() -> ActionBinding {
    ActionBinding { tool: "rm".into(), input_sha256: sha256(b"{}") }
}

/// Asks for an approval, and gives it; its id.
pub(crate) fn approve(engine: &Engine) -> String {
    let options = ["yes", "no"].map(|id| DecisionOption {
        id: id.into(),
        short: id.into(),
        label: id.into(),
        description: None,
        reject: id == "no",
    });
    let entropy = engine.entropy().expect("random bits");
    let question = CreateDecisionPoint {
        binding: Some(action()),
        ..CreateDecisionPoint::asking(entropy, by(&caller()), "Delete it?", options.into())
    };
    let question =
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(question.into()));
    let asked = give(engine, &caller(), &question).expect("it is asked");
    let decision_id = asked.decision_point().expect("an id").to_string();
    let answer = RespondToDecisionPoint {
        decision_id: decision_id.clone(),
        entropy: engine.entropy().expect("random bits"),
        by: by(&ada()),
        response: Response::Option("yes".into()),
        comment: None,
    };
    let answer = Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(answer));
    give(engine, &ada(), &answer).expect("it counts");
    decision_id
}

pub(crate) fn spend(engine: &Engine, decision_id: &str) -> Result<Event, &'static str> {
    let (decision_id, by, binding) = (decision_id.into(), by(&caller()), action());
    let spent = ConsumeApproval { decision_id, by, binding };
    let spent = Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(spent));
    give(engine, &caller(), &spent)
}

pub(crate) fn set_policy(engine: &Engine) -> Result<Event, &'static str> {
    state_policy(engine, GatePolicy::default())
}

fn state_policy(engine: &Engine, policy: GatePolicy) -> Result<Event, &'static str> {
    let approval = None;
    let change = ChangePolicy { people: None, by: by(&ada()), policy, approval };
    give(engine, &ada(), &Command::Log(LogCommand::SetPolicy(Box::new(change))))
}

/// Flips a byte of a record, so that it is lost.
fn damage(place: &Place, sequence: u64) {
    let records = records_of(&place.log());
    let record = records.iter().find(|it| it.header.sequence == sequence).expect("it is there");
    let segment = place.log().join(names::SEGMENTS).join(names::segment(record.segment));
    let mut bytes = fs::read(&segment).expect("a segment");
    let at = usize::try_from(record.offset).expect("a place in a file") + 70;
    *bytes.get_mut(at).expect("a byte of it") ^= 1;
    fs::write(segment, bytes).expect("it is written");
}

/// Cuts off every record from this one on.
pub(crate) fn cut(log: &Path, sequence: u64) {
    let records = records_of(log);
    for record in records.iter().filter(|it| it.header.sequence >= sequence) {
        let segment = log.join(names::SEGMENTS).join(names::segment(record.segment));
        let mut bytes = fs::read(&segment).expect("a segment");
        let from = usize::try_from(record.offset).expect("a place in a file");
        let to = from + usize::try_from(record.length).expect("a length");
        bytes.get_mut(from..to).expect("its bytes").fill(0);
        fs::write(segment, bytes).expect("it is written");
    }
}

pub(crate) fn newest(engine: &Engine) -> u64 {
    engine.query(|world| world.totals().last_sequence).expect("the log works")
}

/// Salvages the log, and opens the new one.
fn salvaged(place: &Place) -> (SalvageReport, Engine) {
    let new = place.beside("new");
    let report = salvage(&place.log(), &new, &SystemClock, &mut |_| {}).expect("it is salvaged");
    let storage = DirectoryStorage::new(new);
    let engine = Engine::open_with(storage, EngineOptions::simulated()).expect("the log opens");
    (report, engine)
}

#[test]
fn a_capability_whose_revocation_is_lost_permits_nothing_until_it_is_granted_anew() {
    let place = Place::new();
    let engine = place.engine();
    give(&engine, &ada(), &change(true)).expect("granted");
    give(&engine, &ada(), &change(false)).expect("taken away");
    let revoked = newest(&engine);
    set_policy(&engine).expect("a record behind it");
    engine.close().expect("the log closes");
    damage(&place, revoked);
    let (report, engine) = salvaged(&place);
    assert_eq!(report.salvaged.records_lost, 1, "{report:?}");
    assert_eq!(give(&engine, &caller(), &call()), Err("X_FAIL_CALLER_NOT_ALLOWED"));
    give(&engine, &ada(), &change(false)).expect("taken away");
    give(&engine, &ada(), &change(true)).expect("granted");
    give(&engine, &caller(), &call()).expect("it is permitted");
}

#[test]
fn an_approval_whose_spending_is_lost_is_not_spent_twice_whatever_policy_is_set_anew() {
    let place = Place::new();
    let engine = place.engine();
    let id = approve(&engine);
    spend(&engine, &id).expect("it is spent");
    let spent = newest(&engine);
    give(&engine, &ada(), &change(true)).expect("a record behind it");
    engine.close().expect("the log closes");
    damage(&place, spent);
    let (_, engine) = salvaged(&place);
    assert!(engine.query(|world| world.is_policy_lost()).expect("the log works"));
    assert!(spend(&engine, &id).is_err());
    set_policy(&engine).expect("a person sets one");
    // What lies before the damage is unproven as well, and that is told first.
    assert_eq!(spend(&engine, &id), Err("APPROVAL_UNPROVEN"));
    let anew = approve(&engine);
    spend(&engine, &anew).expect("it is spent");
}

/// The records behind the newest one that is left are gone, and every mark of them.
#[test]
fn a_log_whose_end_nothing_tells_may_have_lost_what_spent_or_took_back() {
    for tells in ["HEAD and LOCK", "LOCK", "nothing"] {
        let place = Place::new();
        let engine = place.engine();
        let id = approve(&engine);
        give(&engine, &ada(), &change(true)).expect("granted");
        let kept = newest(&engine);
        if tells == "nothing" {
            spend(&engine, &id).expect("it is spent");
            give(&engine, &ada(), &change(false)).expect("taken away");
        }
        engine.close().expect("the log closes");
        if tells == "nothing" {
            cut(&place.log(), kept + 1);
        }
        if tells != "HEAD and LOCK" {
            fs::remove_file(place.log().join(names::HEAD)).expect("HEAD is there");
        }
        if tells == "nothing" {
            fs::remove_file(place.log().join(names::LOCK)).expect("LOCK is there");
            drop(fs::remove_dir_all(place.log().join(names::SNAPSHOTS)));
        }
        let (report, engine) = salvaged(&place);
        assert_eq!(report.salvaged.records_lost, 0, "{tells}: {report:?}");
        let losses = &report.losses;
        let lost_from: Vec<u64> = losses.iter().map(|it| it.source_first_sequence).collect();
        let is_unknown = tells == "nothing";
        assert_eq!(lost_from, if is_unknown { vec![kept + 1] } else { vec![] }, "{tells}");
        let lost_before = engine.query(|world| world.lost_before()).expect("the log works");
        assert_eq!(lost_before.is_some(), is_unknown, "{tells}");
        let is_policy_lost = engine.query(|world| world.is_policy_lost());
        assert_eq!(is_policy_lost.expect("the log works"), is_unknown, "{tells}");
        if is_unknown {
            set_policy(&engine).expect("a person sets one");
            assert!(losses[0].problem.contains("may be missing"), "{losses:?}");
            assert!(spend(&engine, &id).is_err());
            assert!(give(&engine, &caller(), &call()).is_err());
        }
        engine.close().expect("the log closes");
        // A salvage of the new log finds that its end is told.
        let (old, newer) = (place.beside("new"), place.beside("newer"));
        let again = salvage(&old, &newer, &SystemClock, &mut |_| {}).expect("it is salvaged");
        assert!(again.losses.is_empty(), "{tells}: {:?}", again.losses);
    }
}

/// HEAD names an older record, and the last records are gone: nothing says so any more.
#[test]
fn a_log_that_head_does_not_follow_to_its_end_may_have_lost_the_end() {
    let place = Place::new();
    let engine = place.engine();
    let id = approve(&engine);
    let head = fs::read(place.log().join(names::HEAD)).expect("HEAD is there");
    give(&engine, &ada(), &change(true)).expect("a record behind HEAD");
    let kept = newest(&engine);
    spend(&engine, &id).expect("it is spent");
    engine.close().expect("the log closes");
    fs::write(place.log().join(names::HEAD), head).expect("HEAD is set back");
    fs::remove_file(place.log().join(names::LOCK)).expect("LOCK is there");
    cut(&place.log(), kept + 1);
    let (_, engine) = salvaged(&place);
    set_policy(&engine).expect("a person sets one");
    assert_eq!(spend(&engine, &id), Err("APPROVAL_BEFORE_LOSS"));
}

/// LOCK names a record that was durable in an earlier boot, and the last record is gone.
#[test]
fn a_record_that_lock_of_an_earlier_boot_names_may_have_spent_what_is_kept() {
    let place = Place::new();
    let engine = place.engine();
    let id = approve(&engine);
    let kept = newest(&engine);
    engine.close().expect("the log closes");
    let head = fs::read(place.log().join(names::HEAD)).expect("HEAD is there");
    let engine = place.engine();
    spend(&engine, &id).expect("it is spent");
    engine.close().expect("the log closes");
    cut(&place.log(), kept + 1);
    fs::write(place.log().join(names::HEAD), head).expect("HEAD is set back");
    drop(fs::remove_dir_all(place.log().join(names::SNAPSHOTS)));
    let path = place.log().join(names::LOCK);
    let lock = Lock::decode(&fs::read(&path).expect("LOCK is there")).expect("it is one");
    assert!(lock.durable_sequence > kept, "{lock:?}");
    let lock = Lock { boot: BootId([7; 16]), ..lock };
    fs::write(path, lock.encode()).expect("LOCK is there");
    let (report, engine) = salvaged(&place);
    assert_eq!(report.losses.len(), 1, "{report:?}");
    set_policy(&engine).expect("a person sets one");
    assert_eq!(spend(&engine, &id), Err("APPROVAL_BEFORE_LOSS"));
}

/// A policy that nothing proves is in force for nobody, laxer or not; other records without proof
/// leave the one that is proven in force.
#[test]
fn a_policy_behind_head_is_not_in_force_in_the_new_log() {
    for is_policy in [true, false] {
        let place = Place::new();
        let engine = place.engine();
        let strict = GatePolicy { before: true, ..GatePolicy::default() };
        state_policy(&engine, strict).expect("a person sets one");
        engine.close().expect("the log closes");
        let head = fs::read(place.log().join(names::HEAD)).expect("HEAD is there");
        let engine = place.engine();
        if is_policy {
            let stricter = GatePolicy { before: true, quorum: 2, ..GatePolicy::default() };
            state_policy(&engine, stricter).expect("a person sets another");
        } else {
            give(&engine, &ada(), &change(true)).expect("a record behind HEAD");
        }
        engine.close().expect("the log closes");
        fs::write(place.log().join(names::HEAD), head).expect("HEAD is set back");
        let (report, engine) = salvaged(&place);
        assert_eq!((report.losses.len(), report.unproven.len()), (0, 1), "{report:?}");
        let is_lost = engine.query(|world| world.is_policy_lost()).expect("the log works");
        assert_eq!(is_lost, is_policy);
    }
}

/// Nothing that proves anybody is kept: the first record alone, which says what rules there are.
#[test]
fn a_policy_that_is_lost_with_all_that_people_did_is_known_to_be_lost() {
    let place = Place::new();
    let engine = place.engine();
    set_policy(&engine).expect("a person sets one");
    let stated = newest(&engine);
    engine.close().expect("the log closes");
    damage(&place, stated);
    let (report, engine) = salvaged(&place);
    assert_eq!(report.salvaged.records_lost, 1, "{report:?}");
    assert!(engine.query(|world| world.is_policy_lost()).expect("the log works"));
}

/// The last record says so, and HEAD is set back to the one before it.
#[test]
fn a_salvaged_log_of_which_only_the_loss_of_its_policy_was_cut_off_is_not_whole() {
    let place = Place::new();
    let engine = place.engine();
    set_policy(&engine).expect("a person sets one");
    let stated = newest(&engine);
    give(&engine, &ada(), &change(true)).expect("a record behind it");
    engine.close().expect("the log closes");
    damage(&place, stated);
    let (_, engine) = salvaged(&place);
    engine.close().expect("the log closes");
    let new = place.beside("new");
    let records = records_of(&new);
    let [.., before, last] = records.as_slice() else { unreachable!("{records:?}") };
    assert_eq!(last.header.kind, POLICY_UNKNOWN);
    cut(&new, last.header.sequence);
    change_head(&new, |head| Head {
        newest_sequence: before.header.sequence,
        newest_link: before.header.link,
        record_offset: before.offset,
        end_offset: before.offset + before.length,
        ..head
    });
    fs::remove_file(new.join(names::LOCK)).expect("LOCK is there");
    drop(fs::remove_dir_all(new.join(names::SNAPSHOTS)));
    let opened = Engine::open_with(DirectoryStorage::new(&new), EngineOptions::simulated());
    let told = opened.map(drop).expect_err("it was cut off").to_string();
    assert!(told.contains("its batch goes on behind it"), "{told}");
}
