//! A life: a machine, one or two handles on its log, and the model that is told of everything.

use crate::history::{History, NEVER, Operation, Sure};
use crate::model::{Model, new_records};
use crate::oracle::only_locked_segments_are_written;
use crate::random::Random;
use crate::survivors::one_of;
use holdpoint_engine::log::{AppendError, Log, Options, Ownership};
use holdpoint_simulation::{Effect, Fault, Moment, ReadFault, SimulatedDisk};
use std::time::Duration;

/// Every disk of the run has this seed, so that equal histories leave equal images.
pub(crate) const DISK_SEED: u64 = 4;

/// One machine's recorded life: where it could have crashed, and what was promised by then.
pub(crate) struct Stretch {
    pub(crate) moments: Vec<Moment>,
    /// After each operation: calls made by then, and the model.
    pub(crate) promises: Vec<(u64, Model)>,
}

pub(crate) struct Life {
    pub(crate) disk: SimulatedDisk,
    handles: [Option<Log<SimulatedDisk>>; 2],
    pub(crate) model: Model,
    options: Options,
    clock: u64,
    /// The disk has lied: what was acknowledged may be gone.
    pub(crate) is_lied_to: bool,
    /// Recorded only when asked for.
    stretches: Option<Vec<Stretch>>,
    promises: Vec<(u64, Model)>,
}

/// Options under which nothing happens in the background.
pub(crate) fn quiet(is_exclusive: bool) -> Options {
    let ownership = if is_exclusive { Ownership::Exclusive } else { Ownership::PerTransaction };
    Options::default().ownership(ownership).head_delay(NEVER).lock_wait(Duration::ZERO)
}

impl Life {
    pub(crate) fn new(history: &History) -> Self {
        Self {
            disk: SimulatedDisk::new(DISK_SEED),
            handles: [None, None],
            model: Model::default(),
            options: quiet(history.is_exclusive),
            clock: 0,
            is_lied_to: false,
            stretches: None,
            promises: Vec::new(),
        }
    }

    /// Runs a whole history; an error is a broken promise.
    pub(crate) fn run(&mut self, history: &History) -> Result<(), String> {
        for (index, operation) in history.operations.iter().enumerate() {
            self.step(operation)
                .map_err(|why| format!("operation {index}, {operation:?}: {why}"))?;
        }
        Ok(())
    }

    /// Runs a history and records every moment of it.
    pub(crate) fn record(history: &History) -> Result<Vec<Stretch>, String> {
        let mut life = Self::new(history);
        life.stretches = Some(Vec::new());
        life.begin_stretch();
        life.run(history)?;
        life.end_stretch();
        Ok(life.stretches.take().unwrap_or_default())
    }

    fn begin_stretch(&mut self) {
        if self.stretches.is_some() {
            self.disk.record_moments();
            self.promises = vec![(0, self.model.clone())];
        }
    }

    fn end_stretch(&mut self) {
        let last = Moment { calls: self.disk.calls(), disk: self.disk.clone() };
        let promises = std::mem::take(&mut self.promises);
        if let Some(stretches) = &mut self.stretches {
            let mut moments = self.disk.take_moments();
            moments.push(Moment { disk: last.disk.kill(), ..last });
            stretches.push(Stretch { moments, promises });
        }
    }

