//! Measuring of each figure, whoever takes part.

mod append;
mod bytes;
mod filled;
mod lookup;
mod open;
mod read;
pub mod rebuild;

pub(crate) use filled::Filled;

use crate::error::MeasureError;
use crate::figure::{Contender, Figure, Kind, Outcome, PeerFacts, Role, Scope};
use crate::floor;
use crate::ours::{self, typed};
use crate::plan::Plan;
use crate::rounds::Work;
use crate::store::{Candidate, Mode};

/// Those who take part beside us.
#[derive(Clone, Copy, Default)]
pub struct Others<'a> {
    /// Logs and stores of bytes.
    pub stores: &'a [Candidate],
    /// Logs of typed events.
    pub typed: &'a [Candidate],
    /// Ours once more, as a writer that gives the lock back after each turn.
    pub shares_locks: bool,
}

/// Peers take no part in logs of more records.
pub const PEER_RECORDS_MAX: u64 = 100_000;

/// An engine is filled and opened with as many commands at most: the histories of a run on scale
/// have more.
const COMMANDS_MAX: u64 = 1_000_000;

/// The figures of a kind, at every size of the plan.
#[must_use]
pub fn figures(kind: Kind, plan: &Plan, others: Others<'_>) -> Vec<Figure> {
    match kind {
        Kind::OpenClean | Kind::OpenCrashed | Kind::Latency => {
            let counts = plan.records_opened();
            let figure = |records| of_records(kind, plan, others, records);
            counts.into_iter().map(figure).collect()
        }
        Kind::Rebuild | Kind::VerifyRules | Kind::TimeTravel => {
            vec![rebuild::figure(kind, plan)]
        }
        Kind::Lookup => vec![lookup::figure(plan)],
        _ => {
            let sizes = plan.payload_sizes(kind);
            sizes.iter().map(|payload| of_payload(kind, plan, others, *payload)).collect()
        }
    }
}

/// The figures of a kind, measured: everyone takes turns, and where a kind is measured over several
/// lengths of a log, all lengths do in each round. `prepare` sees each figure before, `tell` each
/// round.
pub fn measure_all(
    kind: Kind,
    plan: &Plan,
    others: Others<'_>,
    prepare: &mut dyn FnMut(&mut Figure),
    tell: &mut dyn FnMut(&str, usize),
) -> Vec<Outcome> {
    let mut all = figures(kind, plan, others);
    all.iter_mut().for_each(prepare);
    let rounds = plan.rounds();
    let takes_turns = all.iter().all(|figure| matches!(figure.scope, Scope::Records(_)));
    if takes_turns {
        return Figure::measure_together(all, rounds, &mut |round| tell("all lengths", round));
    }
    let measure = |figure: Figure| {
        let scope = figure.scope.to_string();
        figure.measure(rounds, &mut |round| tell(&scope, round))
    };
    all.into_iter().map(measure).collect()
}

fn of_payload(kind: Kind, plan: &Plan, others: Others<'_>, payload: usize) -> Figure {
    let is_typed = matches!(kind, Kind::TypedOs | Kind::TypedDurable);
    let (ours, shared, peers) = match is_typed {
        true => (&typed::ENGINE, &ours::SHARED_ENGINE, others.typed),
        false => (&ours::LOG, &ours::SHARED_LOG, others.stores),
    };
    let one = |candidate: &Candidate, role| {
        contender(candidate, role, work(kind, plan, candidate, payload))
    };
    let mut contenders = vec![one(ours, Role::Ours)];
    if kind == Kind::VerifyTwo {
        let alone = work(Kind::VerifyOne, plan, ours, payload);
        contenders.push(named(ONE_THREAD, contender(ours, Role::Ours, alone)));
    }
    if is_typed {
        let append = one(&ours::LOG, Role::Ours);
        contenders.push(named(APPEND_ALONE, append));
    }
    if others.shares_locks && kind.takes_turns_at_the_lock() {
        contenders.push(one(shared, Role::Ours));
    }
    contenders.extend(floors(kind, plan, payload));
    contenders.extend(peers.iter().map(|peer| one(peer, peer_role(kind, peer))));
    Figure { kind, scope: Scope::Payload(payload), contenders }
}

/// Ours on one thread, in the figure of two.
pub const ONE_THREAD: &str = "Holdpoint, one thread";
/// The append of the same payload without rules, in the figures of typed commands.
pub const APPEND_ALONE: &str = "Holdpoint, append alone";

fn named(name: &str, contender: Contender) -> Contender {
    Contender { name: name.to_string(), ..contender }
}

