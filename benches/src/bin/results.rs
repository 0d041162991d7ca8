//! Measures everything, and writes `RESULTS.md`, `results.json` and the pictures in `curves/`.
//!
//! ```text
//! cargo run --profile measure --locked -p holdpoint-measure --features peers --bin results -- \
//!     [--quick | --smoke] [--huge] [--payload BYTES]... [--figure NAME]... \
//!     [--dir DIRECTORY] [--out DIRECTORY]
//! ```
//!
//! Without `--figure` that is every figure, and `scale`: how cost follows the length of a log. Bars
//! ask for ten million records, which `--huge` adds: they take about 6 GB of the directory.
//! Everything there is removed at the end.

use holdpoint_measure::bars::{Measurements, judge};
use holdpoint_measure::child::{CHILD, Errand};
use holdpoint_measure::figures::measure_all as measure_kind;
use holdpoint_measure::machine::Machine;
use holdpoint_measure::ours::{ENGINE, LOG};
use holdpoint_measure::report::markdown;
use holdpoint_measure::results::{Results, figure_result};
use holdpoint_measure::scale::{self, Scale, ScalePlan, curves};
use holdpoint_measure::syncs::{Counts, count};
use holdpoint_measure::{Candidate, Effort, Kind, Others, Outcome, Plan, allocator};
use std::error::Error;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

#[cfg(feature = "peers")]
const STORES: &[Candidate] = holdpoint_measure::peers::STORES;
#[cfg(not(feature = "peers"))]
const STORES: &[Candidate] = &[];
#[cfg(feature = "peers")]
const TYPED: &[Candidate] = holdpoint_measure::peers::TYPED;
#[cfg(not(feature = "peers"))]
const TYPED: &[Candidate] = &[];

/// The figure of all lengths of a log, in the list of figures.
const SCALE: &str = "scale";

const USAGE: &str = "usage: results [--quick | --smoke] [--huge] [--payload BYTES]... \
                     [--figure NAME]... [--dir DIRECTORY] [--out DIRECTORY]";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if scale::is_program(arguments.next()) {
        return scale::as_program();
    }
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
struct Options {
    plan: Plan,
    kinds: Vec<Kind>,
    asks_scale: bool,
    out: PathBuf,
}

/// What was measured until now.
struct Run {
    asked: Options,
    machine: Machine,
    begun: Instant,
    has_systems_allocator: bool,
    outcomes: Vec<Outcome>,
    scale: Option<Scale>,
}

fn measure_all(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let has_systems_allocator = allocator::is_the_systems();
    let asked = parse(arguments)?;
    let machine = Machine::of(&asked.plan.directory);
    let begun = Instant::now();
    let (outcomes, scale) = (Vec::new(), None);
    let mut run = Run { asked, machine, begun, has_systems_allocator, outcomes, scale };
    let counts = counted(&run.asked);
    for kind in run.asked.kinds.clone() {
        run.measure(kind, &counts);
        // A run that is broken off has told what it measured until then.
        run.write()?;
    }
    if run.asked.asks_scale {
        let plan = ScalePlan::of(&run.asked.plan, std::env::current_exe()?);
        run.scale = Some(scale::measure(&plan, &mut |what| eprintln!("scale: {what}"))?);
        run.write()?;
    }
    let (out, took) = (run.asked.out.display(), run.begun.elapsed().as_secs());
    eprintln!("written: RESULTS.md and results.json in {out}, after {took} s");
    Ok(())
}

impl Run {
    fn measure(&mut self, kind: Kind, counts: &Counts) {
        let begun = Instant::now();
        let rounds = self.asked.plan.rounds();
        let others = Others { stores: STORES, typed: TYPED, shares_locks: true };
        let outcomes = measure_kind(
            kind,
            &self.asked.plan,
            others,
            &mut |figure| counts.tell(figure),
            &mut |scope, round| eprintln!("{} {scope}: round {round} of {rounds}", kind.name()),
        );
        eprintln!("{}: {:.1} s", kind.name(), begun.elapsed().as_secs_f64());
        self.outcomes.extend(outcomes);
    }

