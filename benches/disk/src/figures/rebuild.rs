//! Rebuilding the state, against decoding the same events alone.

use super::filled::Filled;
use crate::error::{Doing, MeasureError};
use crate::figure::{Contender, Figure, Kind, Role, Scope};
use crate::ours::typed::fill_with_runs;
use crate::pace::Stopwatch;
use crate::plan::Plan;
use crate::rounds::Work;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::world::envelope::decode;
use holdpoint_domain::{Envelope, World};
use holdpoint_engine::Engine;
use holdpoint_log_files::{DirectoryStorage, Extent, SurveyOptions, survey};
use holdpoint_log_format::BootId;
use holdpoint_replay::{ReadOptions, Until, Verdict, rebuild};
use std::hint::black_box;
use std::path::Path;

/// Decoding every event of the log, and nothing else.
pub const DECODING: &str = "decoding alone";
/// Decoding and applying every event, from memory.
pub const REDUCING: &str = "Holdpoint, from memory";

/// One payload, as its record's header names it.
struct Encoded {
    kind: u16,
    version: u8,
    sequence: u64,
    time: Timestamp,
    payload: Vec<u8>,
}

pub(super) fn figure(kind: Kind, plan: &Plan) -> Figure {
    let ours = |name: &str, remark: &str, work| Contender {
        name: name.into(),
        role: Role::Ours,
        remark: remark.into(),
        work,
    };
    let replayed = "replay: every byte read and verified on the way";
    let contenders = match kind {
        Kind::TimeTravel => vec![ours("Holdpoint", replayed, replay(plan, true))],
        _ => vec![
            ours("Holdpoint", replayed, replay(plan, false)),
            ours(REDUCING, "decoded and applied", in_memory(plan, reduce)),
            ours("Holdpoint engine", "opened for writing", opening(plan)),
            Contender {
                name: DECODING.to_string(),
                role: Role::Floor,
                remark: String::new(),
                work: in_memory(plan, decode_all),
            },
        ],
    };
    Figure { kind, scope: Scope::Records(plan.commands_rebuilt()), contenders }
}

fn runs(plan: &Plan) -> Filled {
    let commands = plan.commands_rebuilt();
    Filled::by(plan, move |at| fill_with_runs(at, commands))
}

fn replay(plan: &Plan, to_half: bool) -> Work {
    let mut filled = runs(plan);
    Box::new(move || {
        let at = filled.ready()?;
        let records = events(at)?.len() as u64;
        let until = if to_half { Until::Sequence(records / 2) } else { Until::End };
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let storage = DirectoryStorage::new(at);
        let watch = Stopwatch::start();
        let rebuilt = rebuild(&storage, until, options, &mut |_| {}, &mut |_| {});
        let sample = watch.per(records);
        let rebuilt = rebuilt.doing("rebuild the state")?;
        if rebuilt.report.verdict == Verdict::Intact {
            return Ok(sample);
        }
        Err(format!("{:?}", rebuilt.report.verdict)).doing("rebuild the state")
    })
}

fn opening(plan: &Plan) -> Work {
    let mut filled = runs(plan);
    Box::new(move || {
        let at = filled.ready()?;
        let records = events(at)?.len() as u64;
        let watch = Stopwatch::start();
        let engine = Engine::open(at).doing("open the engine")?;
        let sample = watch.per(records);
        engine.close().doing("close the engine")?;
        Ok(sample)
    })
}

fn in_memory(plan: &Plan, all: fn(&[Encoded]) -> Result<(), MeasureError>) -> Work {
    let (mut filled, mut kept) = (runs(plan), Vec::new());
    Box::new(move || {
        if kept.is_empty() {
            kept = events(filled.ready()?)?;
        }
        let watch = Stopwatch::start();
        all(&kept)?;
        Ok(watch.per(kept.len() as u64))
    })
}

fn decode_all(events: &[Encoded]) -> Result<(), MeasureError> {
    events.iter().try_for_each(|event| decoded(event).map(|envelope| drop(black_box(envelope))))
}

fn reduce(events: &[Encoded]) -> Result<(), MeasureError> {
    let mut world = World::default();
    for event in events {
        let forbidden = world.judge_and_evolve(event.sequence, event.time, &decoded(event)?);
        if !forbidden.is_empty() {
            return Err(format!("{forbidden:?}")).doing("apply an event");
        }
    }
    drop(black_box(world));
    Ok(())
}

fn decoded(event: &Encoded) -> Result<Envelope, MeasureError> {
    decode(event.kind, event.version, &event.payload).doing("decode an event")
}

fn events(at: &Path) -> Result<Vec<Encoded>, MeasureError> {
    let extent = Extent::FromAnchor;
    let options = SurveyOptions::new(extent, BootId::UNKNOWN);
    let mut events = Vec::new();
    survey(&DirectoryStorage::new(at), options, &mut |_, record| {
        events.push(Encoded {
            kind: record.header.kind,
            version: record.header.version,
            sequence: record.header.sequence,
            time: Timestamp::from_nanoseconds(record.header.time),
            payload: record.payload.to_vec(),
        });
    })
    .doing("read the events")?;
    Ok(events)
}
