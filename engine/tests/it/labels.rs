//! What a caller calls what it records stands in the same batch, and is of no meaning to any rule.

use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::log::{LogEvent, RecordsLabelled};
use holdpoint_domain::world::envelope;
use holdpoint_domain::{Command, Envelope, Event, Refusal};
use holdpoint_engine::executor::{Discard, NoSignals};
use holdpoint_engine::log::{Level, Log, NewRecord, Options};
use holdpoint_engine::shell::{Conditions, Submitted};
use holdpoint_replay::{Problem, Verdict, verify_directory};
use holdpoint_testing::shell::commands::initialize;
use holdpoint_testing::shell::{Line, Place, origin, shell};

fn event(stream: &str) -> RecordEvent {
    RecordEvent::new(stream, "changed", "1")
}

/// Two labels, given in no order.
fn labels() -> Conditions {
    Conditions::default().labelled("env", "prod").labelled("build", "42")
}

/// Every record of labels: its line, and what it says.
fn labelled(place: &Place) -> Vec<(Line, RecordsLabelled)> {
    let found = place.lines().into_iter().filter_map(|line| match line.envelope.event.clone() {
        Event::Log(LogEvent::RecordsLabelled(body)) => Some((line, body)),
        _ => None,
    });
    found.collect()
}

#[test]
fn labels_are_the_last_record_of_the_batch_and_no_part_of_the_receipt() {
    let place = Place::new();
    let engine = place.engine();
    let one = engine.record(&origin(), labels(), event("a")).unwrap().accepted().unwrap();
    let draft = [event("a"), event("b")];
    let by = origin();
    let both = draft.into_iter().fold(engine.transaction(&by), |all, event| all.record(event));
    let both = both.commit(labels()).unwrap().accepted().unwrap();
    engine.close().unwrap();

    // The first batch begins with the rules' numbers, which nobody asked for.
    let [(first, of_one), (second, of_both)] = &labelled(&place)[..] else { panic!("two") };
    let expected = |from| RecordsLabelled::of(from, [("build", "42"), ("env", "prod")]);
    assert_eq!((of_one, one.events.len()), (&expected(one.first_sequence), 1));
    assert_eq!((of_both, both.events.len()), (&expected(both.first_sequence), 2));
    assert_eq!(first.sequence, one.last_sequence + 1);
    assert_eq!(second.sequence, both.last_sequence + 1);
    assert_eq!(first.envelope.actor, origin().actor);
    assert_eq!(first.envelope.correlation, origin().correlation);
    place.rebuilt();
    assert_eq!(verify_directory(place.log()).unwrap().verdict, Verdict::Intact);
}

#[test]
fn each_loop_that_begins_in_a_batch_has_labels_of_its_own() {
    let place = Place::new();
    let (engine, by) = (place.engine(), origin());
    let loops = [initialize(1), initialize(1)];
    let ids = loops.each_ref().map(|it| Some(it.loop_id().into()));
    let begin = |command| Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
    let both = loops.into_iter().map(begin).fold(engine.transaction(&by), |all, it| all.submit(it));
    both.commit(labels()).unwrap().accepted().unwrap();
    engine.close().unwrap();
    let of: Vec<_> = labelled(&place).into_iter().map(|(_, body)| body.loop_id).collect();
    assert_eq!(of, ids);
    let report = verify_directory(place.log()).unwrap();
    assert_eq!(report.verdict, Verdict::Intact, "{report}");
}

#[test]
fn a_key_stands_for_what_is_asked_whatever_it_is_called() {
    let place = Place::new();
    let engine = place.engine();
    let called = |name: &str| Conditions::once("one").labelled("name", name);
    let record = |name| engine.record(&origin(), called(name), event("a")).unwrap();
    let first = record("first").accepted().unwrap();
    assert_eq!(record("second"), Submitted::Repeated(first));
    assert_eq!(labelled(&place).len(), 1);
    let stale = called("third").key("another").expecting(7);
    let refused = engine.record(&origin(), &stale, event("a")).unwrap();
    assert!(matches!(refused, Submitted::Refused(Refusal::StaleVersion { .. })));
    assert_eq!(labelled(&place).len(), 1, "what is refused is not called anything");
    engine.close().unwrap();
    place.rebuilt();
}

#[test]
fn labels_beyond_their_bounds_are_refused_and_nothing_is_recorded() {
    let place = Place::new();
    let engine = place.engine();
    let long = "x".repeat(257);
    let all = |count| {
        (0..count).fold(Conditions::default(), |all, it| all.labelled(format!("n{it}"), "v"))
    };
    let many = all(33);
    let wrong = [
        Conditions::default().labelled("", "v"),
        Conditions::default().labelled("n", ""),
        Conditions::default().labelled(&*long, "v"),
        Conditions::default().labelled("n", &*long),
        Conditions::default().labelled("n\n", "v"),
        many,
    ];
    for conditions in wrong {
        let refused = engine.record(&origin(), &conditions, event("a")).unwrap();
        let is_malformed = |no: &Refusal| no.code() == "MALFORMED_REQUEST";
        assert!(matches!(&refused, Submitted::Refused(no) if is_malformed(no)), "{refused:?}");
    }
    assert_eq!(place.lines(), []);
    assert!(engine.record(&origin(), all(32), event("a")).unwrap().accepted().is_ok());
    assert_eq!(labelled(&place).first().map(|(_, body)| body.labels.len()), Some(32));
    engine.close().unwrap();
    place.rebuilt();
}

#[test]
fn a_run_is_called_what_its_conditions_say_where_it_begins() {
    let place = Place::new();
    let engine = place.engine();
    let (run, nightly) = (shell("exit 0"), labels());
    let ran = engine.run(&origin(), &nightly, &run, &mut Discard, &mut NoSignals).unwrap();
    let report = ran.ended().unwrap();
    engine.close().unwrap();
    let [(_, body)] = &labelled(&place)[..] else { panic!("one") };
    assert_eq!(body.first_sequence, report.summary.first_sequence);
    place.rebuilt();
}

#[test]
fn labels_of_another_batch_are_forbidden() {
    let place = Place::new();
    let engine = place.engine();
    let known = engine.record(&origin(), labels(), event("a")).unwrap().accepted().unwrap();
    engine.close().unwrap();
    let (line, _) = labelled(&place).remove(0);
    let event = RecordsLabelled::of(known.first_sequence, [("forged", "1")]).into();
    let encoded = envelope::encode(&Envelope { event, ..line.envelope }).unwrap();
    let record =
        NewRecord { kind: encoded.kind, version: encoded.version, payload: encoded.payload };
    let (log, _) = Log::open(place.storage(), Options::default()).unwrap();
    log.append_any_kind(&[record], line.time, Level::Always).unwrap();
    log.close().unwrap();
    let report = verify_directory(place.log()).unwrap();
    assert_eq!(report.verdict, Verdict::ForbiddenEvents);
    let [finding] = &report.findings[..] else { panic!("{report}") };
    assert!(matches!(&finding.problem, Problem::Forbidden(it) if it.rule == Rule::Labels));
}
