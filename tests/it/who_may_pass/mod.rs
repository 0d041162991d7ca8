//! No sequence of commands passes a hold without a person: random principals over holds, decision
//! points, policies and runs, against a small model of who may pass, by what is recorded and by
//! exit code. A failure prints the seed that gives it again (`HOLDPOINT_SEED`).

mod acts;
mod cast;
mod model;
pub(crate) mod random;
mod real;

use acts::{Known, Try, any_policy};
use cast::{CAST, Process, SetClock, engines};
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::DecisionPointEvent;
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, ExecutionLoopEvent};
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecisionEvent};
use holdpoint_domain::log::GatePolicy;
use holdpoint_domain::world::envelope;
use holdpoint_domain::{ActorId, Command, Event};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{Origin, Receipt, Submitted};
use holdpoint_log_files::{DirectoryStorage, Follower};
use holdpoint_testing::shell::trusted_directory;
use holdpoint_testing::story::seed;
use model::{Model, Passes};
use random::Random;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// Logs, each with a floor of its own, and sequences on each.
const LOGS: usize = 40;
const SEQUENCES: usize = 12;
const COMMANDS: usize = 24;
/// So many logs at once.
const WORKERS: usize = 2;

/// What was really done: by which process, as whom.
struct Done {
    process: Process,
    actor: ActorId,
    command: Command,
}

#[test]
fn no_sequence_of_commands_passes_without_a_person() {
    let seed = seed();
    let worker = |first: usize| {
        let mut passes = Passes::default();
        for log in (first..LOGS).step_by(WORKERS) {
            let found = one_log(Random::new(seed ^ ((log as u64) << 48)));
            let found = found.unwrap_or_else(|wrong| {
                panic!("HOLDPOINT_SEED={seed} gives it again, log {log}: {wrong}")
            });
            passes.add_all(&found);
        }
        passes
    };
    let mut passes = Passes::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..WORKERS).map(|first| scope.spawn(move || worker(first))).collect();
        workers.into_iter().for_each(|worker| passes.add_all(&worker.join().unwrap()));
    });
    println!("HOLDPOINT_SEED={seed}: {:#?}", passes.0);
    // What never passes proves nothing.
    for how in [
        "approved at a terminal",
        "approved by another user",
        "approved by a claim",
        "released",
        "spent",
        "started with an approval",
        "answered after an attempt",
        "overridden",
        "granted",
    ] {
        assert!(passes.0.contains_key(how), "HOLDPOINT_SEED={seed}: nothing was {how}");
    }
}

/// All sequences of a log, and then the judgement on what it holds.
fn one_log(mut random: Random) -> Result<Passes, String> {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    let directory = directory.unwrap();
    let mut demanded = match random.one_in(2) {
        true => GatePolicy::default(),
        false => any_policy(&mut random),
    };
    // A floor that no user of this machine can keep is refused as such.
    if !demanded.approvers.is_empty() {
        let names = demanded.approvers.iter().cloned();
        demanded.approvers = names.chain([Text::from("root")]).collect();
    }
    // Others may write in what memory holds, and no policy is believed there.
    let place = trusted_directory(env!("CARGO_TARGET_TMPDIR"));
    let floor = place.path().join("floor.toml");
    std::fs::write(&floor, written(&demanded)).unwrap();
    std::fs::set_permissions(&floor, Permissions::from_mode(0o644)).unwrap();
    let clock = SetClock::new();
    let log = directory.path().join("log");
    let engines = engines(&log, &floor, &clock);
    let mut done = BTreeMap::new();
    for sequence in 0..SEQUENCES {
        let mut known = Known { is_about_runs: sequence % 2 == 0, ..Known::default() };
        for _ in 0..COMMANDS {
            clock.pass(random.below(2_000) as u64);
            one_command(&engines, &mut random, &mut known, &mut done);
        }
    }
    for engine in engines {
        engine.close().unwrap();
    }
    judge(&log, demanded, &done)
}

