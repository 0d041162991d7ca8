//! States at any record, their differences, and what is stated of them.

use crate::support::{Balance, Balances, Place, Turnover, paid, record};
use holdpoint_reducers::{
    ApplicationEvent, Bisected, EventError, Outcome, Reduced, Reducer, ReducerError,
    ReducerOptions, StateHistory,
};
use serde_json::json;

#[test]
fn a_state_is_told_behind_any_record_and_a_batch_counts_whole() {
    let place = Place::new();
    let engine = place.engine();
    let first = record(&engine, [paid(5, "order-1")]);
    let second = record(&engine, [paid(6, "order-1"), paid(1, "order-2"), paid(7, "order-1")]);
    engine.close().unwrap();
    let history = StateHistory::<Balances>::of(place.log());
    let cents = |at| history.state("order-1", at).unwrap().cents;
    assert_eq!((cents(0), cents(first), cents(second)), (0, 5, 18));
    assert_eq!((cents(second - 1), cents(second - 2)), (5, 5), "within a batch");
    assert_eq!(history.newest().unwrap(), second);
    assert_eq!(history.state("order-9", second).unwrap(), Balance::default());
    let all = StateHistory::<Turnover>::of(place.log());
    assert_eq!(all.total(second).unwrap().len(), 2);
}

#[test]
fn what_differs_between_two_records_is_a_json_patch() {
    let place = Place::new();
    let engine = place.engine();
    let first = record(&engine, [paid(5, "order-1")]);
    let second = record(&engine, [paid(6, "order-1")]);
    let history = StateHistory::<Balances>::of(place.log());
    let patch = history.diff("order-1", first, second).unwrap();
    let mut state = json!({ "cents": 5, "payments": 1 });
    json_patch::patch(&mut state, &patch).unwrap();
    assert_eq!(state, json!({ "cents": 11, "payments": 2 }));
    assert_eq!(history.diff("order-1", second, second).unwrap().0, []);
}

#[test]
fn a_bisection_names_the_record_with_which_something_began_to_hold() {
    let place = Place::new();
    let engine = place.engine();
    let records: Vec<u64> =
        (1..=40).map(|at| record(&engine, [paid(at, "order-1"), paid(1, "order-2")])).collect();
    let history = StateHistory::<Balances>::of(place.log());
    for (at, expected) in records.iter().enumerate() {
        let payments = at as u64 + 1;
        let found = history.bisect("order-1", (0, history.newest().unwrap()), &mut |state| {
            state["payments"].as_u64() >= Some(payments)
        });
        assert_eq!(found.unwrap(), Bisected::Found { record: *expected });
    }
    let all = (1, history.newest().unwrap());
    let never = history.bisect("order-1", all, &mut |_| false).unwrap();
    let always = history.bisect("order-1", all, &mut |_| true).unwrap();
    assert_eq!((never, always), (Bisected::DoesNotHoldAtTheEnd, Bisected::HoldsFromTheStart));
    let backwards = history.bisect("order-1", (2, 1), &mut |_| true);
    assert!(matches!(backwards, Err(ReducerError::Backwards { from: 2, to: 1 })));
}

/// As [`Balances`] under the same name and version, with another rule.
struct OtherBalances;

impl Reducer for OtherBalances {
    const NAME: &'static str = Balances::NAME;
    type State = Balance;

    fn apply(state: &mut Balance, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        state.payments += 2;
        Balances::apply(state, event)
    }
}

/// The same in a second version.
struct NewBalances;

impl Reducer for NewBalances {
    const NAME: &'static str = Balances::NAME;
    const VERSION: u32 = 2;
    type State = Balance;

    fn apply(state: &mut Balance, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        OtherBalances::apply(state, event)
    }
}

#[test]
fn what_is_stated_of_states_is_compared_with_what_the_reducer_makes() {
    let place = Place::new();
    let engine = place.engine();
    let options = || ReducerOptions::default().snapshot_every(0);
    let balances = Reduced::<Balances>::open(&engine, options()).unwrap();
    for at in 0..3u64 {
        record(&engine, (0..700).map(|stream| paid(at, &format!("order-{}", stream % 613))));
        balances.snapshot().unwrap().unwrap();
    }
    record(&engine, [paid(1, "order-1")]);
    let checked = StateHistory::<Balances>::of(place.log()).check().unwrap();
    let outcomes: Vec<_> = checked.fingerprints.iter().map(|it| it.outcome).collect();
    assert_eq!((outcomes, checked.agrees()), (vec![Outcome::Agrees; 3], Some(true)));
    let changed = StateHistory::<OtherBalances>::of(place.log()).check().unwrap();
    assert_eq!(changed.agrees(), Some(false));
    let differ = changed.fingerprints.iter();
    assert!(differ.clone().all(|it| matches!(it.outcome, Outcome::Differs { .. })));
    let new = StateHistory::<NewBalances>::of(place.log()).check().unwrap();
    assert!(new.fingerprints.iter().all(|it| it.outcome == Outcome::NotChecked));
    assert_eq!(new.agrees(), None);
    // Of another version no snapshot is taken up: the states are made anew.
    let new = Reduced::<NewBalances>::open(&engine, options()).unwrap();
    assert_eq!(new.state("order-612").unwrap().payments, 9);
}