    fn write(&mut self) -> Result<(), Box<dyn Error>> {
        let found = Measurements { outcomes: &self.outcomes, scale: self.scale.as_ref() };
        let results = Results {
            bars: judge(&found),
            machine: self.machine.clone(),
            effort: self.asked.plan.effort.name().to_string(),
            effort_says: self.asked.plan.says(),
            options: self.asked.options(),
            has_peers: cfg!(feature = "peers"),
            has_systems_allocator: self.has_systems_allocator,
            took_seconds: self.begun.elapsed().as_secs(),
            figures: self.outcomes.iter().map(figure_result).collect(),
            scale: self.scale.take(),
        };
        let out = &self.asked.out;
        let pictures = results.scale.as_ref().map(curves).unwrap_or_default();
        draw(&out.join("curves"), &pictures)?;
        let names: Vec<&str> = pictures.iter().map(|(name, _)| *name).collect();
        let explanations = include_str!("../../explanations.md");
        let document = markdown(&results, &self.outcomes, &names, explanations);
        std::fs::write(out.join("RESULTS.md"), document)?;
        let json = serde_json::to_string_pretty(&results)? + "\n";
        std::fs::write(out.join("results.json"), json)?;
        self.scale = results.scale;
        Ok(())
    }
}

fn draw(at: &Path, pictures: &[(&str, String)]) -> std::io::Result<()> {
    if !pictures.is_empty() {
        std::fs::create_dir_all(at)?;
    }
    pictures.iter().try_for_each(|(name, document)| std::fs::write(at.join(name), document))
}

/// Syncs are counted only where a durable figure is asked for.
fn counted(asked: &Options) -> Counts {
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

impl Options {
    /// What was asked for, as options, but for directories.
    fn options(&self) -> String {
        let Plan { effort, is_huge, payloads, .. } = &self.plan;
        let effort = (*effort != Effort::Full).then(|| format!("--{}", effort.name()));
        let huge = is_huge.then(|| "--huge".to_string());
        let payloads = payloads.iter().map(|bytes| format!("--payload {bytes}"));
        let all = self.kinds == Kind::ALL && self.asks_scale;
        let kinds = self.kinds.iter().map(|kind| kind.name());
        let kinds = kinds.chain(self.asks_scale.then_some(SCALE)).filter(|_| !all);
        let kinds = kinds.map(|kind| format!("--figure {kind}"));
        let options: Vec<String> =
            effort.into_iter().chain(huge).chain(payloads).chain(kinds).collect();
        options.join(" ")
    }
}

/// The folder of this package.
fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn parse(arguments: &[String]) -> Result<Options, Box<dyn Error>> {
    let mut plan = Plan::new(std::env::temp_dir(), Effort::Full);
    plan.child = Some(std::env::current_exe()?);
    let (kinds, out) = (Vec::new(), home().to_path_buf());
    let mut asked = Options { plan, kinds, asks_scale: false, out };
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
            "--figure" => match value()?.as_str() {
                SCALE => asked.asks_scale = true,
                name => asked.kinds.push(kind(name)?),
            },
            _ => return Err(USAGE.into()),
        }
    }
    if asked.kinds.is_empty() && !asked.asks_scale {
        (asked.kinds, asked.asks_scale) = (Kind::ALL.to_vec(), true);
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
    named
        .copied()
        .ok_or_else(|| format!("there is no figure {name}: {}, {SCALE}", names.join(", ")))
}

/// What a child is asked for: something with a store, or, in one argument, with a history's log.
fn as_child(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    if let [errand] = arguments {
        return Ok(scale::as_child(errand)?);
    }
    let (at, errand) = arguments.split_last().ok_or(USAGE)?;
    let errand = Errand::parse(errand).ok_or(USAGE)?;
    let everyone = [&[LOG, ENGINE], STORES, TYPED].concat();
    Ok(errand.run(&everyone, Path::new(at))?)
}
