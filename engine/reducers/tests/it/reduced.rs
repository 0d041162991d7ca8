//! States beside an engine.

use crate::support::{Balance, Balances, Place, Turnover, origin, paid, record};
use holdpoint_domain::application::ApplicationEvent as Recorded;
use holdpoint_domain::{Command, Event};
use holdpoint_engine::shell::{ArchivePlan, Conditions, SubmitError, Submitted};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_reducers::{
    ApplicationEvent, EventError, Reduced, Reducer, ReducerError, ReducerOptions, Scope,
};
use quickcheck::{Arbitrary, Gen};
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

fn never() -> ReducerOptions {
    ReducerOptions::default().snapshot_every(0)
}

#[test]
fn a_state_is_what_the_events_of_its_stream_made_and_follows_them() {
    let place = Place::new();
    let engine = place.engine();
    let balances = Reduced::<Balances>::open(&engine, never()).unwrap();
    assert_eq!(balances.state("order-1").unwrap(), Balance::default());
    record(&engine, [paid(500, "order-1"), paid(70, "order-2"), paid(1, "order-1")]);
    let last = record(&engine, [paid(4, "order-1")]);
    let found = balances.versioned("order-1").unwrap();
    assert_eq!((found.state, found.version), (Balance { cents: 505, payments: 3 }, last));
    assert_eq!(balances.state("order-2").unwrap().cents, 70);
    assert_eq!(balances.versioned("order-3").unwrap().version, 0);
    assert!(matches!(balances.total(), Err(ReducerError::OtherScope { .. })));
}

#[test]
fn one_state_over_all_streams_is_asked_for_as_such() {
    let place = Place::new();
    let engine = place.engine();
    record(&engine, [paid(500, "order-1"), paid(70, "order-2")]);
    let turnover = Reduced::<Turnover>::open(&engine, never()).unwrap();
    let total = turnover.total().unwrap().state;
    assert_eq!(total, BTreeMap::from([("order-1".into(), 500), ("order-2".into(), 70)]));
    assert!(matches!(turnover.state("order-1"), Err(ReducerError::OtherScope { .. })));
}

#[test]
fn the_version_of_a_state_is_the_one_that_a_command_may_expect() {
    let place = Place::new();
    let engine = place.engine();
    record(&engine, [paid(500, "order-1")]);
    let balances = Reduced::<Balances>::open(&engine, never()).unwrap();
    let seen = balances.versioned("order-1").unwrap().version;
    let pay = || Command::from(paid(1, "order-1"));
    let conditions = Conditions::default().expecting(seen);
    let first = engine.submit(&origin(), &conditions, &pay()).unwrap();
    assert!(matches!(first, Submitted::Accepted(_)));
    let second = engine.submit(&origin(), &conditions, &pay()).unwrap();
    assert!(matches!(second, Submitted::Refused(_)));
    assert_eq!(balances.state("order-1").unwrap().payments, 2);
}

#[test]
fn a_snapshot_is_stated_and_the_next_opening_begins_with_it() {
    let place = Place::new();
    let engine = place.engine();
    record(&engine, (0..300).map(|at| paid(at, &format!("order-{at}"))));
    let balances = Reduced::<Balances>::open(&engine, never()).unwrap();
    let covers = balances.snapshot().unwrap().unwrap();
    let stated = engine.query(|world| world.totals().last_sequence).unwrap();
    assert_eq!((stated, balances.snapshot().unwrap()), (covers + 1, None));
    let mut events = engine.subscribe(stated).unwrap().with_unproven();
    let event = events.try_next().unwrap().unwrap().envelope.event;
    let Event::Application(Recorded::ReducerFingerprintRecorded(body)) = event else {
        unreachable!("{event:?}")
    };
    assert_eq!((&*body.reducer, body.version, body.covers), ("balances", 1, covers));
    record(&engine, [paid(1, "order-7")]);
    let again = Reduced::<Balances>::open(&engine, never()).unwrap();
    assert_eq!(again.state("order-7").unwrap(), Balance { cents: 8, payments: 2 });
    assert_eq!(again.state("order-299").unwrap(), Balance { cents: 299, payments: 1 });
    assert_eq!(again.state("order-300").unwrap(), Balance::default());
}

