//! What of a run's output waits in the run's file: unproven until a writer takes it up.

use super::{Args, put_chunk, streams};
use crate::args::Global;
use crate::log::Directory;
use crate::log::captured_output::name_of_all;
use crate::ui::text::bytes;
use crate::ui::{Failure, Output, complain};
use holdpoint_domain::evidence_capture::OutputStream;
use holdpoint_replay::Run;
use holdpoint_replay::merged_output::{MergedOutput, TimedLines, bytes_of};
use holdpoint_replay::waiting::{WaitingOutput, WaitingRun, waiting_for};
use holdpoint_replay::words::stream_in_words;
use serde_json::{Value, json};
use std::io::{self, IsTerminal};

/// What waits in the run's file: signed by its recorder, and unproven until a writer takes it up.
pub(super) struct Waiting {
    /// Of the streams that are asked for, behind what is on record of them.
    pub(super) pieces: Vec<WaitingOutput>,
    /// All of it, where the run has not ended on record and what is asked for may be there.
    pub(super) in_file: Option<WaitingRun>,
}

impl Waiting {
    pub(super) fn of(directory: &Directory, run: &Run, args: &Args) -> Self {
        let number = run.entity.attempt_count();
        let is_asked = run.entity.halt.is_none() && args.attempt.is_none_or(|it| it == number);
        let in_file = waiting_for(&directory.storage, run).filter(|_| is_asked);
        let mut pieces = in_file.as_ref().map_or_else(Vec::new, |file| file.output(run));
        pieces.retain(|piece| streams(args).contains(&piece.stream));
        Self { pieces, in_file }
    }
}

/// Writes what waits, below what it is.
pub(super) fn put_unproven(
    global: &Global,
    run: &Run,
    merged: &MergedOutput<'_>,
    args: &Args,
    mut lines: TimedLines,
) -> Result<(), Failure> {
    let Some(first) = merged.waiting.first() else { return Ok(()) };
    let (id, length) = (run.entity.loop_id(), bytes_of(&merged.waiting).len());
    let is_one = merged.waiting.iter().all(|chunk| chunk.stream == first.stream);
    complain(&format!(
        "{} of attempt {}, {}: unproven and untrusted, it waits in runs/{id} for the next writer",
        if is_one { stream_in_words(first.stream) } else { "standard output and standard error" },
        run.entity.attempt_count(),
        bytes(u64::try_from(length).unwrap_or(u64::MAX)),
    ));
    let mut out = Output::paged(global.json);
    let is_seen = io::stdout().is_terminal() && !args.raw;
    for chunk in &merged.waiting {
        put_chunk(&mut out, chunk, args, &mut lines, is_seen);
    }
    out.finish()
}

/// Says of a run whose end waits that it printed nothing.
pub(super) fn tell_nothing_printed(run: &Run, streams: &[OutputStream]) {
    complain(&format!(
        "{} of attempt {}: no output; unproven, its end waits in runs/{} for the next \
         writer",
        name_of_all(streams),
        run.entity.attempt_count(),
        run.entity.loop_id()
    ));
}

/// The number of missing bytes, where nobody knows it.
pub(super) const UNKNOWN: &str = "unknown";

/// What is known of the end of a run's output that is not on record.
#[derive(Clone, Copy)]
pub(super) struct Ending<'w> {
    /// True if more may have been printed last than is there.
    pub(super) is_open: bool,
    pub(super) waiting: Option<&'w WaitingRun>,
}

impl Ending<'_> {
    /// Counts the missing bytes of a stream whose end is not on record.
    pub(super) fn missing(self, run: &Run, stream: OutputStream, known: Option<u64>) -> Value {
        let waiting = self.waiting.map_or(0, |waiting| waiting.missing_of(run, stream));
        match self.is_open && waiting == 0 && !self.states(stream) {
            true => json!(UNKNOWN),
            false => json!(Some(known.unwrap_or(0).saturating_add(waiting)).filter(|it| *it > 0)),
        }
    }

    fn states(self, stream: OutputStream) -> bool {
        self.waiting.is_some_and(|waiting| waiting.ended().any(|ended| ended == stream))
    }
}

/// What waits, of each stream of which something does.
pub(super) fn unproven(
    run: &Run,
    merged: &MergedOutput<'_>,
    streams: &[OutputStream],
    end: Ending<'_>,
) -> Value {
    let of_stream = |stream: &OutputStream| {
        let of_it = merged.waiting.iter().filter(|chunk| chunk.stream == *stream).copied();
        let bytes = bytes_of(&of_it.collect::<Vec<_>>());
        (!bytes.is_empty() || end.states(*stream)).then(|| {
            json!({
                "stream": stream,
                "text": std::str::from_utf8(&bytes).ok(),
                "bytes_hex": base16ct::lower::encode_string(&bytes),
                "missing": end.missing(run, *stream, None),
            })
        })
    };
    streams.iter().filter_map(of_stream).collect()
}

/// Adds up the missing bytes of several streams: unknown where it is of one.
pub(super) fn total(missing: impl Iterator<Item = Value>) -> Value {
    let all: Vec<Value> = missing.filter(|missing| !missing.is_null()).collect();
    match all.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>() {
        None => json!(UNKNOWN),
        Some(known) if known.is_empty() => Value::Null,
        Some(known) => json!(known.into_iter().sum::<u64>()),
    }
}
