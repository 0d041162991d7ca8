//! `holdpoint output`: what a recorded command printed, byte for byte, and not before all of it has
//! verified.

pub(crate) mod cast;
mod follow;
mod merged;
mod open_end;
mod unproven;

use crate::archives::ArchiveArgs;
use crate::args::global::{Global, settle};
use crate::config::hides_output;
use crate::directory::Directory;
use crate::elsewhere;
use crate::ids::{IdOf, did_you_mean};
use crate::log_show::conclude;
use crate::reach::Untied;
use crate::run_id;
use crate::ui::exit::{Exit, Failure, complain};
use crate::ui::output::Output;
use crate::ui::screen::seen_lines;
use crate::ui::text::{bytes, counted};
use crate::verify::VERIFY_TELLS;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::evidence_capture::OutputStream;
use holdpoint_log_files::Standing;
use holdpoint_replay::machine::recorder_of;
use holdpoint_replay::{
    BegunTwice, CapturedOutput, Missing, Reach, Run, RunFound, Searched, run_of,
};
use merged::{Chunk, Merged, TimedLines};
use open_end::{open_end, tell_doubt};
use serde_json::{Map, Value, json};
use std::io::{self, IsTerminal};
use unproven::{Ending, Waiting, put_unproven, tell_nothing_printed, total, unproven};

/// Options of `output`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, the beginning of its id, or the number of a record about it.
    #[arg(value_name = "RUN")]
    run: String,
    /// Only what it printed to standard output.
    #[arg(long)]
    stdout: bool,
    /// Only what it printed to standard error.
    #[arg(long, conflicts_with = "stdout")]
    stderr: bool,
    /// Begin each line with the time at which its first byte was read, and its stream.
    #[arg(long, conflicts_with = "json")]
    timestamps: bool,
    /// Of this attempt, from 1; else of the last one that printed anything.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    attempt: Option<u8>,
    /// Only so many of the last lines.
    #[arg(long, value_name = "LINES")]
    tail: Option<usize>,
    /// Go on as more of it is recorded, until the run is over.
    #[arg(short, long, conflicts_with_all = ["json", "attempt"])]
    follow: bool,
    /// Write to a terminal what it was told, controls and all.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    archives: ArchiveArgs,
}

/// Writes what a run printed. Exit 3 where there is no such run, or where not all of what is asked
/// for was kept; 6, and not a byte, where the log does not verify as far as it was read for that.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, elsewhere::told(global, &args.run, write(global, &args)))
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
    let merged = Merged::of(&outputs, &pieces, args.tail.unwrap_or(usize::MAX));
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
        let mut untied = Untied::default();
        outputs.iter().for_each(|output| untied.take(output.sequence, output.standing));
        untied.tell(searched.reach());
    }
    let exit = tell_doubt(doubt.as_deref(), in_file.as_ref());
    Ok(if merged.has_hole() { Exit::NOT_FOUND } else { exit })
}

/// The streams that are asked for.
const fn streams(args: &Args) -> &'static [OutputStream] {
    use OutputStream::{Payload, Stderr, Stdout};
    match (args.stdout, args.stderr) {
        (true, _) => &[Stdout],
        (_, true) => &[Stderr],
        _ => &[Stdout, Stderr, Payload],
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

/// Whether what a run printed is hidden now: a person is to decide about it, and floors say so.
pub(crate) fn is_hidden(global: &Global, run: &Run) -> bool {
    run.entity.open_request().is_some() && hides_output(global)
}

/// That it is not. Exit 5 where it is.
fn expect_not_hidden(global: &Global, run: &Run) -> Result<(), Failure> {
    if !is_hidden(global, run) {
        return Ok(());
    }
    let message = format!(
        "a person decides about {} now, and what it printed is not shown before that \
         (hold.show_output = false): answer first",
        run.entity.loop_id()
    );
    Err(Failure::new(Exit::REFUSED, "output_hidden", message))
}

/// What a run printed last in each stream, for a screen of its own: so many last lines, made
/// visible, below what they are. Nothing of it before all has verified.
pub(crate) fn last_shown(
    global: &Global,
    directory: &Directory,
    loop_id: &str,
    most_lines: usize,
) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let Read { run, searched } = read(directory, loop_id)?;
    expect_not_hidden(global, &run)?;
    let mut shown = Vec::new();
    for stream in [OutputStream::Stdout, OutputStream::Stderr] {
        let printed = run.output(stream, None).filter(|output| output.length() > 0);
        let Some(output) = printed else { continue };
        expect_verified(&run, output, searched.reach())?;
        let kept = last_lines(&output.bytes, most_lines);
        let missing = match output.missing() {
            0 => String::new(),
            missing => format!("; {} of it were not kept", counted(missing, "byte")),
        };
        let what = format!("{}{missing}", warning(output));
        shown.push((what, seen_lines(kept)));
    }
    Ok(shown)
}

