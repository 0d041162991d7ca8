//! A platform that embeds Holdpoint: it runs a command on the record, asks the state, adds a record
//! of its own, and verifies every byte of the log.
//!
//! `cargo run -p holdpoint-engine --example append_and_verify -- DIRECTORY`

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::log::GateTerms;
use holdpoint_domain::log::{LogCommand, RecordFingerprint};
use holdpoint_domain::sandbox_fault::RetryPolicy;
use holdpoint_domain::{ActorId, Command};
use holdpoint_engine::Engine;
use holdpoint_engine::executor::{CommandSpec, Discard, EnvironmentPolicy, NoSignals, Stdin};
use holdpoint_engine::shell::{GovernedRun, Origin, Submitted};
use holdpoint_log_files::{DirectoryStorage, Extent, SurveyOptions, survey};
use holdpoint_log_format::BootId;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).ok_or("name a directory for the log")?;
    println!("{}", append_and_verify(Path::new(&directory))?);
    Ok(())
}

/// What became of it all, in words.
fn append_and_verify(directory: &Path) -> Result<String, Box<dyn Error>> {
    let engine = Engine::open(directory)?;

    // A real command. Its output goes nowhere here; it is captured as evidence all the same.
    let report = engine.run(&greeting(), &mut Discard, &mut NoSignals)?;

    // The state, rebuilt from the log and kept up to date by it.
    let loops = engine.query(|world| world.totals().loops_initialized)?;

    // A command of our own. A refusal by a rule is an answer; an error is the disk's.
    let origin = Origin { actor: actor(), correlation: "nightly".into(), causation: None };
    let receipt = match engine
        .submit(&origin, &Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})))?
    {
        Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => receipt,
        Submitted::Refused(refusal) => return Err(refusal.into()),
    };
    engine.close()?;

    // Whoever verifies needs only the directory.
    let options = SurveyOptions {
        extent: Extent::FromAnchor,
        boot: BootId::UNKNOWN,
        is_being_written: false,
    };
    let found = survey(&DirectoryStorage::new(directory), options, &mut |_, _| {})?;
    Ok(format!(
        "{} with status {}, {loops} loop on record, fingerprint in record {}, {} findings",
        report.halted.reason,
        report.exit_status,
        receipt.last_sequence,
        found.findings.len()
    ))
}

fn greeting() -> GovernedRun {
    GovernedRun {
        command: CommandSpec {
            program: "echo".into(),
            arguments: vec!["hello".into()],
            directory: "/".into(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            stdin: Stdin::Null,
            timeout: None,
            max_memory_bytes: None,
            max_output_bytes: 1 << 20,
            guard: None,
        },
        environment: EnvironmentPolicy::default(),
        actor: actor(),
        max_attempts: 1,
        retry_ceiling: RetryPolicy::RetryLimited,
        gate: GateTerms::default(),
        approval: None,
    }
}

fn actor() -> ActorId {
    ActorId { kind: Actor::Automation, id: "nightly build".into() }
}
