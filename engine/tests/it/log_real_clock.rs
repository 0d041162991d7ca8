//! The wall clock stepping both ways, within a process and between processes, and a machine that
//! was started again: recorded time never goes back, steps are on record, deadlines keep to
//! recorded time, and what the last owner left is judged by its boot.

use crate::writers::{ENDLESS, Load, Writers, assert_goes_on};
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::human_decision::{
    HoldPolicy, HoldTerms, HumanDecisionCommand, HumanDecisionTimeout, RequestHumanDecision,
};
use holdpoint_domain::log::{ClockStepped, LogEvent};
use holdpoint_domain::{Command, Event};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{Clock, EngineOptions, Submitted};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::recovery::Row;
use holdpoint_log_format::{BootId, Lock};
use holdpoint_testing::log as log_support;
use holdpoint_testing::log::process::{self, Other};
use holdpoint_testing::log::{Random, segments_of, survey_whole, this_boot};
use holdpoint_testing::shell::commands::{fresh, initialize, whole_story};
use holdpoint_testing::shell::{Place, SECOND_NS, SetClock, names, origin};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A step of this much or more is on record.
const STEP_NS: i64 = 1_000_000_000;

/// What a process is told stands for this much more, for it may be before where clocks stand.
const HALFWAY_NS: i64 = 1 << 50;

/// Records something, whatever it is.
fn touch(engine: &Engine) {
    touch_with(engine, fresh());
}

fn touch_with(engine: &Engine, entropy: Entropy) {
    let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize(1)))
        .with_entropy(entropy);
    let submitted = engine.submit(&origin(), (), &command);
    assert!(matches!(submitted, Ok(Submitted::Accepted(_))), "{submitted:?}");
}

fn steps(place: &Place) -> Vec<i64> {
    let step = |event: &Event| match event {
        Event::Log(LogEvent::ClockStepped(ClockStepped { step_ns })) => Some(*step_ns),
        _ => None,
    };
    place.events().iter().filter_map(step).collect()
}

/// Recorded time never goes back, and the rules find nothing to object to.
fn assert_times_ascend(place: &Place) {
    let times: Vec<u64> = place.lines().iter().map(|line| line.time).collect();
    assert!(times.is_sorted(), "{times:?}");
    place.rebuilt();
    place.assert_intact();
}

#[test]
fn job_of_another_process() {
    let Some(job) = process::job() else { return };
    assert_eq!(job.name, "record on a clock that was set");
    let clock = SetClock::new();
    clock.step(job.number.cast_signed() - (HALFWAY_NS));
    let options = EngineOptions::simulated().clock(Box::new(clock));
    let engine = Engine::open_with(DirectoryStorage::new(&job.directory), options);
    let engine = engine.expect("the log opens");
    // Entropy that no other process draws.
    touch_with(&engine, Entropy::from_bytes(u128::from(std::process::id()).to_be_bytes()));
    engine.close().expect("it closes");
    process::say(1);
}

// ---- Steps -------------------------------------------------------------------------------------

#[test]
fn steps_of_the_wall_clock_both_ways_between_engines_are_on_record_and_time_never_goes_back() {
    let (place, clock, mut random) = (Place::new(), SetClock::new(), Random::new());
    let mut engines = [place.engine_with(&clock), place.engine_with(&clock)];
    let (mut seen, mut expected) = (None::<i64>, Vec::<i64>::new());
    for _ in 0..120 {
        clock.pass(random.below(5 * SECOND_NS));
        if random.flips() {
            clock.step(random.below(8 * SECOND_NS).cast_signed() - 4 * STEP_NS);
        }
        let [first, second] = &mut engines;
        let engine = if random.flips() { first } else { second };
        if random.below(8) == 0 {
            let old = std::mem::replace(engine, place.engine_with(&clock));
            old.close().expect("it closes");
        }
        touch(engine);
        let now = clock.now().wall_minus_boot();
        let step = seen.map_or(0, |seen| now - seen);
        expected.extend(Some(step).filter(|step| step.abs() >= STEP_NS));
        seen = Some(now);
    }
    assert!(expected.iter().any(|step| *step > 0) && expected.iter().any(|step| *step < 0));
    assert_eq!(steps(&place), expected);
    assert_times_ascend(&place);
}

#[test]
fn steps_of_the_wall_clock_between_processes_are_on_record_in_both_directions() {
    let place = Place::new();
    let offsets = [0_i64, 3_600, 3_600, -86_400, -86_399, 0, 1 << 8];
    for offset in offsets {
        let number = (offset * STEP_NS + (HALFWAY_NS)).cast_unsigned();
        let other =
            Other::start(module_path!(), "record on a clock that was set", &place.log(), number);
        assert_eq!(other.finish(), [1]);
    }
    let between = offsets.windows(2).filter_map(|pair| match pair {
        [before, after] => Some((after - before) * STEP_NS),
        _ => None,
    });
    let expected: Vec<i64> = between.filter(|step| step.abs() >= STEP_NS).collect();
    assert_eq!(expected.len(), 5);
    assert_eq!(steps(&place), expected);
    assert_times_ascend(&place);
}

// ---- Deadlines ---------------------------------------------------------------------------------

/// A request that waits for ten seconds, and is warned about after eight.
fn ask(engine: &Engine) {
    let timeout = HumanDecisionTimeout::from_milliseconds(10_000).expect("ten seconds");
    let terms = HoldTerms { decision_timeout_ms: timeout, ..HoldTerms::of(HoldPolicy::After) };
    let command = holdpoint_domain::execution_loop::InitializeLoop { hold: terms, ..initialize(2) };
    let loop_id = command.loop_id();
    let story = whole_story(&loop_id).into_iter().take(4);
    let request =
        Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(RequestHumanDecision {
            loop_id,
            entropy: fresh(),
        }));
    for command in [Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command))]
        .into_iter()
        .chain(story)
        .chain([request])
    {
        let submitted = engine.submit(&origin(), (), &command);
        assert!(matches!(submitted, Ok(Submitted::Accepted(_))), "{submitted:?}");
    }
}