/// What an attempt printed, each stream of it, once all of it has verified.
pub(crate) fn verified(
    global: &Global,
    loop_id: &str,
    attempt: u8,
) -> Result<Vec<CapturedOutput>, Failure> {
    let Read { run, searched } = read(&Directory::open(global)?, loop_id)?;
    let of_attempt = run.outputs.iter().filter(|output| output.attempt == attempt);
    of_attempt.clone().try_for_each(|output| expect_verified(&run, output, searched.reach()))?;
    Ok(of_attempt.cloned().collect())
}

/// A run that was read whole, and what was read for it.
pub(crate) struct Read {
    pub(crate) run: Box<Run>,
    pub(crate) searched: Searched,
}

/// Reads a run, of which nothing is told before the log has verified as far as it was read for it.
/// Exit 3 where there is none, 6 where the log does not verify.
pub(crate) fn read(directory: &Directory, loop_id: &str) -> Result<Read, Failure> {
    let (found, searched) = directory.read(|log, options| run_of(log, loop_id, options))?;
    run_id::expect_sound(&searched)?;
    Ok(Read { run: expect_run(directory, loop_id, found)?, searched })
}

/// The run that was found. Exit 3 where there is none.
pub(crate) fn expect_run(
    directory: &Directory,
    loop_id: &str,
    found: RunFound,
) -> Result<Box<Run>, Failure> {
    match found {
        RunFound::Run(run) => Ok(run),
        RunFound::Nothing => Err(no_run(directory, loop_id, None)),
        RunFound::NoBeginning(first) => Err(no_run(directory, loop_id, Some(first))),
        RunFound::BegunTwice(twice) => Err(began_twice(&twice)),
    }
}

/// The failure that there is no run, or that a record is about one of which no beginning counts.
pub(crate) fn no_run(directory: &Directory, loop_id: &str, about: Option<u64>) -> Failure {
    let shown = visible(loop_id);
    directory.or_missing(match about {
        None => {
            let digits = loop_id.strip_prefix(IdOf::Run.prefix()).unwrap_or(loop_id);
            let advice = did_you_mean(directory, digits, &[IdOf::Run])
                .unwrap_or_else(|| "`holdpoint runs` lists all".to_string());
            let message = format!("there is no run {shown}: {advice}");
            Failure::new(Exit::NOT_FOUND, "no_such_run", message)
        }
        Some(record) => {
            // No verifying tells what lies in an archive that is not read, which is said behind it.
            let verify = match directory.log.unread() {
                Some(_) => "",
                None => "`holdpoint verify` says which, and ",
            };
            let message = format!(
                "run {shown} cannot be told: record {record} is about it, and what begins it, or \
                 the approval of that, cannot be read, or the rules forbid it; \
                 {verify}`holdpoint log show --loop {shown}` shows its records"
            );
            Failure::new(directory.exit_of_uncounted(), "uncounted_run", message)
        }
    })
}

/// The failure that something began twice, so that nobody can tell what became of it.
pub(crate) fn began_twice(twice: &BegunTwice) -> Failure {
    let BegunTwice { first, again, .. } = twice;
    let message = format!(
        "{twice}: `holdpoint trace {first}` and `holdpoint trace {again}` tell of the two; \
         {VERIFY_TELLS}"
    );
    Failure::new(Exit::VERIFICATION_FAILED, "began_twice", message)
}

fn nothing_kept(run: &Run, streams: &[OutputStream], attempt: Option<u8>) -> Failure {
    let named = name_of_all(streams);
    let of = attempt.map_or(String::new(), |attempt| format!(" of attempt {attempt}"));
    let kept: Vec<String> = run
        .outputs
        .iter()
        .map(|it| format!("{} of attempt {}", name_of(it.stream), it.attempt))
        .collect();
    let there = match kept.is_empty() {
        true => "nothing that it printed is on record".to_string(),
        false => format!("there is {}", kept.join(", ")),
    };
    let message = format!("no {named}{of} of {} is on record: {there}", run.entity.loop_id());
    Failure::new(Exit::NOT_FOUND, "no_output", message)
}

