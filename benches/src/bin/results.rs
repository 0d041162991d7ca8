//! Measures everything, and writes `RESULTS.md` and `results.json`.
//!
//! ```text
//! cargo run --profile measure --locked -p holdpoint-measure --features peers --bin results -- \
//!     [--quick | --smoke] [--huge] [--payload BYTES]... [--figure NAME]... \
//!     [--dir DIRECTORY] [--out DIRECTORY]
//! ```

use holdpoint_measure::bars::{Found, judge};
use holdpoint_measure::child::{CHILD, Errand};
use holdpoint_measure::machine::Machine;
use holdpoint_measure::ours::{ENGINE, LOG};
use holdpoint_measure::report::markdown;
use holdpoint_measure::results::{Results, figure_result};
use holdpoint_measure::scale::{Scale, curves, markdown as scale_markdown};
use holdpoint_measure::syncs::{Counts, count};
use holdpoint_measure::{Candidate, Effort, Kind, Others, Outcome, Plan, figures};
use std::error::Error;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[cfg(feature = "peers")]
const STORES: &[Candidate] = holdpoint_measure::peers::STORES;
#[cfg(not(feature = "peers"))]
const STORES: &[Candidate] = &[];
#[cfg(feature = "peers")]
const TYPED: &[Candidate] = holdpoint_measure::peers::TYPED;
#[cfg(not(feature = "peers"))]
const TYPED: &[Candidate] = &[];

