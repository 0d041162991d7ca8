//! What a recorded command printed, once all of it has verified.

use crate::args::Global;
use crate::log::configuration::hides_output;
use crate::log::ids::did_you_mean;
use crate::log::{Directory, IdOf, VERIFY_TELLS, run_id};
use crate::ui::screen::seen_lines;
use crate::ui::text::bytes;
use crate::ui::{Exit, Failure, counted};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::evidence_capture::OutputStream;
use holdpoint_log_files::Standing;
use holdpoint_replay::merged_output::last_lines;
use holdpoint_replay::words::stream_in_words;
use holdpoint_replay::{BegunTwice, CapturedOutput, Reach, Run, RunLookup, Searched, run_of};

/// So many of the last lines of an output are shown with a run.
pub(crate) const LAST_LINES: usize = 5;

/// Whether what a run printed is hidden now: a person is to decide about it, and floors say so.
pub(crate) fn is_hidden(global: &Global, run: &Run) -> bool {
    run.entity.open_request().is_some() && hides_output(global)
}

/// That it is not. Exit 5 where it is.
pub(crate) fn expect_not_hidden(global: &Global, run: &Run) -> Result<(), Failure> {
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
    loop_id: &str,
    most_lines: usize,
) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let Read { run, searched } = read(&Directory::open(global)?, loop_id)?;
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
    found: RunLookup,
) -> Result<Box<Run>, Failure> {
    match found {
        RunLookup::Run(run) => Ok(run),
        RunLookup::Nothing => Err(no_run(directory, loop_id, None)),
        RunLookup::NoBeginning(first) => Err(no_run(directory, loop_id, Some(first))),
        RunLookup::BegunTwice(twice) => Err(began_twice(&twice)),
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
                 {verify}`holdpoint log loop={shown}` shows its records"
            );
            Failure::new(directory.exit_of_uncounted(), "uncounted_run", message)
        }
    })
}

/// The failure that something began twice, so that nobody can tell what became of it.
pub(crate) fn began_twice(twice: &BegunTwice) -> Failure {
    let BegunTwice { first, again, .. } = twice;
    let message = format!(
        "{twice}: `holdpoint show {first} --trace` and `holdpoint show {again} --trace` tell of \
         the two; \
         {VERIFY_TELLS}"
    );
    Failure::new(Exit::VERIFICATION_FAILED, "began_twice", message)
}

pub(crate) fn nothing_kept(run: &Run, streams: &[OutputStream], attempt: Option<u8>) -> Failure {
    let named = name_of_all(streams);
    let of = attempt.map_or(String::new(), |attempt| format!(" of attempt {attempt}"));
    let kept: Vec<String> = run
        .outputs
        .iter()
        .map(|it| format!("{} of attempt {}", stream_in_words(it.stream), it.attempt))
        .collect();
    let there = match kept.is_empty() {
        true => "no output was recorded".to_string(),
        false => format!("there is {}", kept.join(", ")),
    };
    let message = format!("no {named}{of} of {} is on record: {there}", run.entity.loop_id());
    Failure::new(Exit::NOT_FOUND, "no_output", message)
}

pub(crate) fn name_of_all(streams: &[OutputStream]) -> &'static str {
    match streams {
        [stream] => stream_in_words(*stream),
        _ => "output",
    }
}

/// That the bytes are those that were captured: tied to the newest witness or behind it, or said by
/// the log to be unproven, linked in the chain of their run, and, where none are missing, with the
/// digest of the whole.
pub(crate) fn expect_verified(
    run: &Run,
    output: &CapturedOutput,
    reach: &Reach,
) -> Result<(), Failure> {
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

/// What is not said by this program.
pub(crate) fn warning(output: &CapturedOutput) -> String {
    format!(
        "{} of attempt {}, {}: untrusted output of the command",
        stream_in_words(output.stream),
        output.attempt,
        length(output)
    )
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
