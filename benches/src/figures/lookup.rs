//! Everything that one entity went through, found in a log of many.

use super::filled::Filled;
use crate::error::{Doing, MeasureError};
use crate::figure::{Contender, Figure, Kind, Role, Scope};
use crate::ours::typed::fill_with_runs;
use crate::pace::Stopwatch;
use crate::plan::Plan;
use crate::rounds::{Sample, Work};
use holdpoint_domain::Envelope;
use holdpoint_domain::world::envelope::decode;
use holdpoint_domain::world::{Term, terms_of};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Log, Options};
use holdpoint_log_files::DirectoryStorage;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

/// Among which one is looked for.
const LOOPS: usize = 16;
/// A loop that ran has more records than this.
const RECORDS_LEAST: usize = 5;

pub(super) fn figure(plan: &Plan) -> Figure {
    let contenders = vec![
        Contender {
            name: "Holdpoint engine".into(),
            role: Role::Ours,
            remark: "a loop, through the indexes of sealed segments".into(),
            work: asking(plan, through_indexes),
        },
        Contender {
            name: "Holdpoint, without indexes".into(),
            role: Role::Ours,
            remark: "every record of the log decoded and asked".into(),
            work: asking(plan, scanning),
        },
    ];
    Figure { kind: Kind::Lookup, scope: Scope::Records(plan.commands_rebuilt()), contenders }
}

/// Finds the records of a loop, seconds for all, and how many there are.
type Ask = fn(&Path, &str) -> Result<(Sample, usize), MeasureError>;

/// Each round asks for another one of the oldest loops.
fn asking(plan: &Plan, ask: Ask) -> Work {
    let commands = plan.commands_rebuilt();
    let mut filled = Filled::by(plan, move |at| fill_with_runs(at, commands));
    let mut round = 0;
    Box::new(move || {
        let at = filled.ready()?;
        let loops = oldest_loops(at)?;
        round += 1;
        let wanted = loops.iter().nth(round % loops.len().max(1)).ok_or("there is none");
        let (sample, found) = ask(at, wanted.doing("find a loop")?)?;
        if found < RECORDS_LEAST {
            return Err(format!("{found} records")).doing("find a loop");
        }
        Ok(sample)
    })
}

fn through_indexes(at: &Path, wanted: &str) -> Result<(Sample, usize), MeasureError> {
    let engine = Engine::open(at).doing("open the engine")?;
    let watch = Stopwatch::start();
    let found = engine.records_with(&Term::Loop(wanted)).doing("look a loop up")?;
    let sample = watch.per(1);
    engine.close().doing("close the engine")?;
    Ok((sample, found.len()))
}

fn scanning(at: &Path, wanted: &str) -> Result<(Sample, usize), MeasureError> {
    let watch = Stopwatch::start();
    let mut found = 0;
    each_event(at, &mut |envelope| {
        let mut is_of_it = false;
        terms_of(envelope, &mut |term| is_of_it |= term == Term::Loop(wanted));
        found += usize::from(is_of_it);
        ControlFlow::Continue(())
    })?;
    Ok((watch.per(1), found))
}

fn oldest_loops(at: &Path) -> Result<BTreeSet<String>, MeasureError> {
    let mut loops = BTreeSet::new();
    each_event(at, &mut |envelope| {
        terms_of(envelope, &mut |term| {
            if let Term::Loop(id) = term {
                loops.insert(id.to_string());
            }
        });
        if loops.len() > LOOPS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(loops)
}

fn each_event(
    at: &Path,
    visit: &mut dyn FnMut(&Envelope) -> ControlFlow<()>,
) -> Result<(), MeasureError> {
    let options = Options::default().create(false);
    let (log, _) = Log::open(DirectoryStorage::new(at), options).doing("open the log")?;
    let mut undecoded = None;
    log.read_from(1, &mut |_, record| {
        let header = &record.header;
        match decode(header.kind, header.version, record.payload) {
            Ok(envelope) => visit(&envelope),
            Err(error) => {
                undecoded = Some(error);
                ControlFlow::Break(())
            }
        }
    })
    .doing("read the log")?;
    undecoded.map_or(Ok(()), Err).doing("decode an event")
}