static APPLIED: AtomicU64 = AtomicU64::new(0);

/// Counts beside its states how often it was asked.
struct Counted;

impl Reducer for Counted {
    const NAME: &'static str = "counted";
    type State = u64;

    fn apply(state: &mut u64, _: &ApplicationEvent<'_>) -> Result<(), EventError> {
        APPLIED.fetch_add(1, Ordering::Relaxed);
        *state += 1;
        Ok(())
    }
}

#[test]
fn what_a_snapshot_covers_is_not_applied_again() {
    let place = Place::new();
    let engine = place.engine();
    record(&engine, (0..100).map(|_| paid(1, "order-1")));
    Reduced::<Counted>::open(&engine, never()).unwrap().snapshot().unwrap();
    record(&engine, [paid(1, "order-1")]);
    let before = APPLIED.load(Ordering::Relaxed);
    let again = Reduced::<Counted>::open(&engine, never()).unwrap();
    assert_eq!(again.state("order-1").unwrap(), 101);
    // Twice for the one event: each state is made twice.
    assert_eq!(APPLIED.load(Ordering::Relaxed) - before, 2);
}

#[test]
fn a_file_that_no_record_states_or_that_was_changed_is_as_if_it_were_not_there() {
    let place = Place::new();
    let engine = place.engine();
    record(&engine, (0..300).map(|at| paid(at + 1, &format!("order-{at}"))));
    let balances = Reduced::<Balances>::open(&engine, never()).unwrap();
    balances.snapshot().unwrap();
    let [file] = &place.states()[..] else { unreachable!() };
    let whole = fs::read(file).unwrap();
    let check = |balances: &Reduced<Balances>, what: &str| {
        for stream in [0, 150, 299] {
            let found = balances.state(&format!("order-{stream}")).unwrap();
            assert_eq!(found.cents, stream + 1, "{what}");
        }
    };
    for at in (0..whole.len()).step_by(whole.len() / 37) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(file, &changed).unwrap();
        check(&Reduced::<Balances>::open(&engine, never()).unwrap(), &format!("byte {at}"));
    }
    for cut in [0, 10, 64, 65, whole.len() - 1] {
        fs::write(file, &whole[..cut]).unwrap();
        check(&Reduced::<Balances>::open(&engine, never()).unwrap(), &format!("cut at {cut}"));
    }
    // The same under a handle that had it open.
    fs::write(file, &whole).unwrap();
    let opened = Reduced::<Balances>::open(&engine, never()).unwrap();
    fs::write(file, vec![0; whole.len()]).unwrap();
    check(&opened, "while it was open");
    record(&engine, [paid(7, "order-299")]);
    assert_eq!(opened.state("order-299").unwrap().cents, 307);
}

#[test]
fn a_snapshot_of_another_log_is_not_believed() {
    let (place, other) = (Place::new(), Place::new());
    let (engine, theirs) = (place.engine(), other.engine());
    for (engine, cents) in [(&engine, 1), (&theirs, 1_000)] {
        record(engine, [paid(cents, "order-1")]);
        record(engine, [paid(cents, "order-1")]);
        let balances = Reduced::<Balances>::open(engine, never()).unwrap();
        balances.snapshot().unwrap();
    }
    fs::copy(&other.states()[0], &place.states()[0]).unwrap();
    let opened = Reduced::<Balances>::open(&engine, never()).unwrap();
    assert_eq!(opened.state("order-1").unwrap().cents, 2);
}

