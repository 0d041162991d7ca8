//! The engine, crashed at every call of a story: the state that it serves afterwards is the one
//! that the records give when they are replayed, and no receipt is forgotten.

use crate::life::{DISK_SEED, quiet};
use crate::random::Random;
use crate::survivors::survivors;
use crate::tally::Tally;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::log::{LogCommand, RecordFingerprint};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::{ActorId, Command, World};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::{Clock, EngineOptions, Origin, Reading, Submitted};
use holdpoint_engine::simulation::{Moment, SimulatedDisk};
use holdpoint_replay::{ReadOptions, Until, rebuild};
use holdpoint_testing::shell::commands::{fault, initialize, retry, whole_story};

/// Surviving images judged at one moment.
const IMAGES: usize = 12;

/// A clock that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> Reading {
        Reading { wall_ns: 1_769_356_800_000_000_000, since_boot_ns: 1_000_000_000 }
    }
}

/// Tells a story to an engine and crashes it everywhere.
pub(crate) fn explore(seed: u64, tally: &Tally) -> Result<(), String> {
    let mut random = Random::of(seed);
    let disk = SimulatedDisk::new(DISK_SEED);
    disk.record_moments();
    let mut receipts = vec![(0, 0)];
    let engine = open(&disk)?;
    for command in story() {
        let told = engine.submit(&origin(), &command).map_err(|error| error.to_string())?;
        if let Submitted::Accepted(receipt) = told {
            receipts.push((disk.calls(), receipt.last_sequence));
        }
    }
    let moments = disk.take_moments();
    drop(engine);
    for moment in &moments {
        every_image(moment, &receipts, &mut random, tally).map_err(|why| {
            tally.violation();
            format!("HOLDPOINT_SEED={seed}\nan engine, after call {}: {why}", moment.calls)
        })?;
    }
    Ok(())
}

fn every_image(
    moment: &Moment,
    receipts: &[(u64, u64)],
    random: &mut Random,
    tally: &Tally,
) -> Result<(), String> {
    let known = receipts.partition_point(|(calls, _)| *calls <= moment.calls);
    let (_, acknowledged) = receipts[known.saturating_sub(1)];
    let judge = |image: SimulatedDisk| {
        let is_new = tally.state(image.fingerprint());
        if is_new { live_is_rebuilt(&image, acknowledged) } else { Ok(()) }
    };
    judge(moment.disk.kill()).map_err(|why| format!("killed: {why}"))?;
    let all = survivors(&moment.disk.pending(), random, 4);
    for _ in 0..IMAGES.min(all.len()) {
        let kept = random.pick(&all);
        let image = moment.disk.power_loss_tearing(&kept.picks, &kept.tears());
        judge(image).map_err(|why| format!("power lost, {kept:?}: {why}"))?;
    }
    Ok(())
}

fn live_is_rebuilt(image: &SimulatedDisk, acknowledged: u64) -> Result<(), String> {
    let engine = open(image)?;
    let state = |world: &World| (world.fingerprint(), world.totals().last_sequence);
    let live = engine.query(state).map_err(|error| error.to_string())?;
    let options = ReadOptions { boot: image.boot(), is_locked: &|| Ok(false) };
    let rebuilt = rebuild(image, Until::End, options, &mut |_| {}, &mut |_| {})
        .map_err(|error| error.to_string())?;
    if rebuilt.report.failed() {
        return Err(format!("replay finds {:?}", rebuilt.report.findings));
    }
    if live != state(&rebuilt.world) {
        return Err("the live state is not the one that the records give".to_string());
    }
    if live.1 < acknowledged {
        return Err(format!("{acknowledged} has a receipt, and the log ends at {}", live.1));
    }
    Ok(())
}

fn open(disk: &SimulatedDisk) -> Result<Engine<SimulatedDisk>, String> {
    let options =
        EngineOptions { log: quiet(false), clock: Box::new(Still), ..EngineOptions::simulated() };
    Engine::open_with(disk.clone(), options).map_err(|error| format!("no engine: {error}"))
}

/// One loop that ends well and one that fails, is tried again and fails again.
fn story() -> Vec<Command> {
    let (good, bad) = (initialize(1), initialize(2));
    let (good_id, bad_id) = (good.loop_id(), bad.loop_id());
    let mut commands = vec![
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(good)),
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(bad)),
    ];
    commands.extend(whole_story(&good_id));
    commands.extend(whole_story(&bad_id).into_iter().take(2));
    commands.push(fault(&bad_id, 1, ExecutionFaultType::Crash));
    commands.push(retry(&bad_id));
    commands.push(Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})));
    commands
}

fn origin() -> Origin {
    let actor = ActorId { kind: Actor::Automation, id: "ci".to_string() };
    Origin { actor, correlation: "a story".to_string(), causation: None }
}
