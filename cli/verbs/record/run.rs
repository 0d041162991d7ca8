//! `holdpoint run`: a command under an execution loop, all of it on the record.

pub(crate) mod actor_args;
mod approve;
mod ask;
mod asker;
mod behind;
pub(crate) mod hold_args;
pub(crate) mod output;
pub(crate) mod pre_approval;
pub(crate) mod rerun_hint;
mod screen;

use crate::args::labels::LabelArgs;
use crate::args::{Global, LockWaitArgs, durations, settle};
use crate::log::configuration::{Configuration, Demands, InForce, floors, open_bounds};
use crate::log::damage::LogError;
use crate::log::{clock, open, registered_logs};
use crate::questions::confirm_less::confirm_less;
use crate::questions::{adoption, request_id};
use crate::ui::text::{beginning, visible_once};
use crate::ui::{Exit, Failure, complain, counted, inherited, path};
use crate::verbs::record::run::actor_args::SpeakerArgs;
use crate::verbs::record::run::hold_args::{
    HoldArgs, StartArgs, attempts, expect_asked, names_somebody,
};
use crate::verbs::record::run::pre_approval::NotStarted;
use ask::Person;
use behind::{Behind, asked, recorded};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::sandbox_fault::RetryPolicy;
use holdpoint_engine::executor::visible as shown;
use holdpoint_engine::executor::{
    CommandSpec, EnvironmentPolicy, Guard, Outcome as Ended, OutputSink, Signals, Stdin, fork_guard,
};
use holdpoint_engine::floors::EvidenceTable;
use holdpoint_engine::log::{OpenError, OpenReport, Options};
use holdpoint_engine::shell::{
    ApprovedStart, Conditions, EngineError, EngineOptions, GovernedRun, HeldRun, OnFull, Recording,
    ResumeError, RunError,
};
use holdpoint_engine::{Engine, Origin};
use holdpoint_log_files::{DirectoryStorage, SurveyError};
use holdpoint_log_format::recovery::Row;
use screen::Screen;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why standard input is not handed on.
const STDIN_IS_TERMINAL: &str = "standard input is a terminal, and a command that is recorded \
    shares none: use --tty, which gives it one of its own; the command was not started";

/// What becomes of the command where the disk is full.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum OnFullArg {
    Stop,
    Continue,
}

impl From<OnFullArg> for OnFull {
    fn from(asked: OnFullArg) -> Self {
        match asked {
            OnFullArg::Stop => Self::Stop,
            OnFullArg::Continue => Self::Continue,
        }
    }
}

/// Options of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Stop the command after this time: 1s, 90s, 5m, 1h 30m.
    #[arg(long, value_name = "DURATION", value_parser = durations::duration)]
    timeout: Option<Duration>,
    /// Maximum number of attempts, 1 to 3, after a crash or timeout or by a person's decision
    /// [default: 3 with a hold, 1 without].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    max_attempts: Option<u8>,
    /// Kill the command when its processes use more memory: 64MiB, 2GiB.
    #[arg(long, value_name = "SIZE", value_parser = durations::memory)]
    max_memory: Option<u64>,
    /// Record this much of each stream in full, at most 512MiB; beyond it, the last 4KiB of each
    /// second.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = durations::output)]
    max_output: u64,
    /// Record output at least this often, and at every 64KiB.
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = durations::flush)]
    flush: Duration,
    /// Stop the command, or continue it, when the disk is too full to record its output.
    #[arg(long, value_name = "ACTION", default_value = "stop")]
    on_full: OnFullArg,
    /// Pass standard input to the command; it must not be a terminal.
    #[arg(long, conflicts_with = "tty")]
    stdin: bool,
    /// Allocate a terminal for the command; its output is recorded as one stream.
    #[arg(long)]
    tty: bool,
    #[command(flatten)]
    speaker: SpeakerArgs,
    #[command(flatten)]
    labels: LabelArgs,
    #[command(flatten)]
    start: StartArgs,
    /// Record this environment variable too; a trailing `*` matches any suffix.
    #[arg(long, value_name = "NAME")]
    record_env: Vec<OsString>,
    /// Redact the values of variables whose names contain this.
    #[arg(long, value_name = "PART")]
    redact: Vec<OsString>,
    #[command(flatten)]
    turn: LockWaitArgs,
    /// Continue without a readable HEAD, and record that; lost records at the end of the log are
    /// then not detected.
    #[arg(long)]
    without_head: bool,
    #[command(flatten)]
    hold: HoldArgs,
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
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
    // While this process is small, has one thread, and holds nothing.
    fork_guard().map_or_else(|| settle(global, run(global, args)), guard_exit)
}