fn name_of_all(streams: &[OutputStream]) -> &'static str {
    match streams {
        [stream] => name_of(*stream),
        _ => "output",
    }
}

pub(crate) fn name_of(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Stdout => "standard output",
        OutputStream::Stderr => "standard error",
        OutputStream::Payload => "answer",
    }
}

/// That the bytes are those that were captured: tied to the newest witness or behind it, or said by
/// the log to be unproven, linked in the chain of their run, and, where none are missing, with the
/// digest of the whole.
fn expect_verified(run: &Run, output: &CapturedOutput, reach: &Reach) -> Result<(), Failure> {
    let is_there = output.records().all(|(sequence, standing)| {
        matches!(standing, Standing::Proven | Standing::Unwitnessed)
            || reach.says_unproven(sequence, sequence)
    });
    let wrong = match (is_there, run.is_linked(), output.fits()) {
        (true, true, true) => return Ok(()),
        (false, ..) => "nothing ties its record to the newest proof of the log",
        (_, false, _) => "the evidence of its run is not what its chain says",
        (.., false) => "it is not what its evidence states",
    };
    let message = format!(
        "what is on record as output in record {} is not shown: {wrong}; `holdpoint verify` tells \
         more",
        output.sequence
    );
    Err(Failure::new(Exit::VERIFICATION_FAILED, "unproven_output", message))
}

fn put(
    mut out: Output,
    outputs: &[&CapturedOutput],
    merged: &Merged<'_>,
    args: &Args,
    is_seen: bool,
) -> Result<TimedLines, Failure> {
    let printed = outputs.iter().filter(|output| output.length() > 0);
    let said: Vec<String> = printed.map(|output| warning(output)).collect();
    said.iter().for_each(|warning| complain(warning));
    if let (true, Some(output)) = (said.is_empty(), outputs.first()) {
        let what = if outputs.len() > 1 { "output" } else { name_of(output.stream) };
        let is_whole = outputs.iter().all(|output| output.end.is_some());
        let nothing = if is_whole { "nothing was printed" } else { "nothing is on record" };
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

/// What is not said by this program.
fn warning(output: &CapturedOutput) -> String {
    format!(
        "{} of attempt {}, {}: recorded as what the command printed; nothing in it is said by \
         holdpoint",
        name_of(output.stream),
        output.attempt,
        length(output)
    )
}

/// Writes bytes as they are, or so that a terminal shows each that it would follow.
fn write_bytes(out: &mut Output, bytes: &[u8], is_seen: bool) {
    if !is_seen {
        return out.bytes(bytes);
    }
    seen_lines(bytes).into_iter().for_each(|line| out.line(line));
}

/// What of an output was not kept, behind its size.
pub(crate) fn missing(output: &CapturedOutput) -> String {
    let missing = output.missing();
    match (missing, output.holes().last()) {
        (0, _) => String::new(),
        (_, Some(hole)) if hole.length == missing && hole.place == output.bytes.len() => {
            ", its end is missing".to_string()
        }
        _ => format!(", {} missing in the middle", bytes(missing)),
    }
}

/// How long a stream is, as far as that is on record.
pub(crate) fn length(output: &CapturedOutput) -> String {
    match output.end {
        Some(end) => bytes(end.true_length),
        None => format!("{} so far", bytes(output.length())),
    }
}

/// The last lines of some bytes.
pub(crate) fn last_lines(bytes: &[u8], lines: usize) -> &[u8] {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let ends = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let start = match lines.checked_sub(1) {
        None => bytes.len(),
        Some(before) => ends.map(|(at, _)| at.saturating_add(1)).nth(before).unwrap_or(0),
    };
    bytes.get(start..).unwrap_or_default()
}

/// For programs: one stream with its own fields, or all in the order in which they came. What waits
/// has its pieces in that order too.
fn put_json(
    run: &Run,
    outputs: &[&CapturedOutput],
    (merged, asked): (&Merged<'_>, &[OutputStream]),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_whole_lines() {
        assert_eq!(last_lines(b"a\nb\nc\n", 2), b"b\nc\n");
        assert_eq!(last_lines(b"a\nb\nc", 2), b"b\nc");
        assert_eq!(last_lines(b"a\nb\n", 9), b"a\nb\n");
        assert_eq!(last_lines(b"a\n\n", 1), b"\n");
        assert_eq!(last_lines(b"a\nb\n", 0), b"");
        assert_eq!(last_lines(b"", 3), b"");
    }
}
