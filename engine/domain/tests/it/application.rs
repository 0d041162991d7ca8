//! Events of the application: what may be recorded, how far a stream has come, and what of it the
//! state knows.

use holdpoint_domain::application::{
    ApplicationEvent, ApplicationRecorded, Data, MAX_DATA_BYTES, MAX_KNOWN_STREAMS, RecordEvent,
    ReducerFingerprintRecorded,
};
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::world::envelope::{decode, encode};
use holdpoint_domain::world::{FIRST_OPAQUE_KIND, Recalled, terms_of_record};
use holdpoint_domain::{Command, Envelope, Event, Refusal, Time, World, decide_for_reducer};
use holdpoint_testing::story::{Story, envelope};

fn to(stream: &str) -> RecordEvent {
    RecordEvent {
        stream: stream.to_owned(),
        event_type: "order.created".to_owned(),
        type_version: 1,
        content_type: "application/json".to_owned(),
        data: Data::from("{}"),
    }
}

fn command(body: RecordEvent) -> Command {
    body.into()
}

fn event_of(body: RecordEvent) -> Event {
    let RecordEvent { stream, event_type, type_version, content_type, data } = body;
    let (stream, event_type) = (stream.as_str().into(), event_type.as_str().into());
    let content_type = content_type.as_str().into();
    let body = ApplicationRecorded { stream, event_type, type_version, content_type, data };
    ApplicationEvent::from(body).into()
}

/// Everything that is wrong with a field, and the field.
fn malformed() -> Vec<(&'static str, RecordEvent)> {
    let long = "x".repeat(10 * 1024);
    let own = "LOOP-000102030405060708090a0b0c0d0e0f";
    let mut all = vec![("type_version", RecordEvent { type_version: 0, ..to("a") })];
    for name in ["", " ", "a\nb", "a\u{200b}b", &long] {
        all.push(("stream", to(name)));
        all.push(("type", RecordEvent { event_type: name.to_owned(), ..to("a") }));
        all.push(("content_type", RecordEvent { content_type: name.to_owned(), ..to("a") }));
    }
    let others = ["DP-", "REC-"].map(|prefix| own.replace("LOOP-", prefix).to_uppercase());
    let others = others.each_ref().map(|name| ("stream", to(name)));
    all.extend([own, " a", "a "].map(|name| ("stream", to(name))));
    all.extend(others);
    all.push(("type", RecordEvent { event_type: "a ".to_owned(), ..to("a") }));
    let data = Data::from(vec![0; MAX_DATA_BYTES + 1]);
    all.push(("data", RecordEvent { data, ..to("a") }));
    all
}

#[test]
fn what_is_malformed_is_refused_with_its_field_and_forbidden_on_the_log() {
    for (field, body) in malformed() {
        let fault = command(body.clone()).check_form().unwrap_err();
        assert_eq!(fault.field, field, "{body:?}");
        let found = Story::adopted().record(event_of(body));
        let found = found.first().map(|found| found.rule);
        assert_eq!(found, Some(Rule::ApplicationEvent));
    }
}

fn stated() -> ReducerFingerprintRecorded {
    ReducerFingerprintRecorded {
        reducer: "orders".into(),
        version: 1,
        encoding: "json".into(),
        covers: 0,
        fingerprint: Digest::from_bytes([7; 32]),
    }
}

#[test]
fn what_is_stated_of_a_reducer_leaves_the_state_as_it_is_and_is_about_records_before() {
    let mut story = Story::adopted();
    story.given(command(to("a")));
    let newest = story.world.totals().last_sequence;
    let covers = |covers| ReducerFingerprintRecorded { covers, ..stated() };
    let decided = |body| decide_for_reducer(&story.world, &body);
    assert_eq!(decided(covers(newest)).unwrap(), covers(newest).into());
    decided(covers(newest + 1)).unwrap_err();
    let before = (story.world.stream_version("a"), story.world.streams().count());
    assert_eq!(story.record(covers(newest).into()), []);
    assert_eq!((story.world.stream_version("a"), story.world.streams().count()), before);
    let wrong = [
        covers(newest + 2),
        ReducerFingerprintRecorded { reducer: " orders".into(), ..stated() },
        ReducerFingerprintRecorded { reducer: "x".repeat(257).as_str().into(), ..stated() },
        ReducerFingerprintRecorded { version: 0, ..stated() },
        ReducerFingerprintRecorded { encoding: "".into(), ..stated() },
    ];
    for body in wrong {
        let found = Story::adopted().record(body.clone().into());
        assert_eq!(found.first().map(|it| it.rule), Some(Rule::ApplicationEvent), "{body:?}");
    }
}

