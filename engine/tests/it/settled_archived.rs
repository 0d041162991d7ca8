//! An id names one thing for ever, also where its records were moved to an archive.

use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    CancelDecisionPoint, CreateDecisionPoint, DecisionOption, DecisionPointCommand,
    DecisionPointRefusal, MAX_CLOSED_DECISION_POINTS,
};
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::governed::LoopRefusal;
use holdpoint_domain::{Command, Refusal};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Level;
use holdpoint_engine::shell::{
    ArchivePlan, Conditions, EngineOptions, MoveError, SubmitError, Submitted,
};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_files::survey::segment_path;
use holdpoint_testing::log::segments_of;
use holdpoint_testing::shell::commands::{initialize, whole_story};
use holdpoint_testing::shell::{Place, origin};
use std::fs;
use std::path::PathBuf;

fn engine(place: &Place) -> Engine {
    let options = EngineOptions::simulated().level(Level::Os);
    Engine::open_with(place.storage(), options).expect("the log opens")
}

fn give(engine: &Engine, command: &Command) -> Result<Submitted, SubmitError> {
    engine.submit(&origin(), (), command)
}

fn accepted(engine: &Engine, command: &Command) {
    let given = give(engine, command).expect("the log works");
    assert!(matches!(given, Submitted::Accepted(_)), "{given:?}");
}

fn bits(number: usize) -> Entropy {
    Entropy::from_bytes((number as u128 + (7 << 100)).to_be_bytes())
}

fn begin(entropy: Entropy) -> Command {
    let begin = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize(1)));
    begin.with_entropy(entropy)
}

/// A loop from its beginning to its end.
fn run_loop(engine: &Engine, entropy: Entropy) {
    accepted(engine, &begin(entropy));
    let story = whole_story(&format!("LOOP-{entropy}"));
    story.iter().for_each(|command| accepted(engine, command));
}

fn somebody() -> Principal {
    let (kind, id) = (Actor::Automation, "ci".into());
    Principal { kind, id, authenticated_by: Authentication::None, means: Text::default() }
}

fn ask(number: usize) -> Command {
    let option = |id: &str, reject| DecisionOption {
        id: id.into(),
        short: id.into(),
        label: id.into(),
        description: None,
        reject,
    };
    let options = vec![option("yes", false), option("no", true)];
    let question = CreateDecisionPoint::asking(bits(number), somebody(), "Which one?", options);
    Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(question.into()))
}

/// A question that is asked and taken back.
fn ask_in_vain(engine: &Engine, number: usize) {
    accepted(engine, &ask(number));
    let decision_id = format!("DP-{}", bits(number));
    let cancel = CancelDecisionPoint { decision_id, by: somebody(), reason: None };
    accepted(engine, &Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(cancel)));
}

/// Moves all that was recorded to an archive of this name.
fn move_to(place: &Place, engine: &Engine, name: &str) -> PathBuf {
    let archive = DirectoryStorage::new(place.beside(name));
    let newest = engine.query(|world| world.totals().last_sequence).expect("the log works");
    for _ in 0..800 {
        let filler = RecordEvent::new("filler", "filled", "x".repeat(8 << 10).as_str());
        engine.record(&origin(), (), filler).expect("the log works").accepted().expect("it fits");
        let plan = ArchivePlan { keep_segments: 0, ..ArchivePlan::default() };
        let moved = match engine.archive(&archive, plan) {
            Ok(report) => report.moved,
            // What says where the log begins stands behind the sealed segments, for now.
            Err(MoveError::WithoutBeginning { .. }) => None,
            Err(error) => panic!("it cannot be moved: {error}"),
        };
        if moved.is_some_and(|(_, last)| last.sequence >= newest) {
            return place.beside(name);
        }
    }
    panic!("no segment was sealed behind record {newest}");
}

fn assert_loop_exists(engine: &Engine, number: usize, what: &str) {
    let again = give(engine, &begin(bits(number))).expect("the archive can be read");
    let is_known =
        matches!(again, Submitted::Refused(Refusal::Loop(LoopRefusal::LoopExists { .. })));
    assert!(is_known, "{what}: {again:?}");
}

fn assert_unread(engine: &Engine, why: &str) {
    let written = engine.query(|world| world.totals().last_sequence).expect("the log works");
    for command in [begin(bits(1)), begin(bits(77))] {
        let unread = give(engine, &command);
        let Err(error @ SubmitError::ArchiveUnread { .. }) = unread else { panic!("{unread:?}") };
        assert!(error.to_string().contains(why), "{error}");
    }
    let now = engine.query(|world| world.totals().last_sequence).expect("the log works");
    assert_eq!(now, written, "nothing was recorded");
}

