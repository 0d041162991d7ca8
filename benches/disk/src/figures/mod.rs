//! How each figure is measured, whoever takes part.

mod append;
mod bytes;
mod filled;
mod lookup;
mod open;
mod read;
pub mod rebuild;

use crate::figure::{Contender, Figure, Kind, PeerFacts, Role, Scope};
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
}

/// Peers take no part in logs of more records.
pub const PEER_RECORDS_MAX: u64 = 1_000_000;

/// The figures of a kind, at every size of the plan.
#[must_use]
pub fn figures(kind: Kind, plan: &Plan, others: Others<'_>) -> Vec<Figure> {
    match kind {
        Kind::OpenClean | Kind::OpenCrashed | Kind::Latency => {
            let counts = plan.records_opened();
            let figure = |records| of_records(kind, plan, others, records);
            counts.into_iter().map(figure).collect()
        }
        Kind::Rebuild | Kind::TimeTravel => {
            vec![rebuild::figure(kind, plan)]
        }
        Kind::Lookup => vec![lookup::figure(plan)],
        _ => {
            let sizes = plan.payload_sizes();
            sizes.iter().map(|payload| of_payload(kind, plan, others, *payload)).collect()
        }
    }
}

fn of_payload(kind: Kind, plan: &Plan, others: Others<'_>, payload: usize) -> Figure {
    let (ours, peers) = match kind {
        Kind::TypedOs | Kind::TypedDurable => (&typed::ENGINE, others.typed),
        _ => (&ours::LOG, others.stores),
    };
    let mut contenders = floors(kind, plan, payload);
    let first = contender(ours, Role::Ours, work(kind, plan, ours, payload));
    contenders.insert(0, first);
    if kind == Kind::VerifyTwo {
        let alone = work(Kind::VerifyOne, plan, ours, payload);
        let mut alone = contender(ours, Role::Ours, alone);
        alone.name += ", one thread";
        contenders.insert(1, alone);
    }
    for peer in peers {
        contenders.push(contender(peer, peer_role(kind, peer), work(kind, plan, peer, payload)));
    }
    Figure { kind, scope: Scope::Payload(payload), contenders }
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
        contenders.push(with_state);
        let peers = others.stores.iter().filter(|_| records <= PEER_RECORDS_MAX);
        contenders.extend(peers.map(|peer| contender(peer, peer_role(kind, peer), work(peer))));
    }
    Figure { kind, scope: Scope::Records(records), contenders }
}

fn peer_role(kind: Kind, peer: &Candidate) -> Role {
    let checks_nothing = kind == Kind::Scan && !peer.scan_checks;
    let not_counted = checks_nothing.then(|| "checks no checksum when it scans".to_string());
    Role::Peer(PeerFacts { is_chained: peer.is_chained, not_counted, syncs_each: None })
}

fn contender(candidate: &Candidate, role: Role, work: Work) -> Contender {
    let (name, remark) = (candidate.name.to_string(), candidate.remark.to_string());
    Contender { name, role, remark, work }
}

fn work(kind: Kind, plan: &Plan, candidate: &Candidate, payload: usize) -> Work {
    use append::{Hands, appending};
    match kind {
        Kind::AppendStaged => appending(plan, *candidate, Mode::Staged, payload, Hands::One),
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
            floor::copy(plan, payload),
        ],
        Kind::AppendOs | Kind::TypedOs => vec![floor::write(plan, payload)],
        Kind::DurableOne | Kind::TypedDurable => vec![floor::write_and_sync(plan, payload)],
        Kind::DurableEight => {
            vec![floor::write_eight_and_sync(plan, payload), floor::write_and_sync(plan, payload)]
        }
        Kind::DurableSixtyFour | Kind::CommitOfMany => {
            vec![floor::write_many_and_sync(plan, payload)]
        }
        Kind::Scan => vec![floor::checksum(payload, records), floor::copy_all(payload, records)],
        Kind::VerifyOne | Kind::VerifyTwo => {
            vec![floor::lanes(payload, records), floor::checksum(payload, records)]
        }
        _ => Vec::new(),
    }
}
