//! `holdpoint thread show`: the state of one thread.

use crate::args::Global;
use crate::log::at_point::parse_at;
use crate::log::thread_reading::{Name, Reading, tenants};
use crate::log::{ArchiveArgs, Directory, LiveState, or_archived};
use crate::ui::{Exit, Failure, Output, moment, now};
use crate::verbs::thread::rows::{self, RowsArgs};
use crate::verbs::thread::story;
use crate::verbs::thread::view::{expiry, newest, pending, quoted, words};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{Marks, OpenPlan, ResumeBuffer, Thread, ThreadView};
use holdpoint_domain::{Time, World};
use holdpoint_replay::words::end;
use holdpoint_replay::{Head, Tells, Until};
use serde::Serialize;

/// Options of `thread show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Correlation of the thread; TENANT/CORRELATION where several tenants use it.
    #[arg(value_name = "[TENANT/]CORRELATION")]
    name: Name,
    /// State after this record, at this moment, or so long ago: 12, 2026-01-25T03:00, 5m.
    #[arg(long, value_name = "POINT", value_parser = parse_at, conflicts_with = "form")]
    at: Option<Until>,
    /// Show the thread turn by turn.
    #[arg(long, group = "form")]
    story: bool,
    #[command(flatten)]
    rows: RowsArgs,
    #[command(flatten)]
    archives: ArchiveArgs,
}

/// Shows the state. What expired, and is not on record as that yet, is shown as what it is.
pub(super) fn show(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let Args { name, rows, archives, .. } = args;
    match (args.story, rows.rows) {
        (true, _) => return story::story(global, name, archives),
        (_, true) => return rows::rows(global, name, rows, archives),
        _ => archives.expect_none("--rows or --story")?,
    }
    or_archived(global, state(global, args))
}

fn state(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let ThreadSnapshot { state, thread, place } = match args.at {
        None => live(&directory, &args.name)?.map_or_else(|| whole(&directory, args), Ok)?,
        Some(_) => whole(&directory, args)?,
    };
    let (thread, records) = (&thread, (thread.started_sequence, thread.version));
    // Of an earlier record only its own time is known.
    let seen_from = match args.at {
        Some(Until::Time(moment)) => moment,
        Some(_) => state.head().map_or_else(now, |head| head.time),
        None => now(),
    };
    let mut out = Output::stdout().folding();
    if global.json {
        let shown = State { thread: thread.view(seen_from), place };
        out.json(&state.with_standing(shown, records));
    } else {
        let lines = lines(thread, seen_from);
        lines.iter().chain(&place.line(args.at)).for_each(|line| out.line(line));
    }
    out.finish()?;
    Ok(state.conclude(global, &[records]))
}

/// A thread, and where its state stands.
struct ThreadSnapshot {
    state: LiveState,
    thread: Thread,
    place: Place,
}

/// A thread that a state holds, where no other can be meant.
fn live(directory: &Directory, name: &Name) -> Result<Option<ThreadSnapshot>, Failure> {
    let Some(state) = LiveState::stated(directory, Tells::Threads)? else { return Ok(None) };
    let world = state.world();
    let Some(tenant) = &name.tenant.clone().or_else(|| only_tenant(world, name)) else {
        return Ok(None);
    };
    let thread = world.thread(tenant, &name.correlation).cloned();
    let place = Place::of(state.head(), None, None);
    Ok(thread.map(|thread| ThreadSnapshot { state, thread, place }))
}

/// The only tenant that has such a thread, where no thread has left the state.
fn only_tenant(world: &World, name: &Name) -> Option<String> {
    let found = tenants(world, &name.correlation);
    let is_known = !world.forgets_threads() && found.len() == 1;
    found.into_iter().next().filter(|_| is_known)
}

fn whole(directory: &Directory, args: &Args) -> Result<ThreadSnapshot, Failure> {
    let until = args.at.unwrap_or(Until::End);
    let reading = Reading::of(directory, until, &args.name.correlation)?;
    directory.expect_log(&reading.rebuilt.report)?;
    let thread = reading.state(&args.name)?.clone();
    let rebuilt = reading.rebuilt;
    let place = Place::of(rebuilt.head.as_ref(), rebuilt.inside_batch_until, args.at);
    Ok(ThreadSnapshot { state: LiveState::Whole(Box::new(rebuilt)), thread, place })
}

/// What `--json` shows.
#[derive(Serialize)]
struct State<'a> {
    #[serde(flatten)]
    thread: ThreadView<'a>,
    #[serde(flatten)]
    place: Place,
}

/// Where in the log the state stands.
#[derive(Serialize)]
struct Place {
    /// The record that the state is the one after.
    state_after_record: u64,
    /// Why that is not the record that was asked for, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    state_note: Option<String>,
}