    pub(crate) fn step(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Open { by } => self.open(*by)?,
            Operation::Append { by, lengths, sure } => self.append(*by, lengths, *sure)?,
            Operation::Prepare { by } => self.prepare(*by)?,
            Operation::Close { by } => self.close(*by)?,
            Operation::Kill => self.go_on_with(self.disk.kill()),
            Operation::PowerLoss { seed } => {
                let mut random = Random::of(*seed);
                let survivors = one_of(&self.disk.pending(), &mut random);
                let after = self.disk.power_loss_tearing(&survivors.picks, &survivors.tears());
                self.go_on_with(after);
                self.model.written = self.model.durable;
            }
            Operation::Fault { seed } => self.plan_fault(&mut Random::of(*seed)),
        }
        self.promises.push((self.disk.calls(), self.model.clone()));
        only_locked_segments_are_written(&self.disk)
    }

    /// The old machine does nothing more, whatever its handles try; the next one takes its disk.
    fn go_on_with(&mut self, next: SimulatedDisk) {
        if self.stretches.is_some() {
            self.promises.push((self.disk.calls(), self.model.clone()));
            self.end_stretch();
        }
        self.disk.turn_off();
        self.handles = [None, None];
        self.disk = next;
        self.model.is_uncertain = true;
        self.begin_stretch();
    }

    /// Lets every handle go, as programs that end in an orderly way do.
    pub(crate) fn let_go(&mut self) {
        self.handles = [None, None];
    }

    fn plan_fault(&mut self, random: &mut Random) {
        let effect = *random.pick(&[Effect::None, Effect::Half, Effect::Whole]);
        let call = self.disk.calls() + 1 + random.below(10) as u64;
        let read = self.disk.reads() + 1 + random.below(30) as u64;
        match random.below(9) {
            0 => self.disk.fail_at(call, Fault::Io(effect)),
            1 | 2 => self.disk.fail_at(call, Fault::NoSpace(effect)),
            3 => self.disk.fail_at(call, Fault::Interrupted),
            4 => self.disk.fail_at(call, Fault::ShortWrite),
            5 | 6 => self.disk.fail_at(call, Fault::SyncDropsPages),
            7 => self.disk.fail_read_at(read, ReadFault::Io),
            _ => self.disk.fail_read_at(read, ReadFault::Short),
        }
    }

    fn open(&mut self, by: usize) -> Result<(), String> {
        if self.handles[by].is_some() || (by == 1 && self.is_exclusive()) {
            return Ok(());
        }
        match Log::open(self.disk.clone(), self.options.clone()) {
            Err(error) => self.excused(&format!("opening was refused: {error}")),
            Ok((log, report)) => {
                let newest = report.position.sequence;
                self.settle(newest)?;
                self.model.opened(newest);
                self.handles[by] = Some(log);
                Ok(())
            }
        }
    }

    fn is_exclusive(&self) -> bool {
        self.options.ownership == Ownership::Exclusive
    }

    /// The log reaches `newest` now.
    fn settle(&mut self, newest: u64) -> Result<(), String> {
        let at_least = if self.is_lied_to { 0 } else { self.model.written };
        self.model.settle(newest, at_least)
    }

    /// An error that a fault of this machine explains; any other breaks a promise. What is only
    /// done in part, or interrupted before it began, is done again, and explains nothing.
    fn excused(&self, what: &str) -> Result<(), String> {
        let harmless = ["short-write", "short-read", "EINTR-on-read"];
        let happened = self.disk.happened();
        if self.is_lied_to || happened.iter().any(|name| !harmless.contains(name)) {
            return Ok(());
        }
        Err(format!("no fault explains it, and {what}"))
    }

    fn append(&mut self, by: usize, lengths: &[usize], sure: Sure) -> Result<(), String> {
        let by = if self.is_exclusive() { 0 } else { by };
        self.open(by)?;
        if self.handles[by].is_none() || !self.know_the_end(by)? {
            return Ok(());
        }
        let Some(log) = &self.handles[by] else { return Ok(()) };
        let batch = self.model.batch(lengths);
        self.clock += 1_000;
        match log.append(&new_records(&batch), self.clock, sure.level()) {
            Ok(appended) => {
                let (before, last) = (appended.first_sequence - 1, appended.last_sequence);
                if self.is_lied_to {
                    self.model.records.truncate(before as usize);
                } else if before != self.model.records.len() as u64 {
                    return Err(format!("appended behind {before}"));
                }
                let durable = log.durable_sequence();
                self.model.push(&batch);
                self.acknowledge(sure, last, durable)
            }
            Err(AppendError::NoSpace { .. }) => self.excused("there was no space"),
            Err(AppendError::Unwitnessed { sequence, .. }) => {
                let durable = log.durable_sequence();
                self.model.push(&batch);
                self.acknowledge(Sure::Always, sequence, durable)?;
                self.excused("HEAD could not follow")
            }
            Err(error) => {
                // How much of it is there, nobody knows; another handle or the next opening will.
                self.model.push(&batch);
                self.model.is_uncertain = true;
                self.check_poisoned(by, &error)?;
                self.handles[by] = None;
                self.excused(&format!("appending failed: {error}"))
            }
        }
    }

    /// Whatever becomes of it, nothing was promised.
    fn prepare(&mut self, by: usize) -> Result<(), String> {
        let Some(log) = &self.handles[by] else { return Ok(()) };
        let prepared = log.prepare_next();
        prepared.or_else(|error| self.excused(&format!("preparing was refused: {error}")))
    }

    fn acknowledge(&mut self, sure: Sure, last: u64, durable: u64) -> Result<(), String> {
        let model = &mut self.model;
        if durable > last {
            return Err(format!("{durable} is said to be durable, and {last} is the newest"));
        }
        model.durable = model.durable.max(durable);
        match sure {
            Sure::Witnessed => (model.durable, model.witnessed) = (last, last),
            Sure::Always => model.durable = last,
            Sure::Os => model.written = last,
            Sure::Staged => {}
        }
        model.written = model.written.max(model.durable);
        Ok(())
    }

    /// After a failure by another handle, where the log ends is known when the turn begins. False
    /// when it cannot begin.
    fn know_the_end(&mut self, by: usize) -> Result<bool, String> {
        let Some(log) = self.handles[by].as_ref().filter(|_| self.model.is_uncertain) else {
            return Ok(true);
        };
        match log.begin().map(|turn| turn.position().sequence) {
            Ok(newest) => {
                self.settle(newest)?;
                Ok(true)
            }
            Err(AppendError::NoSpace { .. }) => {
                self.excused("there was no space")?;
                Ok(false)
            }
            Err(error) => {
                self.handles[by] = None;
                self.excused(&format!("a turn was refused: {error}"))?;
                Ok(false)
            }
        }
    }

    /// Every later call says the first cause, and the disk is left alone.
    fn check_poisoned(&self, by: usize, error: &AppendError) -> Result<(), String> {
        let (AppendError::Failed(cause) | AppendError::Poisoned(cause)) = error else {
            return Ok(());
        };
        let Some(log) = &self.handles[by] else { return Ok(()) };
        let calls = self.disk.calls();
        let again = log.append(&new_records(&self.model.records[..1]), 0, Sure::Always.level());
        match again {
            Err(AppendError::Poisoned(said)) if said == *cause && self.disk.calls() == calls => {
                Ok(())
            }
            other => Err(format!("a handle that failed by {cause} then says {other:?}")),
        }
    }

    fn close(&mut self, by: usize) -> Result<(), String> {
        let Some(log) = self.handles[by].take() else { return Ok(()) };
        let newest = log.position().sequence;
        match log.close() {
            Err(error) => {
                self.model.is_uncertain = true;
                self.excused(&format!("closing failed: {error}"))
            }
            Ok(()) if self.model.is_uncertain => Ok(()),
            Ok(()) => {
                self.model.durable = self.model.durable.max(newest);
                self.model.written = self.model.written.max(newest);
                self.model.witnessed = self.model.witnessed.max(newest);
                Ok(())
            }
        }
    }
}
