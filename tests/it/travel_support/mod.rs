//! Logs made by hand with snapshots beside them, and what the state was after every record.

use holdpoint_domain::decision_point::DecisionPointCommand;
use holdpoint_domain::log::{ClockStepped, FingerprintRecorded};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{Command, decide};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_files::snapshot::snapshot_path;
use holdpoint_log_format::{BootId, SnapshotHeader, names};
use holdpoint_replay::{ReadOptions, Timeline, Until};
use holdpoint_testing::hand_made::HandMadeLog;
use holdpoint_testing::story::Story;
use holdpoint_testing::story::points::{option, person};
use holdpoint_testing::story::random::next_command;
use quickcheck::Gen;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Nobody else is there.
pub(crate) const OPTIONS: ReadOptions<'static> = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));

/// A log that was checked whole.
pub(crate) fn opened(storage: &DirectoryStorage) -> Timeline<'_, DirectoryStorage> {
    Timeline::open(storage, OPTIONS, &mut |_| {}).unwrap()
}

/// A log, and what its writer's state was.
pub(crate) struct History {
    pub(crate) log: HandMadeLog,
    pub(crate) directory: TempDir,
    /// The last record of every batch, and 0, with the fingerprint of the state behind it where it
    /// was looked at.
    pub(crate) fingerprints: BTreeMap<u64, Option<[u8; 32]>>,
    /// How many batches lie between two at which it is.
    every: usize,
    /// Snapshots that wait to be written, by the record that they stand behind.
    snapshots: Vec<(u64, Vec<u8>)>,
    story: Story,
    random: Gen,
    points: Vec<String>,
}

impl History {
    /// A log that has only begun, and what makes it go on as this seed says.
    pub(crate) fn new(seed: u64) -> Self {
        let log = HandMadeLog::new();
        let fingerprints = BTreeMap::from([(0, Some(log.world.fingerprint()))]);
        Self {
            log,
            every: 1,
            directory: TempDir::new().unwrap(),
            fingerprints,
            snapshots: Vec::new(),
            story: Story::new(),
            random: Gen::from_size_and_seed(40, seed),
            points: Vec::new(),
        }
    }

    /// At least so many records about everything that there is, with a snapshot behind every so
    /// many of them, written to the directory.
    pub(crate) fn written(seed: u64, records: u64, distance: u64) -> Self {
        let mut history = Self::new(seed);
        let mut next = distance;
        while history.log.chain.sequence < records {
            history.step();
            if history.log.chain.sequence >= next {
                history.snapshot();
                next = history.log.chain.sequence + distance;
            }
        }
        history.write();
        history
    }

    /// The same for a log that is too long to look at every state: runs above all, which settle.
    pub(crate) fn long(seed: u64, records: u64, distance: u64) -> Self {
        let mut history = Self { every: 50, ..Self::new(seed) };
        let mut next = distance;
        while history.newest() < records {
            match u8::arbitrary_in(&mut history.random, 40) {
                0 => history.step(),
                number => history.run(number),
            }
            if history.newest() >= next {
                history.snapshot();
                next = history.newest() + distance;
            }
        }
        history.write();
        history.remember_ends();
        history
    }

    /// The records behind which the state was looked at, in order.
    pub(crate) fn looked_at(&self) -> Vec<u64> {
        let is_looked_at = |(at, found): (&u64, &Option<[u8; 32]>)| found.map(|_| *at);
        self.fingerprints.iter().filter_map(is_looked_at).collect()
    }

    /// A whole run of a command.
    fn run(&mut self, number: u8) {
        match number {
            1..=4 => drop(self.log.crash()),
            _ => drop(self.log.run()),
        }
        self.append(|log| log.events(vec![ClockStepped { step_ns: 3 }.into()]));
    }

    /// Remembers the last record of every batch, as their headers say it.
    fn remember_ends(&mut self) {
        let storage = DirectoryStorage::new(self.directory.path());
        let line = opened(&storage);
        let begin = line.at(Until::Sequence(0)).unwrap();
        line.pass(&begin, Until::End, &mut |record| {
            if !record.header.flags.more_follows() {
                self.fingerprints.entry(record.header.sequence).or_insert(None);
            }
        })
        .unwrap();
    }

