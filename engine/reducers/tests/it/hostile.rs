//! Reducers and events that are not as they should be: found, named, and nobody else's trouble.

use crate::support::{Balances, Paid, Place, origin, paid, record};
use holdpoint_domain::application::{Data, RecordEvent};
use holdpoint_engine::shell::{Submitted, Transaction};
use holdpoint_reducers::{
    ApplicationEvent, EventError, EventType, Reduced, Reducer, ReducerError, ReducerFault,
    ReducerOptions, StateHistory,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

fn open<R: Reducer>(place: &Place) -> Result<R::State, ReducerError> {
    let engine = place.engine();
    let reduced = Reduced::<R>::open(&engine, ReducerOptions::default());
    reduced.and_then(|it| it.state("order-1"))
}

fn fault<R: Reducer>(place: &Place) -> ReducerFault {
    match open::<R>(place) {
        Err(ReducerError::Reducer(fault)) => fault,
        Err(other) => unreachable!("{other}"),
        Ok(_) => unreachable!("it gives a state"),
    }
}

struct Panics;

impl Reducer for Panics {
    const NAME: &'static str = "panics";
    type State = u64;

    fn apply(_: &mut u64, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        assert!(event.sequence == 0, "no more of this");
        Ok(())
    }
}

#[test]
fn a_panic_ends_that_reducer_only() {
    let place = Place::new();
    let engine = place.engine();
    let panics = Reduced::<Panics>::open(&engine, ReducerOptions::default()).unwrap();
    let balances = Reduced::<Balances>::open(&engine, ReducerOptions::default()).unwrap();
    let at = record(&engine, [paid(3, "order-1")]);
    for _ in 0..2 {
        let Err(ReducerError::Reducer(ReducerFault::Panicked { sequence, message, .. })) =
            panics.state("order-1")
        else {
            unreachable!()
        };
        assert_eq!((sequence, message.as_str()), (at, "no more of this"));
    }
    assert_eq!(balances.state("order-1").unwrap().cents, 3);
    record(&engine, [paid(3, "order-1")]);
    assert_eq!(balances.state("order-1").unwrap().cents, 6);
}

static CALLS: AtomicU64 = AtomicU64::new(0);

struct Counts;

impl Reducer for Counts {
    const NAME: &'static str = "counts";
    type State = u64;

    fn apply(state: &mut u64, _: &ApplicationEvent<'_>) -> Result<(), EventError> {
        *state = CALLS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

struct Unordered;

impl Reducer for Unordered {
    const NAME: &'static str = "unordered";
    #[expect(clippy::disallowed_types, reason = "its order is what is wrong with it")]
    type State = std::collections::HashMap<u64, u64>;

    fn apply(state: &mut Self::State, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        state.extend((0..64).map(|at| (event.sequence * 64 + at, 0)));
        Ok(())
    }
}

#[test]
fn a_reducer_that_is_not_deterministic_is_found_and_named() {
    let place = Place::new();
    let at = record(&place.engine(), [paid(3, "order-1")]);
    for fault in [fault::<Counts>(&place), fault::<Unordered>(&place)] {
        let told = fault.to_string();
        let ReducerFault::NotDeterministic { sequence, what, .. } = fault else {
            unreachable!("{told}")
        };
        assert_eq!((sequence, what.as_str()), (at, "stream order-1"));
    }
    // And it states nothing.
    assert_eq!(place.states().len(), 0);
    let history = StateHistory::<Counts>::of(place.log());
    let told = history.state("order-1", at).unwrap_err();
    assert!(matches!(told, ReducerError::Reducer(ReducerFault::NotDeterministic { .. })), "{told}");
}

/// Of which a part is lost with each snapshot.
#[derive(Default, Serialize, Deserialize)]
struct Half {
    sum: u64,
    #[serde(skip)]
    hidden: u64,
}

struct Halves;

impl Reducer for Halves {
    const NAME: &'static str = "halves";
    type State = Half;

    fn apply(state: &mut Half, _: &ApplicationEvent<'_>) -> Result<(), EventError> {
        state.hidden += 1;
        state.sum += state.hidden;
        Ok(())
    }
}

struct Infinite;

impl Reducer for Infinite {
    const NAME: &'static str = "infinite";
    type State = (Option<f64>, u64);

    fn apply(state: &mut Self::State, _: &ApplicationEvent<'_>) -> Result<(), EventError> {
        state.1 += if state.0.is_some() { 100 } else { 1 };
        state.0 = Some(f64::INFINITY);
        Ok(())
    }
}

#[test]
fn a_state_that_is_more_than_its_encoding_is_found_before_it_is_given() {
    let place = Place::new();
    record(&place.engine(), (0..4).map(|_| paid(3, "order-1")));
    for fault in [fault::<Halves>(&place), fault::<Infinite>(&place)] {
        assert!(matches!(fault, ReducerFault::NotDeterministic { .. }), "{fault}");
    }
}

#[test]
fn a_name_that_the_log_would_refuse_is_refused_at_once() {
    struct Blank;
    impl Reducer for Blank {
        const NAME: &'static str = " blank";
        type State = u64;

        fn apply(_: &mut u64, _: &ApplicationEvent<'_>) -> Result<(), EventError> {
            Ok(())
        }
    }
    struct Unversioned;
    impl Reducer for Unversioned {
        const NAME: &'static str = "unversioned";
        const VERSION: u32 = 0;
        type State = u64;

        fn apply(_: &mut u64, _: &ApplicationEvent<'_>) -> Result<(), EventError> {
            Ok(())
        }
    }
    let place = Place::new();
    for told in [open::<Blank>(&place), open::<Unversioned>(&place)] {
        assert!(matches!(told, Err(ReducerError::Misnamed { .. })), "{told:?}");
    }
}

static OWN: Mutex<Option<Arc<Reduced<Asks>>>> = Mutex::new(None);

/// Asks for its own states, in every way.
struct Asks;

impl Reducer for Asks {
    const NAME: &'static str = "asks";
    type State = u64;

    fn apply(state: &mut u64, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        let own = OWN.lock().unwrap().clone();
        let Some(own) = own else { return Ok(()) };
        let sequence = event.sequence;
        assert!(matches!(own.snapshot(), Err(ReducerError::Reentered { .. })));
        assert_eq!(own.snapshot_failure(), None);
        let refused = |it: ReducerError| EventError::Refused { sequence, reason: it.to_string() };
        own.state("order-2").map(|other| *state += other).map_err(refused)
    }
}

#[test]
fn a_reducer_that_asks_for_its_own_states_is_told_so() {
    let place = Place::new();
    let engine = place.engine();
    let asks = Arc::new(Reduced::<Asks>::open(&engine, ReducerOptions::default()).unwrap());
    *OWN.lock().unwrap() = Some(Arc::clone(&asks));
    record(&engine, [paid(3, "order-1")]);
    let told = asks.state("order-1").unwrap_err().to_string();
    assert!(told.contains("asked for its own states while it makes them"), "{told}");
}

/// Payments as they are counted since their third version, in a currency.
#[derive(Serialize, Deserialize)]
struct NewPaid {
    cents: u64,
    currency: String,
}

impl EventType for NewPaid {
    const TYPE: &'static str = Paid::TYPE;
    const VERSION: u32 = 3;

    fn upcast(from: u32, mut data: Value) -> Result<Value, String> {
        match (from, data.as_object_mut()) {
            (1, Some(fields)) => drop(fields.insert("currency".into(), "EUR".into())),
            (2, Some(fields)) => {
                let cents = fields.get("cents").and_then(Value::as_u64).ok_or("no cents")?;
                assert!(cents != 13, "an unlucky number");
            }
            _ => return Err("no object".into()),
        }
        Ok(data)
    }
}

struct NewBalances;

impl Reducer for NewBalances {
    const NAME: &'static str = "balances in currencies";
    type State = Vec<(String, u64)>;

    fn apply(state: &mut Self::State, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        state.extend(event.read::<NewPaid>()?.map(|paid| (paid.currency, paid.cents)));
        Ok(())
    }
}

fn of_version(type_version: u32, data: &str) -> RecordEvent {
    RecordEvent { type_version, data: Data::from(data), ..paid(0, "order-1") }
}

#[test]
fn an_older_event_goes_through_every_upcaster() {
    let place = Place::new();
    let new = NewPaid { cents: 7, currency: "CHF".into() }.of("order-1").unwrap();
    record(&place.engine(), [paid(5, "order-1"), new]);
    let state = open::<NewBalances>(&place).unwrap();
    assert_eq!(state, [("EUR".to_string(), 5), ("CHF".to_string(), 7)]);
}

#[test]
fn an_event_that_cannot_be_read_is_named_with_its_record() {
    let cases = [
        (of_version(1, "{\"cents\":13}"), "panicked at record"),
        (of_version(2, "{\"cents\":\"many\"}"), "of version 2 cannot be taken up: no cents"),
        (of_version(1, "[1]"), "of version 1 cannot be taken up: no object"),
        (of_version(3, "{\"cents\":1}"), "does not hold a order.paid: missing field `currency`"),
        (of_version(1, "cents"), "does not hold a order.paid: expected value"),
        (of_version(4, "{}"), "is of version 4, and this program knows versions up to 3"),
    ];
    for (event, expected) in cases {
        let place = Place::new();
        let engine = place.engine();
        let at = record(&engine, [event]);
        let told = fault::<NewBalances>(&place).to_string();
        let record = format!("record {at}");
        assert!(told.contains(expected) && told.contains(&record), "{told}");
        // The log is as it was, and others go on.
        record_more(&place, &engine);
        let history = StateHistory::<NewBalances>::of(place.log());
        assert!(matches!(history.state("order-1", at), Err(ReducerError::Reducer(_))));
    }
}

/// Payments of orders, each read as in the third version.
fn newest(place: &Place, stream: &str) -> Result<usize, ReducerError> {
    let engine = place.engine();
    let opened = Reduced::<NewBalances>::open(&engine, ReducerOptions::default())?;
    Ok(opened.state(stream)?.len())
}

#[test]
fn an_event_that_cannot_be_read_ends_the_reducer_for_its_stream_alone() {
    let unreadable = [
        of_version(1, "{\"cents\":13}"),
        of_version(2, "{\"cents\":\"many\"}"),
        of_version(3, "{\"cents\":1}"),
        of_version(4, "{}"),
    ];
    for event in unreadable {
        let place = Place::new();
        let engine = place.engine();
        let reduced = Reduced::<NewBalances>::open(&engine, ReducerOptions::default()).unwrap();
        let at =
            record(&engine, [paid(1, "order-2"), event, paid(2, "order-2"), paid(1, "order-1")]);
        let at = at - 2;
        for _ in 0..2 {
            let told = reduced.state("order-1").unwrap_err();
            assert!(matches!(told, ReducerError::Reducer(_)), "{told:?}");
            assert!(told.to_string().contains(&format!("record {at}")), "{told}");
            assert_eq!(reduced.state("order-2").unwrap().len(), 2);
        }
        // A snapshot holds the others' states, and that there is none of this stream.
        reduced.snapshot().unwrap().unwrap();
        record(&engine, [paid(3, "order-2"), paid(3, "order-1")]);
        assert_eq!(reduced.state("order-2").unwrap().len(), 3);
        for told in [reduced.state("order-1").map(|it| it.len()), newest(&place, "order-1")] {
            let Err(ReducerError::Reducer(ReducerFault::Ended { sequence, what, .. })) = told
            else {
                unreachable!("{told:?}")
            };
            assert_eq!((sequence, what.as_str()), (at, "stream order-1"));
        }
        assert_eq!(newest(&place, "order-2").unwrap(), 3);
        let checked = StateHistory::<NewBalances>::of(place.log()).check().unwrap();
        assert_eq!(checked.agrees(), Some(true));
    }
}

fn record_more(place: &Place, engine: &holdpoint_engine::Engine) {
    let last = record(engine, [paid(1, "order-2")]);
    let history = StateHistory::<Balances>::of(place.log());
    assert_eq!(history.state("order-2", last).unwrap().cents, 1);
}

#[test]
fn names_that_are_too_long_or_ours_are_refused_before_anything_is_recorded() {
    let place = Place::new();
    let engine = place.engine();
    let long = RecordEvent { event_type: "x".repeat(10 << 10), ..paid(1, "order-1") };
    let ours = paid(1, &format!("LOOP-{}", "0".repeat(32)));
    for event in [long, ours] {
        let both = Transaction::new().record(paid(1, "order-1")).record(event);
        let answer = engine.commit(&origin(), (), &both).unwrap();
        assert!(matches!(answer, Submitted::Refused(_)), "{answer:?}");
    }
    assert_eq!(open::<Balances>(&place).unwrap().payments, 0);
}

#[test]
fn a_key_that_is_no_text_cannot_be_kept_and_is_named() {
    struct Pairs;
    impl Reducer for Pairs {
        const NAME: &'static str = "pairs";
        type State = std::collections::BTreeMap<(u8, u8), u8>;

        fn apply(state: &mut Self::State, _: &ApplicationEvent<'_>) -> Result<(), EventError> {
            state.insert((1, 2), 3);
            Ok(())
        }
    }
    let place = Place::new();
    record(&place.engine(), [paid(3, "order-1")]);
    assert!(matches!(fault::<Pairs>(&place), ReducerFault::Encoding { .. }));
}
