//! `holdpoint apply`: commands in as JSON Lines, one line out for each, in order.
//!
//! A line of input is `{"submit": {"command": NAME, ...}}` and, beside `submit`, what is known of
//! its origin: `actor` (else this user, as AUTOMATION), `correlation` (else a story of its own),
//! `causation`, `idempotency`, `expected_version`. `apply --schema` says all of it. Random bits
//! that a command leaves away are drawn, the terms of a hold and its gate are as in force, and no
//! line can set the time. Who asks or answers in a command on a decision point is proven by this
//! process alone: `by.authenticated_by` and `by.means` are replaced.
//!
//! A line of output is the number of its line of input and either a `receipt`, or the `refusal` of
//! a rule, or an `error` with line, column and field: then the line was not understood, and nothing
//! came of it. Each is written before the next line is waited for, so a program can ask and be
//! answered over a pipe; a receipt is durable by then. When nobody reads the answers any more, no
//! further line is carried out.

mod answer;
mod schema;
pub(crate) mod submission;
mod turn;

use crate::args::Global;
use crate::args::json_lines::{InputLine, next_line, open_input};
use crate::log::configuration::{Configuration, Demands, HoldOptions, InForce, floors};
use crate::log::damage::LogError;
use crate::log::open::open_log;
use crate::log::receipt::Recorded;
use crate::questions::confirm::Offer;
use crate::ui::{Exit, Failure, Output, path};
use answer::{Answer, Outcome};
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::registration::RegistrationCommand;
use holdpoint_engine::Engine;
use holdpoint_engine::log::{AppendError, OpenError};
use holdpoint_engine::shell::{EngineError, Origin, SubmitError, TypedLine};
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::time::Duration;
use submission::{Defaults, Submission};

/// What is said below the options.
const MORE: &str = "\
Who asks or answers in a command on a decision point is proven by this process, not by the line: a
person by the name of its own user is that user, and any other name is a claim that nothing proves.
The line's by.authenticated_by and by.means are replaced.";

/// Options of `apply`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// File of commands [default: standard input, as is `-`].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print the JSON Schema of lines, commands and events.
    #[arg(long, conflicts_with = "file")]
    pub(crate) schema: bool,
    /// Maximum wait for another writer of the log.
    #[arg(long, value_name = "DURATION", env = "HOLDPOINT_LOCK_WAIT", default_value = "10s")]
    #[arg(value_parser = humantime::parse_duration)]
    lock_wait: Duration,
}

/// Carries the commands out. Exit 0 when all were accepted, 5 when a rule refused one, 2 when a
/// line was not understood, which goes before 5; 4 when the log stayed locked, 6 when it does not
/// verify, 3 when an archive has to be looked at and cannot be read, 1 when it failed: then the
/// lines without an answer were not carried out, or nobody knows.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    let outcome = if args.schema { schema::print() } else { apply(global, &args) };
    outcome.unwrap_or_else(|failure| failure.tell())
}

fn apply(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let configuration = Configuration::load(global)?;
    floors()?;
    let mut input = open_input(args.file.as_deref())?;
    let engine = open(global, args.lock_wait)?;
    configuration.record(&engine).map_err(|error| failed(global, &error))?;
    let demands = Demands::of(&global.log, &engine)?;
    let in_force = demands.in_force(&configuration, &HoldOptions::default())?;
    let mut applier = Applier::new(global, &engine, &in_force);
    let applied = applier.apply(&mut input);
    let recorded = applier.recorded.take();
    drop(applier);
    let closed = engine.close().map_err(|error| {
        let (exit, code) = error.exit();
        let log = path(&global.log);
        Failure::new(exit, code, format!("the log {log} was not closed well: {error}"))
    });
    // Any other failure is about a line that was not carried out, or nobody knows.
    let untold =
        recorded.as_ref().filter(|_| applied.as_ref().is_err_and(|it| it.is_called("output")));
    let exit = applied.map_err(|failure| failure.behind_any(untold))?;
    let closed = closed.map_err(|failure| failure.behind_any(recorded.as_ref()));
    if let Err(failure) = &closed {
        // The last line says it to whoever reads the answers.
        let mut out = Output::stdout();
        out.json_line(&failure.value());
        let _ = out.finish();
    }
    closed.map(|()| exit)
}

fn open(global: &Global, lock_wait: Duration) -> Result<Engine, Failure> {
    open_log(&global.log, lock_wait, true).map_err(|error| match error {
        EngineError::Open(error @ OpenError::Locked { .. }) => {
            Failure::new(Exit::CONFLICT, "locked", visible(&error.to_string()))
        }
        EngineError::Submit(error) => failed(global, &error),
        error => {
            let (exit, code) = error.exit();
            Failure::new(exit, code, visible(&error.to_string())).with_room(error.room())
        }
    })
}

