//! What is told of a run: how it ended, where it ran, who began it.

use crate::ui::named;
use crate::ui::screen::quoted_up_to;
use crate::ui::text::bytes;
use crate::ui::time_format::took;
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_domain::evidence_capture::{ResourceUsage, StopCondition};
use holdpoint_domain::execution_loop::Exit;
use holdpoint_domain::governed::{Attempt, StopDetected};
use holdpoint_domain::human_decision::HeldRequest;
use holdpoint_domain::{ActorId, Proof};
use holdpoint_engine::executor::InstructionEnvelope;
use holdpoint_replay::words::{code_in_words, exit_in_words, kind_in_words, stop_in_words};
use holdpoint_replay::{Interrupted, Run, RunOutcome};

/// What is said of an end that nobody saw.
pub(crate) const UNSEEN: &str = "its end was not seen";

/// How it ended, in words.
pub(crate) fn outcome(run: &Run) -> String {
    let entity = &run.entity;
    let outcome = RunOutcome::of(entity);
    let last = entity.current_attempt();
    let exit = last.and_then(exit_of).map(|exit| format!(", {exit}")).unwrap_or_default();
    let ended = marked(last, format!("{}{exit}", outcome.name()));
    let fault = last.and_then(|attempt| attempt.fault.as_ref());
    let fault = fault.map(|fault| format!(": {}", quoted_up_to(REASON_MAX, &fault.fault_message)));
    let stop = entity.stop.as_ref().map(|stop| format!(": {}", stopped(stop)));
    let sender = run.interrupted.as_ref().map(|it| format!(": {}", interrupted(it)));
    format!("{ended}{}", fault.or(stop).or(sender).unwrap_or_default())
}

/// Which signal it was, and who sent it, as the system told its recorder.
pub(crate) fn interrupted(Interrupted { signal, process, user }: &Interrupted) -> String {
    let user = user.map(|user| format!("user {user}"));
    let process = process.map(|process| format!("process {process}"));
    let sender = match (process, user) {
        (Some(process), Some(user)) => format!("{process} of {user}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return format!("signal {signal} of unknown origin"),
    };
    format!("signal {signal} from {sender}")
}

/// So many characters of a reason that is on record are shown.
pub(crate) const REASON_MAX: usize = 240;

/// Why it was stopped: as its recorder said, where that is more than the fact that a rule looks at.
pub(crate) fn stopped(stop: &StopDetected) -> String {
    // Who answered so, and to what, is told with the question.
    if stop.condition == StopCondition::HumanAbort && stop.details.starts_with("ABORT by ") {
        return "the answer was ABORT".to_string();
    }
    match stop.details.starts_with(stop.condition.name()) {
        true => stop_in_words(stop.condition).to_string(),
        false => quoted_up_to(REASON_MAX, &stop.details),
    }
}

/// How the process of an attempt ended, where that is known.
pub(crate) fn exit_of(attempt: &Attempt) -> Option<String> {
    let exit = Some(attempt.response.as_ref()?.exit).filter(|exit| *exit != Exit::Unknown);
    exit.map(|exit| exit_in_words(exit, "", "signal"))
}

/// The same, and whether nobody says to have watched the process.
pub(crate) fn told_exit(attempt: &Attempt) -> Option<String> {
    exit_of(attempt).map(|exit| marked(Some(attempt), exit))
}

/// What is said of how a last attempt ended, and whether nobody says to have watched its process.
pub(crate) fn marked(last: Option<&Attempt>, told: String) -> String {
    match last.is_some_and(Attempt::is_reported) {
        true => format!("{told} {REPORTED}"),
        false => told,
    }
}

/// Behind a result that its recorder was told.
pub(crate) const REPORTED: &str = "(reported, not observed)";

/// How long it took, up to now where it has not ended, and how long it waited for an answer.
pub(crate) fn length(run: &Run, now: Timestamp) -> String {
    let end = run.entity.halt.as_ref().map(|halt| halt.at);
    let length = match (end, run.took_ns()) {
        (Some(_), Some(length)) if !run.ran_at_most.is_empty() => {
            format!("took at most {}", took(length))
        }
        (Some(_), Some(length)) => format!("took {}", took(length)),
        (Some(_), None) => return UNSEEN.to_string(),
        (None, _) if now < run.entity.started_at => "for how long is not known".to_string(),
        (None, _) => format!("{} so far", took(run.ran(now))),
    };
    match run.waited(end.unwrap_or(now)) {
        0 => length,
        waited => format!("{length}, waited {} for an answer", took(waited)),
    }
}

/// Who did something, and what is proven of that.
pub(crate) fn proven(actor: &ActorId, proof: Option<Proof>) -> String {
    let user = proof.map(|proof| format!(", user {}", proof.user)).unwrap_or_default();
    let by = proof.map_or(Authentication::None, |proof| proof.by);
    who(actor.kind, &actor.id, by, &user)
}

/// Somebody, what kind of one it is, and what of that nothing proves: that it was a person is
/// proven at a terminal alone.
pub(crate) fn who(kind: Actor, id: &str, by: Authentication, more: &str) -> String {
    format!("{} ({}{more})", named(id), kind_in_words(kind, by))
}

/// Words the approval of a start; `told` words a time.
pub(crate) fn approved(point: &DecisionPoint, told: impl Fn(Timestamp) -> String) -> String {
    let id = visible(&point.decision_id);
    let Some(ending) = &point.ending else { return format!("{id} is not answered") };
    let by = match &ending.by {
        Some(by) => who(by.kind, &by.id, by.authenticated_by, ""),
        None => "expired".to_string(),
    };
    let option = point.selected_option().map(|it| format!("{} ", named(it))).unwrap_or_default();
    format!("{option}by {by}, {}, in {id}", told(ending.ended_at))
}

/// The reason of whoever approved a start.
pub(crate) fn reason_of_approval(point: &DecisionPoint) -> Option<&str> {
    point.ending.as_ref()?.comment.as_deref()
}

/// Words a question about an attempt and its answer; `told` words a time.
pub(crate) fn asked(run: &Run, held: &HeldRequest, told: impl Fn(Timestamp) -> String) -> String {
    let id = held.request_id();
    let Some(decided) = held.decided() else {
        let word = if held.is_open() { "no answer yet" } else { "taken back" };
        return format!("{id}: {word}");
    };
    let record = &decided.record;
    let by = match (record.is_timeout(), run.doers.get(&decided.sequence)) {
        (true, _) => "nobody answered in time".to_string(),
        (false, Some(it)) => format!("by {}", proven(&it.actor, it.proof)),
        (false, None) => format!("by {}", named(&record.human_id)),
    };
    format!("{id}: {}, {by}, {}", record.decision, told(decided.at))
}

/// The reason of whoever answered.
pub(crate) fn reason_of(held: &HeldRequest) -> Option<&str> {
    let record = &held.decided()?.record;
    record.reason.as_deref().filter(|_| !record.is_timeout())
}

/// The name of a command: `command?` where nothing proves that it is what was hashed.
pub(crate) fn command_name(run: &Run, attempt: u8) -> &'static str {
    if run.is_claim(attempt) { "command?" } else { "command" }
}

