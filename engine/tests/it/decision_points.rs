//! The library's doors to decision points: the seed's four operations, waiting, links, and the
//! seed's examples.

use crate::example;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionOption, DecisionPointCommand, DecisionPointState, OnTimeout,
    RemindDecisionPoint,
};
use holdpoint_domain::{Command, Event, Refusal};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{
    ArchivePlan, Conditions, CreateDecisionPointError, DecisionPointRecord, FindDecisionPointError,
    Origin, Receipt, Submitted, UpdateDecisionPointError, UpdatedDecisionPoint, WaitError,
    WaitOutcome,
};
use holdpoint_log_files::{DirectoryStorage, Follower};
use holdpoint_testing::log::process;
use holdpoint_testing::log::process::Other;
use holdpoint_testing::shell::{Place, SECOND_NS, SetClock};
use std::time::Duration;

/// Far longer than anything takes: a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(120);
const ISSUE: &str = "bd-abc123";

fn option(id: &str) -> DecisionOption {
    let (short, description) = (id.into(), None);
    DecisionOption { id: id.into(), short, label: "A label".into(), description, reject: false }
}

fn question(issue_id: &str) -> DecisionPointRecord {
    DecisionPointRecord {
        issue_id: issue_id.to_string(),
        prompt: "Which caching strategy?".to_string(),
        options: vec![option("redis"), option("memory")],
        default_option: Some("memory".to_string()),
        requested_by: "agent-7".to_string(),
        ..DecisionPointRecord::default()
    }
}

fn accepted(submitted: Submitted) -> Receipt {
    match submitted {
        Submitted::Accepted(receipt) => receipt,
        other => unreachable!("{other:?}"),
    }
}

/// The agent that asks, in a story of its own.
fn asker() -> Origin {
    Origin::agent("agent-7")
}

/// Whoever a record says has answered; else the agent.
fn by(record: &DecisionPointRecord) -> Origin {
    record.responded_by.as_ref().map_or_else(asker, Origin::human)
}

/// Asks, and gives the round's id.
fn ask(engine: &Engine, issue_id: &str) -> String {
    id_of(&accepted(
        engine.create_decision_point(&asker(), (), &question(issue_id)).expect("it is asked"),
    ))
}

fn id_of(receipt: &Receipt) -> String {
    receipt.events.first().and_then(Event::decision_point).expect("an id").to_string()
}

fn read(engine: &Engine, issue_id: &str) -> DecisionPointRecord {
    engine.get_decision_point(issue_id).expect("it can be read").expect("it is there")
}

fn chosen(record: &DecisionPointRecord, option: &str, by: &str) -> DecisionPointRecord {
    let (selected_option, responded_by) = (Some(option.to_string()), Some(by.to_string()));
    DecisionPointRecord { selected_option, responded_by, ..record.clone() }
}

fn guided(record: &DecisionPointRecord, words: &str, by: &str) -> DecisionPointRecord {
    let (guidance, responded_by) = (Some(words.to_string()), Some(by.to_string()));
    DecisionPointRecord { guidance, responded_by, ..record.clone() }
}

fn is_recorded(engine: &Engine, record: &DecisionPointRecord) -> bool {
    match engine.update_decision_point(&by(record), (), record).expect("it can be updated") {
        UpdatedDecisionPoint::Recorded(_) => true,
        UpdatedDecisionPoint::Repeated => false,
        UpdatedDecisionPoint::Refused(refusal) => unreachable!("{refusal}"),
    }
}

/// The field that an update may not change, and what was expected and found.
fn fixed(engine: &Engine, record: &DecisionPointRecord) -> (&'static str, String, String) {
    match engine.update_decision_point(&by(record), (), record) {
        Err(UpdateDecisionPointError::Fixed { field, expected, found, .. }) => {
            (field, expected, found)
        }
        other => unreachable!("{other:?}"),
    }
}

