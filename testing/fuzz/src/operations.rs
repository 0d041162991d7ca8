//! Random operations on a log, with crashes and faults, against a model that knows what was
//! acknowledged: nothing is lost, nothing is invented. The disk fails and crashes, and never lies.

use super::model::Model;
use arbitrary::{Arbitrary, Unstructured};
use holdpoint_engine::log::{Level, Log, OpenError, Options, Ownership, Storage};
use holdpoint_log_files::{Extent, SurveyOptions, survey};
use holdpoint_simulation::{Call, Effect, Fault, SimulatedDisk};
use std::time::Duration;

/// Most operations of one life.
const OPERATIONS_MAX: usize = 24;

/// Later than any input ends: nothing happens in the background.
const NEVER: Duration = Duration::from_secs(86_400);

/// One step.
#[derive(Arbitrary, Clone, Debug)]
enum Operation {
    /// A batch.
    Append(Payload, Vec<Payload>, AnyLevel),
    /// Close, and open again.
    Reopen,
    /// The next call of this kind fails.
    Fail(AnyCall, AnyFault),
    /// All processes are killed.
    Kill,
    /// The power is lost; what was not durable survives as the picks say.
    LosePower(Vec<u8>),
    /// The step, and at one of its calls a crash.
    CrashWithin(Step, u8, Crash),
}

/// A step in which a crash may come.
#[derive(Arbitrary, Clone, Debug)]
enum Step {
    Append(Payload, Vec<Payload>, AnyLevel),
    Reopen,
}

#[derive(Arbitrary, Clone, Debug)]
enum Crash {
    Kill,
    LosePower(Vec<u8>),
}

/// Length of a payload in bytes.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Payload {
    Small(u8),
    Pages(u16),
    /// More than the first segment holds.
    Large,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum AnyLevel {
    Witnessed,
    Always,
    Interval,
    Os,
    Staged,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum AnyCall {
    CreateDirectory,
    Create,
    Reserve,
    Write,
    WriteLock,
    Sync,
    SyncDirectory,
    Rename,
    Remove,
    Punch,
}

/// A failure that the call tells of.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum AnyFault {
    NoSpace(Done),
    Io(Done),
    Interrupted,
    ShortWrite,
    SyncDropsPages,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Done {
    Nothing,
    Half,
    Whole,
}

/// Lives a log's life as the input says, and asserts what it owes after every crash.
pub fn read(bytes: &[u8]) {
    // An input that is used up says nothing more.
    let _ = try_read(&mut Unstructured::new(bytes));
}

fn try_read(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let mut life = Life::begin(input.arbitrary()?);
    for operation in input.arbitrary_iter::<Operation>()?.take(OPERATIONS_MAX) {
        life.does(&operation?);
    }
    life.crash(&Crash::Kill);
    life.close();
    life.crash(&Crash::LosePower(Vec::new()));
    Ok(())
}

/// A log, its disk and its model.
struct Life {
    disk: SimulatedDisk,
    log: Option<Log<SimulatedDisk>>,
    model: Model,
    options: Options,
    clock: u64,
}

impl Life {
    fn begin(is_exclusive: bool) -> Self {
        let disk = SimulatedDisk::new(7);
        let ownership = if is_exclusive { Ownership::Exclusive } else { Ownership::PerTransaction };
        let options =
            Options::default().ownership(ownership).lock_wait(Duration::ZERO).head_delay(NEVER);
        let mut life = Self { disk, log: None, model: Model::default(), options, clock: 0 };
        life.open(true);
        life
    }

    fn does(&mut self, operation: &Operation) {
        match operation {
            Operation::Append(first, more, level) => self.append(*first, more, *level),
            Operation::Reopen => self.reopen(),
            Operation::Fail(call, fault) => self.disk.fail_next(call.get(), fault.get()),
            Operation::Kill => self.crash(&Crash::Kill),
            Operation::LosePower(picks) => self.crash(&Crash::LosePower(picks.clone())),
            Operation::CrashWithin(step, at, crash) => self.crash_within(step, *at, crash),
        }
    }

    fn append(&mut self, first: Payload, more: &[Payload], level: AnyLevel) {
        let Some(log) = &self.log else { return };
        let lengths = [&first].into_iter().chain(more).take(3).map(|one| one.length()).collect();
        let batch = self.model.next(lengths);
        self.clock += 1;
        let was_poisoned = log.poison().is_some();
        // Whether a batch that failed is there is open until somebody looks.
        if log.append_any_kind(&batch, self.clock, level.get()).is_ok() {
            assert!(!was_poisoned, "a handle that failed once acknowledges nothing more");
            self.model.acknowledged(level.get());
        }
    }

    fn reopen(&mut self) {
        self.close();
        self.open(false);
    }

    fn close(&mut self) {
        let Some(log) = self.log.take() else { return };
        let was_poisoned = log.poison().is_some();
        if log.close().is_ok() {
            assert!(!was_poisoned, "a handle that failed once cannot close well");
            self.model.closed();
        }
    }

    /// Opens the log. Where a fault was asked for, it may fail; then the process ends, and the next
    /// one meets no fault.
    fn open(&mut self, lost_power: bool) {
        if self.log.is_none() && !self.try_open(lost_power) {
            self.disk = self.disk.kill();
            assert!(self.try_open(lost_power), "nothing was asked to fail");
        }
    }

    fn try_open(&mut self, lost_power: bool) -> bool {
        match Log::open(self.disk.clone(), self.options.clone()) {
            Ok((log, _)) => {
                self.log = Some(log);
                let found = payloads(&self.disk);
                self.model.check(&found, lost_power);
                true
            }
            Err(error @ (OpenError::Refused { .. } | OpenError::Foreign { .. })) => {
                unreachable!("no crash and no failure that is told of makes a log corrupt: {error}")
            }
            Err(_) => false,
        }
    }

    /// What is not durable goes as the crash says, and the next process opens what is left.
    fn crash(&mut self, crash: &Crash) {
        let (next, lost_power) = crash.disk(&self.disk);
        self.go_on_with(next, lost_power);
    }

    /// The same at one of the calls that the step makes: what the step acknowledged comes too late.
    fn crash_within(&mut self, step: &Step, at: u8, crash: &Crash) {
        let before = self.model.clone();
        let owner = self.disk.clone();
        owner.record_moments();
        match step {
            Step::Append(first, more, level) => self.append(*first, more, *level),
            Step::Reopen => self.close(),
        }
        let moments = owner.take_moments();
        let Some(moment) = moments.get(usize::from(at) % moments.len().max(1)) else {
            return self.open(false);
        };
        self.model.acknowledged_as_in(&before);
        let (next, lost_power) = crash.disk(&moment.disk);
        self.go_on_with(next, lost_power);
    }

    fn go_on_with(&mut self, next: SimulatedDisk, lost_power: bool) {
        self.disk.turn_off();
        self.log = None;
        self.disk = next;
        self.open(lost_power);
    }
}

impl Crash {
    /// The disk as the next process finds it, and whether the power was lost.
    fn disk(&self, disk: &SimulatedDisk) -> (SimulatedDisk, bool) {
        match self {
            Self::Kill => (disk.kill(), false),
            Self::LosePower(picks) => {
                let picks = picks.iter().chain(std::iter::repeat(&0));
                let pending = disk.pending();
                let pick = |(pending, pick): (&holdpoint_simulation::Pending, &u8)| {
                    usize::from(*pick) % pending.options.max(1)
                };
                let picks: Vec<usize> = pending.iter().zip(picks).map(pick).collect();
                (disk.power_loss(&picks), true)
            }
        }
    }
}

/// The payloads of every record of every complete batch, in order, of a log that is not corrupt.
fn payloads(disk: &SimulatedDisk) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let options = SurveyOptions::new(Extent::FromAnchor, disk.boot());
    let found = survey(disk, options, &mut |_, record| all.push(record.payload.to_vec()));
    let found = found.unwrap_or_else(|error| unreachable!("no read was asked to fail: {error}"));
    assert!(!found.row.verdict().has_failed(), "{:?}", found.findings);
    let newest = found.last.map_or(0, |last| last.run.chain.sequence);
    all.truncate(newest as usize);
    all
}

