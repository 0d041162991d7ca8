//! The oracle: what must be true of a log when its machine came back, whatever survived.

use crate::life::quiet;
use crate::model::{KIND, Model, ModelRecord};
use crate::random::Random;
use crate::survivors::one_of;
use holdpoint_engine::log::{Level, Log, NewRecord, OpenError, OpenReport, Storage};
use holdpoint_log_files::{Extent, ReadFile, ReadStorage, Survey, SurveyOptions, survey};
use holdpoint_log_format::recovery::{OpenAction, Row, Verdict};
use holdpoint_log_format::{Head, Item, SegmentHeader, names};
use holdpoint_simulation::SimulatedDisk;
use std::ops::ControlFlow;

/// What came back, and what was promised before.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    /// What was acknowledged.
    pub(crate) promised: &'a Model,
    /// What may be there, by sequence from 1.
    pub(crate) may: &'a [ModelRecord],
    /// The newest sequence that must be there.
    pub(crate) must: u64,
    /// No call did other than it said: no damage is an excuse.
    pub(crate) is_honest: bool,
}

type Opened = (Log<SimulatedDisk>, OpenReport);

/// Checks an image. `crashes` is how many more crashes its recovery has to survive.
pub(crate) fn judge(
    image: &SimulatedDisk,
    case: &Case<'_>,
    random: &mut Random,
    crashes: u32,
) -> Result<(), String> {
    let seen = surveyed(image, Extent::FromAnchor)?;
    if case.is_honest && is_refusal(seen.row) {
        return Err(format!("the verifier finds {:?}: {:?}", seen.row, seen.findings));
    }
    let bound = mark_of(image, case)?;
    if crashes > 0 {
        crash_recovery(image, case, random, crashes)?;
    }
    let image = image.kill();
    let (log, report) = match Log::open(image.clone(), quiet(false)) {
        Ok(opened) => opened,
        Err(error) => return judge_refusal(case, &seen, &error),
    };
    let newest = report.position.sequence;
    if newest < bound {
        return Err(format!("a mark names {bound}, and {newest} is served as the newest"));
    }
    check_reach(case, &report)?;
    if let Err(why) = check_served(case, &log, newest) {
        // Opening reads no history: what lies before HEAD is found when it is read or verified.
        let is_located = seen.row.verdict().has_failed() && !seen.findings.is_empty();
        return if !case.is_honest && is_located { Ok(()) } else { Err(why) };
    }
    if case.is_honest {
        check_served_is_durable(&image, newest)?;
    } else if seen.row.verdict().has_failed() {
        return Ok(());
    }
    check_goes_on(&image, (log, report), random)
}

/// A refusal changes nothing, names what it found, and has the verifier on its side.
fn judge_refusal(case: &Case<'_>, seen: &Survey, error: &OpenError) -> Result<(), String> {
    if case.is_honest {
        return Err(format!("opening was refused: {error}"));
    }
    let says_where = match error {
        OpenError::Refused { row, findings, .. } => *row == Row::NoWitness || !findings.is_empty(),
        _ => true,
    };
    let is_corrupt = seen.row.verdict().has_failed() || seen.row.verdict() == Verdict::NothingHere;
    if says_where && is_corrupt {
        Ok(())
    } else {
        Err(format!("refused without a place, or only by opening ({:?}): {error}", seen.row))
    }
}

fn is_refusal(row: Row) -> bool {
    matches!(row.action(), OpenAction::Refuse | OpenAction::RefuseUnlessWithoutHead)
}

fn surveyed(image: &SimulatedDisk, extent: Extent) -> Result<Survey, String> {
    let boot = image.boot();
    let options = SurveyOptions::new(extent, boot);
    survey(image, options, &mut |_, _| {}).map_err(|error| format!("no survey: {error}"))
}

/// The log ends with a batch, and nothing promised is missing or less proven than promised.
fn check_reach(case: &Case<'_>, report: &OpenReport) -> Result<(), String> {
    let newest = report.position.sequence;
    let mut model = Model::default();
    model.push(case.may);
    model.settle(newest, if case.is_honest { case.must } else { 0 })?;
    let proven = report.recovered.proven_sequence;
    let promised = if case.is_honest { case.promised.witnessed } else { 0 };
    if (promised..=newest).contains(&proven) {
        Ok(())
    } else {
        Err(format!("{proven} is proven of {newest}, and {promised} was to be"))
    }
}

