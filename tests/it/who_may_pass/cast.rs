//! Who takes part: processes of several users, each with a handle of its own on one log.

use crate::who_may_pass::model::{Doer, Means};
use crate::who_may_pass::random::Random;
use holdpoint_domain::ActorId;
use holdpoint_domain::core::actor::Actor;
use holdpoint_engine::Engine;
use holdpoint_engine::floors::FloorFiles;
use holdpoint_engine::log::Level;
use holdpoint_engine::shell::{Clock, EngineOptions, Identity, Reading};
use holdpoint_log_files::DirectoryStorage;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// 2026-01-25T16:00:00Z.
const START_NS: u64 = 1_769_356_800_000_000_000;

/// Where a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    Plain,
    BelowRecorder,
    OwnNamespace,
}

/// A process: whose it is, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub(crate) user: u32,
    pub(crate) name: &'static str,
    has_terminal: bool,
    ground: Ground,
}

const fn process(user: u32, name: &'static str, has_terminal: bool, ground: Ground) -> Process {
    Process { user, name, has_terminal, ground }
}

/// Whoever asks is mostly ada's program.
pub(crate) const CAST: [Process; 8] = [
    process(1000, "ada", false, Ground::Plain),
    process(1000, "ada", true, Ground::Plain),
    process(1001, "bob", true, Ground::Plain),
    process(1001, "bob", false, Ground::Plain),
    process(1002, "uid 1002", false, Ground::Plain),
    process(1001, "bob", true, Ground::BelowRecorder),
    process(1001, "bob", true, Ground::OwnNamespace),
    process(1003, "eve", true, Ground::Plain),
];

/// The names that are used, also by whoever has another one.
pub(crate) const NAMES: [&str; 5] = ["ada", "bob", "uid 1002", "eve", "made-up"];

impl Process {
    fn identity(self) -> Identity {
        let terminal = self.has_terminal.then_some("/dev/pts/7");
        let identity = Identity::simulated_process(self.user, self.name, terminal);
        match self.ground {
            Ground::Plain => identity,
            Ground::BelowRecorder => identity.recorded(),
            Ground::OwnNamespace => identity.in_own_namespace(),
        }
    }

    /// What is true of somebody who acts in this process under a name, as the documents say it.
    pub(crate) fn doer(self, actor: &ActorId) -> Doer {
        let is_own = actor.id == self.name;
        let means = match (self.ground, actor.kind) {
            (Ground::OwnNamespace, _) => Means::Claim,
            _ if !is_own => Means::Claim,
            (Ground::BelowRecorder, Actor::Human) => Means::Claim,
            (_, Actor::Human) if self.has_terminal => Means::Terminal,
            _ => Means::User,
        };
        let user = (self.ground != Ground::OwnNamespace).then_some(self.user);
        Doer { user, means, kind: actor.kind, name: actor.id.clone() }
    }

    /// The name that somebody acts under: mostly the own one.
    pub(crate) fn actor(self, random: &mut Random) -> ActorId {
        let name = if random.one_in(5) { *random.choose(&NAMES) } else { self.name };
        let kinds = [Actor::Human, Actor::Human, Actor::Human, Actor::Agent, Actor::Automation];
        ActorId { kind: *random.choose(&kinds), id: name.to_string() }
    }
}

/// A clock that stands still until it is moved. Clones are the same clock.
#[derive(Clone)]
pub(crate) struct SetClock(Arc<AtomicU64>);

impl SetClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(0)))
    }

    pub(crate) fn pass(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Reading {
        let passed = self.0.load(Ordering::SeqCst);
        Reading { wall_ns: START_NS + passed, since_boot_ns: 1_000_000_000 + passed }
    }
}

/// Opens the log for each process, under the floor in this file.
pub(crate) fn engines(log: &Path, floor: &Path, clock: &SetClock) -> Vec<Engine> {
    let open = |process: &Process| {
        let options = EngineOptions::default()
            .level(Level::Os)
            .clock(Box::new(clock.clone()))
            .identity(process.identity())
            .floors(FloorFiles::simulated(&[floor]));
        Engine::open_with(DirectoryStorage::new(log), options).unwrap()
    };
    CAST.iter().map(open).collect()
}
