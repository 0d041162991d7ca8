//! A log in a directory of its own, a clock that tests set, and readers that trust no engine.

pub mod brittle;
pub mod commands;

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::log::RULES_ADOPTED;
use holdpoint_domain::world::envelope;
use holdpoint_domain::{ActorId, Envelope, Event, Time, World};
use holdpoint_engine::Engine;
use holdpoint_engine::executor::CommandSpec;
use holdpoint_engine::shell::{Clock, EngineOptions, GovernedRun, Origin, Reading};
use holdpoint_log_files::{DirectoryStorage, Extent, Follower, SurveyOptions, survey};
use holdpoint_log_format::BootId;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// 2026-01-25T16:00:00Z.
pub const START_NS: u64 = 1_769_356_800_000_000_000;
/// One second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// A directory for one log, gone when the test is over.
pub struct Place {
    directory: TempDir,
}

/// One record as a reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub sequence: u64,
    pub time: u64,
    pub envelope: Envelope,
}

impl Place {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn storage(&self) -> DirectoryStorage {
        DirectoryStorage::new(self.log())
    }

    pub fn engine(&self) -> Engine {
        Engine::open_with(
            holdpoint_log_files::DirectoryStorage::new(self.log()),
            holdpoint_engine::shell::EngineOptions::simulated(),
        )
        .expect("the log opens")
    }

    pub fn engine_with(&self, clock: &SetClock) -> Engine {
        let options = EngineOptions::simulated().clock(Box::new(clock.clone()));
        Engine::open_with(self.storage(), options).expect("the log opens")
    }

    /// Every record, read without an engine.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let storage = self.storage();
        let mut follower = Follower::at_segment(&storage, 1).expect("a first segment");
        let read = follower.catch_up(&storage, &mut |_, record| {
            let header = &record.header;
            let decoded = envelope::decode(header.kind, header.version, record.payload);
            let envelope = decoded.expect("a record decodes");
            lines.push(Line { sequence: header.sequence, time: header.time, envelope });
        });
        read.expect("the log can be read");
        lines
    }

    /// As [`Place::lines`], but for what a writer says of its rules before anything is asked for.
    pub fn asked_lines(&self) -> Vec<Line> {
        let mut lines = self.lines();
        lines.retain(|line| line.envelope.event.kind().kind != RULES_ADOPTED);
        lines
    }

    /// The events of these lines.
    pub fn events(&self) -> Vec<Event> {
        self.asked_lines().into_iter().map(|line| line.envelope.event).collect()
    }

    /// The state rebuilt from the records alone, with everything that settled. No event may be one
    /// that the rules forbid.
    pub fn rebuilt(&self) -> World {
        let mut world = World::default().keeping_settled();
        for line in self.lines() {
            let at = Time::from_nanoseconds(line.time);
            assert_eq!(world.judge_and_evolve(line.sequence, at, &line.envelope), []);
        }
        world
    }

    /// Asserts that the whole log survives a survey without a finding.
    pub fn assert_intact(&self) {
        let options = SurveyOptions::new(Extent::FromAnchor, BootId::UNKNOWN);
        let found = survey(&self.storage(), options, &mut |_, _| {}).expect("it can be read");
        assert_eq!(found.findings, [], "row {:?}", found.row);
    }

    /// Every file of the log, by name, byte for byte, but LOCK: it holds no record, and each turn
    /// leaves its marks in it.
    pub fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.log(), &mut files);
        files.remove(&self.log().join(holdpoint_log_format::names::LOCK));
        files
    }
}

fn collect(directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            files.insert(path, bytes);
        }
    }
}

/// A clock that stands still until a test sets it. Clones are the same clock.
#[derive(Clone)]
pub struct SetClock {
    wall_ns: Arc<AtomicU64>,
    since_boot_ns: Arc<AtomicU64>,
}

impl SetClock {
    pub fn new() -> Self {
        Self {
            wall_ns: Arc::new(AtomicU64::new(START_NS)),
            since_boot_ns: Arc::new(AtomicU64::new(1000 * SECOND_NS)),
        }
    }

    /// Time goes by.
    pub fn pass(&self, nanoseconds: u64) {
        self.wall_ns.fetch_add(nanoseconds, Ordering::SeqCst);
        self.since_boot_ns.fetch_add(nanoseconds, Ordering::SeqCst);
    }

    /// Somebody sets the wall clock.
    pub fn step(&self, nanoseconds: i64) {
        let stepped = self.wall_ns.load(Ordering::SeqCst).checked_add_signed(nanoseconds);
        self.wall_ns.store(stepped.expect("a time after 1970"), Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Reading {
        Reading {
            wall_ns: self.wall_ns.load(Ordering::SeqCst),
            since_boot_ns: self.since_boot_ns.load(Ordering::SeqCst),
        }
    }
}

/// A directory for a policy that is believed: nobody else can write on the way to it. Of these
/// parents the first that will do, so that the tests pass in a clone that lies anywhere.
pub fn trusted_directory(target: &str) -> TempDir {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let parents = [Some(PathBuf::from(target)), home, Some("/root".into()), Some("/".into())];
    let mut trusted = parents.into_iter().flatten().filter(|parent| is_trusted(parent));
    trusted.find_map(|parent| TempDir::new_in(parent).ok()).expect(
        "these tests need a directory that nobody else can write to: run them in a clone in your \
         own home",
    )
}

fn is_trusted(directory: &Path) -> bool {
    let own = holdpoint_engine::shell::user_number();
    let is_ours = |place: &Path| {
        let found = place.metadata().ok();
        found.is_some_and(|of| [0, own].contains(&of.uid()) && of.mode() & 0o022 == 0)
    };
    directory.canonicalize().is_ok_and(|whole| whole.ancestors().all(is_ours))
}

/// Who asks, in every test.
pub fn actor() -> ActorId {
    ActorId { kind: Actor::Automation, id: "ci".to_string() }
}

/// The beginning of a story.
pub fn origin() -> Origin {
    Origin { actor: actor(), correlation: "a story".to_string(), causation: None }
}

/// A run of `program` in `/`, once, without bounds.
pub fn run_of(program: &str, arguments: &[&str]) -> GovernedRun {
    let command = CommandSpec::new(program).args(arguments.iter().map(OsString::from));
    let environment = vec![("PATH", "/usr/local/bin:/usr/bin:/bin").into()];
    GovernedRun::of(CommandSpec { environment, ..command })
}

/// A run of a shell script.
pub fn shell(script: &str) -> GovernedRun {
    run_of("sh", &["-c", script])
}

/// The names of some events, without their system.
pub fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().filter_map(|event| event.kind().name.split('.').nth(1)).collect()
}