/// Names of what is due and was recorded now.
fn due(engine: &Engine) -> Vec<&'static str> {
    let receipts = engine.expire().expect("the log works");
    receipts.iter().flat_map(|receipt| names(&receipt.events)).collect()
}

#[test]
fn a_clock_set_forward_over_a_deadline_is_on_record_before_what_became_due() {
    let (place, clock) = (Place::new(), SetClock::new());
    let engine = place.engine_with(&clock);
    ask(&engine);
    clock.step(60 * STEP_NS);
    let told = due(&engine);
    assert!(told.contains(&"timed_out"), "{told:?}");
    let all = names(&place.events());
    let at = |name: &str| all.iter().position(|one| *one == name);
    assert!(at("clock_stepped") < at("timed_out"), "{all:?}");
    assert_eq!(steps(&place), [60 * STEP_NS]);
    // What is recorded stays so when the clock is set right again.
    clock.step(-60 * STEP_NS);
    assert_eq!(due(&engine), [""; 0]);
    touch(&engine);
    assert_times_ascend(&place);
}

#[test]
fn a_clock_set_back_makes_nothing_due_early_and_a_deadline_comes_when_its_time_comes_again() {
    let (place, clock) = (Place::new(), SetClock::new());
    let engine = place.engine_with(&clock);
    ask(&engine);
    clock.pass(9 * SECOND_NS);
    assert_eq!(due(&engine), ["warned"]);
    clock.step(-60 * STEP_NS);
    touch(&engine);
    clock.pass(60 * SECOND_NS);
    assert_eq!(due(&engine), [""; 0], "recorded time is at the ninth second again");
    clock.pass(SECOND_NS);
    let told = due(&engine);
    assert!(told.contains(&"timed_out"), "{told:?}");
    assert_eq!(steps(&place), [-60 * STEP_NS]);
    assert_times_ascend(&place);
}

// ---- Another boot ------------------------------------------------------------------------------

const OTHER_BOOT: BootId = BootId([0x5b; 16]);

fn set_boot(directory: &Path, boot: BootId) {
    let path = directory.join("LOCK");
    let lock = Lock::decode(&std::fs::read(&path).expect("LOCK")).expect("it decodes");
    std::fs::write(path, Lock { boot, ..lock }.encode()).expect("it can be written");
}

#[test]
fn a_machine_that_was_started_again_says_nothing_of_steps_of_the_clock() {
    for boot in [OTHER_BOOT, BootId::UNKNOWN] {
        let (place, clock) = (Place::new(), SetClock::new());
        let engine = place.engine_with(&clock);
        touch(&engine);
        engine.close().expect("it closes");
        set_boot(&place.log(), boot);
        clock.step(-3_600 * STEP_NS);
        let engine = place.engine_with(&clock);
        touch(&engine);
        assert!(steps(&place).is_empty(), "time since boot began anew");
        clock.step(5 * STEP_NS);
        touch(&engine);
        assert_eq!(steps(&place), [5 * STEP_NS]);
        assert_times_ascend(&place);
    }
}

/// What is done to LOCK, and the row that a tail of foreign bytes then meets.
const BOOTS: [(&str, Row); 5] = [
    ("this boot", Row::DamagedTail),
    ("another boot", Row::TornTail),
    ("no boot", Row::TornTail),
    ("no LOCK", Row::TornTail),
    ("garbage", Row::TornTail),
];

#[test]
fn crash_writers_that_were_killed_are_judged_by_their_boot_and_lose_nothing() {
    for (what, row) in BOOTS {
        let directory = tempfile::tempdir().expect("a directory");
        let load = Load { threads: 8, records: ENDLESS, payload: 300 };
        let mut writers = Writers::start(directory.path(), load);
        let mut heard: Vec<u64> = (0..20).map_while(|_| writers.heard()).collect();
        heard.extend(writers.kill().acknowledged);
        // So that only what is done here lies behind the newest record.
        assert_goes_on(directory.path(), &heard, what);
        spoil_tail(directory.path());
        let lock = directory.path().join("LOCK");
        match what {
            "this boot" => set_boot(directory.path(), this_boot()),
            "another boot" => set_boot(directory.path(), OTHER_BOOT),
            "no boot" => set_boot(directory.path(), BootId::UNKNOWN),
            "no LOCK" => std::fs::remove_file(lock).expect("it is there"),
            _ => std::fs::write(lock, "garbage").expect("it can be written"),
        }
        assert_eq!(survey_whole(directory.path()).row, row, "{what}");
        if row == Row::TornTail {
            let recovered = assert_goes_on(directory.path(), &heard, what);
            assert_eq!(recovered.cut_bytes, 100, "{what}");
        } else {
            let refused = log_support::try_open(directory.path(), log_support::quiet());
            assert!(refused.is_err());
        }
    }
}

/// Bytes behind the newest record that no killed writer leaves.
fn spoil_tail(directory: &Path) {
    let end = survey_whole(directory).last.expect("a segment").run.end_offset;
    let newest = segments_of(directory).pop().expect("a segment");
    let file = std::fs::OpenOptions::new().write(true).open(newest).expect("it opens");
    file.write_all_at(&[0xab; 100], end).expect("it can be written");
}
