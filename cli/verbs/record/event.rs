//! `holdpoint record`: events of an application, from a file or a pipe.

use crate::args::json_lines::{InputLine, LINE_BYTES_MAX, next_line, open_input};
use crate::args::{Global, LockWaitArgs, settle};
use crate::log::damage::LogError;
use crate::log::open::failed;
use crate::log::receipt::Recorded;
use crate::questions::open::open_or_make;
use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure, Output, path};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::application::{ApplicationCommand, BYTES, Data, MAX_DATA_BYTES, RecordEvent};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::{ActorId, Command};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{
    Conditions, IdempotencyKey, Origin, SubmitError, Submitted, user_name,
};
use serde::Serialize;
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

/// What is said below the options.
const MORE: &str = "\
The event says what happened to a stream, in the application's own words; Holdpoint chains it and
judges nothing of it. Read it back with `holdpoint log entity=STREAM`. An event holds at most
63 MiB, and a line 16 MiB; empty input is an event without bytes, and with --lines no event. Exit 4:
the stream has come to another record, the key stands for another event, or the log stays locked.";

/// The tenant and the engine of the keys that are given here.
const KEYS_OF: &str = "application";

/// Options of `record`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// Stream of the event, 1 to 256 visible bytes.
    #[arg(long, value_name = "STREAM")]
    stream: String,
    /// Type of the event, 1 to 256 visible bytes.
    #[arg(long = "type", value_name = "TYPE")]
    event_type: String,
    /// Schema version of the type.
    #[arg(long, value_name = "N", default_value_t = 1)]
    type_version: u32,
    /// Media type of the payload.
    #[arg(long, value_name = "TYPE", default_value = BYTES)]
    content_type: String,
    /// Expected record of the stream's last event, 0 for an empty stream.
    #[arg(long, value_name = "RECORD")]
    expected_version: Option<u64>,
    /// Correlation of the event [default: a new one].
    #[arg(long, value_name = "NAME")]
    correlation: Option<String>,
    /// Record that caused the event.
    #[arg(long, value_name = "RECORD")]
    causation: Option<u64>,
    /// Act under this name instead of the user's; it is an unverified claim.
    #[arg(long = "as", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// Idempotency key: repeated in the same correlation, the event is recorded once. Needs
    /// --correlation.
    #[arg(long, value_name = "KEY", requires = "correlation")]
    idempotency_key: Option<String>,
    /// Record each input line as one event, all in one correlation.
    #[arg(long, conflicts_with_all = ["idempotency_key", "expected_version"])]
    lines: bool,
    /// File with the payload [default: standard input, as is `-`].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// Records the event, or one for each line. Exit 0: recorded, or recorded before under the same
/// key; 2 where the input is too long, 4 where the stream has come to another record or the log
/// stays locked, 5 where a rule says no. What was recorded before a line that was not stays.
pub(crate) fn main(global: &Global, args: &Args) -> Exit {
    settle(global, record(global, args))
}

fn record(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let mut input = open_input(args.file.as_deref())?;
    // A file is read before the log is opened: nobody waits for what cannot be read.
    let whole = if args.lines { None } else { Some(all_of(&mut input)?) };
    let engine = open_or_make(global, &args.turn, true)?;
    let recorder = recorder(global, &engine, args)?;
    let outcome = match whole {
        Some(data) => recorder.record(data).map(Some),
        None => recorder.record_lines(&mut input),
    };
    let correlation = recorder.origin.correlation;
    let closed = engine.close().map_err(|error| failed(global, error));
    let newest = outcome?;
    let recorded = newest.map(|event| Recorded::new(event.version, Some(&args.stream)));
    closed.map_err(|why| why.behind_any(recorded.as_ref()))?;
    // Lines were told of one by one.
    match newest.filter(|_| !args.lines) {
        Some(event) => tell(global, args, &correlation, event).map(|()| Exit::DONE),
        None => Ok(Exit::DONE),
    }
}

/// What was recorded, as programs are told of it.
#[derive(Serialize)]
struct EventDocument<'a> {
    stream: &'a str,
    /// The event's record, which is the stream's version from now on.
    version: u64,
    correlation: &'a str,
    /// It was recorded before, under the same key.
    repeated: bool,
}

/// An event that was recorded.
#[derive(Clone, Copy)]
struct Version {
    /// Its record.
    version: u64,
    /// It was recorded before, under the same key.
    repeated: bool,
}

struct Recorder<'a> {
    global: &'a Global,
    engine: &'a Engine,
    args: &'a Args,
    origin: Origin,
}

