//! `holdpoint run`: a command under an execution loop, all of it on the record.

mod ask;
pub(crate) mod limits;
mod screen;
mod told;

use crate::arguments::Global;
use crate::config::{Asked, Configuration, Demands, InForce, floors};
use crate::exit::{Exit, Failure, complain, settle};
use crate::text::{counted, path};
use ask::Person;
use clap::ValueEnum;
use holdpoint_domain::ActorId;
use holdpoint_domain::execution_loop::Actor;
use holdpoint_domain::human_decision::{DecisionTimeout, HoldPolicy};
use holdpoint_domain::sandbox_fault::RetryPolicy;
use holdpoint_domain::text::visible;
use holdpoint_engine::Engine;
use holdpoint_engine::executor::{CommandSpec, EnvironmentPolicy, Guard, Signals, Stdin};
use holdpoint_engine::log::{CloseError, OpenError, OpenReport, Options};
use holdpoint_engine::shell::{
    EXIT_LEFT_WAITING, EngineError, EngineOptions, GovernedRun, HeldRun, RunError,
    file_size_limit_is_an_error, user_name,
};
use holdpoint_log_files::{DirectoryStorage, SurveyError};
use holdpoint_log_format::recovery::Row;
use screen::Screen;
use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many attempts a person may allow where nothing else is said.
const MAX_ATTEMPTS_HELD: u8 = 3;

/// Options of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Stop the command after this time: 1s, 90s, 5m, 1h 30m.
    #[arg(long, value_name = "DURATION", value_parser = limits::duration)]
    timeout: Option<Duration>,
    /// Start it again up to this many attempts, 1 to 3: at a person's word, and after a crash or
    /// timeout. [default: 3 with a hold, 1 without]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    max_attempts: Option<u8>,
    /// Kill it when its processes hold more memory: 64MiB, 2GiB.
    #[arg(long, value_name = "SIZE", value_parser = limits::memory)]
    max_memory: Option<u64>,
    /// Keep this much of each of its streams, at most 16MiB: of a longer one the beginning and the
    /// end, half of it each. Length and digest are of the whole.
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = limits::output)]
    max_output: u64,
    /// Let it read this program's standard input instead of nothing.
    #[arg(long)]
    stdin: bool,
    #[command(flatten)]
    hold: HoldArgs,
    /// Record this variable of the environment too; a * at the end stands for any rest.
    #[arg(long, value_name = "NAME")]
    record_env: Vec<OsString>,
    /// Keep the values of variables secret whose names contain this, besides those that look like
    /// secrets.
    #[arg(long, value_name = "PART")]
    redact: Vec<OsString>,
    /// How long to wait for another process that writes to the log.
    #[arg(
        long,
        value_name = "DURATION",
        env = "HOLDPOINT_LOCK_WAIT",
        default_value = "10s",
        value_parser = limits::wait
    )]
    lock_wait: Duration,
    /// Go on although HEAD is missing or unreadable, and record that: nothing then witnesses how
    /// far the log had reached.
    #[arg(long)]
    without_head: bool,
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// When and how a person is asked: where nothing is said here, the configuration says it.
#[derive(Debug, clap::Args)]
struct HoldArgs {
    /// When a person decides what becomes of the run. [default: never]
    #[arg(long, value_name = "WHEN", value_enum)]
    hold: Option<Hold>,
    /// How long the person has, 1ms to 366d; then it is ABORT. [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = limits::decision)]
    decision_timeout: Option<DecisionTimeout>,
    /// Leave the question open and exit with 122 instead of waiting for the answer.
    #[arg(long)]
    no_wait: bool,
    /// Ask a person also where another attempt is permitted after a crash or timeout. [default:
    /// true]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    retry_needs_person: Option<bool>,
    /// Let a question be passed on to this person too; may be given several times.
    #[arg(long, value_name = "NAME")]
    escalate_to: Vec<String>,
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Hold {
    /// Never: what Phase-21 permits is done at once.
    Never,
    /// When the command did not end well.
    OnFailure,
    /// After every attempt.
    Always,
}

impl HoldArgs {
    /// What the command line asks for.
    fn asked(&self) -> Asked {
        Asked {
            never: self.hold == Some(Hold::Never),
            after: self.hold.map(Hold::policy),
            decision_timeout: self.decision_timeout,
            retry_needs_person: self.retry_needs_person,
            escalate_to: self.escalate_to.clone(),
            ..Asked::default()
        }
    }
}

impl Hold {
    fn policy(self) -> HoldPolicy {
        match self {
            Self::Never => HoldPolicy::Never,
            Self::OnFailure => HoldPolicy::OnFailure,
            Self::Always => HoldPolicy::After,
        }
    }
}

/// How a guard ends. What is wrong is said to whoever started one by hand.
pub(crate) fn guard_exit(served: io::Result<()>) -> Exit {
    match served {
        Ok(()) => Exit::DONE,
        Err(error) => {
            complain(&error.to_string());
            Exit::USAGE
        }
    }
}

/// Runs the command; exits with its status, or as `timeout` and `env` do.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, run(global, args))
}