fn one_command(
    engines: &[Engine],
    random: &mut Random,
    known: &mut Known,
    done: &mut BTreeMap<u64, Done>,
) {
    let at = if random.one_in(2) { random.below(3) } else { random.below(CAST.len()) };
    let (engine, process) = (&engines[at], CAST[at]);
    let actor = process.actor(random);
    let entropy = engine.entropy().unwrap();
    let command = engine.query(|world| {
        let of_log = world.policy();
        let (known, actor) = (&*known, &actor);
        Try { random, known, actor, entropy, of_log }.command(world)
    });
    let command = command.unwrap();
    let origin = Origin { actor: actor.clone(), correlation: "story".to_string(), causation: None };
    let submitted = engine.submit(&origin, (), &command).unwrap();
    if let Submitted::Accepted(receipt) = submitted {
        learn(known, &receipt);
        for sequence in receipt.first_sequence..=receipt.last_sequence {
            let (actor, command) = (actor.clone(), command.clone());
            done.insert(sequence, Done { process, actor, command });
        }
    }
}

fn learn(known: &mut Known, receipt: &Receipt) {
    for event in &receipt.events {
        match event {
            Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body)) => {
                known.questions.push(body.decision_id.to_string())
            }
            Event::DecisionPoint(DecisionPointEvent::RoundOpened(body)) => {
                known.questions.push(body.decision_id.to_string())
            }
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => {
                known.runs.push(body.loop_id.to_string())
            }
            Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) => {
                known.requests.push(body.request.request_id.to_string());
            }
            _ => {}
        }
    }
}

/// Every record, read without an engine, is one that the model allows.
fn judge(log: &Path, floor: GatePolicy, done: &BTreeMap<u64, Done>) -> Result<Passes, String> {
    let mut model = Model::new(floor);
    let mut verdict = Ok(());
    let storage = DirectoryStorage::new(log);
    let mut follower = Follower::at_segment(&storage, 1).unwrap();
    let read = follower.catch_up(&storage, &mut |_, record| {
        let header = &record.header;
        let event = envelope::decode(header.kind, header.version, record.payload).unwrap().event;
        let done = done.get(&header.sequence);
        let doer = done.map(|done| done.process.doer(&done.actor));
        let details = done.and_then(|done| match &done.command {
            Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(start)) => {
                start.approval.as_ref().map(|spent| spent.details)
            }
            _ => None,
        });
        if verdict.is_ok() {
            verdict = model.record(doer.as_ref(), details, &event).map_err(|wrong| {
                let by = done.map(|done| (done.process, &done.actor));
                format!("record {}: {wrong}: {by:?} {event:#?}", header.sequence)
            });
        }
    });
    read.unwrap();
    verdict.map(|()| model.passes)
}

/// A floor as its file says it.
fn written(policy: &GatePolicy) -> String {
    let moment = match (policy.before, policy.after) {
        (false, HoldPolicy::Never) => "never",
        (true, HoldPolicy::Never) => "before",
        (false, HoldPolicy::OnFailure) => "on-failure",
        (true, HoldPolicy::OnFailure) => "before,on-failure",
        (false, HoldPolicy::After) => "after",
        (true, HoldPolicy::After) => "always",
    };
    let approvers: Vec<String> = policy.approvers.iter().map(|name| format!("{name:?}")).collect();
    let stated = policy.authentication.map(|authentication| match authentication {
        Authentication::None => "claimed",
        Authentication::OsUser => "os-user",
        Authentication::Terminal => "terminal",
    });
    let stated = stated.map_or_else(String::new, |name| format!("authentication = {name:?}\n"));
    format!(
        "[hold]\ndefault = {moment:?}\napprovers = [{}]\nquorum = {}\nseparation = {}\n\
         retry_needs_person = {}\n{stated}",
        approvers.join(", "),
        policy.quorum,
        policy.separation,
        policy.retry_needs_person,
    )
}
