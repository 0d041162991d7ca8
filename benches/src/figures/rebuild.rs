//! Rebuilding the state and verifying by the rules, against what is done without them.

use super::filled::Filled;
use crate::error::{Doing, MeasureError};
use crate::figure::{Contender, Figure, Kind, Role, Scope};
use crate::floor;
use crate::one_core::on_one_core;
use crate::ours::typed::fill_with_runs;
use crate::pace::Stopwatch;
use crate::plan::Plan;
use crate::rounds::{Sample, Work};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::evidence_capture::EvidenceMessages;
use holdpoint_domain::world::envelope::decode;
use holdpoint_domain::{Envelope, World};
use holdpoint_engine::Engine;
use holdpoint_log_files::{DirectoryStorage, Extent, SurveyOptions, survey};
use holdpoint_log_format::{BootId, RecordHeader};
use holdpoint_replay::{ReadOptions, Report, Until, Verdict, rebuild, verify};
use holdpoint_sha256_lanes::digest_each;
use std::cell::RefCell;
use std::hint::black_box;
use std::path::Path;
use std::rc::Rc;

/// Decoding every event of the log, and nothing else.
pub const DECODING: &str = "decoding alone";
/// Decoding and applying every event, from memory: what opening does behind its snapshot.
pub const EVOLVING: &str = "Holdpoint, from memory";
/// The same, and every event judged by the rules.
pub const JUDGING: &str = "Holdpoint, from memory, judged";
/// Verification with all cores.
pub const ALL_CORES: &str = "Holdpoint, all cores";

/// The engine evolves its state by so many events at once.
const EVOLVED_TOGETHER: usize = 64;

/// One payload, and its record's header.
pub(crate) struct Encoded {
    pub(crate) header: RecordHeader,
    pub(crate) payload: Vec<u8>,
}

/// The log that everyone who takes part in a figure reads.
type Runs = Rc<RefCell<Filled>>;

pub(super) fn figure(kind: Kind, plan: &Plan) -> Figure {
    let commands = plan.commands_rebuilt();
    let filled = Filled::by(plan, move |at| fill_with_runs(at, commands));
    let runs = Rc::new(RefCell::new(filled));
    let contenders = match kind {
        Kind::TimeTravel => vec![ours("Holdpoint", REPLAYED, replay(&runs, true))],
        Kind::VerifyRules => verifying(&runs),
        _ => rebuilding(&runs),
    };
    Figure { kind, scope: Scope::Records(commands), contenders }
}

const REPLAYED: &str = "replay: every byte read and verified on the way";

fn ours(name: &str, remark: &str, work: Work) -> Contender {
    Contender { name: name.into(), role: Role::Ours, remark: remark.into(), work }
}

fn floor(name: &str, work: Work) -> Contender {
    Contender { name: name.into(), role: Role::Floor, remark: String::new(), work }
}

fn rebuilding(runs: &Runs) -> Vec<Contender> {
    vec![
        ours("Holdpoint", REPLAYED, replay(runs, false)),
        ours(EVOLVING, "decoded and applied", in_memory(runs, evolve_all)),
        ours(JUDGING, "decoded, judged and applied", in_memory(runs, judge_all)),
        ours("Holdpoint engine", "opened for writing", opening(runs)),
        floor(DECODING, in_memory(runs, decode_all)),
    ]
}

/// One core first: the floor has one too.
fn verifying(runs: &Runs) -> Vec<Contender> {
    vec![
        ours("Holdpoint, one core", "every byte, and every event", verify_all(runs, true)),
        ours(ALL_CORES, "the same", verify_all(runs, false)),
        floor(floor::RULES_ONE_BY_ONE, in_memory(runs, floor::rules_one_by_one)),
    ]
}

fn replay(runs: &Runs, to_half: bool) -> Work {
    let (runs, mut half) = (Rc::clone(runs), None);
    Box::new(move || {
        let mut runs = runs.borrow_mut();
        let at = runs.ready()?;
        let half = match half {
            Some(half) => half,
            None => *half.insert(events(at)?.len() as u64 / 2),
        };
        let until = if to_half { Until::Sequence(half) } else { Until::End };
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let storage = DirectoryStorage::new(at);
        let watch = Stopwatch::start();
        let rebuilt = rebuild(&storage, until, options, &mut |_| {}, &mut |_| {});
        let report = rebuilt.doing("rebuild the state")?.report;
        intact(&report, watch.per(report.records))
    })
}