#[test]
fn names_that_only_begin_like_ours_are_the_applications() {
    for name in
        ["LOOP-", "LOOP-x", "REC-2024", "REC-123456789", "order-1", "log", "\u{fc}n\u{ef}code"]
    {
        command(to(name)).check_form().unwrap();
    }
}

#[test]
fn the_most_bytes_that_an_event_may_hold_fit_into_a_payload() {
    let mut story = Story::adopted();
    let name = "n".repeat(256);
    let data = Data::from(vec![0xff; MAX_DATA_BYTES]);
    let content_type = "c".repeat(128);
    let body = RecordEvent { event_type: name.clone(), content_type, data, ..to(&name) };
    let event = story.given(command(body)).remove(0);
    let envelope = Envelope { event, ..envelope(event_of(to("a"))) };
    let encoded = encode(&envelope).unwrap();
    assert_eq!(decode(encoded.kind, encoded.version, &encoded.payload).unwrap(), envelope);
}

#[test]
fn a_stream_is_at_the_record_of_its_last_event() {
    let mut story = Story::adopted();
    assert_eq!(story.world.stream_version("a"), 0);
    for stream in ["a", "b", "a"] {
        story.given(command(to(stream)));
    }
    let newest = story.world.totals().last_sequence;
    let versions = ["a", "b", "c"].map(|stream| story.world.stream_version(stream));
    assert_eq!(versions, [newest, newest - 1, 0]);
    assert_eq!(story.world.version_of(&command(to("b"))), Some(newest - 1));
    let stale = story.world.check_version(&command(to("b")), newest);
    assert!(matches!(stale, Err(Refusal::StaleVersion { .. })), "{stale:?}");
    story.world.check_version(&command(to("c")), 0).unwrap();
}

#[test]
fn what_the_state_has_forgotten_of_a_stream_is_what_the_log_tells() {
    let (mut world, at) = (World::default(), Time::from_nanoseconds(1));
    for number in 0..=MAX_KNOWN_STREAMS as u64 {
        let event = event_of(to(&format!("s{number}")));
        world.evolve(number + 1, at, &envelope(event));
    }
    assert!(!world.knows_stream("s0") && world.knows_stream("s1"));
    assert_eq!((world.streams_forgotten(), world.stream_version("s0")), (1, 0));
    let mut recalled = Recalled::default();
    recalled.stream_came_to("s0", 1);
    world.recall(recalled);
    assert_eq!(world.stream_version("s0"), 1);
    assert_eq!(World::from_carried(&world.carry()).unwrap().streams_forgotten(), 1);
}

#[test]
fn an_opaque_record_moves_the_state_on_and_is_found_by_its_kind_alone() {
    let mut story = Story::adopted();
    let before = story.world.clone();
    let newest = before.totals().last_sequence;
    story.world.pass_over(newest + 1, story.now);
    assert_ne!(story.world.fingerprint(), before.fingerprint());
    assert_eq!(story.world.totals().events, before.totals().events);
    let next = envelope(event_of(to("a")));
    assert_eq!(story.world.judge_and_evolve(newest + 2, story.now, &next), []);
    assert_eq!(story.world.stream_version("a"), newest + 2);
    for (kind, terms) in [(FIRST_OPAQUE_KIND, 1), (u16::MAX, 1), (FIRST_OPAQUE_KIND - 1, 0)] {
        let unread = decode(kind, 7, b"anything").unwrap_err();
        assert_eq!((unread.is_opaque(), unread.is_of_unknown_kind()), (terms == 1, terms == 0));
        let mut found = 0;
        terms_of_record(kind, 7, b"anything", &mut |_, _| found += 1);
        assert_eq!(found, terms);
    }
}
