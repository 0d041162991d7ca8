//! Whoever goes on without HEAD has every doubt that a salvage of the same bytes has.

use crate::conversation::caller;
use crate::salvage_losses::{ada, approve, call, change, cut, give, newest, set_policy, spend};
use holdpoint_domain::Event;
use holdpoint_domain::log::LogEvent;
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Log, Options};
use holdpoint_engine::shell::{EngineError, EngineOptions, SystemClock, salvage};
use holdpoint_log_format::names;
use holdpoint_testing::shell::Place;
use std::fs;

/// Opens the log, also where HEAD is missing.
fn accepted(place: &Place) -> Result<Engine, EngineError> {
    let options = EngineOptions::simulated().log(Options::default().without_head(true));
    Engine::open_with(place.storage(), options)
}

fn remove(place: &Place, file: &str) {
    fs::remove_file(place.log().join(file)).expect("it is there");
}

/// A log in which an approval is spent and a capability taken away, and both were cut off with
/// HEAD. The approval.
fn cut_off(place: &Place) -> String {
    let engine = place.engine();
    let id = approve(&engine);
    give(&engine, &ada(), &change(true)).expect("granted");
    let kept = newest(&engine);
    spend(&engine, &id).expect("it is spent");
    give(&engine, &ada(), &change(false)).expect("taken away");
    set_policy(&engine).expect("a person sets one");
    engine.close().expect("the log closes");
    cut(&place.log(), kept + 1);
    remove(place, names::HEAD);
    remove(place, names::LOCK);
    drop(fs::remove_dir_all(place.log().join(names::SNAPSHOTS)));
    id
}

/// What was cut off permits nothing, and all of it can be done anew.
fn assert_doubted(engine: &Engine, id: &str) {
    let (lost_before, is_policy_lost) =
        engine.query(|world| (world.lost_before(), world.is_policy_lost())).expect("the log works");
    assert!(lost_before.is_some() && is_policy_lost);
    assert_eq!(give(engine, &caller(), &call()), Err("X_FAIL_CALLER_NOT_ALLOWED"));
    set_policy(engine).expect("a person sets one");
    assert_eq!(spend(engine, id), Err("APPROVAL_BEFORE_LOSS"));
    let anew = approve(engine);
    spend(engine, &anew).expect("it is spent");
    give(engine, &ada(), &change(false)).expect("taken away");
    give(engine, &ada(), &change(true)).expect("granted");
    give(engine, &caller(), &call()).expect("it is permitted");
}

#[test]
fn what_began_before_head_was_accepted_as_missing_permits_nothing_until_begun_anew() {
    let place = Place::new();
    let id = cut_off(&place);
    let engine = accepted(&place).expect("it goes on");
    let events = place.events();
    let [.., Event::Log(LogEvent::HeadMissingAccepted(body)), Event::Log(then)] = events.as_slice()
    else {
        unreachable!("{events:?}")
    };
    assert!(!body.is_end_known && matches!(then, LogEvent::PolicyUnknown(_)), "{then:?}");
    assert_doubted(&engine, &id);
    engine.close().expect("the log closes");
    place.engine().close().expect("HEAD is there again");
}

/// LOCK of this boot tells that nothing was cut off, for a salvage and for whoever goes on.
#[test]
fn where_lock_tells_how_far_the_log_reached_going_on_without_head_leaves_no_doubt() {
    let place = Place::new();
    let engine = place.engine();
    let id = approve(&engine);
    engine.close().expect("the log closes");
    remove(&place, names::HEAD);
    let new = place.beside("new");
    let report = salvage(&place.log(), &new, &SystemClock, &mut |_| {}).expect("it is salvaged");
    assert!(report.losses.is_empty(), "{report:?}");
    let engine = accepted(&place).expect("it goes on");
    assert_eq!(engine.query(|world| world.lost_before()).expect("the log works"), None);
    spend(&engine, &id).expect("it is spent");
}

/// Whoever fails before the acceptance is on record has accepted nothing: neither HEAD nor LOCK
/// says then that the last record found was the newest one.
#[test]
fn a_missing_head_stays_missing_until_its_acceptance_is_on_record() {
    let place = Place::new();
    let id = cut_off(&place);
    let options = Options::default().without_head(true);
    let (log, report) = Log::open(place.storage(), options).expect("it opens");
    assert!(report.recovered.without_head && !report.recovered.is_end_known);
    drop(log);
    assert!(!place.log().join(names::HEAD).exists());
    let refused = Engine::open_with(place.storage(), EngineOptions::simulated());
    assert!(refused.is_err(), "nobody accepted that HEAD is missing");
    assert_doubted(&accepted(&place).expect("it goes on"), &id);
}

/// The end of the log was cut off beside a writer that is open: the turn that comes upon it may be
/// one that appends nothing, as that of a sync, and the ones behind it find all in order.
#[test]
fn what_any_turn_comes_upon_is_to_be_recorded_until_it_is() {
    let place = Place::new();
    place.engine().close().expect("the log closes");
    let (log, report) =
        Log::open(place.storage(), Options::default().without_head(true)).expect("it opens");
    assert!(!report.recovered.without_head);
    remove(&place, names::HEAD);
    remove(&place, names::LOCK);
    drop(log.begin().expect("it takes over"));
    let mut turn = log.begin().expect("it has its turn");
    let [found] = turn.unrecorded() else { unreachable!("{:?}", turn.unrecorded()) };
    assert!(found.without_head && !found.is_end_known);
    turn.all_is_recorded();
    drop(turn);
    assert_eq!(log.begin().expect("it has its turn").unrecorded(), []);
}