const USAGE: &str = "usage: results [--quick | --smoke] [--huge] [--payload BYTES]... \
                     [--figure NAME]... [--dir DIRECTORY] [--out DIRECTORY]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, errand)) if first == CHILD => as_child(errand),
        _ if std::env::var_os(QUIET).is_none() => again_quietly(&arguments),
        _ => measure_all(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("results: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A peer writes a line for each commit to standard output, and takes time for it, unless this is
/// in its environment.
const QUIET: &str = "WALRUS_QUIET";

/// Becomes this program with an environment that keeps peers quiet; returns only where that fails.
fn again_quietly(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    Err(Command::new(program).args(arguments).env(QUIET, "1").exec().into())
}

/// What is asked for.
struct Asked {
    plan: Plan,
    kinds: Vec<Kind>,
    out: PathBuf,
}

fn measure_all(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let asked = parse(arguments)?;
    // What cannot be read in the end is told before hours are spent.
    scale_of(&asked.out)?;
    let machine = Machine::of(&asked.plan.directory);
    let counts = counted(&asked);
    let mut outcomes = Vec::new();
    for kind in &asked.kinds {
        for mut figure in figures(*kind, &asked.plan, Others { stores: STORES, typed: TYPED }) {
            counts.tell(&mut figure);
            let label = format!("{} {}", kind.name(), figure.scope);
            let rounds = asked.plan.rounds();
            let mut tell = |round| eprintln!("{label}: round {round} of {rounds}");
            outcomes.push(figure.measure(rounds, &mut tell));
        }
        // A run that is broken off has told what it measured until then.
        write(&asked, &machine, &outcomes)?;
    }
    eprintln!("written: RESULTS.md and results.json in {}", asked.out.display());
    Ok(())
}

/// Syncs are counted only where a durable figure is asked for.
fn counted(asked: &Asked) -> Counts {
    let durable = [
        Kind::DurableOne,
        Kind::DurableEight,
        Kind::DurableSixtyFour,
        Kind::CommitOfMany,
        Kind::TypedDurable,
    ];
    if !asked.kinds.iter().any(|kind| durable.contains(kind)) {
        return Counts::default();
    }
    eprintln!("counting syncs");
    count(&asked.plan, STORES, TYPED)
}

fn write(asked: &Asked, machine: &Machine, outcomes: &[Outcome]) -> Result<(), Box<dyn Error>> {
    let scale = scale_of(&asked.out)?;
    let results = Results {
        bars: judge(&Found { outcomes, scale: scale.as_ref() }, machine),
        machine: machine.clone(),
        effort: asked.plan.effort.name().to_string(),
        effort_says: asked.plan.says(),
        options: asked.options(),
        figures: outcomes.iter().map(figure_result).collect(),
    };
    let explanations = std::fs::read_to_string(home().join("explanations.md")).unwrap_or_default();
    let mut document = markdown(&results, outcomes, &explanations);
    if let Some(scale) = scale {
        let pictures = curves(&scale);
        let names: Vec<&str> = pictures.iter().map(|(name, _)| *name).collect();
        document += "\n";
        document += &scale_markdown(&scale, &names, &explanations);
    }
    std::fs::write(asked.out.join("RESULTS.md"), document)?;
    let json = serde_json::to_string_pretty(&results)? + "\n";
    std::fs::write(asked.out.join("results.json"), json)?;
    Ok(())
}

/// What `scale` found, where it has run.
fn scale_of(out: &Path) -> Result<Option<Scale>, Box<dyn Error>> {
    let Ok(json) = std::fs::read(out.join("scale.json")) else { return Ok(None) };
    let read = serde_json::from_slice(&json);
    Ok(Some(read.map_err(|error| format!("scale.json: {error}; run `scale` again"))?))
}

impl Asked {
    /// What was asked for, as options, but for directories.
    fn options(&self) -> String {
        let Plan { effort, is_huge, payloads, .. } = &self.plan;
        let effort = (*effort != Effort::Full).then(|| format!("--{}", effort.name()));
        let huge = is_huge.then(|| "--huge".to_string());
        let payloads = payloads.iter().map(|bytes| format!("--payload {bytes}"));
        let all = self.kinds == Kind::ALL;
        let kinds = self.kinds.iter().filter(|_| !all);
        let kinds = kinds.map(|kind| format!("--figure {}", kind.name()));
        let options: Vec<String> =
            effort.into_iter().chain(huge).chain(payloads).chain(kinds).collect();
        options.join(" ")
    }
}

/// The folder of this package.
fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn parse(arguments: &[String]) -> Result<Asked, Box<dyn Error>> {
    let mut plan = Plan::new(std::env::temp_dir(), Effort::Full);
    plan.child = Some(std::env::current_exe()?);
    let mut asked = Asked { plan, kinds: Vec::new(), out: home().to_path_buf() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(USAGE);
        match argument.as_str() {
            "--quick" => asked.plan.effort = Effort::Quick,
            "--smoke" => asked.plan.effort = Effort::Smoke,
            "--huge" => asked.plan.is_huge = true,
            "--payload" => asked.plan.payloads.push(payload(value()?)?),
            "--dir" => asked.plan.directory = value()?.into(),
            "--out" => asked.out = value()?.into(),
            "--figure" => asked.kinds.push(kind(value()?)?),
            _ => return Err(USAGE.into()),
        }
    }
    if asked.kinds.is_empty() {
        asked.kinds = Kind::ALL.to_vec();
    }
    Ok(asked)
}

/// The payload of one record: what every store takes.
fn payload(text: &str) -> Result<usize, Box<dyn Error>> {
    let bytes = text.parse().ok().filter(|bytes| (1..=65_536).contains(bytes));
    bytes.ok_or_else(|| format!("--payload takes 1 to 65536 bytes, not {text:?}\n{USAGE}").into())
}

fn kind(name: &str) -> Result<Kind, String> {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    let named = Kind::ALL.iter().find(|kind| kind.name() == name);
    named.copied().ok_or_else(|| format!("there is no figure {name}: {}", names.join(", ")))
}

fn as_child(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (at, errand) = arguments.split_last().ok_or(USAGE)?;
    let errand = Errand::parse(errand).ok_or(USAGE)?;
    let everyone = [&[LOG, ENGINE], STORES, TYPED].concat();
    Ok(errand.run(&everyone, Path::new(at))?)
}
