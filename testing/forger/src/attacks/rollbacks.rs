use super::places::{AttackResult, put, some_of};
use super::{Attack, Forged, row};
use crate::layout::MORE_FOLLOWS;
use crate::log::{File, Log};

pub(super) const ATTACKS: &[Attack] = &[
    row(
        "roll-back-everything",
        "An older copy of the whole directory was put in its place.",
        everything,
    ),
    row("roll-back-segments", "The segments are older; HEAD and LOCK stayed.", segments),
    row("roll-back-head", "HEAD is older; all else stayed.", |log, v| file(log, v, "HEAD")),
    row("roll-back-lock", "LOCK is older; all else stayed.", |log, v| file(log, v, "LOCK")),
    row("roll-back-leaving-lock", "All but LOCK is older.", leaving_lock),
    row("roll-back-leaving-snapshots", "All but the snapshots is older.", leaving_snapshots),
    row(
        "roll-back-leaving-lock-and-snapshots",
        "Segments and HEAD are older; LOCK and snapshots know better.",
        leaving_both,
    ),
    row("roll-back-leaving-indexes", "All but the indexes is older.", leaving_indexes),
    row("roll-back-to-empty", "The log is as its creation left it.", to_empty),
    row("roll-back-by-one-batch", "The last batch is gone and HEAD follows.", by_one_batch),
    row(
        "roll-back-and-go-on",
        "An older copy was put in place, and other records were written to it.",
        and_go_on,
    ),
];

/// The log as it was behind the first batch, the middle one, or the one before the last.
fn older(log: &Log, variant: u64) -> AttackResult<Log> {
    let ends = ends(log);
    let before_last = &ends[..ends.len().saturating_sub(1)];
    let sequence = some_of(before_last, variant).ok_or("there was one batch at most")?;
    log.as_it_was(sequence).ok_or("no older log can be made")
}

fn ends(log: &Log) -> Vec<u64> {
    let places = log.records().into_iter();
    let ends = places.map(|at| log.record(at)).filter(|record| !record.has(MORE_FOLLOWS));
    ends.map(crate::Record::sequence).collect()
}

fn everything(log: &mut Log, variant: u64) -> Forged {
    *log = older(log, variant)?;
    Ok(())
}

fn segments(log: &mut Log, variant: u64) -> Forged {
    let newer = log.clone();
    everything(log, variant)?;
    keep(log, &newer, |path| path == "HEAD" || path == "LOCK")
}

fn file(log: &mut Log, variant: u64, path: &str) -> Forged {
    let old = older(log, variant)?;
    let file: &File = old.files.get(path).ok_or("there is no such file")?;
    put(log, path, file.clone());
    Ok(())
}

fn leaving_lock(log: &mut Log, variant: u64) -> Forged {
    let newer = log.clone();
    everything(log, variant)?;
    keep(log, &newer, |path| path == "LOCK")
}

fn leaving_snapshots(log: &mut Log, variant: u64) -> Forged {
    let newer = log.clone();
    everything(log, variant)?;
    keep(log, &newer, |path| path.starts_with("snapshots/"))
}

fn leaving_both(log: &mut Log, variant: u64) -> Forged {
    let newer = log.clone();
    leaving_snapshots(log, variant)?;
    keep(log, &newer, |path| path == "LOCK")
}

fn leaving_indexes(log: &mut Log, variant: u64) -> Forged {
    let newer = log.clone();
    everything(log, variant)?;
    keep(log, &newer, |path| path.ends_with(".idx"))
}

/// Puts files back as they were, where one of them had become another.
fn keep(log: &mut Log, newer: &Log, is_kept: impl Fn(&str) -> bool) -> Forged {
    let kept: Vec<_> = newer.files.iter().filter(|(path, _)| is_kept(path)).collect();
    let is_witness = kept.iter().any(|(path, file)| log.files.get(*path) != Some(*file));
    for (path, file) in kept {
        log.files.insert(path.clone(), file.clone());
    }
    is_witness.then_some(()).ok_or("nothing of what is left would be newer")
}

fn to_empty(log: &mut Log, _: u64) -> Forged {
    let first = log.segments().first().ok_or("there is no segment")?.log();
    let boot = log.head().ok_or("there is no HEAD")?.array(crate::layout::head::BOOT);
    *log = Log::new(first, boot);
    Ok(())
}

fn by_one_batch(log: &mut Log, _: u64) -> Forged {
    let last = 2;
    everything(log, last)
}

fn and_go_on(log: &mut Log, variant: u64) -> Forged {
    let newer = log.clone();
    everything(log, variant)?;
    let here = log.records().len();
    let places = newer.records().split_off(here);
    let batches = places.into_iter().map(|at| newer.record(at)).take(3);
    for record in batches {
        let payload = crate::derived::altered(&record.payload).ok_or("nothing can be altered")?;
        let version = record.header.bytes(crate::layout::record::VERSION)[0];
        log.append(&[crate::Fact { kind: record.kind(), version, payload }]);
    }
    log.head_follows();
    log.lock_follows();
    Ok(())
}