#[test]
fn memory_is_bounded_whatever_the_number_of_streams() {
    let place = Place::new();
    let engine = place.engine();
    let balances = Reduced::<Balances>::open(&engine, never().cache_bytes(0)).unwrap();
    for batch in 0..8u64 {
        let stream = |at: u64| format!("order-{}", (at + batch * 512) % 4_096);
        record(&engine, (0..1_024).map(|at| paid(1, &stream(at))));
    }
    let sum = || {
        let states = (0..4_096).map(|at| balances.state(&format!("order-{at}")).unwrap());
        states.map(|it| it.payments).sum::<u64>()
    };
    assert_eq!(sum(), 8 * 1_024);
    // What did not fit was written: and at most two files of it stay.
    assert!((1..=2).contains(&place.states().len()), "{:?}", place.states());
    // To look at what has not changed writes nothing.
    let newest = || engine.query(|world| world.totals().last_sequence).unwrap();
    let before = newest();
    assert_eq!((sum(), newest()), (8 * 1_024, before));
    let again = Reduced::<Balances>::open(&engine, never()).unwrap();
    assert_eq!(again.state("order-512").unwrap().payments, 2);
}

/// As [`Balances`] under the same name, with one state over all.
struct AllBalances;

impl Reducer for AllBalances {
    const NAME: &'static str = Balances::NAME;
    const SCOPE: Scope = Scope::All;
    type State = Balance;

    fn apply(state: &mut Balance, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        Balances::apply(state, event)
    }
}

#[test]
fn states_of_each_stream_are_not_taken_for_one_over_all() {
    let place = Place::new();
    let engine = place.engine();
    record(&engine, (0..10).map(|at| paid(at + 1, &format!("order-{at}"))));
    Reduced::<Balances>::open(&engine, never()).unwrap().snapshot().unwrap();
    let all = Reduced::<AllBalances>::open(&engine, never()).unwrap();
    assert_eq!(all.total().unwrap().state.cents, 55);
    record(&engine, [paid(1, "order-1")]);
    all.snapshot().unwrap();
    let each = Reduced::<Balances>::open(&engine, never()).unwrap();
    assert_eq!(each.state("order-1").unwrap().cents, 3);
    let all = Reduced::<AllBalances>::open(&engine, never()).unwrap();
    assert_eq!(all.total().unwrap().state.cents, 56);
}

#[test]
fn a_snapshot_that_is_due_is_made_when_a_state_is_asked_for() {
    let place = Place::new();
    let engine = place.engine();
    let balances =
        Reduced::<Balances>::open(&engine, ReducerOptions::default().snapshot_every(10)).unwrap();
    record(&engine, (0..9).map(|_| paid(1, "order-1")));
    balances.state("order-1").unwrap();
    assert_eq!(place.states().len(), 0);
    record(&engine, [paid(1, "order-1")]);
    assert_eq!(balances.state("order-1").unwrap().payments, 10);
    assert_eq!((place.states().len(), balances.snapshot_failure()), (1, None));
}

#[test]
fn a_snapshot_that_cannot_be_written_fails_no_answer() {
    let place = Place::new();
    let engine = place.engine();
    fs::write(place.log().join("reducers"), "in the way").unwrap();
    let options = ReducerOptions::default().snapshot_every(1);
    let balances = Reduced::<Balances>::open(&engine, options).unwrap();
    record(&engine, [paid(1, "order-1")]);
    assert_eq!(balances.state("order-1").unwrap().payments, 1);
    assert!(balances.snapshot_failure().is_some());
    assert!(matches!(balances.snapshot(), Err(ReducerError::File { .. })));
    assert_eq!(balances.state("order-1").unwrap().payments, 1);
}

#[test]
fn what_other_processes_record_counts_as_well() {
    let place = Place::new();
    let (ours, theirs) = (place.engine(), place.engine());
    let balances = Reduced::<Balances>::open(&ours, never()).unwrap();
    record(&theirs, [paid(3, "order-1")]);
    assert_eq!(balances.state("order-1").unwrap().cents, 3);
}