impl Payload {
    fn length(self) -> usize {
        match self {
            Self::Small(length) => usize::from(length),
            Self::Pages(length) => usize::from(length % 12_000),
            Self::Large => 70_000,
        }
    }
}

impl AnyLevel {
    fn get(self) -> Level {
        match self {
            Self::Witnessed => Level::Witnessed,
            Self::Always => Level::Always,
            Self::Interval => Level::Interval(NEVER),
            Self::Os => Level::Os,
            Self::Staged => Level::Staged,
        }
    }
}

impl AnyCall {
    fn get(self) -> Call {
        match self {
            Self::CreateDirectory => Call::CreateDirectory,
            Self::Create => Call::Create,
            Self::Reserve => Call::Reserve,
            Self::Write => Call::Write,
            Self::WriteLock => Call::WriteLock,
            Self::Sync => Call::Sync,
            Self::SyncDirectory => Call::SyncDirectory,
            Self::Rename => Call::Rename,
            Self::Remove => Call::Remove,
            Self::Punch => Call::Punch,
        }
    }
}

impl AnyFault {
    fn get(self) -> Fault {
        match self {
            Self::NoSpace(done) => Fault::NoSpace(done.get()),
            Self::Io(done) => Fault::Io(done.get()),
            Self::Interrupted => Fault::Interrupted,
            Self::ShortWrite => Fault::ShortWrite,
            Self::SyncDropsPages => Fault::SyncDropsPages,
        }
    }
}

impl Done {
    fn get(self) -> Effect {
        match self {
            Self::Nothing => Effect::None,
            Self::Half => Effect::Half,
            Self::Whole => Effect::Whole,
        }
    }
}