/// What is served is what was appended, in order, whole batches.
fn check_served(case: &Case<'_>, log: &Log<SimulatedDisk>, newest: u64) -> Result<(), String> {
    let mut next = 1;
    let mut wrong = None;
    let read = log.read_from(1, &mut |_, record| {
        let known = &case.may[next as usize - 1];
        let is_known = record.header.sequence == next
            && record.header.kind == KIND
            && record.header.flags.more_follows() != known.ends_batch
            && record.payload == known.payload();
        next += 1;
        if !is_known {
            wrong = Some(record.header.sequence);
        }
        if is_known && next <= newest { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    read.map_err(|error| format!("what is served cannot be read: {error}"))?;
    match wrong {
        Some(sequence) => Err(format!("record {sequence} was never appended")),
        None if next != newest + 1 => Err(format!("{} of {newest} are served", next - 1)),
        None => Ok(()),
    }
}

/// Whatever opening served survives the loss of everything that is not synced by then.
fn check_served_is_durable(image: &SimulatedDisk, newest: u64) -> Result<(), String> {
    let seen = surveyed(&image.power_loss(&[]), Extent::FromHead)?;
    let reached = seen.last.as_ref().map_or(0, |last| last.run.chain.sequence);
    if is_refusal(seen.row) || reached != newest {
        let row = seen.row;
        return Err(format!("{newest} was served, a second power loss leaves {reached}: {row:?}"));
    }
    Ok(())
}

/// Appending works, closing leaves a log that verifies, and the next opening finds it clean.
fn check_goes_on(
    image: &SimulatedDisk,
    (log, report): Opened,
    random: &mut Random,
) -> Result<(), String> {
    let newest = report.position.sequence;
    let record = NewRecord { kind: 32_777, version: 1, payload: vec![1; 100] };
    let appended = log.append(&[record], 1, Level::Always).map_err(|error| error.to_string())?;
    if appended.first_sequence != newest + 1 {
        return Err(format!("{} follows {newest}", appended.first_sequence));
    }
    log.close().map_err(|error| format!("closing after recovery: {error}"))?;
    let seen = surveyed(image, Extent::FromAnchor)?;
    if seen.row != Row::Clean || !seen.findings.is_empty() {
        return Err(format!("after recovery the log is {:?}: {:?}", seen.row, seen.findings));
    }
    // What the survey says of LOCK and the row is what opening acts on: now and then it is opened.
    if !random.one_in(4) {
        return Ok(());
    }
    let (log, report) = Log::open(image.clone(), quiet(false))
        .map_err(|error| format!("a clean log was refused: {error}"))?;
    let did = &report.recovered;
    if report.position.sequence != newest + 1 || did.cut_bytes + did.rewritten_bytes > 0 {
        return Err(format!("a clean log was recovered again: {report:?}"));
    }
    drop(log);
    Ok(())
}

pub(crate) fn only_locked_segments_are_written(disk: &SimulatedDisk) -> Result<(), String> {
    match disk.written_unlocked().as_slice() {
        [] => Ok(()),
        segments => Err(format!("written while nobody had locked them: {segments:?}")),
    }
}

/// Recovery dies at one of its calls, by a kill or by power loss; what is found then is judged by
/// the same promises.
fn crash_recovery(
    image: &SimulatedDisk,
    case: &Case<'_>,
    random: &mut Random,
    crashes: u32,
) -> Result<(), String> {
    let recovering = image.kill();
    recovering.record_moments();
    let opened = Log::open(recovering.clone(), quiet(false));
    let moments = recovering.take_moments();
    recovering.turn_off();
    drop(opened);
    only_locked_segments_are_written(&recovering)?;
    if moments.is_empty() {
        return Ok(());
    }
    let moment = &moments[random.below(moments.len())];
    let during = |what: &str, why| format!("{what} at call {} of recovery: {why}", moment.calls);
    let killed = moment.disk.kill();
    judge(&killed, case, random, crashes - 1).map_err(|why| during("killed", why))?;
    let survivors = one_of(&moment.disk.pending(), random);
    let after = moment.disk.power_loss_tearing(&survivors.picks, &survivors.tears());
    let must = case.must.min(case.promised.durable);
    judge(&after, &Case { must, ..*case }, random, crashes - 1)
        .map_err(|why| during(&format!("power lost, {survivors:?},"), why))
}

/// The highest sequence that HEAD, a segment's header or a record names as durable, found without
/// the survey: every offset is looked at. Only where the disk lied: elsewhere nothing is damaged.
fn mark_of(image: &SimulatedDisk, case: &Case<'_>) -> Result<u64, String> {
    if case.is_honest {
        return Ok(0);
    }
    let head = bytes_of(image, names::HEAD)?.and_then(|bytes| Head::decode(&bytes).ok());
    let Some(head) = head else { return Ok(0) };
    let mut mark = head.newest_sequence;
    for entry in image.list(names::SEGMENTS).map_err(|error| error.to_string())? {
        let Some(first) = names::parse_segment(&entry.name) else { continue };
        let path = format!("{}/{}", names::SEGMENTS, entry.name);
        let bytes = bytes_of(image, &path)?.unwrap_or_default();
        let header = bytes.first_chunk().and_then(|block| SegmentHeader::decode(block).ok());
        let Some(header) = header.filter(|header| header.first_sequence() == first) else {
            continue;
        };
        mark = mark.max(header.previous.sequence).max(claim_in(&bytes, &header));
    }
    Ok(mark)
}

fn claim_in(bytes: &[u8], header: &SegmentHeader) -> u64 {
    let decode = |offset: &usize| Item::decode(&bytes[*offset..], *offset as u64, header.seed());
    let offsets = (4_096..bytes.len()).step_by(8).filter(|offset| bytes[*offset..][..8] != [0; 8]);
    let claims = offsets.filter_map(|offset| match decode(&offset) {
        // A record whose place is not where it lies is no evidence of what lies before it.
        Ok(Item::Record(record)) if is_reachable(record.header.sequence, offset, header) => {
            let unsynced = u64::from(record.header.unsynced);
            record.header.sequence.checked_sub(1 + unsynced)
        }
        _ => None,
    });
    claims.max().unwrap_or(0)
}

fn is_reachable(sequence: u64, offset: usize, header: &SegmentHeader) -> bool {
    sequence <= header.previous.sequence + 1 + (offset as u64 - 4_096) / 64
}

fn bytes_of(image: &SimulatedDisk, path: &str) -> Result<Option<Vec<u8>>, String> {
    let opened = image.open(path).map_err(|error| error.to_string())?;
    let read = opened.map(|file| {
        let mut bytes = vec![0; file.length()? as usize];
        let read = file.read_at(0, &mut bytes)?;
        bytes.truncate(read);
        Ok::<_, std::io::Error>(bytes)
    });
    read.transpose().map_err(|error| error.to_string())
}