fn verify_all(runs: &Runs, on_one: bool) -> Work {
    let runs = Rc::clone(runs);
    Box::new(move || {
        let mut runs = runs.borrow_mut();
        let storage = DirectoryStorage::new(runs.ready()?);
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let verified = || {
            let watch = Stopwatch::start();
            let report = verify(&storage, options, &mut |_| {}).doing("verify the log")?;
            intact(&report, watch.per(report.records))
        };
        if on_one { on_one_core(verified) } else { verified() }
    })
}

fn intact(report: &Report, sample: Sample) -> Result<Sample, MeasureError> {
    match report.verdict {
        Verdict::Intact => Ok(sample),
        other => Err(format!("{other:?}")).doing("read the log"),
    }
}

fn opening(runs: &Runs) -> Work {
    let runs = Rc::clone(runs);
    Box::new(move || {
        let mut runs = runs.borrow_mut();
        let at = runs.ready()?;
        let watch = Stopwatch::start();
        let engine = Engine::open(at).doing("open the engine")?;
        let sample = watch.per(engine.report().position.sequence);
        engine.close().doing("close the engine")?;
        Ok(sample)
    })
}

fn in_memory(runs: &Runs, all: fn(&[Encoded]) -> Result<(), MeasureError>) -> Work {
    let (runs, mut kept) = (Rc::clone(runs), Vec::new());
    Box::new(move || {
        if kept.is_empty() {
            kept = events(runs.borrow_mut().ready()?)?;
        }
        let watch = Stopwatch::start();
        all(&kept)?;
        Ok(watch.per(kept.len() as u64))
    })
}

fn decode_all(events: &[Encoded]) -> Result<(), MeasureError> {
    events.iter().try_for_each(|event| decoded(event).map(|envelope| drop(black_box(envelope))))
}

/// As the engine does it: what some events captured is hashed together.
fn evolve_all(events: &[Encoded]) -> Result<(), MeasureError> {
    let mut world = World::default();
    let mut envelopes = Vec::with_capacity(EVOLVED_TOGETHER);
    for together in events.chunks(EVOLVED_TOGETHER) {
        envelopes.clear();
        for event in together {
            envelopes.push(decoded(event)?);
        }
        let captured = |envelope: &'_ Envelope| envelope.event.captured().is_some();
        let mut messages = EvidenceMessages::default();
        let bodies = envelopes.iter().filter_map(|envelope| envelope.event.captured());
        bodies.for_each(|body| messages.add(body));
        let mut hashes = messages.hashes(digest_each);
        for (event, envelope) in together.iter().zip(&envelopes) {
            let hashes = captured(envelope).then(|| hashes.next()).flatten();
            let at = Timestamp::from_nanoseconds(event.header.time);
            world.evolve_hashed(event.header.sequence, at, envelope, hashes);
        }
    }
    drop(black_box(world));
    Ok(())
}

fn judge_all(events: &[Encoded]) -> Result<(), MeasureError> {
    let mut world = World::default();
    for event in events {
        let at = Timestamp::from_nanoseconds(event.header.time);
        let forbidden = world.judge_and_evolve(event.header.sequence, at, &decoded(event)?);
        if !forbidden.is_empty() {
            return Err(format!("{forbidden:?}")).doing("apply an event");
        }
    }
    drop(black_box(world));
    Ok(())
}

fn decoded(event: &Encoded) -> Result<Envelope, MeasureError> {
    let header = &event.header;
    decode(header.kind, header.version, &event.payload).doing("decode an event")
}

fn events(at: &Path) -> Result<Vec<Encoded>, MeasureError> {
    let extent = Extent::FromAnchor;
    let options = SurveyOptions::new(extent, BootId::UNKNOWN);
    let mut events = Vec::new();
    survey(&DirectoryStorage::new(at), options, &mut |_, record| {
        events.push(Encoded { header: record.header.clone(), payload: record.payload.to_vec() });
    })
    .doing("read the events")?;
    Ok(events)
}