/// Tells that the log cannot be used, and starts nothing.
pub(crate) fn refuse(global: &Global, failure: &Failure) -> Exit {
    settle(global, Err(not_started("log", failure.message())))
}

fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    if args.stdin && io::stdin().is_terminal() {
        return Err(Failure::new(Exit::USAGE, "stdin_is_terminal", STDIN_IS_TERMINAL));
    }
    // Before anything else: an interrupt from here on is kept, and goes on record.
    let mut signals = Signals::install().map_err(|error| not_started("signals", error))?;
    let origin = args.speaker.origin()?;
    let mut conditions = Conditions::default();
    conditions.labels = args.labels.all()?;
    // The codes of a configuration are those of commands too.
    let configuration = Configuration::load(global).map_err(Failure::of_run)?;
    // A policy that cannot be known is told before a log is made.
    let floors = floors().map_err(Failure::of_run)?;
    let defaults = floors.defaults();
    let mut less = args.hold.asked()?.less_than(defaults);
    less.extend(recorded_besides(&args.record_env, &defaults.record_env));
    let confirmed = confirm_less(&less).map_err(Failure::of_run)?;
    let (hold, start) = (args.hold.clone(), args.start.clone());
    let engine = open(global, args.turn.lock_wait, args.without_head)?;
    confirmed.iter().for_each(|line| engine.allow_below_defaults(line));
    let demands = Demands::of(&global.log, &engine).map_err(Failure::of_run)?;
    let in_force = demands.in_force(&configuration, &hold.asked()?).map_err(Failure::of_run)?;
    names_somebody(&in_force)?;
    expect_asked(&in_force, &hold, &start)?;
    let is_tty = args.tty;
    let run = governed(args, &in_force, configuration.evidence_over(defaults))?;
    configuration.record(&engine).map_err(|error| unrecorded(global, error.into()))?;
    let mut screen = Screen::new(global.json);
    let (engine_of, in_force, hold) = (&engine, &in_force, &hold);
    let mut carried =
        RunRequest { global, engine: engine_of, in_force, hold, origin, conditions, run };
    let outcome = carried.out(&start, &mut screen, &mut signals);
    let closed = match &outcome {
        Ok(Outcome::Run(HeldRun::EndWaits(_))) => engine.close_without_waiting(),
        _ => engine.close(),
    };
    // The end is on record: what is left of the output goes to whoever reads it.
    let was_stopped = outcome.as_ref().is_ok_and(Outcome::was_stopped);
    let unshown = screen.finish(&mut signals, was_stopped);
    // From here on a signal ends this program as it does others.
    drop(signals);
    let run = match outcome? {
        Outcome::Run(run) => run,
        Outcome::NotStarted(not) => {
            let behind = Behind::of(global, not.exit_status, asked(&not), closed);
            return behind.settled(not.tell(global, &behind));
        }
    };
    let (status, loop_id) = output::status_and_id(&run);
    let behind = Behind::of(global, status, recorded(&run), closed);
    let behind = behind.unshown(global, loop_id, unshown);
    let told = output::tell_run(global, &run, &behind);
    output::hint(is_tty, behind.exit);
    behind.settled(told)
}

/// What became of what was asked for.
enum Outcome {
    /// A loop began, or went on.
    Run(HeldRun),
    /// A person was asked before, and there is no loop.
    NotStarted(Box<NotStarted>),
}

impl Outcome {
    /// Whether the command ran, and something else than itself ended it.
    fn was_stopped(&self) -> bool {
        let Self::Run(run) = self else { return false };
        run.summary().execution.as_ref().is_some_and(|execution| {
            !matches!(execution.outcome, Ended::Exited { .. } | Ended::Signaled { .. })
        })
    }
}

