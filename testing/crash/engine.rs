//! The engine, crashed at every call of a story: the state that it serves afterwards is the one
//! that the records give when they are replayed, no receipt is forgotten, and of a transaction
//! there is all or nothing.

use crate::life::{DISK_SEED, quiet};
use crate::random::Random;
use crate::survivors::survivors;
use crate::tally::Tally;
use holdpoint_domain::application::{Data, RecordEvent};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::evidence_capture::{
    CaptureEvidence, EvidenceCaptureCommand, OutputStream, RecordOutput,
};
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, InitializeLoop};
use holdpoint_domain::log::{LogCommand, RecordFingerprint};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::{ActorId, Command, World};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::{
    Clock, EngineOptions, Origin, Reading, SubmitError, Submitted, Transaction,
};
use holdpoint_replay::{ReadOptions, RunLookup, Until, rebuild, run_of};
use holdpoint_simulation::{Moment, SimulatedDisk};
use holdpoint_testing::shell::commands::{dispatch, fault, fresh, initialize, retry, whole_story};
use holdpoint_testing::story::{piece, pieces_item};

/// Surviving images judged at one moment.
const IMAGES: usize = 12;

/// A clock that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> Reading {
        Reading { wall_ns: 1_769_356_800_000_000_000, since_boot_ns: 1_000_000_000 }
    }
}

/// Transactions of the story of them.
const TRANSACTIONS: usize = 5;

/// Tells a story of single commands to an engine and crashes it everywhere.
pub(crate) fn explore(seed: u64, tally: &Tally) -> Result<(), String> {
    let submit =
        |engine: &Engine<SimulatedDisk>, command: &Command| engine.submit(&origin(), (), command);
    let judges = Judges { is_whole: |_| Ok(()), is_kept: |_| Ok(()) };
    crash_everywhere(&story(), submit, judges, seed, tally)
}

/// The same of a command whose output is recorded while it runs: what is on the disk afterwards is
/// the beginning of what was printed, and all of it that has a receipt.
pub(crate) fn explore_output(seed: u64, tally: &Tally) -> Result<(), String> {
    let submit =
        |engine: &Engine<SimulatedDisk>, command: &Command| engine.submit(&origin(), (), command);
    let judges = Judges { is_whole: |_| Ok(()), is_kept: is_beginning };
    crash_everywhere(&printing(), submit, judges, seed, tally)
}

/// The same with transactions of several systems: of each there is all or nothing.
pub(crate) fn explore_transactions(seed: u64, tally: &Tally) -> Result<(), String> {
    let transactions: Vec<Transaction> = (0..TRANSACTIONS).map(transaction).collect();
    let commit = |engine: &Engine<SimulatedDisk>, transaction: &Transaction| {
        engine.commit(&origin(), (), transaction)
    };
    let judges = Judges { is_whole: all_or_nothing, is_kept: |_| Ok(()) };
    crash_everywhere(&transactions, commit, judges, seed, tally)
}

/// What has to hold of every image, besides that no receipt is forgotten.
#[derive(Clone, Copy)]
struct Judges {
    is_whole: fn(&World) -> Result<(), String>,
    /// Of the records alone, before an engine opens them.
    is_kept: fn(&SimulatedDisk) -> Result<(), String>,
}

fn crash_everywhere<T>(
    story: &[T],
    tell: impl Fn(&Engine<SimulatedDisk>, &T) -> Result<Submitted, SubmitError>,
    judges: Judges,
    seed: u64,
    tally: &Tally,
) -> Result<(), String> {
    let mut random = Random::of(seed);
    let disk = SimulatedDisk::new(DISK_SEED);
    disk.record_moments();
    let mut receipts = vec![(0, 0)];
    let engine = open(&disk)?;
    for part in story {
        let told = tell(&engine, part).map_err(|error| error.to_string())?;
        if let Submitted::Accepted(receipt) = told {
            receipts.push((disk.calls(), receipt.last_sequence));
        }
    }
    // The end of the story is served whole, or what follows proves nothing.
    engine.query(judges.is_whole).map_err(|error| error.to_string())??;
    let moments = disk.take_moments();
    drop(engine);
    for moment in &moments {
        let judged = every_image(moment, &receipts, judges, &mut random, tally);
        judged.map_err(|why| {
            tally.violation();
            format!("HOLDPOINT_SEED={seed}\nan engine, after call {}: {why}", moment.calls)
        })?;
    }
    Ok(())
}