fn fields<'a>(
    (field, expected, found): &'a (&'static str, String, String),
) -> (&'static str, &'a str, &'a str) {
    (field, expected, found)
}

#[test]
fn what_is_created_is_found_by_its_issue_until_it_is_answered_and_after() {
    let place = Place::new();
    let engine = place.engine();
    assert_eq!(engine.get_decision_point(ISSUE).expect("it can be read"), None);
    assert_eq!(engine.list_pending_decisions().expect("a list"), []);
    let id = ask(&engine, ISSUE);
    let asked = read(&engine, ISSUE);
    let DecisionPointRecord { created_at, .. } = asked;
    assert!(created_at.is_some());
    assert_eq!(DecisionPointRecord { created_at: None, ..asked.clone() }, question(ISSUE));
    let pending = engine.list_pending_decisions().expect("a list");
    assert_eq!(pending, std::slice::from_ref(&asked));
    assert_eq!(read(&engine, &id), asked);

    assert!(is_recorded(&engine, &chosen(&asked, "redis", "ada")));
    let answered = read(&engine, ISSUE);
    assert_eq!(answered.selected_option.as_deref(), Some("redis"));
    assert_eq!(answered.responded_by.as_deref(), Some("ada"));
    assert!(answered.responded_at >= answered.created_at);
    assert_eq!(engine.list_pending_decisions().expect("a list"), []);
    place.assert_intact();
    place.rebuilt();
}

#[test]
fn an_issue_has_one_open_decision_and_a_new_one_when_that_ended() {
    let place = Place::new();
    let engine = place.engine();
    let first = ask(&engine, ISSUE);
    match engine.create_decision_point(&asker(), (), &question(ISSUE)) {
        Err(CreateDecisionPointError::IssueHasOne { issue_id, decision_id }) => {
            assert_eq!((issue_id.as_str(), decision_id), (ISSUE, first.clone()));
        }
        other => unreachable!("{other:?}"),
    }
    assert_eq!(place.events().len(), 1);
    ask(&engine, "another issue");
    assert!(is_recorded(&engine, &chosen(&read(&engine, ISSUE), "redis", "ada")));
    let second = ask(&engine, ISSUE);
    assert_ne!(first, second);
    assert_eq!(read(&engine, ISSUE).selected_option, None);
    assert_eq!(read(&engine, &first).selected_option.as_deref(), Some("redis"));
}

#[test]
fn of_many_that_create_at_once_one_does() {
    let place = Place::new();
    let engines = [place.engine(), place.engine()];
    let created = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let engine = &engines[number % 2];
                let ask = move || engine.create_decision_point(&asker(), (), &question(ISSUE));
                scope.spawn(move || ask().is_ok())
            })
            .collect();
        let created = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        created.filter(|created| *created).count()
    });
    assert_eq!(created, 1);
}

#[test]
fn what_only_an_answer_or_the_log_brings_is_not_created() {
    let place = Place::new();
    let engine = place.engine();
    let some = || Some("x".to_string());
    let time = Some(holdpoint_domain::Time::from_nanoseconds(1));
    let bad = [
        ("selected_option", DecisionPointRecord { selected_option: some(), ..question(ISSUE) }),
        ("response_text", DecisionPointRecord { response_text: some(), ..question(ISSUE) }),
        ("responded_at", DecisionPointRecord { responded_at: time, ..question(ISSUE) }),
        ("responded_by", DecisionPointRecord { responded_by: some(), ..question(ISSUE) }),
        ("iteration", DecisionPointRecord { iteration: 2, ..question(ISSUE) }),
        ("prior_id", DecisionPointRecord { prior_id: some(), ..question(ISSUE) }),
        ("guidance", DecisionPointRecord { guidance: some(), ..question(ISSUE) }),
        ("created_at", DecisionPointRecord { created_at: time, ..question(ISSUE) }),
    ];
    for (expected, record) in bad {
        match engine.create_decision_point(&asker(), (), &record) {
            Err(CreateDecisionPointError::NotNew { field, .. }) => assert_eq!(field, expected),
            other => unreachable!("{other:?}"),
        }
    }
    let default_option = Some("neither".to_string());
    let record = DecisionPointRecord { default_option, ..question(ISSUE) };
    let refused = engine.create_decision_point(&asker(), (), &record).expect("a rule answers");
    assert!(
        matches!(&refused, Submitted::Refused(no) if no.code() == "BAD_DEFAULT"),
        "{refused:?}"
    );
    assert_eq!(place.events(), []);
}

