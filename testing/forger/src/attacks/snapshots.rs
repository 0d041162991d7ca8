use super::places::{AttackResult, a_file, active_segment, mixed, put};
use super::{Attack, Forged, row};
use crate::layout;
use crate::log::{File, Log};
use crate::payload;
use crate::snapshot::{self, Snapshot};

pub(super) const ATTACKS: &[Attack] = &[
    row("snapshot-of-other-state", "A snapshot's state was forged.", |log, v| {
        lie(log, v, other_state)
    }),
    row("snapshot-of-other-link", "A snapshot names another link.", |log, v| {
        lie(log, v, other_link)
    }),
    row("snapshot-of-other-sequence", "A snapshot's header names the record before.", |log, v| {
        lie(log, v, other_sequence)
    }),
    row("snapshot-of-other-log", "A snapshot names another log.", |log, v| lie(log, v, other_log)),
    row("snapshot-renamed", "A snapshot was given a higher number than its own.", renamed),
    row(
        "snapshot-at-newest",
        "A forged state stands behind the newest record, and nothing in the chain states it.",
        at_newest,
    ),
    row(
        "snapshot-with-statement",
        "A forged state stands behind the newest record, and the chain states it; HEAD follows.",
        with_statement,
    ),
    row(
        "snapshot-with-statement-without-head",
        "A forged state stands behind the newest record, and the chain states it; HEAD stayed.",
        with_statement_only,
    ),
    row(
        "snapshot-of-nothing-with-statement",
        "The state of a log in which nothing happened stands behind the newest record, and the \
         chain states it; HEAD follows.",
        nothing_with_statement,
    ),
    row(
        "snapshot-of-nothing-with-statement-without-head",
        "The state of a log in which nothing happened stands behind the newest record, and the \
         chain states it; HEAD stayed.",
        nothing_with_statement_only,
    ),
    row(
        "snapshot-of-nothing-with-statement-before-records",
        "The state of a log in which nothing happened stands behind the newest record, the chain \
         states it, and records follow; HEAD follows.",
        nothing_with_statement_and_more,
    ),
    row(
        "snapshot-of-nothing-with-statement-before-records-without-head",
        "The state of a log in which nothing happened stands behind the newest record, the chain \
         states it, and records follow; HEAD stayed.",
        nothing_with_statement_and_more_only,
    ),
    row(
        "fingerprint-statement-false",
        "The chain states the fingerprint of a state that never was; HEAD follows.",
        statement_false,
    ),
];

/// How many records follow what states a snapshot.
const FOLLOWING: usize = 3;

fn a_snapshot(log: &Log, variant: u64) -> AttackResult<(String, Snapshot)> {
    let path = a_file(log, variant, ".snapshot")?;
    match log.files.get(&path) {
        Some(File::Snapshot(snapshot)) => Ok((path, snapshot.clone())),
        _ => Err("the file is too short for a snapshot"),
    }
}

fn lie(log: &mut Log, variant: u64, change: fn(&mut Snapshot, u64)) -> Forged {
    let (path, mut snapshot) = a_snapshot(log, variant)?;
    change(&mut snapshot, variant);
    put(log, &path, File::Snapshot(snapshot));
    Ok(())
}

fn other_state(snapshot: &mut Snapshot, _: u64) {
    forge(&mut snapshot.state);
}

/// Other bytes of the same length, which still may read as a state.
fn forge(state: &mut [u8]) {
    if let Some(last) = state.last_mut() {
        *last ^= 1;
    }
}

fn other_link(snapshot: &mut Snapshot, variant: u64) {
    snapshot.header.flip(layout::snapshot::LINK, mixed(variant));
}

fn other_sequence(snapshot: &mut Snapshot, _: u64) {
    let before = snapshot.header.number(layout::snapshot::SEQUENCE).wrapping_sub(1);
    snapshot.header.set_number(layout::snapshot::SEQUENCE, before);
}

fn other_log(snapshot: &mut Snapshot, variant: u64) {
    snapshot.header.flip(layout::snapshot::LOG, mixed(variant));
}

fn renamed(log: &mut Log, variant: u64) -> Forged {
    let (path, snapshot) = a_snapshot(log, variant)?;
    let sequence = snapshot.header.number(layout::snapshot::SEQUENCE);
    log.files.remove(&path);
    put(log, &snapshot::path(sequence.wrapping_add(1)), File::Snapshot(snapshot));
    Ok(())
}

/// A forged state and the version of its encoding: that of a snapshot, or one that the chain names.
pub(super) fn forged_state(log: &Log, variant: u64) -> AttackResult<(u64, Vec<u8>)> {
    if let Ok((_, snapshot)) = a_snapshot(log, variant) {
        let mut state = snapshot.state.clone();
        forge(&mut state);
        return Ok((snapshot.header.number(layout::snapshot::STATE_SCHEMA), state));
    }
    let records = log.records().into_iter().map(|at| log.record(at));
    let mut stated = records.filter_map(|one| payload::stated_schema(one.kind(), &one.payload));
    let schema = stated.next().ok_or("nothing says which version a state has")?;
    Ok((schema, b"no state that ever was".to_vec()))
}

fn at_newest(log: &mut Log, variant: u64) -> Forged {
    let (schema, state) = forged_state(log, variant)?;
    snapshot_at_newest(log, schema, state).map(drop)
}

fn snapshot_at_newest(log: &mut Log, schema: u64, state: Vec<u8>) -> AttackResult<Snapshot> {
    let at = log.newest_end().ok_or("there is no record")?;
    let snapshot = Snapshot::behind(log, at, schema, state);
    let path = snapshot::path(log.record(at).sequence());
    put(log, &path, File::Snapshot(snapshot.clone()));
    Ok(snapshot)
}

fn with_statement_only(log: &mut Log, variant: u64) -> Forged {
    let (schema, state) = forged_state(log, variant)?;
    stated(log, schema, state)
}

fn stated(log: &mut Log, schema: u64, state: Vec<u8>) -> Forged {
    active_segment(log)?;
    let snapshot = snapshot_at_newest(log, schema, state)?;
    log.append(&[payload::fingerprint_recorded(schema, &snapshot.fingerprint())]);
    Ok(())
}

fn with_statement(log: &mut Log, variant: u64) -> Forged {
    with_statement_only(log, variant)?;
    log.head_follows();
    Ok(())
}

fn nothing_with_statement_only(log: &mut Log, variant: u64) -> Forged {
    let (schema, _) = forged_state(log, variant)?;
    // A list without items: no part of the state holds anything.
    stated(log, schema, vec![0])
}

fn nothing_with_statement(log: &mut Log, variant: u64) -> Forged {
    nothing_with_statement_only(log, variant)?;
    log.head_follows();
    Ok(())
}

fn nothing_with_statement_and_more_only(log: &mut Log, variant: u64) -> Forged {
    nothing_with_statement_only(log, variant)?;
    let follows = || payload::command_refused("what follows is genuine");
    (0..FOLLOWING).for_each(|_| log.append(&[follows()]));
    Ok(())
}

fn nothing_with_statement_and_more(log: &mut Log, variant: u64) -> Forged {
    nothing_with_statement_and_more_only(log, variant)?;
    log.head_follows();
    Ok(())
}

fn statement_false(log: &mut Log, variant: u64) -> Forged {
    active_segment(log)?;
    let (schema, state) = forged_state(log, variant)?;
    log.append(&[payload::fingerprint_recorded(schema, &snapshot::fingerprint(schema, &state))]);
    log.head_follows();
    Ok(())
}