fn every_image(
    moment: &Moment,
    receipts: &[(u64, u64)],
    judges: Judges,
    random: &mut Random,
    tally: &Tally,
) -> Result<(), String> {
    let known = receipts.partition_point(|(calls, _)| *calls <= moment.calls);
    let (_, acknowledged) = receipts[known.saturating_sub(1)];
    let judge = |image: SimulatedDisk| {
        let is_new = tally.state(image.fingerprint());
        if is_new { live_is_rebuilt(&image, acknowledged, judges) } else { Ok(()) }
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

fn live_is_rebuilt(image: &SimulatedDisk, acknowledged: u64, judges: Judges) -> Result<(), String> {
    let engine = open(image)?;
    (judges.is_kept)(image)?;
    engine.query(judges.is_whole).map_err(|error| error.to_string())??;
    let state = |world: &World| (world.fingerprint(), world.totals().last_sequence);
    let live = engine.query(state).map_err(|error| error.to_string())?;
    let options = ReadOptions::new(image.boot(), &|| Ok(false));
    // The engine may go on by itself: it states the indexes of sealed segments.
    let until = Until::Sequence(live.1);
    let rebuilt = rebuild(image, until, options, &mut |_| {}, &mut |_| {})
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
    let options = EngineOptions::simulated().log(quiet(false)).clock(Box::new(Still));
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

/// Numbered lines, in so many pieces of both streams.
const PIECES: u64 = 8;

fn lines(piece: u64) -> Vec<u8> {
    (piece * 400..(piece + 1) * 400).flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

/// A loop that prints over several pages, is stated and ends.
fn printing() -> Vec<Command> {
    let loop_id = begun(0).loop_id();
    let mut commands = vec![Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begun(0)))];
    let [dispatched, awaited, _, reported, completed] = whole_story(&loop_id);
    commands.extend([dispatched, awaited]);
    let (mut whole, stream) = (Vec::new(), OutputStream::Stdout);
    for number in 0..PIECES {
        let piece = piece(stream, whole.len() as u64, &lines(number));
        whole.extend_from_slice(&piece.raw_data);
        let (loop_id, entropy) = (loop_id.clone(), fresh());
        let record = RecordOutput {
            loop_id,
            entropy,
            attempt: 1,
            pieces: vec![piece],
            snapshots: Vec::new(),
        };
        commands.push(Command::EvidenceCapture(EvidenceCaptureCommand::RecordOutput(record)));
    }
    let (entropy, items) = (fresh(), vec![pieces_item(stream, &whole)]);
    let capture = CaptureEvidence { loop_id, entropy, items };
    commands.push(Command::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(capture)));
    commands.extend([reported, completed]);
    commands
}

/// What is on record of the output is how it began, and fits what is stated of it.
fn is_beginning(image: &SimulatedDisk) -> Result<(), String> {
    let options = ReadOptions::new(image.boot(), &|| Ok(false));
    let (found, _) =
        run_of(image, &begun(0).loop_id(), options).map_err(|error| error.to_string())?;
    let RunLookup::Run(run) = found else { return Ok(()) };
    let whole: Vec<u8> = (0..PIECES).flat_map(lines).collect();
    for output in &run.outputs {
        if !whole.starts_with(&output.bytes) || !output.fits() || output.missing() > 0 {
            return Err(format!("{} bytes of output are no beginning", output.bytes.len()));
        }
        if output.end.is_some() && output.bytes != whole {
            return Err("an end is stated, and not all of it is there".to_string());
        }
    }
    Ok(())
}

/// Events of the application around the beginning of a loop, over several pages.
fn transaction(number: usize) -> Transaction {
    let begun = begun(number);
    let loop_id = begun.loop_id();
    let start = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begun));
    let [first, second, last] = streams(number).map(|stream| RecordEvent {
        stream,
        event_type: "changed".to_string(),
        type_version: 1,
        content_type: "text/plain".to_string(),
        data: Data::from("much to be torn ".repeat(300).as_str()),
    });
    Transaction::new()
        .record(first)
        .submit(start)
        .record(second)
        .submit(dispatch(&loop_id))
        .record(last)
}

/// The loop of a transaction, the same whenever it is asked for.
fn begun(number: usize) -> InitializeLoop {
    let entropy = Entropy::from_bytes((u128::MAX - number as u128).to_be_bytes());
    InitializeLoop { entropy, ..initialize(1) }
}

fn streams(number: usize) -> [String; 3] {
    ["first", "second", "last"].map(|place| format!("{number}-{place}"))
}

/// What each member of a transaction left in the state, or did not.
fn all_or_nothing(world: &World) -> Result<(), String> {
    for number in 0..TRANSACTIONS {
        let is_begun = world.live_loop(&begun(number).loop_id()).is_some();
        let streams = streams(number).map(|stream| world.stream_version(&stream) > 0);
        if streams != [is_begun; 3] {
            return Err(format!("of transaction {number}: loop {is_begun}, streams {streams:?}"));
        }
    }
    Ok(())
}

fn origin() -> Origin {
    let actor = ActorId { kind: Actor::Automation, id: "ci".to_string() };
    Origin { actor, correlation: "a story".to_string(), causation: None }
}
