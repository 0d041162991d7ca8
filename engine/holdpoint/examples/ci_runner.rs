//! A CI runner: the steps of a build on the record, each once, and a gate before the last one.
//!
//! `cargo run -p holdpoint --example ci_runner -- DIRECTORY BUILD MILLISECONDS`
//!
//! The log is in DIRECTORY, and beside it the keys of approvals. A build that is run again goes on
//! where it stopped: what ended well is not started twice. The last step needs a person's word,
//! which is bound to exactly that command and is waited for so many MILLISECONDS; in another
//! terminal
//!
//! `holdpoint --log DIRECTORY/log decision respond DP-... --option approve`

use holdpoint::engine::shell::{
    ApprovalKeys, ApprovalOutcome, ApprovedStart, AskBefore, BindingOptions, Bound,
};
use holdpoint::{
    ApprovalPolicy, CommandSpec, Conditions, Discard, Engine, GovernedRun, HaltReason, HeldRun,
    HoldTerms, KeyedRun, NoPrompt, NoSignals, Origin,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// As `holdpoint run` says it: nobody let it pass.
const NOT_APPROVED: u8 = 121;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, build, milliseconds] = arguments.as_slice() else {
        return Err("ci_runner DIRECTORY BUILD MILLISECONDS".into());
    };
    let directory = Path::new(directory);
    let engine = Engine::open(directory.join("log"))?;
    let keys = ApprovalKeys::in_directory(&directory.join("keys"));
    let (lines, status) = build_of(&engine, build, &keys, milliseconds.parse()?)?;
    engine.close()?;
    println!("{}", lines.join("\n"));
    Ok(ExitCode::from(status))
}

/// What became of each step, and the status to exit with.
pub fn build_of(
    engine: &Engine,
    build: &str,
    keys: &ApprovalKeys,
    milliseconds: u64,
) -> Result<(Vec<String>, u8), Box<dyn Error>> {
    // One story for each build: whoever asks for the build sees all of it, also when it goes on.
    let origin = Origin::automation("ci").within(format!("build {build}"));
    let mut lines = Vec::new();
    for (step, script) in [("test", "echo 3 tests passed"), ("package", "echo packed")] {
        let (line, status) = once(engine, &origin, step, script)?;
        lines.push(format!("{step}: {line}"));
        if status != 0 {
            return Ok((lines, status));
        }
    }
    let (line, status) = deploy(engine, &origin, keys, milliseconds)?;
    lines.push(format!("deploy: {line}"));
    Ok((lines, status))
}

fn shell(script: &str) -> GovernedRun {
    GovernedRun::of(CommandSpec::new("sh").arg("-c").arg(script))
}

/// Runs a step under its name as the key.
fn once(
    engine: &Engine,
    origin: &Origin,
    step: &str,
    script: &str,
) -> Result<(String, u8), Box<dyn Error>> {
    let (key, run) = (Conditions::once(step), shell(script));
    Ok(match engine.run(origin, &key, &run, &mut Discard, &mut NoSignals)? {
        KeyedRun::Now(HeldRun::Ended(report)) => {
            (report.halted.reason.to_string(), report.exit_status)
        }
        KeyedRun::Now(HeldRun::LeftOpen(_)) => ("waits for a person".to_string(), NOT_APPROVED),
        KeyedRun::Now(HeldRun::EndWaits(end)) => {
            ("ended, which the next writer records".to_string(), end.exit_status)
        }
        KeyedRun::Before(earlier) => match earlier.halted.map(|end| end.reason) {
            Some(HaltReason::Completed) => ("done before".to_string(), 0),
            Some(reason) => (format!("tried before, {reason}"), 1),
            None => ("under way elsewhere".to_string(), 1),
        },
    })
}

/// Asks before the start, and starts exactly what was approved.
fn deploy(
    engine: &Engine,
    origin: &Origin,
    keys: &ApprovalKeys,
    milliseconds: u64,
) -> Result<(String, u8), Box<dyn Error>> {
    let mut run = shell("echo deployed");
    run.gate.before = true;
    let bound = Bound::take(&run, BindingOptions::default(), keys.clone(), &mut NoSignals)?;
    let timeout = milliseconds.try_into()?;
    let ask = AskBefore { policy: ApprovalPolicy::people(), separation: false, timeout };
    let asked = engine.ask_before(origin, &run, &bound, &ask, &mut NoPrompt, &mut NoSignals)?;
    let ApprovalOutcome::Approved(point) = asked else {
        return Ok(("not approved, and not started".to_string(), NOT_APPROVED));
    };
    let (terms, policy) = (HoldTerms::never(), Default::default());
    let (run, terms, policy, bound) = (&run, &terms, &policy, &bound);
    let (decision_id, labels) = (&*point.decision_id, &BTreeMap::new());
    let start = ApprovedStart { run, terms, policy, bound, decision_id, labels };
    match engine.run_approved(origin, &start, &mut NoPrompt, &mut Discard, &mut NoSignals)? {
        HeldRun::Ended(report) => Ok((report.halted.reason.to_string(), report.exit_status)),
        HeldRun::LeftOpen(_) => Ok(("waits for a person".to_string(), NOT_APPROVED)),
        HeldRun::EndWaits(end) => {
            Ok(("ended, which the next writer records".to_string(), end.exit_status))
        }
    }
}