#[test]
fn the_same_update_again_writes_nothing() {
    let place = Place::new();
    let engine = place.engine();
    ask(&engine, ISSUE);
    let asked = read(&engine, ISSUE);
    assert!(!is_recorded(&engine, &asked));
    let answer = chosen(&asked, "redis", "ada");
    assert!(is_recorded(&engine, &answer));
    let events = place.events().len();
    assert!(!is_recorded(&engine, &answer));
    assert!(!is_recorded(&engine, &read(&engine, ISSUE)));
    assert_eq!(place.events().len(), events);
}

#[test]
fn a_second_answer_is_an_error_that_names_the_winner_and_is_kept_as_late() {
    let place = Place::new();
    let engine = place.engine();
    let id = ask(&engine, ISSUE);
    let asked = read(&engine, ISSUE);
    assert!(is_recorded(&engine, &chosen(&asked, "redis", "ada")));
    let answered = read(&engine, ISSUE);
    let text = |words: &str, by: &str| DecisionPointRecord {
        response_text: Some(words.to_string()),
        responded_by: Some(by.to_string()),
        ..asked.clone()
    };
    for (record, expected) in [
        (chosen(&asked, "memory", "bob"), ("selected_option", "redis", "memory")),
        (chosen(&asked, "memory", "bob"), ("selected_option", "redis", "memory")),
        (chosen(&answered, "memory", "ada"), ("selected_option", "redis", "memory")),
        (chosen(&asked, "redis", "bob"), ("responded_by", "ada", "bob")),
        (text("both", "bob"), ("response_text", "nothing", "both")),
        (guided(&asked, "think", "bob"), ("guidance", "nothing", "think")),
    ] {
        match engine.update_decision_point(&by(&record), (), &record) {
            Err(UpdateDecisionPointError::Ended { field, expected: was, found, .. }) => {
                assert_eq!((field, was.as_str(), found.as_str()), expected);
            }
            other => unreachable!("{other:?}"),
        }
    }
    assert_eq!(read(&engine, ISSUE), answered);
    let point = engine.decision_point(&id).expect("it can be read").expect("it is there");
    assert_eq!((point.late_total, point.state), (5, DecisionPointState::Resolved));
    place.rebuilt();
}

#[test]
fn guidance_opens_a_round_that_is_refined_and_then_answered() {
    let place = Place::new();
    let engine = place.engine();
    let first = ask(&engine, ISSUE);
    let guidance = guided(&read(&engine, ISSUE), "mind the memory", "ada");
    assert!(is_recorded(&engine, &guidance));
    assert!(!is_recorded(&engine, &guidance));
    let second = read(&engine, ISSUE);
    assert_eq!((second.iteration, second.prior_id.as_deref()), (2, Some(first.as_str())));
    assert_eq!(second.guidance.as_deref(), Some("mind the memory"));
    let pending = engine.list_pending_decisions().expect("a list");
    assert_eq!(pending, std::slice::from_ref(&second));

    let refined = DecisionPointRecord {
        prompt: "Which of these?".to_string(),
        options: vec![option("small"), option("large")],
        default_option: Some("small".to_string()),
        ..second.clone()
    };
    assert!(is_recorded(&engine, &refined));
    assert!(!is_recorded(&engine, &refined));
    let proposed = read(&engine, ISSUE);
    assert_eq!(proposed, refined);
    let again = DecisionPointRecord { prompt: "And now?".to_string(), ..proposed.clone() };
    assert_eq!(fixed(&engine, &again).0, "prompt");
    assert!(is_recorded(&engine, &chosen(&proposed, "large", "ada")));
    assert_eq!(read(&engine, ISSUE).selected_option.as_deref(), Some("large"));
    place.rebuilt();
}

