//! Histories as programs and people leave them: execution loops with evidence and faults, holds,
//! decision points and conversations, through the engine's own door.
//!
//! The same seed gives the same commands, at the same times. A fixed number of entities lives at
//! any time; what ends makes room for something new. A fifth of the places takes most of the work,
//! so that most entities are short-lived; others live through hundreds of thousands of records.

mod clock;
mod execution_loop;
mod life;
mod point;
mod probe;
mod random;
mod thread;
mod words;

pub use clock::{HistoryClock, SeededEntropy};
pub use probe::Probe;

use crate::error::{Doing, MeasureError};
use holdpoint_domain::Command;
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{Conditions, IdempotencyKey, Origin, Submitted};
use life::{Life, Move, Submission};
use random::Random;
use serde::{Deserialize, Serialize};

/// Commands with a key that are kept, to be looked for when they are long ago.
const REMEMBERED: usize = 48;
/// Longest time between two commands, in nanoseconds.
const STEP_MAX_NS: u64 = 40_000_000;
/// The tenant of every key.
const TENANT: &str = "acme";
/// Who issues the keys.
const ISSUER: &str = "ci";

/// A command that was given under a key, and can be given again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyed {
    /// The story.
    pub correlation: String,
    /// The key within it.
    pub key: String,
    /// What was asked for.
    pub command: Command,
}

impl Keyed {
    /// Gives the command under its key, as an automation.
    ///
    /// # Errors
    /// What the engine says.
    pub fn give(&self, engine: &Engine) -> Result<Submitted, MeasureError> {
        let origin = Origin {
            actor: words::automation(),
            correlation: self.correlation.clone(),
            causation: None,
        };
        engine.submit(&origin, under(&self.key), &self.command).doing("submit")
    }
}

/// A loop that ran and ended, in a story of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmallStory {
    /// Sequence of its first record.
    pub first: u64,
    /// The loop.
    pub loop_id: String,
}

/// What happens, command by command.
pub struct History {
    random: Random,
    clock: HistoryClock,
    lives: Vec<Life>,
    live: usize,
    /// Entities that began so far.
    begun: u64,
    keyed: Vec<Keyed>,
    newest: u64,
    is_set_up: bool,
}

impl History {
    /// A history in which so many entities live at a time, at least 1.
    #[must_use]
    pub fn new(seed: u64, live: usize) -> Self {
        Self {
            random: Random::new(seed),
            clock: HistoryClock::new(),
            lives: Vec::new(),
            live: live.max(1),
            begun: 0,
            keyed: Vec::new(),
            newest: 0,
            is_set_up: false,
        }
    }

    /// The same, from this time on, in nanoseconds since 1970.
    #[must_use]
    pub fn at(self, wall_ns: u64) -> Self {
        Self { clock: HistoryClock::at(wall_ns), ..self }
    }

    /// The clock by which it happens: the engine has to read this one.
    #[must_use]
    pub fn clock(&self) -> HistoryClock {
        self.clock.clone()
    }

    /// Some of the first commands that were given under a key.
    #[must_use]
    pub fn keyed(&self) -> &[Keyed] {
        &self.keyed
    }

    /// Sequence of the newest record that a receipt told of.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// Gives the next command. Says by how many records the log is longer than after the one
    /// before.
    ///
    /// # Errors
    /// What the engine says, or that a rule refused what lives on.
    pub fn next(&mut self, engine: &Engine) -> Result<u64, MeasureError> {
        let before = self.newest;
        self.clock.pass(1 + self.random.below(STEP_MAX_NS));
        if !self.is_set_up {
            self.is_set_up = true;
            for given in thread::set_up() {
                drop(self.accepted(engine, &given)?);
            }
        }
        let place = self.pick();
        self.step(engine, place)?;
        Ok(self.newest - before)
    }

    /// A loop that runs and ends, in a story of its own.
    ///
    /// # Errors
    /// As [`History::next`].
    pub fn tell_small_story(&mut self, engine: &Engine) -> Result<SmallStory, MeasureError> {
        let correlation = format!("small-story-{}", self.newest);
        let (running, begin) = execution_loop::Running::begin(&mut self.random);
        let loop_id = running.loop_id().to_string();
        let capture = running.capture(&mut self.random);
        let end = running.end(&mut self.random);
        let mut first = None;
        for command in begin.into_iter().chain([capture]).chain(end) {
            self.clock.pass(1 + self.random.below(STEP_MAX_NS));
            let (actor, correlation) = (words::automation(), correlation.clone());
            let given = Submission { actor, correlation, key: None, may_be_late: false, command };
            let receipt = self.accepted(engine, &given)?;
            first = first.or(receipt.receipt().map(|receipt| receipt.first_sequence));
        }
        let first = first.ok_or("nothing was recorded").doing("tell a story")?;
        Ok(SmallStory { first, loop_id })
    }

