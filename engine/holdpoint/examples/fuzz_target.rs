//! A fuzz target of one's own: whatever bytes come, the log that an engine writes of them verifies
//! clean, and says the same when it is opened again.
//!
//! `cargo run -p holdpoint --example fuzz_target -- SEED...`
//!
//! Under cargo-fuzz the same function is called by `fuzz_target!(|bytes: &[u8]| fuzz(bytes))`.

use holdpoint::domain::execution_loop::{ExecutionLoopCommand, StopLoop};
use holdpoint::engine::log::Storage as _;
use holdpoint::replay::{ReadOptions, verify};
use holdpoint::{
    Command, Conditions, Engine, EngineOptions, Origin, RecordEvent, Submitted, Transaction,
    Verdict, World,
};
use holdpoint_simulation::SimulatedDisk;

fn main() {
    for seed in std::env::args().skip(1) {
        println!("{seed}: {}", fuzz(&bytes_of(&seed)));
    }
}

/// Feeds an engine on a disk in memory, and checks what it leaves.
///
/// # Panics
/// Where something does not hold that has to hold for every input.
pub fn fuzz(bytes: &[u8]) -> String {
    let disk = SimulatedDisk::new(1);
    let engine = open(&disk);
    let (mut recorded, mut refused) = (0_u64, 0_u64);
    for step in bytes.chunks_exact(3) {
        match submit(&engine, step) {
            Submitted::Accepted(receipt) => recorded += receipt.events.len() as u64,
            Submitted::Repeated(_) => {}
            Submitted::Refused(_) => refused += 1,
        }
    }
    let state = |world: &World| (world.fingerprint(), world.totals().last_sequence);
    let live = engine.query(state).expect("the disk works");
    engine.close().expect("the disk works");

    let options = ReadOptions::new(disk.boot(), &|| Ok(false));
    let report = verify(&disk, options, &mut |_| {}).expect("the disk works");
    assert_eq!((report.verdict, report.findings), (Verdict::Intact, Vec::new()));
    let again = open(&disk);
    assert_eq!(again.query(state).expect("the disk works"), live, "the state is what is recorded");
    format!("{recorded} events recorded, {refused} commands refused, {}", report.verdict)
}

fn open(disk: &SimulatedDisk) -> Engine<SimulatedDisk> {
    Engine::open_with(disk.clone(), EngineOptions::default()).expect("the disk works")
}

/// Three bytes are one command: what, of which stream, and under which condition.
fn submit(engine: &Engine<SimulatedDisk>, step: &[u8]) -> Submitted {
    let &[what, stream, condition] = step else { unreachable!("three bytes") };
    let origin = Origin::automation("fuzz").within("one story");
    let event = || RecordEvent::new(format!("stream-{}", stream % 4), "changed", vec![what]);
    let conditions = match condition % 4 {
        0 => Conditions::once(format!("key-{}", condition / 4)),
        1 => Conditions::default().expecting(u64::from(condition / 4)),
        _ => Conditions::default(),
    };
    let submitted = match what % 4 {
        0 => engine.commit(&origin, (), &Transaction::new().record(event()).record(event())),
        1 => engine.submit(&origin, (), &stop(engine, stream)),
        _ => engine.record(&origin, &conditions, event()),
    };
    submitted.expect("the disk works")
}

/// A command about a loop that nobody began.
fn stop(engine: &Engine<SimulatedDisk>, loop_number: u8) -> Command {
    Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(StopLoop {
        loop_id: format!("LOOP-{loop_number:032x}"),
        entropy: engine.entropy().expect("the system has some"),
        condition: holdpoint::domain::evidence_capture::StopCondition::HumanAbort,
        facts: Default::default(),
        details: String::new(),
    }))
}

/// 96 bytes that a seed stands for.
fn bytes_of(seed: &str) -> Vec<u8> {
    let start = seed.bytes().fold(1_u64, |sum, byte| sum.wrapping_mul(31) ^ u64::from(byte));
    let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    let states = std::iter::successors(Some(start), next).skip(1).take(96);
    states.map(|state| (state >> 56) as u8).collect()
}