fn of_records(kind: Kind, plan: &Plan, others: Others<'_>, records: u64) -> Figure {
    let work = |candidate: &Candidate| match kind {
        Kind::Latency => append::latency(plan, *candidate, records),
        Kind::OpenCrashed => open::crashed(plan, *candidate, records),
        _ => open::clean(plan, *candidate, records),
    };
    let mut contenders = vec![contender(&ours::LOG, Role::Ours, work(&ours::LOG))];
    if kind != Kind::Latency {
        let mut with_state = contender(&typed::ENGINE, Role::Ours, work(&typed::ENGINE));
        with_state.remark = "the log, and the state that its events give".to_string();
        contenders.extend(Some(with_state).filter(|_| records <= COMMANDS_MAX));
        let peers = others.stores.iter().filter(|_| records <= PEER_RECORDS_MAX);
        contenders.extend(peers.map(|peer| contender(peer, peer_role(kind, peer), work(peer))));
    }
    Figure { kind, scope: Scope::Records(records), contenders }
}

fn peer_role(kind: Kind, peer: &Candidate) -> Role {
    let is_staged = matches!(kind, Kind::AppendStaged | Kind::AppendBatch);
    let not_counted = match kind {
        Kind::Scan if !peer.scan_checks => Some("checks no checksum when it scans".to_string()),
        _ if is_staged && peer.hashes_late => Some("returns before it has hashed".to_string()),
        _ => None,
    };
    Role::Peer(PeerFacts { is_chained: peer.is_chained, not_counted, syncs_each: None })
}

fn contender(candidate: &Candidate, role: Role, work: Work) -> Contender {
    let (name, remark) = (candidate.name.to_string(), candidate.remark.to_string());
    Contender { name, role, remark, work }
}

fn work(kind: Kind, plan: &Plan, candidate: &Candidate, payload: usize) -> Work {
    use append::{Hands, appending};
    let verifies = matches!(kind, Kind::VerifyOne | Kind::VerifyTwo);
    if verifies && !candidate.is_chained {
        // It is not filled for nothing.
        return Box::new(|| Err(MeasureError::NotOffered("has no chain to verify")));
    }
    match kind {
        Kind::AppendStaged => appending(plan, *candidate, Mode::Staged, payload, Hands::Linked),
        Kind::AppendBatch => appending(plan, *candidate, Mode::Staged, payload, Hands::Batch),
        Kind::AppendOs | Kind::TypedOs => {
            appending(plan, *candidate, Mode::Os, payload, Hands::One)
        }
        Kind::DurableOne | Kind::TypedDurable => {
            appending(plan, *candidate, Mode::Durable, payload, Hands::One)
        }
        Kind::DurableEight => appending(plan, *candidate, Mode::Durable, payload, Hands::Many(8)),
        Kind::DurableSixtyFour => {
            appending(plan, *candidate, Mode::Durable, payload, Hands::Many(64))
        }
        Kind::CommitOfMany => appending(plan, *candidate, Mode::Durable, payload, Hands::Batch),
        Kind::VerifyOne => read::reading(plan, *candidate, payload, candidate.verify, 1),
        Kind::VerifyTwo => read::reading(plan, *candidate, payload, candidate.verify, 2),
        Kind::DiskBytes => bytes::on_disk(plan, *candidate, payload),
        Kind::DeviceBytes => bytes::to_device(plan, *candidate, payload),
        _ => read::reading(plan, *candidate, payload, candidate.scan, 1),
    }
}

fn floors(kind: Kind, plan: &Plan, payload: usize) -> Vec<Contender> {
    let records = plan.records_read(payload);
    match kind {
        Kind::AppendStaged => vec![
            floor::chain(plan, payload),
            floor::links(plan, payload),
            floor::stage_hashed(plan, payload),
            floor::copy(plan, payload),
        ],
        Kind::AppendBatch => vec![
            floor::chain(plan, payload),
            floor::links(plan, payload),
            floor::stage_many_hashed(plan, payload),
        ],
        Kind::AppendOs | Kind::TypedOs => {
            vec![floor::write_hashed(plan, payload), floor::write(plan, payload)]
        }
        Kind::DurableOne | Kind::TypedDurable => vec![floor::write_and_sync(plan, payload)],
        Kind::DurableEight | Kind::DurableSixtyFour => {
            let many = match kind {
                Kind::DurableEight => floor::write_eight_and_sync(plan, payload),
                _ => floor::write_many_and_sync(plan, payload),
            };
            let group =
                |candidate| contender(candidate, Role::Floor, work(kind, plan, candidate, payload));
            vec![group(&floor::GROUPS), group(&floor::GATHERING), many]
        }
        Kind::CommitOfMany => vec![floor::write_many_and_sync(plan, payload)],
        Kind::Scan => vec![floor::checksum(payload, records), floor::copy_all(payload, records)],
        Kind::VerifyOne => vec![
            floor::reading(plan, payload),
            floor::lanes(payload, records),
            floor::checksum(payload, records),
        ],
        Kind::VerifyTwo => {
            vec![floor::reading(plan, payload), floor::reading_in_two(plan, payload)]
        }
        _ => Vec::new(),
    }
}