impl Place {
    /// A moment lies behind one record always; a record may not be there.
    fn of(head: Option<&Head>, inside_batch_until: Option<u64>, asked: Option<Until>) -> Self {
        let after = head.map_or(0, |head| head.sequence);
        let asked = asked.and_then(|asked| match asked {
            Until::Sequence(sequence) if sequence != after => Some(sequence),
            _ => None,
        });
        let state_note = asked.map(|asked| {
            let why = match inside_batch_until {
                Some(last) => format!("is part of a batch that ends with record {last}"),
                None => "is not there, or cannot be read".into(),
            };
            format!("record {asked} {why}: shown is the state after record {after}")
        });
        Self { state_after_record: after, state_note }
    }

    /// The same for a person who asked for a place.
    fn line(&self, asked: Option<Until>) -> Option<String> {
        let shown = || format!("the state after record {}", self.state_after_record);
        asked.map(|_| line("shown", self.state_note.clone().unwrap_or_else(shown)))
    }
}

/// The state, as seen from a moment.
fn lines(thread: &Thread, seen_from: Time) -> Vec<String> {
    let mut lines = vec![
        line("thread", visible(&thread.correlation_id)),
        line("tenant", visible(&thread.tenant_id)),
        line("state", if thread.is_closed { "ended" } else { "open" }),
        line("turns", format!("{}, since {}", thread.turns, moment(thread.started_at))),
    ];
    let (directive, reason) = (thread.last_directive, thread.last_reason_code);
    let codes = if thread.turns == 0 { String::new() } else { format!(" ({directive} {reason})") };
    lines.push(line("newest", format!("{}{codes}", newest(thread))));
    lines.push(line("changed", format!("record {}", thread.version)));
    lines.push(line("session", or_none(thread.session_id.as_deref())));
    let (state, view) = (thread.state_at(seen_from), thread.view(seen_from));
    lines.extend(of_marks(&state.marks, seen_from));
    lines.extend(thread.open_plan().into_iter().flat_map(|plan| of_plan(plan, seen_from)));
    let owned = view.open_plan_unsaid.map(|words| {
        let (answer, whose) = (words.answer_id, visible(&words.speaker_user_id));
        let rest = quoted(&words.unsaid_remainder);
        line("  it owns", format!("answer {answer}, to {whose}, unsaid {rest}"))
    });
    lines.extend(owned);
    // The one that was interrupted last comes first: it is the one to go back to.
    lines.extend(state.resume_buffers.iter().rev().flat_map(|b| of_buffer(b, seen_from)));
    lines
}

fn of_marks(marks: &Marks, seen_from: Time) -> Vec<String> {
    let waits = marks.pending.as_ref().map_or("nothing".into(), pending);
    let mut lines = vec![
        line("speaker", or_none(marks.active_speaker_user_id.as_deref())),
        line("subject", or_none(marks.active_subject_ref.as_deref())),
        line("interrupted", or_none(marks.interrupted_subject_ref.as_deref())),
        line("waits for", waits),
    ];
    let check = match marks.return_check {
        Some(check) => {
            let until = expiry(check.expires_at, seen_from);
            format!("asked of turn {}, until {until}", check.captured_turn)
        }
        None if marks.return_check_lapsed => "expired, nobody answered".into(),
        None => "not asked".into(),
    };
    lines.push(line("return check", check));
    lines
}

fn of_plan(open: &OpenPlan, seen_from: Time) -> Vec<String> {
    let (turn, whose) = (open.turn_id, visible(&open.speaker_user_id));
    let mut lines = vec![
        line("plan", format!("{} of turn {turn}, of {whose}", visible(&open.plan_key))),
        match open.is_lapsed(seen_from) {
            true => {
                let since = expiry(open.expires_at, seen_from);
                line("  lapsed", format!("{since}: nobody committed it"))
            }
            false => line("  open until", expiry(open.expires_at, seen_from)),
        },
        line(
            "  it comes to",
            format!(
                "{} (branch {}, {})",
                words(open.plan.reason_code),
                open.plan.branch,
                open.plan.reason_code
            ),
        ),
    ];
    lines.extend(open.plan.would_say.iter().map(|words| line("  would say", quoted(words))));
    lines
}

fn of_buffer(buffer: &ResumeBuffer, seen_from: Time) -> Vec<String> {
    let topic = buffer.topic_hint.as_ref().map(|topic| format!(", topic {}", visible(topic)));
    let session = buffer.session_id.as_ref().map(|name| format!(", session {}", visible(name)));
    let whose = format!(
        "of turn {}, to {}, answer {}{}{}",
        buffer.captured_turn,
        visible(&buffer.speaker_user_id),
        buffer.answer_id,
        topic.unwrap_or_default(),
        session.unwrap_or_default()
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