/// The command of a run with that name, and behind it the one that was hashed in its place.
pub(crate) fn commands(run: &Run) -> Vec<(&'static str, &str)> {
    let attempt = run.entity.attempt_count();
    let hashed = run.hashed_commands().into_values().map(|hashed| ("hashed", hashed));
    [(command_name(run, attempt), &*run.entity.command_line)].into_iter().chain(hashed).collect()
}

/// A command in a table or a title, behind a question mark where it is a claim: a command that is
/// none begins with no such word.
pub(crate) fn marked_command(command: &str, is_claim: bool) -> String {
    format!("{}{command}", if is_claim { "? " } else { "" })
}

/// Where it was begun, if that is on record.
pub(crate) fn directory(run: &Run) -> Option<String> {
    let envelope = InstructionEnvelope::decode(&run.instruction)?;
    Some(envelope.directory.to_string_lossy().into_owned())
}

/// The words for an attempt of which no end is on record.
pub(crate) const NOT_ENDED: &str = "has not ended";

/// How an attempt ended, and what it used.
pub(crate) fn ended(attempt: &Attempt) -> String {
    seen(attempt, false).unwrap_or_else(|| NOT_ENDED.to_string())
}

/// The same, where something of it was seen: perhaps some time behind its end.
pub(crate) fn seen(attempt: &Attempt, is_at_most: bool) -> Option<String> {
    let mut words = Vec::from_iter(told_exit(attempt));
    words.extend(attempt.fault.as_ref().map(|fault| code_in_words(fault.fault_type.name())));
    if let Some(usage) = &attempt.resources {
        words.push(used(usage, is_at_most));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// What an attempt used.
pub(crate) fn used(usage: &ResourceUsage, is_at_most: bool) -> String {
    let at_most = if is_at_most { "at most " } else { "" };
    let processor = match usage.user_cpu_ns.saturating_add(usage.system_cpu_ns) {
        0..1_000_000 => "under 1 ms".to_string(),
        nanoseconds => took(nanoseconds),
    };
    // A command that was over at once was not looked at in time.
    let memory = match usage.peak_memory_bytes {
        0 => "not measured".to_string(),
        peak => bytes(peak),
    };
    format!("took {at_most}{}, processor {processor}, memory {memory}", took(usage.wall_ns))
}