    /// Somebody asks what waits for a person from then on.
    ///
    /// # Errors
    /// As [`History::next`].
    pub fn ask(&mut self, engine: &Engine) -> Result<(), MeasureError> {
        self.clock.pass(1 + self.random.below(STEP_MAX_NS));
        match point::PointLife::new(&mut self.random).go_on(&mut self.random) {
            Move::Give(given) => self.accepted(engine, &given).map(drop),
            Move::Wait | Move::Over => Err("nothing was asked").doing("ask"),
        }
    }

    /// A new place until all are taken; then a busy one, a quiet one, or one that sleeps.
    fn pick(&mut self) -> usize {
        if self.lives.len() < self.live {
            self.begin(self.lives.len());
            return self.lives.len() - 1;
        }
        let (busy, asleep) = (self.live.div_ceil(5), self.live / 50);
        let quiet = self.live - busy - asleep;
        let (from, count) = match self.random.below(10_000) {
            0 if asleep > 0 => (busy + quiet, asleep),
            ..2_000 if quiet > 0 => (busy, quiet),
            _ => (0, busy),
        };
        from + usize::try_from(self.random.below(count as u64)).unwrap_or_default()
    }

    fn begin(&mut self, place: usize) {
        self.begun += 1;
        let life = Life::new(&mut self.random, self.begun);
        match self.lives.get_mut(place) {
            Some(ended) => *ended = life,
            None => self.lives.push(life),
        }
    }

    /// What lives at a place goes on, or something new begins there.
    fn step(&mut self, engine: &Engine, place: usize) -> Result<(), MeasureError> {
        let now = self.clock.wall_ns();
        let Some(life) = self.lives.get_mut(place) else { return Ok(()) };
        match life.go_on(&mut self.random, now) {
            Move::Give(given) => match self.give(engine, &given)? {
                Submitted::Refused(_) if !self.is_live(engine, place)? => {
                    self.begin(place);
                    Ok(())
                }
                Submitted::Refused(refusal) if !given.may_be_late => {
                    Err(format!("{refusal}: {:?}", given.command)).doing("go on with a history")
                }
                _ => Ok(()),
            },
            Move::Wait if self.is_live(engine, place)? => Ok(()),
            Move::Wait | Move::Over => {
                self.begin(place);
                self.step(engine, place)
            }
        }
    }

    fn is_live(&self, engine: &Engine, place: usize) -> Result<bool, MeasureError> {
        let Some(life) = self.lives.get(place) else { return Ok(false) };
        engine.query(|world| life.is_live(world)).doing("ask what lives")
    }

    fn accepted(&mut self, engine: &Engine, given: &Submission) -> Result<Submitted, MeasureError> {
        match self.give(engine, given)? {
            Submitted::Refused(refusal) => Err(refusal).doing("go on with a history"),
            submitted => Ok(submitted),
        }
    }

    /// Commands with a key are given again now and then: at once, or much later.
    fn give(&mut self, engine: &Engine, given: &Submission) -> Result<Submitted, MeasureError> {
        let origin = Origin {
            actor: given.actor.clone(),
            correlation: given.correlation.clone(),
            causation: None,
        };
        let conditions = given.key.as_deref().map_or_else(Conditions::default, under);
        let submit = || engine.submit(&origin, &conditions, &given.command).doing("submit");
        let submitted = submit()?;
        self.note(&submitted);
        if let Some(key) = &given.key {
            if self.random.one_in(16) {
                drop(submit()?);
            }
            self.give_old(engine)?;
            if self.keyed.len() < REMEMBERED {
                let (correlation, key) = (given.correlation.clone(), key.clone());
                self.keyed.push(Keyed { correlation, key, command: given.command.clone() });
            }
        }
        Ok(submitted)
    }

