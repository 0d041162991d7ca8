//! Writers that can be killed: each appends durably and says so only then, so that anyone can kill
//! the process, trace it, and check from outside that nothing acknowledged is missing.
//!
//! `cargo run -p holdpoint-engine --example durable_writers -- --dir DIRECTORY --threads 8 \
//! --records 10000 [--payload 256]`
//!
//! DIRECTORY is the log's; it is made where there is none. RECORDS is the number of records in all,
//! PAYLOAD the length of each one's payload in bytes. For each record one line `ack SEQUENCE` is
//! printed and flushed, after a sync that began after the record was written has returned.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::log::CommandRefused;
use holdpoint_domain::world::envelope;
use holdpoint_domain::{ActorId, Envelope};
use holdpoint_engine::log::{Level, Log, NewRecord, Options, Ownership};
use holdpoint_log_files::DirectoryStorage;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

const USAGE: &str = "usage: durable_writers --dir D --threads K --records N [--payload BYTES]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let plan = match Plan::parse(&arguments) {
        Ok(plan) => plan,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match write_all(&plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("durable_writers: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What to write, and where.
struct Plan {
    directory: PathBuf,
    threads: u64,
    records: u64,
    payload: usize,
}

impl Plan {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut plan = Self { directory: PathBuf::new(), threads: 0, records: 0, payload: 256 };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let value = rest.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--dir" => plan.directory = value.into(),
                "--threads" => plan.threads = number(flag, value)?,
                "--records" => plan.records = number(flag, value)?,
                "--payload" => plan.payload = number(flag, value)?,
                _ => return Err(format!("{flag} is not known")),
            }
        }
        if plan.directory.as_os_str().is_empty() || plan.threads == 0 {
            return Err("--dir and at least one thread are needed".to_string());
        }
        Ok(plan)
    }
}

fn number<T: std::str::FromStr>(flag: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{flag} needs a number, not {value:?}"))
}

type Failure = Box<dyn Error + Send + Sync>;

fn write_all(plan: &Plan) -> Result<(), Failure> {
    // What cannot be written is found out before a log is made.
    record(plan.records, plan.payload)?;
    // The only writer: its threads share their syncs.
    let options = Options::default().ownership(Ownership::Exclusive);
    let (log, _) = Log::open(DirectoryStorage::new(&plan.directory), options)?;
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let writer = || write_in_turns(&log, plan, &taken);
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, writer);
        let started: Vec<_> = (0..plan.threads).map(start).collect();
        // Every writer is waited for, then the first failure counts.
        let end = |writer: ScopedJoinHandle<'_, Result<(), Failure>>| {
            writer.join().unwrap_or_else(|_| Err("a writer panicked".into()))
        };
        let ends: Vec<_> = started.into_iter().map(|writer| end(writer?)).collect();
        ends.into_iter().collect::<Result<(), _>>()
    })?;
    Ok(log.close()?)
}

/// Appends records until all are taken, each acknowledged before the next.
fn write_in_turns(log: &Log, plan: &Plan, taken: &AtomicU64) -> Result<(), Failure> {
    loop {
        let number = taken.fetch_add(1, Ordering::Relaxed);
        if number >= plan.records {
            return Ok(());
        }
        let record = record(number, plan.payload)?;
        let appended = log.append_any_kind(&[record], now(), Level::Always)?;
        let mut output = std::io::stdout().lock();
        writeln!(output, "ack {}", appended.last_sequence)?;
        output.flush()?;
    }
}

/// A record that any reader of the log can read, with a payload of as many bytes as asked for.
fn record(number: u64, length: usize) -> Result<NewRecord, Failure> {
    let bare = encoded(number, 0)?.payload.len();
    let room = length.checked_sub(bare).ok_or(format!("a payload has at least {bare} bytes"))?;
    // A long text's own length takes up to eight bytes more.
    for text in (room.saturating_sub(8)..=room).rev() {
        let record = encoded(number, text)?;
        if record.payload.len() <= length {
            return Ok(record);
        }
    }
    Err("no text fills the payload".into())
}

fn encoded(number: u64, length: usize) -> Result<NewRecord, Failure> {
    let mut message = format!("record {number} ");
    message.extend(std::iter::repeat_n('.', length));
    message.truncate(length);
    let refused = CommandRefused {
        command: Text::from("-"),
        class: RefusalClass::Scope,
        code: Text::from("-"),
        subject: None,
        message: Text::from(message),
    };
    let envelope = Envelope {
        clock: None,
        proof: None,
        actor: ActorId { kind: Actor::System, id: "w".to_string() },
        correlation: "w".to_string(),
        causation: None,
        idempotency: None,
        event: refused.into(),
    };
    let encoded = envelope::encode(&envelope)?;
    Ok(NewRecord { kind: encoded.kind, version: encoded.version, payload: encoded.payload })
}

/// UTC in nanoseconds.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