#[test]
fn the_proposal_is_accepted_with_its_default_and_guidance_ends_with_the_last_round() {
    let place = Place::new();
    let engine = place.engine();
    let record = DecisionPointRecord { max_iterations: 2, ..question(ISSUE) };
    accepted(engine.create_decision_point(&asker(), (), &record).expect("it is asked"));
    assert!(is_recorded(&engine, &guided(&read(&engine, ISSUE), "use both", "ada")));
    let second = read(&engine, ISSUE);
    let refined = DecisionPointRecord { prompt: "Both?".to_string(), ..second };
    assert!(is_recorded(&engine, &refined));
    let more = guided(&refined, "think more", "ada");
    let updated = engine.update_decision_point(&Origin::human("ada"), (), &more);
    let updated = updated.expect("a rule answers");
    let is_limit = |no: &Refusal| no.code() == "ITERATION_LIMIT";
    assert!(matches!(&updated, UpdatedDecisionPoint::Refused(no) if is_limit(no)), "{updated:?}");
    let accept = chosen(&read(&engine, ISSUE), "_accept", "ada");
    assert!(is_recorded(&engine, &accept));
    assert!(!is_recorded(&engine, &accept));
    let ended = read(&engine, ISSUE);
    assert_eq!((ended.selected_option.as_deref(), ended.response_text), (Some("memory"), None));
}

#[test]
fn a_proposal_after_guidance_changes_the_default_or_drops_it() {
    let place = Place::new();
    let engine = place.engine();
    ask(&engine, ISSUE);
    for (words, default) in [("Why?", Some("redis")), ("Neither.", None)] {
        assert!(is_recorded(&engine, &guided(&read(&engine, ISSUE), words, "ada")));
        let default_option = default.map(str::to_string);
        let proposed = DecisionPointRecord { default_option, ..read(&engine, ISSUE) };
        assert!(is_recorded(&engine, &proposed));
        assert_eq!(read(&engine, ISSUE).default_option, proposed.default_option);
    }
}

#[test]
fn whatever_else_changes_is_named_with_what_was_expected_and_found() {
    let place = Place::new();
    let engine = place.engine();
    ask(&engine, ISSUE);
    let asked = read(&engine, ISSUE);
    let some = |text: &str| Some(text.to_string());
    let time = Some(holdpoint_domain::Time::from_nanoseconds(1));
    let base = || asked.clone();
    let changed = [
        DecisionPointRecord { max_iterations: 4, ..base() },
        DecisionPointRecord { prior_id: some("DP-1"), ..base() },
        DecisionPointRecord { requested_by: "mallory".to_string(), ..base() },
        DecisionPointRecord { created_at: time, ..base() },
        DecisionPointRecord { responded_at: time, ..base() },
        DecisionPointRecord { responded_by: some("ada"), ..base() },
        DecisionPointRecord { iteration: 2, ..base() },
        DecisionPointRecord { prompt: "Why?".to_string(), ..base() },
        DecisionPointRecord { options: vec![option("redis")], ..base() },
        DecisionPointRecord { default_option: None, ..base() },
        DecisionPointRecord { response_text: some("both"), ..chosen(&base(), "redis", "ada") },
        DecisionPointRecord { prompt: "Why?".to_string(), ..chosen(&base(), "redis", "ada") },
    ];
    let found: Vec<_> = changed.iter().map(|record| fixed(&engine, record)).collect();
    let created = asked.created_at.expect("it is recorded").to_string();
    let beside = "nothing new beside selected_option";
    let expected = [
        ("max_iterations", "3", "4"),
        ("prior_id", "nothing", "DP-1"),
        ("requested_by", "agent-7", "mallory"),
        ("created_at", created.as_str(), "1970-01-01T00:00:00.000000001Z"),
        ("responded_at", "nothing", "1970-01-01T00:00:00.000000001Z"),
        ("responded_by", "nothing", "ada"),
        ("iteration", "1", "2"),
        ("prompt", "Which caching strategy?", "Why?"),
        ("options", "redis, memory", "redis"),
        ("default_option", "memory", "nothing"),
        ("response_text", beside, "another answer"),
        ("prompt", "Which caching strategy?", "Why?"),
    ];
    assert_eq!(found.iter().map(fields).collect::<Vec<_>>(), expected);
    assert_eq!(place.events().len(), 1);
    let unknown = engine.update_decision_point(&asker(), (), &question("nobody's"));
    assert!(matches!(unknown, Err(UpdateDecisionPointError::Unknown { .. })), "{unknown:?}");
}