#[test]
fn behind_a_closed_engine_every_answer_is_that_it_is_closed() {
    let place = Place::new();
    let engine = place.engine();
    let balances = Reduced::<Balances>::open(&engine, never()).unwrap();
    engine.close().unwrap();
    let answer = balances.state("order-1");
    assert!(matches!(answer, Err(ReducerError::Engine(SubmitError::Closed))), "{answer:?}");
}

#[test]
fn behind_archived_events_only_a_snapshot_that_covers_them_gives_a_state() {
    let place = Place::new();
    let engine = place.engine();
    let balances = Reduced::<Balances>::open(&engine, never()).unwrap();
    let archive = DirectoryStorage::new(place.log().with_file_name("archive"));
    let plan = || ArchivePlan { keep_segments: 0, ..ArchivePlan::default() };
    let batch = || (0..1_000).map(|at| paid(1, &format!("order-{at}")));
    let mut batches = 1;
    record(&engine, batch());
    balances.state("order-9").unwrap();
    while engine.archive(&archive, plan()).unwrap().moved.is_none() {
        record(&engine, batch());
        balances.state("order-9").unwrap();
        batches += 1;
        assert!(batches < 400, "nothing is archived");
    }
    let without = Reduced::<Balances>::open(&engine, never()).map(drop);
    assert!(matches!(without, Err(ReducerError::BeforeAnchor { .. })), "{without:?}");
    // Whoever was reading all along knows what was archived, and says it for the others.
    assert_eq!(balances.state("order-9").unwrap().payments, batches);
    balances.snapshot().unwrap().unwrap();
    let opened = Reduced::<Balances>::open(&engine, never()).unwrap();
    assert_eq!(opened.state("order-9").unwrap().payments, batches);
}

/// Payments to a few orders, in batches.
#[derive(Clone, Debug)]
struct Batches(Vec<Vec<(u8, u16)>>);

impl Arbitrary for Batches {
    fn arbitrary(g: &mut Gen) -> Self {
        let batch = |g: &mut Gen| {
            let count = 1 + usize::arbitrary(g) % 20;
            (0..count).map(|_| (u8::arbitrary(g) % 40, u16::arbitrary(g))).collect()
        };
        Self((0..1 + usize::arbitrary(g) % 12).map(|_| batch(g)).collect())
    }
}

/// However it is cut into snapshots and openings, the states are those of the events.
fn states_do_not_depend_on_snapshots(Batches(batches): Batches, cache: u16, every: u8) -> bool {
    let place = Place::new();
    let engine = place.engine();
    let options = || {
        let options = ReducerOptions::default().cache_bytes(usize::from(cache));
        options.snapshot_every(u64::from(every % 16))
    };
    let mut expected: BTreeMap<u8, Balance> = BTreeMap::new();
    let mut balances = Reduced::<Balances>::open(&engine, options()).unwrap();
    for (at, batch) in batches.iter().enumerate() {
        for (order, cents) in batch {
            let balance = expected.entry(*order).or_default();
            balance.cents += u64::from(*cents);
            balance.payments += 1;
        }
        let events = batch.iter().map(|(order, cents)| paid((*cents).into(), &format!("o{order}")));
        record(&engine, events);
        if at % 3 == 0 {
            balances = Reduced::open(&engine, options()).unwrap();
        }
        let is_so = (0..40).all(|order| {
            let state = balances.state(&format!("o{order}")).unwrap();
            state == *expected.get(&order).unwrap_or(&Balance::default())
        });
        if !is_so {
            return false;
        }
    }
    true
}

#[test]
fn states_are_those_of_the_events_however_they_were_cut_into_snapshots() {
    let test = states_do_not_depend_on_snapshots as fn(Batches, u16, u8) -> bool;
    quickcheck::QuickCheck::new().tests(24).quickcheck(test);
}
