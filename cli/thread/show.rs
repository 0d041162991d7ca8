//! `holdpoint thread show`: the state of one thread.

use super::reading::{Name, Reading};
use super::shown::{end, expiry, pending, quoted};
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::text::moment;
use crate::verify::{exit_of, warn};
use holdpoint_domain::Time;
use holdpoint_domain::interruption_thread::{Marks, ResumeBuffer};
use holdpoint_domain::text::visible;
use holdpoint_domain::world::Thread;
use holdpoint_engine::shell::{Clock, SystemClock};
use holdpoint_replay::Until;

/// Options of `thread show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    name: Name,
    /// As it was after this record.
    #[arg(long, value_name = "SEQ")]
    at: Option<u64>,
}

/// Shows the state. What expired, and is not on record as that yet, is shown as what it is.
pub(super) fn show(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let until = args.at.map_or(Until::End, Until::Sequence);
    let reading = Reading::of(&directory, until, &args.name.correlation)?;
    directory.expect_log(&reading.rebuilt.report)?;
    let thread = reading.state(&args.name)?;
    let mut out = Output::stdout();
    if global.json {
        out.json(thread);
    } else {
        // Of an earlier moment only its own time is known.
        let then = args.at.and(reading.rebuilt.head.as_ref()).map(|head| head.time);
        let now = || Time::from_nanoseconds(SystemClock.now().wall_ns);
        lines(thread, then.unwrap_or_else(now)).iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    warn(&reading.rebuilt.report);
    Ok(exit_of(&reading.rebuilt.report))
}

/// The state, as seen from a moment.
fn lines(thread: &Thread, seen_from: Time) -> Vec<String> {
    let mut lines = vec![
        line("thread", visible(&thread.correlation_id)),
        line("tenant", visible(&thread.tenant_id)),
        line("state", if thread.is_closed { "ended" } else { "open" }),
        line("turns", format!("{}, since {}", thread.turns, moment(thread.started_at))),
    ];
    let newest = format!(
        "turn {}: {} {}, record {}",
        thread.last_turn_id, thread.last_directive, thread.last_reason_code, thread.version
    );
    lines.push(line("newest", newest));
    lines.push(line("session", or_none(thread.session_id.as_deref())));
    lines.extend(of_marks(&thread.state.marks, seen_from));
    // The one that was interrupted last comes first: it is the one to go back to.
    lines.extend(thread.state.resume_buffers.iter().rev().flat_map(|b| of_buffer(b, seen_from)));
    lines
}

fn of_marks(marks: &Marks, seen_from: Time) -> Vec<String> {
    let waits = marks.pending.as_ref().map_or("NONE".into(), pending);
    let mut lines = vec![
        line("speaker", or_none(marks.active_speaker_user_id.as_deref())),
        line("subject", or_none(marks.active_subject_ref.as_deref())),
        line("interrupted", or_none(marks.interrupted_subject_ref.as_deref())),
        line("pending", waits),
    ];
    let check = match marks.return_check {
        Some(check) => format!("asked, until {}", expiry(check.expires_at, seen_from)),
        None if marks.return_check_lapsed => "expired, nobody answered".into(),
        None => "not asked".into(),
    };
    lines.push(line("return check", check));
    lines
}

fn of_buffer(buffer: &ResumeBuffer, seen_from: Time) -> Vec<String> {
    let topic = buffer.topic_hint.as_ref().map(|topic| format!(", topic {}", visible(topic)));
    let whose = format!(
        "of turn {}, to {}, answer {}{}",
        buffer.captured_turn,
        visible(&buffer.speaker_user_id),
        buffer.answer_id,
        topic.unwrap_or_default()
    );
    vec![
        line("unsaid", whose),
        line("  kept until", expiry(buffer.expires_at, seen_from)),
        line("  was said", end(&buffer.spoken_prefix)),
        line("  remainder", quoted(&buffer.unsaid_remainder)),
    ]
}

fn line(name: &str, value: impl std::fmt::Display) -> String {
    format!("{name:<14}  {value}")
}

fn or_none(text: Option<&str>) -> String {
    text.map_or("none".into(), |text| visible(text).to_string())
}