#[test]
fn several_open_ones_of_an_issue_are_listed_and_none_is_guessed() {
    let place = Place::new();
    let engine = place.engine();
    let mut ids = [ask(&engine, ISSUE), create(&engine, |_| {})];
    ids.sort();
    match engine.get_decision_point(ISSUE) {
        Err(FindDecisionPointError::SeveralOpen { issue_id, decision_ids }) => {
            assert_eq!((issue_id.as_str(), decision_ids), (ISSUE, ids.to_vec()));
        }
        other => unreachable!("{other:?}"),
    }
    let either = chosen(&read(&engine, &ids[0]), "redis", "ada");
    assert!(matches!(
        engine.update_decision_point(&by(&either), (), &either),
        Err(UpdateDecisionPointError::Find(FindDecisionPointError::SeveralOpen { .. }))
    ));
    assert!(is_recorded(&engine, &DecisionPointRecord { issue_id: ids[0].clone(), ..either }));
}

/// Asks by a command of its own, and gives the round's id.
fn create(engine: &Engine, change: impl FnOnce(&mut CreateDecisionPoint)) -> String {
    let by = Principal {
        kind: Actor::Agent,
        id: "agent-7".into(),
        authenticated_by: Authentication::None,
        means: "test".into(),
    };
    let entropy = engine.entropy().expect("random bits");
    let options = vec![option("redis"), option("memory")];
    let mut command = CreateDecisionPoint {
        issue_id: Some(ISSUE.to_string()),
        default_option: Some("memory".to_string()),
        ..CreateDecisionPoint::asking(entropy, by.clone(), "Deploy?", options)
    };
    change(&mut command);
    let origin = Origin { actor: by.actor(), correlation: "a story".into(), causation: None };
    let command = Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(command.into()));
    id_of(&accepted(engine.submit(&origin, (), &command).expect("the log works")))
}

#[test]
fn a_link_is_the_one_that_the_record_states() {
    let place = Place::new();
    let engine = place.engine();
    for number in 0..5 {
        ask(&engine, &format!("issue {number}"));
    }
    let mut links = Vec::new();
    let storage = place.storage();
    let mut follower = Follower::at_segment(&storage, 1).expect("a first segment");
    let read = follower.catch_up(&storage, &mut |_, record| {
        links.push((record.header.sequence, record.header.link.0));
    });
    read.expect("the log can be read");
    assert_eq!(links.len(), 6);
    for (sequence, link) in links {
        let found = engine.link_of(sequence).expect("it can be read").expect("it is there");
        assert_eq!(*found.as_bytes(), link);
    }
    for sequence in [0, 7, u64::MAX] {
        assert_eq!(engine.link_of(sequence).expect("it can be read"), None);
    }
}