/// Tells that the log cannot be used, and starts nothing.
pub(crate) fn refuse(global: &Global, failure: &Failure) -> Exit {
    settle(global, Err(not_started("log", failure.message())))
}

fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    // Before anything else: an interrupt from here on is kept, and goes on record.
    let mut signals = Signals::install().map_err(|error| not_started("signals", error))?;
    file_size_limit_is_an_error().map_err(|error| not_started("signals", error))?;
    let configuration = Configuration::load(global)?;
    // A policy that cannot be known is told before a log is made.
    floors().map_err(Failure::of_run)?;
    let mut person = Person::new(global, args.hold.no_wait);
    let engine = open(global, args.lock_wait, args.without_head)?;
    let demands = Demands::of(&global.log, &engine).map_err(Failure::of_run)?;
    let in_force = demands.in_force(&configuration, &args.hold.asked());
    let in_force = in_force.map_err(Failure::of_run)?;
    let terms = &in_force.hold;
    let run = governed(args, &in_force, &configuration)?;
    configuration.record(&engine).map_err(|error| unrecorded(global, error.into()))?;
    let mut screen = Screen::new(global.json, run.command.stdin);
    let outcome = engine.run_held(&run, terms, &mut person, &mut screen, &mut signals);
    let closed = engine.close();
    match outcome.map_err(|error| unrecorded(global, error))? {
        HeldRun::Ended(report) => {
            let exit = exit_of(global, report.exit_status, closed);
            told::tell(global, &report, exit).map(|()| exit)
        }
        HeldRun::LeftOpen(open) => {
            let exit = exit_of(global, EXIT_LEFT_WAITING, closed);
            told::tell_open(global, &open, exit).map(|()| exit)
        }
    }
}

fn governed(
    args: Args,
    in_force: &InForce,
    configuration: &Configuration,
) -> Result<GovernedRun, Failure> {
    let evidence = configuration.evidence();
    let mut words = args.command.into_iter();
    let recorded = evidence.record_env.iter().map(OsString::from).chain(args.record_env);
    let redacted = evidence.redact.iter().map(OsString::from).chain(args.redact);
    let recorded: Vec<OsString> = recorded.collect();
    warn_of_everything(&recorded);
    let policy = recorded.into_iter().fold(EnvironmentPolicy::default(), EnvironmentPolicy::allow);
    let most = if in_force.hold.policy == HoldPolicy::Never { 1 } else { MAX_ATTEMPTS_HELD };
    Ok(GovernedRun {
        command: CommandSpec {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            directory: working_directory()?,
            environment: std::env::vars_os().collect(),
            stdin: if args.stdin { Stdin::Inherit } else { Stdin::Null },
            timeout: args.timeout,
            max_memory_bytes: args.max_memory,
            max_output_bytes: args.max_output,
            guard: Some(Guard::of_own_program().adopting()),
        },
        environment: redacted.fold(policy, EnvironmentPolicy::redact),
        actor: ActorId { kind: Actor::Automation, id: user_name() },
        max_attempts: args.max_attempts.unwrap_or(most),
        retry_ceiling: RetryPolicy::RetryLimited,
        gate: in_force.gate.clone(),
        approval: None,
    })
}