/// A run that is to be carried out on an open log.
struct RunRequest<'a> {
    global: &'a Global,
    engine: &'a Engine,
    in_force: &'a InForce,
    hold: &'a HoldArgs,
    origin: Origin,
    /// No key: its labels alone.
    conditions: Conditions,
    run: GovernedRun,
}

impl RunRequest<'_> {
    /// Asks where that is needed, and starts or goes on.
    fn out(
        &mut self,
        start: &StartArgs,
        sink: &mut dyn OutputSink,
        signals: &mut Signals,
    ) -> Result<Outcome, Failure> {
        let (global, engine) = (self.global, self.engine);
        let mut person = Person::new(global, self.hold.no_wait);
        if let Some(request) = &start.resume {
            let found = request_id::find(global, engine, request)
                .map_err(|failure| not_started("ambiguous_request", failure.message()))?;
            let request = found.unwrap_or_else(|| beginning(request).to_string());
            let resumed =
                engine.resume_held(&self.origin, &self.run, &request, &mut person, sink, signals);
            return resumed.map(Outcome::Run).map_err(|error| not_resumed(global, error));
        }
        if !self.in_force.gate.before && start.approval.is_none() {
            let ran = self.unasked(&mut person, sink, signals);
            return ran.map(Outcome::Run).map_err(|error| unrecorded(global, error));
        }
        let bound = pre_approval::bind(self, start, signals)?;
        let decision_id = match &start.approval {
            Some(wanted) => {
                let found = pre_approval::find(self, wanted)?;
                if *found != **wanted {
                    complain(&format!("spends {found}"));
                }
                found
            }
            None => match pre_approval::ask(self, &bound, signals)? {
                Ok(approved) => approved,
                Err(not_started) => return Ok(Outcome::NotStarted(not_started)),
            },
        };
        let (run, terms, policy) = (&self.run, &self.in_force.hold, &self.in_force.policy);
        let (bound, decision_id, labels) = (&bound, &*decision_id, &self.conditions.labels);
        let approved = ApprovedStart { run, terms, policy, bound, decision_id, labels };
        let ran = engine.run_approved(&self.origin, &approved, &mut person, sink, signals);
        ran.map(Outcome::Run).map_err(|error| pre_approval::failure(global, error))
    }

    /// Starts without a question before.
    fn unasked(
        &self,
        person: &mut Person<'_>,
        sink: &mut dyn OutputSink,
        signals: &mut Signals,
    ) -> Result<HeldRun, RunError> {
        let (origin, conditions, terms) = (&self.origin, &self.conditions, &self.in_force.hold);
        self.engine.run_held(origin, conditions, &self.run, terms, person, sink, signals)?.now()
    }
}

fn not_resumed(global: &Global, error: ResumeError) -> Failure {
    match error {
        ResumeError::Run(error) => unrecorded(global, error),
        error => {
            let (code, message) = (error.code(), visible_once(&error.to_string()));
            not_started(code, format!("{message} ({code})"))
        }
    }
}

fn governed(
    args: Args,
    in_force: &InForce,
    evidence: EvidenceTable,
) -> Result<GovernedRun, Failure> {
    let max_attempts = attempts(in_force, &args.start, args.max_attempts)?;
    let mut words = args.command.into_iter();
    let recorded = evidence.record_env.iter().map(OsString::from).chain(args.record_env);
    let redacted = evidence.redact.iter().map(OsString::from).chain(args.redact);
    let recorded: Vec<OsString> = recorded.collect();
    warn_of_everything(&recorded);
    let policy = recorded.into_iter().fold(EnvironmentPolicy::default(), EnvironmentPolicy::allow);
    Ok(GovernedRun {
        command: CommandSpec {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            directory: working_directory()?,
            environment: inherited::environment(),
            signals: inherited::signals(),
            stdin: match (args.tty, args.stdin) {
                (true, _) => Stdin::Terminal,
                (false, true) => Stdin::Inherit,
                (false, false) => Stdin::Null,
            },
            timeout: args.timeout,
            max_memory_bytes: args.max_memory,
            max_output_bytes: args.max_output,
            guard: Some(Guard::of_own_program().adopting()),
        },
        environment: redacted.fold(policy, EnvironmentPolicy::redact),
        max_attempts,
        retry_ceiling: RetryPolicy::RetryLimited,
        gate: in_force.gate.clone(),
        approval: None,
        recording: Recording { flush: args.flush, on_full: args.on_full.into() },
    })
}