#[test]
fn what_was_moved_to_an_archive_has_no_link_here_and_is_still_known() {
    let place = Place::new();
    let engine = place.engine();
    let long = |option: DecisionOption| {
        let description = Some("x".repeat(8 * 1024).into());
        DecisionOption { description, ..option }
    };
    for number in 0..6 {
        let issue = format!("issue {number}");
        let options: Vec<_> = (0..20).map(|id| long(option(&format!("option-{id}")))).collect();
        let default_option = None;
        let record = DecisionPointRecord { options, default_option, ..question(&issue) };
        accepted(engine.create_decision_point(&asker(), (), &record).expect("it is asked"));
    }
    assert!(engine.link_of(1).expect("it can be read").is_some());
    let archive = DirectoryStorage::new(place.beside("archive"));
    let plan = ArchivePlan { keep_segments: 0, until_sequence: None, until_time: None };
    let moved = engine.archive(&archive, plan).expect("it is moved").moved.expect("segments");
    let last = moved.1.sequence;
    assert_eq!(engine.link_of(1).expect("it can be read"), None);
    assert_eq!(engine.link_of(last).expect("it can be read"), None);
    assert!(engine.link_of(last + 1).expect("it can be read").is_some());
    assert_eq!(read(&engine, "issue 0").options.len(), 20);
    assert!(is_recorded(&engine, &chosen(&read(&engine, "issue 0"), "option-7", "ada")));
}

#[test]
fn a_thread_that_waits_is_woken_by_the_answer() {
    let place = Place::new();
    let engine = place.engine();
    for round in 0..20 {
        let issue = format!("issue {round}");
        let id = ask(&engine, &issue);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| engine.wait_for_decision(&id, LONG));
            assert!(is_recorded(&engine, &chosen(&read(&engine, &issue), "redis", "ada")));
            let waited = waiting.join().expect("no panic").expect("the log can be read");
            assert_eq!(waited.outcome, WaitOutcome::Answered);
            assert_eq!(waited.point.selected_option(), Some("redis"));
        });
    }
}

#[test]
fn a_wait_of_no_time_looks_once_and_writes_nothing() {
    let place = Place::new();
    let engine = place.engine();
    let id = ask(&engine, ISSUE);
    let waited = engine.wait_for_decision(&id, Duration::ZERO).expect("it can be read");
    assert_eq!(waited.outcome, WaitOutcome::StillPending);
    assert_eq!(place.events().len(), 1);
    let unknown = engine.wait_for_decision("DP-0", Duration::ZERO);
    assert!(matches!(unknown, Err(WaitError::Unknown { .. })), "{unknown:?}");
}

#[test]
fn only_the_end_of_its_own_round_ends_a_wait() {
    let place = Place::new();
    let engine = place.engine();
    let id = ask(&engine, ISSUE);
    let other = ask(&engine, "another issue");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| engine.wait_for_decision(&id, LONG));
        let record = read(&engine, &other);
        assert!(is_recorded(&engine, &chosen(&record, "redis", "ada")));
        let by = engine.decision_point(&id).expect("read").expect("there").requested_by;
        let origin = Origin { actor: by.actor(), correlation: "s".into(), causation: None };
        let remind = RemindDecisionPoint { decision_id: id.clone(), by };
        let remind = Command::DecisionPoint(DecisionPointCommand::RemindDecisionPoint(remind));
        accepted(engine.submit(&origin, (), &remind).expect("the log works"));
        assert!(is_recorded(&engine, &guided(&read(&engine, ISSUE), "think", "ada")));
        let waited = waiting.join().expect("no panic").expect("the log can be read");
        assert_eq!(waited.outcome, WaitOutcome::Iterated);
        assert_eq!(waited.point.decision_id.as_str(), id);
        assert!(waited.point.next_id.is_some());
    });
}

#[test]
fn a_wait_records_what_its_deadline_brings_about() {
    for (on_timeout, outcome) in
        [(OnTimeout::Default, WaitOutcome::Default), (OnTimeout::Abort, WaitOutcome::Aborted)]
    {
        let (place, clock) = (Place::new(), SetClock::new());
        let engine = place.engine_with(&clock);
        let id = create(&engine, |command| {
            (command.timeout_ms, command.on_timeout) = (Some(5_000), Some(on_timeout));
        });
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| engine.wait_for_decision(&id, LONG));
            clock.pass(6 * SECOND_NS);
            let waited = waiting.join().expect("no panic").expect("the log can be read");
            assert_eq!(waited.outcome, outcome);
        });
        assert_eq!(place.events().len(), 2);
        place.rebuilt();
    }
}