/// The log could not be written, and what was not answered was not acknowledged.
fn failed(global: &Global, error: &SubmitError) -> Failure {
    let (exit, code) = match error {
        SubmitError::Append(AppendError::Locked { .. }) => (Exit::CONFLICT, "locked"),
        error => error.exit(),
    };
    let message = format!("{}: {}", path(&global.log), visible(&error.to_string()));
    Failure::new(exit, code, message)
}

/// Carries lines out and answers each.
struct Applier<'a> {
    global: &'a Global,
    engine: &'a Engine,
    defaults: Defaults,
    out: Output,
    worst: Exit,
    /// The newest record that this process has made, and what it is about.
    recorded: Option<Recorded>,
}

impl<'a> Applier<'a> {
    fn new(global: &'a Global, engine: &'a Engine, in_force: &InForce) -> Self {
        let defaults = Defaults::of(in_force);
        Self { global, engine, defaults, out: Output::stdout(), worst: Exit::DONE, recorded: None }
    }

    fn apply(&mut self, input: &mut impl BufRead) -> Result<Exit, Failure> {
        let mut line = 0_u64;
        while let Some(input) = next_line(input).map_err(|error| unreadable(&error))? {
            line = line.saturating_add(1);
            let outcome = self.outcome(line, &input)?;
            self.worst = worse(self.worst, outcome.exit());
            self.recorded = outcome.recorded().or(self.recorded.take());
            self.out.json_line(&Answer { line, outcome });
            if !self.out.flush() {
                break;
            }
        }
        std::mem::replace(&mut self.out, Output::stdout()).finish()?;
        Ok(self.worst)
    }

    /// What becomes of a line: one turn on the log, or none.
    fn outcome(&self, line: u64, input: &InputLine) -> Result<Outcome, Failure> {
        let submission = match Submission::read(input, &self.defaults) {
            Ok(submission) => submission,
            Err(fault) => return Ok(Outcome::not_understood(line, &fault)),
        };
        let Submission { mut origin, conditions, command, .. } = submission
            .with_entropy(|| self.engine.entropy())
            .map_err(|e| failed(self.global, &e))?;
        if origin.correlation.is_empty() {
            let drawn = self.engine.entropy().map_err(|error| failed(self.global, &error))?;
            origin.correlation = drawn.to_string();
        }
        let submitted = match self.confirmed(&origin, &command)? {
            Some(typed) => self.engine.submit_typed(&origin, &conditions, &command, typed),
            None => self.engine.submit(&origin, &conditions, &command),
        };
        submitted
            .map(|done| Outcome::of(done, &command))
            .map_err(|error| failed(self.global, &error))
    }
}

impl Applier<'_> {
    /// The line by which the user of this process grants or takes away a capability at a terminal.
    /// Nothing else of `apply` is a person's: a question is answered where it is shown.
    fn confirmed(&self, origin: &Origin, command: &Command) -> Result<Option<TypedLine>, Failure> {
        let Command::Registration(RegistrationCommand::ChangeCapability(change)) = command else {
            return Ok(None);
        };
        let is_own =
            origin.actor.kind == Actor::Human && origin.actor.id == self.engine.identity().name();
        let stated = self.engine.query(|world| world.policy().authentication);
        let stated = stated.map_err(|error| failed(self.global, &error))?;
        if !is_own || stated.is_some() {
            return Ok(None);
        }
        let word = if change.is_granted { "grant" } else { "revoke" };
        let (kind, capability) = (change.actor_kind, change.capability);
        let lines = vec![
            format!("{word} a capability in the log {}", path(&self.global.log)),
            format!("{:<22}{kind} {}", "actor", visible(&change.actor_id)),
            format!("{:<22}{capability}", "capability"),
        ];
        // What is not typed is refused, for want of a person.
        Ok(Offer::of_change(lines, "holdpoint apply", word).typed().unwrap_or_default())
    }
}

fn unreadable(error: &io::Error) -> Failure {
    let message =
        format!("cannot read the commands: {error}; lines without an answer were not read");
    Failure::new(Exit::FAILED, "io", message)
}

/// A line that was not understood goes before a refusal, and a refusal before a receipt.
fn worse(one: Exit, other: Exit) -> Exit {
    let order = [Exit::USAGE, Exit::REFUSED];
    order.into_iter().find(|exit| [one, other].contains(exit)).unwrap_or(Exit::DONE)
}