fn recorder<'a>(
    global: &'a Global,
    engine: &'a Engine,
    args: &'a Args,
) -> Result<Recorder<'a>, Failure> {
    let id = args.name.clone().unwrap_or_else(user_name);
    let actor = ActorId { kind: Actor::Automation, id };
    let correlation = match &args.correlation {
        Some(given) => given.clone(),
        None => engine.entropy().map_err(|error| not_recorded(global, &error))?.to_string(),
    };
    let origin = Origin { actor, correlation, causation: args.causation };
    Ok(Recorder { global, engine, args, origin })
}

impl Recorder<'_> {
    /// Records each line, and tells of it. The newest event.
    fn record_lines(&self, input: &mut impl BufRead) -> Result<Option<Version>, Failure> {
        let (mut newest, mut before) = (None, 0_u64);
        while let Some(line) = next_line(input).map_err(|error| unreadable("the input", &error))? {
            let InputLine::Whole(bytes) = line else {
                let (number, so_far) = (before.saturating_add(1), lines_before(before));
                let message = format!("line {number} has more than {LINE_BYTES_MAX} bytes{so_far}");
                return Err(Failure::new(Exit::USAGE, "too_long", message));
            };
            let recorded = self.record(bytes.into()).and_then(|event| {
                tell(self.global, self.args, &self.origin.correlation, event).map(|()| event)
            });
            newest = Some(recorded.map_err(|why| why.adding(&lines_before(before)))?);
            before = before.saturating_add(1);
        }
        Ok(newest)
    }

    /// Records one event.
    fn record(&self, data: Data) -> Result<Version, Failure> {
        let Args { stream, event_type, type_version, content_type, .. } = self.args;
        let command = Command::Application(ApplicationCommand::RecordEvent(RecordEvent {
            stream: stream.clone(),
            event_type: event_type.clone(),
            type_version: *type_version,
            content_type: content_type.clone(),
            data,
        }));
        let key = self.args.idempotency_key.as_ref().map(|key| IdempotencyKey {
            tenant: KEYS_OF.to_string(),
            engine: KEYS_OF.to_string(),
            key: key.clone(),
        });
        let conditions = Conditions::of(key, self.args.expected_version);
        let submitted = self.engine.submit(&self.origin, &conditions, &command);
        match submitted.map_err(|error| not_recorded(self.global, &error))? {
            Submitted::Accepted(receipt) => {
                Ok(Version { version: receipt.last_sequence, repeated: false })
            }
            Submitted::Repeated(receipt) => {
                Ok(Version { version: receipt.last_sequence, repeated: true })
            }
            Submitted::Refused(refusal) => {
                let exit = match refusal.code() {
                    "STALE_VERSION" | "IDEMPOTENCY_CONFLICT" => Exit::CONFLICT,
                    _ => Exit::REFUSED,
                };
                let code = refusal.code().to_ascii_lowercase();
                Err(Failure::new(exit, code, visible_once(&refusal.to_string())))
            }
        }
    }
}

/// Tells of an event.
fn tell(global: &Global, args: &Args, correlation: &str, event: Version) -> Result<(), Failure> {
    let Version { version, repeated } = event;
    let mut out = Output::stdout();
    let stream = args.stream.as_str();
    if global.json {
        out.json_line(&EventDocument { stream, version, correlation, repeated });
    } else {
        let before = if repeated { ", recorded before under this key" } else { "" };
        out.line(format_args!("record {version}: {}{before}", visible_once(stream)));
    }
    out.finish().map_err(|why| why.behind(&Recorded::new(version, Some(stream))))
}

/// How much of the input is on the record, for whoever goes on behind it.
fn lines_before(count: u64) -> String {
    format!("; lines recorded before: {count}")
}

/// No more is read than an event may hold, and one byte.
fn all_of(input: &mut impl BufRead) -> Result<Data, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_DATA_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let read = input.take(most).read_to_end(&mut bytes);
    read.map_err(|error| unreadable("the input", &error))?;
    if bytes.len() > MAX_DATA_BYTES {
        let message = format!(
            "the input has more than {MAX_DATA_BYTES} bytes (63 MiB), the most that an event \
             holds: record where it lies, and its digest"
        );
        return Err(Failure::new(Exit::USAGE, "too_long", message));
    }
    Ok(bytes.into())
}

fn unreadable(what: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::FAILED, "io", format!("cannot read {what}: {error}"))
}

fn not_recorded(global: &Global, error: &SubmitError) -> Failure {
    let (exit, code) = error.exit();
    let said = visible_once(&error.to_string());
    Failure::new(exit, code, format!("{}: {said}", path(&global.log)))
}
