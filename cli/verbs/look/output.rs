//! `holdpoint output`: what a recorded command printed, byte for byte, and not before all of it has
//! verified.

mod follow;
mod unproven;

use crate::args::{Global, settle};
use crate::log::captured_output::{
    expect_not_hidden, expect_run, expect_verified, nothing_kept, warning,
};
use crate::log::coverage::UntiedRecords;
use crate::log::records::conclude;
use crate::log::unfinished_output::{open_end, tell_doubt};
use crate::log::{ArchiveArgs, Directory, other_logs, run_id};
use crate::ui::screen::seen_lines;
use crate::ui::{Exit, Failure, Output, complain, counted};
use holdpoint_domain::evidence_capture::OutputStream;
use holdpoint_replay::machine::recorder_of;
use holdpoint_replay::merged_output::{Chunk, MergedOutput, TimedLines};
use holdpoint_replay::words::stream_in_words;
use holdpoint_replay::{CapturedOutput, Missing, Reach, Run, run_of};
use serde_json::{Map, Value, json};
use std::io::{self, IsTerminal};
use unproven::{Ending, Waiting, put_unproven, tell_nothing_printed, total, unproven};

/// Options of `output`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// ID of the run, a prefix of it, or the number of a record about it.
    #[arg(value_name = "RUN")]
    run: String,
    /// Print this stream only.
    #[arg(long, value_name = "STREAM")]
    stream: Option<Stream>,
    /// Prefix each line with the time at which its first byte was read, and its stream.
    #[arg(long, conflicts_with = "json")]
    timestamps: bool,
    /// Attempt, from 1 [default: the last one with output].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    attempt: Option<u8>,
    /// Print the last N lines only.
    #[arg(short = 'n', long = "limit", value_name = "LINES")]
    tail: Option<usize>,
    /// Follow the output until the run ends.
    #[arg(short, long, conflicts_with_all = ["json", "attempt"])]
    follow: bool,
    /// Write control characters to a terminal unescaped.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    archives: ArchiveArgs,
}

/// A stream of a command.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Writes what a run printed. Exit 3 where there is no such run, or where not all of what is asked
/// for was kept; 6, and not a byte, where the log does not verify as far as it was read for that.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, other_logs::told(global, &args.run, write(global, &args)))
}

fn write(global: &Global, args: &Args) -> Result<Exit, Failure> {
    if args.follow {
        return follow::follow(global, args);
    }
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let loop_id = run_id::find(&directory, &args.run)?;
    let recorder = recorder_of(&directory.storage, &loop_id);
    let (found, searched) = directory.read(|log, options| run_of(log, &loop_id, options))?;
    if !searched.is_sound() {
        return conclude(global, &directory, &searched);
    }
    let run = expect_run(&directory, &loop_id, found)?;
    expect_not_hidden(global, &run)?;
    let Waiting { pieces, in_file } = Waiting::of(&directory, &run, args);
    let outputs = chosen(&run, args);
    let is_told = in_file.as_ref().is_some_and(|file| !pieces.is_empty() || file.ends_output());
    if let (Err(_), false) = (&outputs, is_told) {
        tell_doubt(open_end(&run, recorder, &[], in_file.as_ref()).as_deref(), None);
        return Err(nothing_kept(&run, streams(args), args.attempt));
    }
    let outputs = outputs.unwrap_or_default();
    let doubt = open_end(&run, recorder, &outputs, in_file.as_ref());
    outputs.iter().try_for_each(|output| expect_verified(&run, output, searched.reach()))?;
    let merged = MergedOutput::of(&outputs, &pieces, args.tail.unwrap_or(usize::MAX));
    let end = Ending { is_open: doubt.is_some(), waiting: in_file.as_ref() };
    if global.json {
        put_json(&run, &outputs, (&merged, streams(args)), (end, searched.reach()))?;
    } else {
        let is_seen = io::stdout().is_terminal() && !args.raw;
        let out = || if args.raw { Output::stdout() } else { Output::paged(global.json) };
        let lines = match outputs.is_empty() {
            true => TimedLines::default(),
            false => put(out(), &outputs, &merged, args, is_seen)?,
        };
        match outputs.is_empty() && pieces.is_empty() {
            true => tell_nothing_printed(&run, streams(args)),
            false => put_unproven(global, &run, &merged, args, lines)?,
        }
        let mut untied = UntiedRecords::default();
        outputs.iter().for_each(|output| untied.take(output.sequence, output.standing));
        untied.tell(searched.reach());
    }
    let exit = tell_doubt(doubt.as_deref(), in_file.as_ref());
    Ok(if merged.has_hole() { Exit::NOT_FOUND } else { exit })
}

/// The streams that are asked for.
const fn streams(args: &Args) -> &'static [OutputStream] {
    use OutputStream::{Payload, Stderr, Stdout};
    match args.stream {
        Some(Stream::Stdout) => &[Stdout],
        Some(Stream::Stderr) => &[Stderr],
        None => &[Stdout, Stderr, Payload],
    }
}

fn put_chunk(
    out: &mut Output,
    chunk: &Chunk<'_>,
    args: &Args,
    lines: &mut TimedLines,
    is_seen: bool,
) {
    match args.timestamps {
        true => write_bytes(out, &lines.timed(chunk), is_seen),
        false => write_bytes(out, chunk.bytes, is_seen),
    }
}