/// The options that record more than is usual, as a person reads them.
fn recorded_besides(asked: &[OsString], known: &[String]) -> Vec<String> {
    let new = asked.iter().filter(|name| !known.iter().any(|known| name.as_os_str() == &**known));
    let say = |name: &OsString| format!("--record-env {}: its value goes on record", shown(name));
    new.map(say).collect()
}

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
    let options = EngineOptions::default()
        .log(Options::default().lock_wait(lock_wait).without_head(without_head))
        .open_bounds(open_bounds());
    let opened = Engine::open_with(DirectoryStorage::new(&log), options);
    let engine = opened.map_err(|error| match error {
        EngineError::Submit(error) => unrecorded(global, error.into()),
        error => not_started("log", why_not_opened(&error)).with_room(error.room()),
    })?;
    tell_recovery(&log, engine.report());
    let ahead = engine.ahead_of_clock_ns();
    clock::tell(ahead.map_err(|error| unrecorded(global, error.into()))?);
    open::tell_of_new(&engine);
    registered_logs::register(&log);
    adoption::offer(global, &engine).map_err(Failure::of_run)?;
    Ok(engine)
}

/// The disk's own words say nothing of what to do about them.
fn why_not_opened(error: &EngineError) -> String {
    let advice = match error {
        EngineError::Open(
            OpenError::Io { .. } | OpenError::Survey { source: SurveyError::Io { .. }, .. },
        ) => "; check the path, and that this user may read and write there",
        EngineError::Open(OpenError::Refused { row: Row::NoWitness, .. }) => {
            ", or go on without HEAD by `--without-head`, which is recorded: where LOCK does not \
             tell how far the log reached, nothing that began before permits anything then"
        }
        _ => "",
    };
    format!("{}{advice}", visible(&error.to_string()))
}

/// What an interrupted write left behind is never cut in silence, and nobody takes a log for whole
/// of which nothing tells how far it reached.
fn tell_recovery(log: &Path, report: &OpenReport) {
    let recovered = &report.recovered;
    if !recovered.is_end_known {
        complain(
            "HEAD was missing, and records may be lost behind the newest one: what began before \
             permits nothing, and nothing begins before a person sets the policy. Run `holdpoint \
             policy set` with all that the lost one demanded, then ask, begin or grant again",
        );
    }
    if recovered.cut_bytes > 0 {
        let copy = recovered.copied_to.as_deref().unwrap_or("no file");
        complain(&format!(
            "an interrupted write had left {} in {}: set aside in {copy}, and recorded",
            counted(recovered.cut_bytes, "byte"),
            path(&log.join(&recovered.segment)),
        ));
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
    let (log, room) = (path(&global.log), error.room());
    let failure = match error {
        RunError::NotRecorded { exit_status, .. } => {
            let message = format!("log {log}: {error}; `holdpoint verify` says how it stands");
            Failure::new(after_failure(exit_status), "not_recorded", message)
        }
        RunError::NotSynced { exit_status, .. } => {
            let message = format!("log {log}: {error}; `holdpoint verify` says how it stands");
            Failure::new(after_failure(exit_status), "not_synced", message)
        }
        RunError::NotConcluded { .. } | RunError::EndWaitsUnfinished { .. } => {
            Failure::new(Exit::HOLDPOINT_FAILED, "not_concluded", format!("log {log}: {error}"))
        }
        RunError::Refused(ref refusal) => {
            not_started(refusal.code(), format!("log {log}: {}", visible_once(&error.to_string())))
        }
        error => not_started("log", format!("log {log}: {error}")),
    };
    failure.with_room(room)
}

fn not_started(code: &'static str, reason: impl Display) -> Failure {
    let message = format!("{reason}; the command was not started");
    Failure::new(Exit::HOLDPOINT_FAILED, code, message)
}