#[test]
fn an_id_that_was_used_in_an_archive_is_used() {
    let place = Place::new();
    let first = engine(&place);
    run_loop(&first, bits(1));
    (0..MAX_CLOSED_DECISION_POINTS + 2).for_each(|number| ask_in_vain(&first, number));
    move_to(&place, &first, "older");
    run_loop(&first, bits(2));
    move_to(&place, &first, "newer");
    let assert_used = |engine: &Engine, what: &str| {
        assert_loop_exists(engine, 1, what);
        assert_loop_exists(engine, 2, what);
        let again = give(engine, &ask(0)).expect("the archives can be read");
        let Submitted::Refused(Refusal::DecisionPoint(refusal)) = again else {
            panic!("{what}: {again:?}")
        };
        let is_known = matches!(refusal, DecisionPointRefusal::DecisionExists { .. });
        assert!(is_known, "{what}: {refusal:?}");
    };
    assert_used(&first, "to whoever moved it");
    first.close().expect("it closes");
    let second = engine(&place);
    assert_used(&second, "to whoever opens the log anew");
    run_loop(&second, bits(3));
    ask_in_vain(&second, MAX_CLOSED_DECISION_POINTS + 9);
    second.close().expect("it closes");
}

#[test]
fn nothing_begins_under_an_id_of_the_callers_own_where_an_archive_cannot_be_read() {
    let place = Place::new();
    let first = engine(&place);
    run_loop(&first, bits(1));
    let archive = move_to(&place, &first, "archive");
    first.close().expect("it closes");
    let elsewhere = place.beside("elsewhere");
    fs::rename(&archive, &elsewhere).expect("it can be moved");
    let second = engine(&place);
    assert_unread(&second, "there is no archive there");
    let drawn = second.entropy().expect("there is some");
    accepted(&second, &begin(drawn));
    fs::rename(&elsewhere, &archive).expect("it can be moved");
    assert_loop_exists(&second, 1, "as soon as it is there again");
    second.close().expect("it closes");
    let segment = archive.join(segment_path(1));
    let mut bytes = fs::read(&segment).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).expect("it can be written");
    let third = engine(&place);
    assert_unread(&third, "00000000000000000001.seg");
    third.close().expect("it closes");
}

#[test]
fn bits_that_were_drawn_since_the_records_of_an_archive_need_no_archive() {
    let place = Place::new();
    let first = engine(&place);
    run_loop(&first, bits(1));
    let archive = move_to(&place, &first, "archive");
    fs::remove_dir_all(archive).expect("it can be removed");
    let drawn = first.entropy().expect("there is some");
    let other = engine(&place);
    run_loop(&other, other.entropy().expect("there is some"));
    accepted(&first, &begin(drawn));
    first.close().expect("it closes");
    other.close().expect("it closes");
}

/// The state that is carried has all of a question, and does not fit into what is left of the
/// segment: the log goes on in a new one.
#[test]
fn what_is_moved_to_an_archive_is_indexed_no_more_and_its_commands_are_answered_again() {
    let place = Place::new();
    let sealed = || segments_of(&place.log()).len() - 1;
    let first = engine(&place);
    let mut numbers = 1..;
    let mut ask_at_length = || {
        let Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(mut question)) =
            ask(numbers.next().expect("there is no end of them"))
        else {
            unreachable!("it asks")
        };
        question.context = Some("x".repeat(32 << 10));
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(question))
    };
    while sealed() < 1 {
        accepted(&first, &ask_at_length());
    }
    let (key, question) = (Conditions::once("question"), ask_at_length());
    let asked = first.submit(&origin(), &key, &question).expect("the log works");
    let sequence = asked.receipt().expect("it was accepted").first_sequence;
    while sealed() < 2 {
        accepted(&first, &ask_at_length());
    }
    let newest = segments_of(&place.log()).pop().expect("there is one");
    let room = fs::metadata(newest).expect("it is there").len();
    // Of what is left there, less than the questions take stays.
    for _ in 0..(room - (100 << 10)) / (9 << 10) {
        let filler = RecordEvent::new("filler", "filled", "x".repeat(8 << 10).as_str());
        first.record(&origin(), (), filler).expect("the log works").accepted().expect("it fits");
    }
    first.close().expect("it closes");
    let second = engine(&place);
    let archive = place.beside("archive");
    let moved = second.archive(&DirectoryStorage::new(&archive), ArchivePlan::default());
    let moved = moved.expect("it can be moved");
    let (_, last) = moved.moved.expect("two segments are sealed");
    assert!(last.sequence > sequence, "the question is moved as well");
    assert_eq!(sealed(), 1, "the log went on in a new segment");
    second.close().expect("it closes");
    let third = engine(&place);
    let indexed = third.query(|world| world.segment_indexes().iter().map(|(first, _)| first).min());
    assert!(indexed.expect("the log works").is_none_or(|first| first > last.sequence));
    for what in ["beside the archive", "where the archive is gone"] {
        let again = third.submit(&origin(), &key, &question);
        let Ok(Submitted::Repeated(receipt)) = &again else { panic!("{what}: {again:?}") };
        assert_eq!(receipt.first_sequence, sequence, "{what}");
        fs::remove_dir_all(&archive).ok();
    }
    third.close().expect("it closes");
}