/// What is asked for: one stream or both, of an attempt, or of the last one that printed anything.
fn chosen<'r>(run: &'r Run, args: &Args) -> Result<Vec<&'r CapturedOutput>, Failure> {
    let streams = streams(args);
    let nothing = || nothing_kept(run, streams, args.attempt);
    let found = |attempt| streams.iter().filter_map(move |stream| run.output(*stream, attempt));
    let newest = |output: &&CapturedOutput| (output.length() > 0, output.attempt);
    let attempt = args.attempt.or(found(None).max_by_key(newest).map(|output| output.attempt));
    let outputs: Vec<&CapturedOutput> = found(Some(attempt.ok_or_else(nothing)?)).collect();
    if outputs.is_empty() { Err(nothing()) } else { Ok(outputs) }
}

fn put(
    mut out: Output,
    outputs: &[&CapturedOutput],
    merged: &MergedOutput<'_>,
    args: &Args,
    is_seen: bool,
) -> Result<TimedLines, Failure> {
    let printed = outputs.iter().filter(|output| output.length() > 0);
    let said: Vec<String> = printed.map(|output| warning(output)).collect();
    said.iter().for_each(|warning| complain(warning));
    if let (true, Some(output)) = (said.is_empty(), outputs.first()) {
        let what = if outputs.len() > 1 { "output" } else { stream_in_words(output.stream) };
        let is_whole = outputs.iter().all(|output| output.end.is_some());
        let nothing = if is_whole { "no output" } else { "nothing is on record" };
        complain(&format!("{what} of attempt {}: {nothing}", output.attempt));
    }
    let mut told = Vec::new();
    let mut lines = TimedLines::default();
    for chunk in &merged.chunks {
        if let Some(hole) = chunk.hole {
            let missing = format!(
                "{} are missing here, behind byte {}: {}",
                counted(hole.length, "byte"),
                hole.offset,
                reason(hole.why)
            );
            // What is said while a pager has the terminal is lost there.
            match !out.is_paged() && out.flush() {
                true => complain(&missing),
                false => told.push(missing.replace(" here,", ",")),
            }
        }
        put_chunk(&mut out, chunk, args, &mut lines, is_seen);
    }
    let is_paged = out.is_paged();
    out.finish()?;
    told.iter().filter(|_| is_paged).for_each(|missing| complain(missing));
    Ok(lines)
}

/// Why bytes are missing, in words.
fn reason(why: Missing) -> String {
    match why {
        Missing::BeyondLimit => "more than the run was to keep".to_string(),
        Missing::DiskFull => "the disk was full".to_string(),
        Missing::Both(without_room) => format!(
            "the disk was full for {}, and the rest is more than the run was to keep",
            counted(without_room, "byte")
        ),
        Missing::Unknown => "no record says why".to_string(),
    }
}

/// Writes bytes as they are, or so that a terminal shows each that it would follow.
fn write_bytes(out: &mut Output, bytes: &[u8], is_seen: bool) {
    if !is_seen {
        return out.bytes(bytes);
    }
    seen_lines(bytes).into_iter().for_each(|line| out.line(line));
}

/// For programs: one stream with its own fields, or all in the order in which they came. What waits
/// has its pieces in that order too.
fn put_json(
    run: &Run,
    outputs: &[&CapturedOutput],
    (merged, asked): (&MergedOutput<'_>, &[OutputStream]),
    (end, reach): (Ending<'_>, &Reach),
) -> Result<(), Failure> {
    let kept = merged.bytes();
    let unproven = unproven(run, merged, asked, end);
    let pieces = |chunks: &[Chunk<'_>], number| -> Vec<Value> {
        chunks.iter().filter_map(|chunk| chunk.json(number)).collect()
    };
    let mut told = Map::new();
    let mut put = |name: &str, value: Value| drop(told.insert(name.to_string(), value));
    put("run", json!(run.entity.loop_id()));
    put("unproven_pieces", json!(pieces(&merged.waiting, "entry")));
    if outputs.is_empty() {
        let missing = asked.iter().map(|stream| end.missing(run, *stream, None));
        put("attempt", json!(run.entity.attempt_count()));
        put("standing", json!("unproven"));
        put("missing", total(missing));
        put("streams", unproven);
    } else {
        put("attempt", json!(outputs.first().map(|output| output.attempt)));
        put("text", json!(std::str::from_utf8(&kept).ok()));
        put("bytes_hex", json!(base16ct::lower::encode_string(&kept)));
        put("reach", json!(reach));
        put("unproven", unproven);
    }
    match outputs {
        [] => {}
        [output] => {
            if let Value::Object(stream) = stream_json(run, output, end) {
                told.extend(stream);
            }
        }
        _ => {
            let streams = outputs.iter().map(|output| stream_json(run, output, end));
            put("streams", streams.collect());
            put("pieces", json!(pieces(&merged.chunks, "record")));
        }
    }
    let mut out = Output::stdout();
    out.json(&told);
    out.finish()
}

/// Of a stream whose end is open it may be that nobody knows how much is missing.
fn stream_json(run: &Run, output: &CapturedOutput, end: Ending<'_>) -> Value {
    let first = output.holes().next();
    let known = first.map(|_| output.missing());
    let missing = match output.end {
        None => end.missing(run, output.stream, known),
        Some(_) => json!(known),
    };
    let holes: Vec<_> = output
        .holes()
        .map(|hole| {
            json!({
                "offset": hole.offset,
                "length": hole.length,
                "at": hole.place,
                "reason": hole.why.name(),
            })
        })
        .collect();
    json!({
        "stream": output.stream,
        "record": output.sequence,
        "standing": output.standing.name(),
        "length": output.length(),
        "ended": output.end.is_some(),
        "sha256": output.whole_sha256(),
        "kept": output.bytes.len(),
        "missing": missing,
        "missing_from": first.map(|hole| hole.offset),
        "holes": holes,
    })
}