    fn give_old(&mut self, engine: &Engine) -> Result<(), MeasureError> {
        if !self.random.one_in(256) {
            return Ok(());
        }
        let chosen = self.random.below(self.keyed.len().max(1) as u64);
        match self.keyed.get(usize::try_from(chosen).unwrap_or_default()) {
            Some(keyed) => keyed.give(engine).map(drop),
            None => Ok(()),
        }
    }

    fn note(&mut self, submitted: &Submitted) {
        let Some(receipt) = submitted.receipt() else { return };
        self.newest = self.newest.max(receipt.last_sequence);
    }
}

/// Once for its key.
fn under(key: &str) -> Conditions {
    let (tenant, engine, key) = (TENANT.to_string(), ISSUER.to_string(), key.to_string());
    Conditions::once(IdempotencyKey { tenant, engine, key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::Envelope;
    use holdpoint_domain::core::actor::Actor;
    use holdpoint_domain::world::envelope::decode;
    use holdpoint_domain::world::{Term, term_of_new};
    use holdpoint_engine::log::Level;
    use holdpoint_engine::shell::EngineOptions;
    use holdpoint_log_files::{DirectoryStorage, Extent, SurveyOptions, survey};
    use holdpoint_log_format::BootId;
    use holdpoint_replay::{
        Filter, ReadOptions, Run, RunFilter, RunOutcome, RunStatus, find_runs, ids_beginning_with,
    };
    use std::collections::BTreeSet;
    use std::path::Path;

    const LIVE: usize = 60;

    /// A history of so many commands, and what lived at its end.
    fn happen(at: &Path, seed: u64, commands: u64) -> usize {
        let mut history = History::new(seed, LIVE);
        let options = EngineOptions::simulated()
            .clock(Box::new(history.clock()))
            .entropy(Box::new(SeededEntropy::new(seed)))
            .level(Level::Staged);
        let engine = Engine::open_with(DirectoryStorage::new(at), options).expect("it opens");
        for _ in 0..commands {
            history.next(&engine).expect("every command is carried out");
        }
        assert!(!history.keyed().is_empty());
        let live = |world: &holdpoint_domain::World| {
            history.lives.iter().filter(|life| life.is_live(world)).count()
        };
        let live = engine.query(live).expect("it answers");
        engine.close().expect("it closes");
        live
    }

    fn envelopes(at: &Path) -> Vec<(u64, Envelope)> {
        let extent = Extent::FromAnchor;
        let options = SurveyOptions::new(extent, BootId::UNKNOWN);
        let mut all = Vec::new();
        let storage = DirectoryStorage::new(at);
        let surveyed = survey(&storage, options, &mut |_, record| {
            let header = &record.header;
            let envelope = decode(header.kind, header.version, record.payload).expect("it decodes");
            all.push((header.time, envelope));
        });
        assert_eq!(surveyed.expect("it can be read").findings, []);
        all
    }

    #[test]
    fn a_seed_gives_one_history_and_every_kind_of_entity_is_in_it() {
        let [one, same, other] = [1, 1, 2].map(|seed| {
            let place = tempfile::tempdir().expect("a directory");
            let live = happen(place.path(), seed, 6_000);
            // What timed out makes room when its place is looked at next.
            assert!((LIVE - LIVE / 5..=LIVE).contains(&live), "{live} live");
            envelopes(place.path())
        });
        // Indexes are told of when a thread has built them, with ids and places that others then do
        // not get: neither is compared, nor is a cause, which is a place.
        let given = |all: &[(u64, Envelope)]| -> Vec<String> {
            let given = all.iter().filter(|(_, envelope)| envelope.actor.kind != Actor::System);
            let without_place = given.map(|(time, envelope)| {
                format!("{time} {:?}", Envelope { causation: None, ..envelope.clone() })
            });
            without_place.collect()
        };
        let difference = given(&one).into_iter().zip(given(&same)).find(|(a, b)| a != b);
        assert_eq!(difference, None);
        assert_eq!(given(&one).len(), given(&same).len());
        assert!(given(&one) != given(&other));
        let systems: BTreeSet<&str> =
            one.iter().filter_map(|(_, e)| e.event.kind().name.split('.').next()).collect();
        for system in [
            "execution_loop",
            "evidence_capture",
            "human_decision",
            "sandbox_fault",
            "interruption_thread",
            "decision_point",
        ] {
            assert!(systems.contains(system), "{system}: {systems:?}");
        }
        assert!(one.iter().any(|(_, envelope)| envelope.idempotency.is_some()));
    }

    /// The ids of the runs that are wanted.
    fn found(at: &Path, wanted: &RunFilter, most: usize) -> Vec<String> {
        let (storage, range) = (DirectoryStorage::new(at), Filter::default());
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let listed = find_runs(&storage, &range, wanted, most, options, &mut |_| {});
        let listed = listed.expect("it can be read");
        assert!(listed.searched.is_sound());
        listed.runs.iter().map(|run| run.entity.loop_id().to_string()).collect()
    }

    fn every_run(at: &Path) -> Vec<Run> {
        let (storage, range) = (DirectoryStorage::new(at), Filter::default());
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let wanted = RunFilter::default();
        let listed = find_runs(&storage, &range, &wanted, usize::MAX, options, &mut |_| {});
        listed.expect("it can be read").runs
    }

    #[test]
    fn rows_leave_out_no_run_that_is_wanted_whether_there_are_indexes_or_not() {
        let place = tempfile::tempdir().expect("a directory");
        happen(place.path(), 3, 1_500);
        let all = every_run(place.path());
        let outcomes = RunOutcome::ALL.map(|word| RunFilter {
            status: Some(RunStatus::Outcome(word)),
            ..RunFilter::default()
        });
        let person = words::person().id.to_string();
        let text = all.iter().find_map(|run| run.entity.command_line.get(20..24));
        let every = RunFilter::default;
        let others = [
            RunFilter { failed: true, ..every() },
            RunFilter { running: true, ..every() },
            RunFilter { status: Some(RunStatus::Exit(0)), ..every() },
            RunFilter { status: Some(RunStatus::Exit(77)), ..every() },
            RunFilter { by: Some(words::automation().id.to_string()), ..every() },
            RunFilter { approved_by: Some(person), ..every() },
            RunFilter { command: text.map(str::to_string), ..every() },
            RunFilter { labels: [("env".into(), "prod".into())].into(), ..every() },
        ];
        let mut seen = BTreeSet::new();
        for is_indexed in [true, false] {
            for wanted in outcomes.iter().chain(&others) {
                let due: Vec<String> = all
                    .iter()
                    .filter(|run| wanted.admits(run))
                    .map(|run| run.entity.loop_id().to_string())
                    .collect();
                assert_eq!(found(place.path(), wanted, usize::MAX), due, "{is_indexed} {wanted:?}");
                let few = due.len().min(3);
                assert_eq!(found(place.path(), wanted, 3), due[..few], "{is_indexed} {wanted:?}");
                seen.extend((!due.is_empty()).then(|| format!("{wanted:?}")));
            }
            remove_indexes(place.path());
        }
        assert!(all.len() > 40 && seen.len() >= 8, "{}: {seen:?}", all.len());
    }

    fn remove_indexes(at: &Path) {
        let files = std::fs::read_dir(at.join("segments")).expect("it is there");
        for file in files.map(|file| file.expect("it is there").path()) {
            if file.extension().is_some_and(|end| end == "idx") {
                std::fs::remove_file(file).expect("it can be removed");
            }
        }
    }

    #[test]
    fn rows_name_every_run_and_every_question_whether_there_are_indexes_or_not() {
        let place = tempfile::tempdir().expect("a directory");
        happen(place.path(), 5, 1_500);
        let begun = |(_, envelope): &(u64, Envelope)| match term_of_new(&envelope.event)? {
            Term::Loop(id) | Term::DecisionPoint(id) | Term::Request(id) => Some(id.to_string()),
            _ => None,
        };
        let all: BTreeSet<String> = envelopes(place.path()).iter().filter_map(begun).collect();
        let storage = DirectoryStorage::new(place.path());
        for is_indexed in [true, false] {
            for beginnings in [&["LOOP-"][..], &["DP-", "REQ-"], &["LOOP-1", "DP-7", "REQ-a"]] {
                let beginnings = beginnings.iter().map(|one| (*one).to_string()).collect();
                let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
                let found = ids_beginning_with(&storage, &beginnings, options);
                let (found, searched) = found.expect("it can be read");
                let is_due = |id: &&String| beginnings.iter().any(|it| id.starts_with(it));
                let due: BTreeSet<String> = all.iter().filter(is_due).cloned().collect();
                assert_eq!(found, due, "{is_indexed} {beginnings:?}");
                assert!(searched.is_sound() && due.len() > 3, "{due:?}");
            }
            remove_indexes(place.path());
        }
    }
}