    /// Something happens: to a loop, to a question, or to nothing.
    pub(crate) fn step(&mut self) {
        let sequence = self.log.chain.sequence;
        match u8::arbitrary_in(&mut self.random, 8) {
            0 => self.ask(),
            1 => self.answer(),
            2 => self.append(|log| log.events(vec![ClockStepped { step_ns: 1 }.into()])),
            _ => self.any_command(),
        }
        if self.log.chain.sequence == sequence {
            self.append(|log| log.events(vec![ClockStepped { step_ns: 2 }.into()]));
        }
    }

    /// One batch, after which the state is remembered.
    pub(crate) fn append(&mut self, batch: impl FnOnce(&mut HandMadeLog)) {
        batch(&mut self.log);
        let is_looked_at = self.fingerprints.len().is_multiple_of(self.every);
        let fingerprint = is_looked_at.then(|| self.log.world.fingerprint());
        self.fingerprints.insert(self.log.chain.sequence, fingerprint);
    }

    /// The story goes on from the log's state. What it counts, so that nothing has an id twice,
    /// goes on with a command that is refused.
    fn tell(&mut self) {
        self.story.world = self.log.world.clone();
        self.story.now = self.log.now;
        let refused = self.story.cancels("DP-none");
        assert!(self.story.when(refused).is_err());
    }

    fn any_command(&mut self) {
        self.tell();
        let command = next_command(&mut self.story, &mut self.random);
        self.submit(&command);
    }

    fn ask(&mut self) {
        self.tell();
        let question = self.story.question();
        self.points.push(question.decision_id());
        self.submit(&Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(
            question.into(),
        )));
    }

    fn answer(&mut self) {
        let Some(id) = self.points.pop() else { return };
        self.tell();
        let answer = self.story.responds(&id, person("alice"), option("go"));
        self.submit(&answer);
    }

    fn submit(&mut self, command: &Command) {
        let Ok(events) = decide(&self.log.world, command, self.log.now) else { return };
        if !events.is_empty() {
            self.append(|log| log.events(events));
        }
    }

    /// A snapshot of the state, and the event that states its fingerprint.
    pub(crate) fn snapshot(&mut self) {
        let (state, fingerprint) = self.log.world.carry_with_fingerprint();
        let head = self.log.head();
        let header = SnapshotHeader {
            log: self.log.log,
            chain: self.log.chain,
            segment: head.segment,
            record_offset: head.record_offset,
            end_offset: head.end_offset,
            state_schema: STATE_SCHEMA_VERSION,
        };
        self.snapshots.push((self.log.chain.sequence, header.encode_with(&state)));
        let stated = FingerprintRecorded { schema: STATE_SCHEMA_VERSION, fingerprint };
        self.append(|log| log.events(vec![stated.into()]));
    }

    /// Writes the log and every snapshot.
    pub(crate) fn write(&self) {
        self.log.write(self.path());
        std::fs::create_dir_all(self.path().join(names::SNAPSHOTS)).unwrap();
        for (sequence, file) in &self.snapshots {
            std::fs::write(self.path().join(snapshot_path(*sequence)), file).unwrap();
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn newest(&self) -> u64 {
        self.log.chain.sequence
    }

    /// The last record of the last whole batch up to a record, and the fingerprint there.
    pub(crate) fn expected(&self, sequence: u64) -> (u64, [u8; 32]) {
        let (at, fingerprint) = self.fingerprints.range(..=sequence).next_back().unwrap();
        (*at, fingerprint.expect("it was looked at"))
    }

    /// The files of the snapshots, oldest first.
    pub(crate) fn snapshot_files(&self) -> Vec<PathBuf> {
        let path = |(sequence, _): &(u64, Vec<u8>)| self.path().join(snapshot_path(*sequence));
        self.snapshots.iter().map(path).collect()
    }
}

/// A number below a bound.
pub(crate) trait ArbitraryIn {
    fn arbitrary_in(random: &mut Gen, bound: Self) -> Self;
}

impl ArbitraryIn for u8 {
    fn arbitrary_in(random: &mut Gen, bound: Self) -> Self {
        <u8 as quickcheck::Arbitrary>::arbitrary(random) % bound
    }
}

impl ArbitraryIn for u64 {
    fn arbitrary_in(random: &mut Gen, bound: Self) -> Self {
        <u64 as quickcheck::Arbitrary>::arbitrary(random) % bound
    }
}