/// Whoever records every variable relies on what a name or a value gives away.
fn warn_of_everything(recorded: &[OsString]) {
    if recorded.iter().any(|name| name == "*") {
        complain(
            "every variable of the environment is recorded, and only values that look like \
             secrets are kept out; name the variables instead, or add `--redact PART`",
        );
    }
}

fn working_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        not_started("io", format!("the working directory is gone ({error}): go to another one"))
    })
}

fn open(global: &Global, lock_wait: Duration, without_head: bool) -> Result<Engine, Failure> {
    let log: PathBuf = global.log.components().collect();
    let options = EngineOptions {
        log: Options { lock_wait, without_head, ..Options::default() },
        ..EngineOptions::default()
    };
    let engine = Engine::open_with(DirectoryStorage::new(&log), options)
        .map_err(|error| not_started("log", why_not_opened(&error)))?;
    tell_recovery(&log, engine.report());
    Ok(engine)
}

/// The disk's own words say nothing of what to do about them.
fn why_not_opened(error: &EngineError) -> String {
    let advice = match error {
        EngineError::Open(
            OpenError::Io { .. } | OpenError::Survey { source: SurveyError::Io { .. }, .. },
        ) => "; check the path, and that this user may read and write there",
        EngineError::Open(OpenError::Refused { row: Row::NoWitness, .. }) => {
            ", or go on without HEAD by `--without-head`, which is recorded"
        }
        _ => "",
    };
    format!("{}{advice}", visible(&error.to_string()))
}

/// What an interrupted write left behind is never cut in silence.
fn tell_recovery(log: &Path, report: &OpenReport) {
    let recovered = &report.recovered;
    if recovered.cut_bytes > 0 {
        let copy = recovered.copied_to.as_deref().unwrap_or("no file");
        complain(&format!(
            "an interrupted write had left {} in {}: set aside in {copy}, and recorded",
            counted(recovered.cut_bytes, "byte"),
            path(&log.join(&recovered.segment)),
        ));
    }
}

/// The command's status, unless it ended well and Holdpoint did not.
fn exit_of(global: &Global, exit_status: u8, closed: Result<(), CloseError>) -> Exit {
    match closed {
        Ok(()) => Exit::of_command(exit_status),
        Err(error) => {
            complain(&format!(
                "the run is on record, but the log {} was not closed well: {error}; \
                 `holdpoint verify` says how it stands",
                path(&global.log)
            ));
            after_failure(exit_status)
        }
    }
}

/// A command that failed keeps its status; one that ended well must not hide our own failure.
fn after_failure(exit_status: u8) -> Exit {
    match exit_status {
        0 => Exit::HOLDPOINT_FAILED,
        failed => Exit::of_command(failed),
    }
}

fn unrecorded(global: &Global, error: RunError) -> Failure {
    let log = path(&global.log);
    match error {
        RunError::NotRecorded { exit_status, .. } => {
            let message = format!("log {log}: {error}; `holdpoint verify` says how it stands");
            Failure::new(after_failure(exit_status), "not_recorded", message)
        }
        RunError::NotConcluded { .. } => {
            Failure::new(Exit::HOLDPOINT_FAILED, "not_concluded", format!("log {log}: {error}"))
        }
        error => not_started("log", format!("log {log}: {error}")),
    }
}

fn not_started(code: &'static str, reason: impl Display) -> Failure {
    let message = format!("{reason}; the command was not started");
    Failure::new(Exit::HOLDPOINT_FAILED, code, message)
}