#[test]
fn job_of_another_process() {
    let Some(job) = process::job() else { return };
    let engine = Engine::open_with(
        holdpoint_log_files::DirectoryStorage::new(&job.directory),
        holdpoint_engine::shell::EngineOptions::simulated(),
    )
    .expect("the log opens");
    for number in 0..job.number {
        let issue = format!("issue {number}");
        assert!(is_recorded(&engine, &chosen(&read(&engine, &issue), "memory", "bob")));
        process::say(number);
    }
    process::wait_for_release();
}

#[test]
fn a_wait_is_ended_by_the_answer_of_another_process() {
    let place = Place::new();
    let engine = place.engine();
    let ids: Vec<_> = (0..3).map(|number| ask(&engine, &format!("issue {number}"))).collect();
    let other = Other::start(module_path!(), "answer", &place.log(), 3);
    for id in &ids {
        let waited = engine.wait_for_decision(id, LONG).expect("the log can be read");
        assert_eq!(waited.outcome, WaitOutcome::Answered);
        let by = waited.point.ending.and_then(|ending| ending.by).expect("somebody");
        assert_eq!(by.id.as_str(), "bob");
    }
    assert_eq!(other.finish(), [0, 1, 2]);
}

#[test]
fn the_seeds_examples_work() {
    let place = Place::new();
    let asked = example::printed("decision_yes_no", &place.log());
    assert_eq!(asked, "bd-abc123: Deploy to production?\n");
    let text = example::printed("decision_rich_options", &place.beside("rich"));
    let last = "(memory)\nPros:\n- Simple\n- No dependencies\n\nCons:\n- Not shared\n";
    assert!(text.ends_with(last), "{text}");
    let gone_on = example::printed("decision_handling_response", &place.beside("handling"));
    assert_eq!(gone_on, "wait\nimplement Redis caching\n");
}

#[test]
fn who_asks_and_who_answers_is_the_origins_actor_and_a_key_stands_for_one_question() {
    let place = Place::new();
    let engine = place.engine();
    let (asker, key) = (asker().within("a story"), Conditions::once("the cache"));
    let unsigned = DecisionPointRecord { requested_by: String::new(), ..question(ISSUE) };
    let ask = || engine.create_decision_point(&asker, &key, &unsigned);
    let first = accepted(ask().expect("it is asked"));
    assert_eq!(ask().expect("it was asked"), Submitted::Repeated(first));
    assert_eq!(read(&engine, ISSUE).requested_by, "agent-7");

    let mut answer = read(&engine, ISSUE);
    answer.selected_option = Some("redis".to_string());
    let by_another =
        DecisionPointRecord { responded_by: Some("bob".to_string()), ..answer.clone() };
    let refused = engine.update_decision_point(&Origin::human("ada"), (), &by_another);
    let is_own = |no: &Refusal| no.code() == "NOT_ONESELF";
    assert!(matches!(&refused, Ok(UpdatedDecisionPoint::Refused(no)) if is_own(no)), "{refused:?}");
    let ada = Origin::human("ada").within("the answer's own story");
    let recorded = engine.update_decision_point(&ada, (), &answer).expect("it can be updated");
    assert!(matches!(recorded, UpdatedDecisionPoint::Recorded(_)), "{recorded:?}");
    assert_eq!(read(&engine, ISSUE).responded_by.as_deref(), Some("ada"));
    let last = place.lines().pop().expect("the answer").envelope;
    assert_eq!(last.correlation, "the answer's own story");
    engine.close().expect("it closes");
    place.rebuilt();
}
