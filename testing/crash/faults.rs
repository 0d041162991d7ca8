//! Every fault at every call of the small histories: what fails is said, and what was acknowledged
//! before stays, through a kill and through power loss afterwards.

use crate::history::{History, Operation, shorten};
use crate::life::Life;
use crate::oracle::Case;
use crate::random::Random;
use crate::survivors::{Survivors, one_of};
use crate::tally::Tally;
use holdpoint_simulation::{Call, CallRecord, Effect, Fault, ReadFault, SimulatedDisk};

/// One fault, and where.
#[derive(Clone, Debug)]
enum Struck {
    Call(u64, Fault),
    Read(u64, ReadFault),
    /// A byte of a file changes after the history.
    Rot(String, u64, u8),
}

/// Runs a history with every fault at every call that it fits.
pub(crate) fn explore(history: &History, seed: u64, tally: &Tally) -> Result<(), String> {
    let Err(first) = every_fault(history, seed, tally) else { return Ok(()) };
    tally.violation();
    let fails = |history: &History| every_fault(history, seed, &Tally::new()).err();
    let (shortest, why) = shorten(history, &fails).unwrap_or((history.clone(), first));
    Err(format!("HOLDPOINT_SEED={seed}\n{why}\nthe shortest history: {shortest:#?}"))
}

fn every_fault(history: &History, seed: u64, tally: &Tally) -> Result<(), String> {
    let mut random = Random::of(seed);
    let mut healthy = Life::new(history);
    healthy.run(history).map_err(|why| format!("{}: without a fault: {why}", history.name))?;
    let (made, reads) = (healthy.disk.made(), healthy.disk.reads());
    let mut strikes = strikes_on_calls(&made);
    strikes.extend(strikes_on_reads(reads, &mut random));
    strikes.extend(rot(&healthy.disk, &mut random));
    drop(healthy);
    for struck in strikes {
        one_fault(history, &struck, &mut random, tally)
            .map_err(|why| format!("{}: {struck:?}: {why}", history.name))?;
    }
    Ok(())
}

fn strikes_on_calls(made: &[CallRecord]) -> Vec<Struck> {
    let effects = [Effect::None, Effect::Half, Effect::Whole];
    let elsewhere = |file: Option<&str>, offset| {
        let file = file.map(str::to_string);
        Fault::Misdirected { file, offset }
    };
    let mut faults: Vec<Fault> = effects.map(Fault::Io).to_vec();
    faults.extend(effects.map(Fault::NoSpace));
    faults.extend([Fault::Interrupted, Fault::ShortWrite, Fault::SyncDropsPages]);
    faults.extend([Fault::SyncLies, Fault::LostName]);
    faults.extend([elsewhere(None, 0), elsewhere(None, 4_096), elsewhere(None, 20_000)]);
    faults.push(elsewhere(Some("HEAD"), 40));
    faults.push(elsewhere(Some("segments/00000000000000000001.seg"), 4_160));
    let numbered = made.iter().zip(1..);
    let struck = numbered.flat_map(|(made, call)| {
        let fitting = faults.iter().filter(|fault| fault.fits(made.call) && !is_vain(fault, made));
        fitting.map(move |fault| Struck::Call(call, fault.clone()))
    });
    struck.collect()
}

/// Half of a call that knows no half is none of it.
fn is_vain(fault: &Fault, made: &CallRecord) -> bool {
    let is_half = matches!(fault, Fault::Io(Effect::Half) | Fault::NoSpace(Effect::Half));
    is_half && !matches!(made.call, Call::Write | Call::Sync)
}

fn strikes_on_reads(reads: u64, random: &mut Random) -> Vec<Struck> {
    let struck = (1..=reads).flat_map(|read| {
        let rot = ReadFault::Rot { bit: random.next() % 80_000 };
        let faults = [ReadFault::Io, ReadFault::Interrupted, ReadFault::Short, rot];
        faults.map(|fault| Struck::Read(read, fault))
    });
    struck.collect()
}

/// Bytes of every file, more of them where records lie.
fn rot(disk: &SimulatedDisk, random: &mut Random) -> Vec<Struck> {
    let mut files: Vec<String> = disk.made().into_iter().map(|made| made.path).collect();
    files.sort();
    files.dedup();
    let mut strikes = Vec::new();
    for file in files {
        for _ in 0..12 {
            let mask = 1 << random.below(8);
            let offset = *random.pick(&[152, 4_096, 5_000, 66_000]);
            strikes.push(Struck::Rot(file.clone(), random.below(offset) as u64, mask));
        }
    }
    strikes
}

impl Struck {
    fn is_honest(&self) -> bool {
        match self {
            Self::Call(_, fault) => !fault.is_a_lie(),
            Self::Read(_, fault) => !matches!(fault, ReadFault::Rot { .. }),
            Self::Rot(..) => false,
        }
    }

    fn arm(&self, disk: &SimulatedDisk) {
        match self {
            Self::Call(call, fault) => disk.fail_at(*call, fault.clone()),
            Self::Read(read, fault) => disk.fail_read_at(*read, *fault),
            Self::Rot(..) => {}
        }
    }
}

fn one_fault(
    history: &History,
    struck: &Struck,
    random: &mut Random,
    tally: &Tally,
) -> Result<(), String> {
    let mut life = Life::new(history);
    life.is_lied_to = !struck.is_honest();
    struck.arm(&life.disk);
    life.run(history)?;
    if let Struck::Rot(path, offset, mask) = struck {
        if !life.disk.rot(path, *offset, *mask) {
            return Ok(());
        }
        tally.fault("rot-on-disk");
    }
    life.disk.happened().into_iter().for_each(|name| tally.fault(name));
    come_back(&life, random, tally).map_err(|why| format!("left as it was, {why}"))?;
    life.let_go();
    come_back(&life, random, tally).map_err(|why| format!("let go, {why}"))
}

/// Killed as it is, and some ways of losing power.
fn come_back(life: &Life, random: &mut Random, tally: &Tally) -> Result<(), String> {
    let promised = &life.model;
    let case = Case {
        promised,
        may: &promised.records,
        must: promised.written,
        is_honest: !life.is_lied_to,
    };
    tally.judge_first(&life.disk.kill(), &case, random).map_err(|why| format!("killed: {why}"))?;
    let pending = life.disk.pending();
    let newest = pending.iter().map(|next| next.options - 1).collect();
    let kept = Survivors { picks: newest, tear: None };
    let mixed = [one_of(&pending, random), one_of(&pending, random)];
    for survivors in [Survivors::default(), kept].into_iter().chain(mixed) {
        let image = life.disk.power_loss_tearing(&survivors.picks, &survivors.tears());
        tally
            .judge_first(&image, &Case { must: promised.durable, ..case }, random)
            .map_err(|why| format!("power lost, {survivors:?}: {why}"))?;
    }
    Ok(())
}

/// Histories short enough to be struck everywhere.
pub(crate) fn is_short(history: &History) -> bool {
    let is_crash = |step: &Operation| matches!(step, Operation::Kill | Operation::PowerLoss { .. });
    !history.operations.iter().any(is_crash)
}
