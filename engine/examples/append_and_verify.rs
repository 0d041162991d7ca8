//! A platform that embeds Holdpoint: it runs a command on the record, asks the state, adds a record
//! of its own, and verifies every byte of the log.
//!
//! `cargo run -p holdpoint-engine --example append_and_verify -- DIRECTORY`

use holdpoint_domain::Command;
use holdpoint_domain::log::{LogCommand, RecordFingerprint};
use holdpoint_engine::Engine;
use holdpoint_engine::executor::{CommandSpec, Discard, NoSignals};
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
    let origin = Origin::automation("nightly build").within("nightly");
    let greeting = GovernedRun::of(CommandSpec::new("echo").arg("hello"));
    let report = engine.run(&origin, &greeting, &mut Discard, &mut NoSignals)?;

    // The state, rebuilt from the log and kept up to date by it.
    let loops = engine.query(|world| world.totals().loops_initialized)?;

    // A command of our own. A refusal by a rule is an answer; an error is the disk's.
    let receipt = match engine
        .submit(&origin, &Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})))?
    {
        Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => receipt,
        Submitted::Refused(refusal) => return Err(refusal.into()),
    };
    engine.close()?;

    // Whoever verifies needs only the directory.
    let options = SurveyOptions::new(Extent::FromAnchor, BootId::UNKNOWN);
    let found = survey(&DirectoryStorage::new(directory), options, &mut |_, _| {})?;
    Ok(format!(
        "{} with status {}, {loops} loop on record, fingerprint in record {}, {} findings",
        report.halted.reason,
        report.exit_status,
        receipt.last_sequence,
        found.findings.len()
    ))
}
