//! `thread show --story`: one thread turn by turn.

use crate::args::Global;
use crate::log::thread_reading::{Name, Reading};
use crate::log::verdict::exit_of;
use crate::log::{ArchiveArgs, Directory, coverage, warn};
use crate::ui::text::{doer, visible_once};
use crate::ui::{Exit, Failure, Output, complain, moment};
use crate::verbs::thread::view::{beginning, end, expiry, fate, question, title, turn_or_plan};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{
    BufferExpired, DecidedBy, Heard, Interruption, InterruptionThreadEvent, PendingDisarmed,
    PendingState, PlanDrafted, PlanEnded, ReasonCode, RemainderDisplaced, RemaindersDiscarded,
    ResumePolicy, RowCommitted, RowRefused, TtsResumeSnapshot, TurnCommitted, TurnDecision,
    TurnInput, TurnRequest, TurnTaken,
};
use holdpoint_domain::registration::{RegistrationEvent, SessionRegistered, SessionStatus};
use holdpoint_domain::{Envelope, Event, Time};
use holdpoint_replay::records::Line;
use holdpoint_replay::{Committed, Until};
use std::fmt::Display;

/// Tells the story from the records that are in the log.
pub(super) fn story(global: &Global, name: &Name, archives: &ArchiveArgs) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, archives)?;
    let reading = Reading::of(&directory, Until::End, &name.correlation)?;
    directory.expect_log(&reading.rebuilt.report)?;
    let (tenant, records) = reading.thread(&directory, name)?;
    let correlation = name.correlation.as_str();
    let records = reading.with_sessions((&tenant, correlation), records);
    let newest = records.last().map_or(0, |record| record.header.sequence);
    let missing = reading.missing(&directory, &tenant, correlation);
    let mut out = Output::stdout().folding();
    if global.json {
        let within = |record| Line::within(record, &reading.rebuilt.report.reach);
        let lines: Vec<Line> = records.into_iter().map(within).collect();
        out.json(&lines);
        missing.iter().for_each(|missing| complain(missing));
    } else {
        out.line(title(&tenant, correlation));
        missing.iter().for_each(|missing| out.line(format_args!("not here: {missing}")));
        records.into_iter().flat_map(told).for_each(|line| out.line(line));
    }
    out.finish()?;
    coverage::tell(global, &reading.rebuilt.report, newest);
    warn(&reading.rebuilt.report);
    Ok(exit_of(&reading.rebuilt.report))
}

/// What one record tells.
fn told(record: &Committed) -> Vec<String> {
    let Some(envelope) = record.envelope() else { return Vec::new() };
    let (what, details) = event(envelope, record);
    let head = format!("{:>8}  {}  {what}", record.header.sequence, moment(record.time()));
    let details = details.into_iter().map(|detail| format!("{:10}{detail}", ""));
    std::iter::once(head).chain(details).collect()
}

fn event(envelope: &Envelope, record: &Committed) -> (String, Vec<String>) {
    match &envelope.event {
        Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(body)) => {
            (turn_head(body), turn(body))
        }
        Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(body)) => {
            (row(body), body.dropped_pending.map(gives_up).into_iter().collect())
        }
        Event::InterruptionThread(InterruptionThreadEvent::RowRefused(body)) => {
            refused(body, envelope)
        }
        Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(body)) => {
            buffer_expired(body, record.time())
        }
        Event::InterruptionThread(InterruptionThreadEvent::ReturnCheckExpired(body)) => {
            let when = expiry(body.expires_at, record.time());
            let why = because(body.reason_code, body.interrupt_resume_policy);
            (format!("return check expired {when}"), vec![why])
        }
        Event::InterruptionThread(InterruptionThreadEvent::RemaindersDiscarded(body)) => {
            discarded(body)
        }
        Event::InterruptionThread(InterruptionThreadEvent::RemainderDisplaced(body)) => {
            displaced(body)
        }
        Event::InterruptionThread(InterruptionThreadEvent::PlanEnded(body)) => plan_ended(body),
        Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(body)) => disarmed(body),
        Event::InterruptionThread(InterruptionThreadEvent::ThreadMoved(body)) => {
            (format!("goes on in session {}", visible(&body.session_id)), Vec::new())
        }
        Event::InterruptionThread(InterruptionThreadEvent::PlanDrafted(body)) => plan(body),
        Event::InterruptionThread(InterruptionThreadEvent::TurnCommitted(body)) => commit(body),
        Event::InterruptionThread(InterruptionThreadEvent::RowsRead(body)) => {
            let (reader, last) = (doer(&envelope.actor, envelope.proof), body.last_sequence);
            (format!("{reader} read the rows up to record {last}"), Vec::new())
        }
        Event::InterruptionThread(InterruptionThreadEvent::ThreadClosed(_)) => {
            ("thread ended".into(), Vec::new())
        }
        Event::Registration(RegistrationEvent::SessionRegistered(body)) => {
            (session(body), Vec::new())
        }
        other => (other.kind().name.into(), Vec::new()),
    }
}

fn turn_head(body: &TurnTaken) -> String {
    let request = &body.request;
    let session = match body.session_status {
        SessionStatus::Active => String::new(),
        status => format!(", session {status}"),
    };
    format!(
        "turn {}: {} about {}{session}",
        body.turn_id,
        visible(&request.active_speaker_user_id),
        visible(&request.subject_ref)
    )
}

fn turn(body: &TurnTaken) -> Vec<String> {
    let mut details = asked(&body.request);
    details.extend(came_to(&body.decision));
    details
}

fn plan(body: &PlanDrafted) -> (String, Vec<String>) {
    let (whose, key) = (visible(&body.request.active_speaker_user_id), visible(&body.plan_key));
    let subject = visible(&body.request.subject_ref);
    let head = format!("plan {key} of turn {}: {whose} about {subject}", body.turn_id);
    let mut details = vec![heard(&body.heard)];
    details.extend(asked(&body.request));
    details.push(detail("branch", format!("{}, {}", body.plan.branch, body.plan.reason_code)));
    details.extend(body.plan.would_say.iter().map(|text| detail("would say", beginning(text))));
    (head, details)
}

fn commit(body: &TurnCommitted) -> (String, Vec<String>) {
    let head = format!("commit of turn {}, plan {}", body.turn_id, visible(&body.plan_key));
    let branch = format!("{}, {}", body.decision.branch, body.decision.reason_code);
    (head, vec![heard(&body.heard), detail("branch", branch)])
}

/// The words, and how sure it is what they mean, and that somebody interrupted.
fn heard(heard: &Heard) -> String {
    let state = if heard.transcript.is_final { "final" } else { "so far" };
    let candidate = heard.candidate.map(|of| format!(", interruption {}", of.confidence_bp));
    let (words, sure) = (beginning(&heard.transcript.text), heard.hypothesis.confidence_bp);
    detail("heard", format!("{words} {state}, meaning {sure}{}", candidate.unwrap_or_default()))
}

/// What the turn brought.
fn asked(request: &TurnRequest) -> Vec<String> {
    let relation = request.interrupt_subject_relation.map(|relation| {
        let sure = request.interrupt_subject_relation_confidence_bp;
        let sure = sure.map(|sure| format!(" {sure}")).unwrap_or_default();
        detail("relation", format!("{relation}{sure}"))
    });
    let sensitive = request.sensitive_memory_present;
    let found = [
        request.interruption.as_ref().map(interruption),
        request.tts_resume_snapshot.as_ref().map(snapshot),
        relation,
        request.confirm_answer.map(|answer| detail("answer", answer)),
        input(&request.input),
        sensitive.then(|| detail("memory", "what would be said is sensitive")),
    ];
    found.into_iter().flatten().collect()
}

fn interruption(interruption: &Interruption) -> String {
    let (band, risk) = (interruption.candidate_confidence_band, interruption.risk_context_class);
    let phrase = beginning(&interruption.phrase_text);
    let sure = interruption.phrase_confidence_bp;
    detail("interrupts", format!("{phrase} {sure} {band}, risk {risk}"))
}

/// What had been said and what had not, at the place where it was interrupted.
fn snapshot(snapshot: &TtsResumeSnapshot) -> String {
    let cursor = usize::try_from(snapshot.spoken_cursor_byte).unwrap_or(usize::MAX);
    let (spoken, unsaid) =
        snapshot.response_text.split_at_checked(cursor).unwrap_or((&snapshot.response_text, ""));
    let said = format!("{} | unsaid {}", end(spoken), beginning(unsaid));
    detail("spoken", format!("answer {}: {said}", snapshot.answer_id))
}

fn input(input: &TurnInput) -> Option<String> {
    Some(match input {
        TurnInput::None => return None,
        TurnInput::Chat { response_text } => detail("chat", beginning(response_text)),
        TurnInput::Intent { intent_type, class } => {
            detail("intent", format!("{} {class}", visible(intent_type)))
        }
        TurnInput::NlpClarify { question, missing_fields, .. } => {
            let missing = missing_fields.iter().map(|field| visible(field).to_string());
            let missing: Vec<String> = missing.collect();
            detail("unclear", format!("{}: {}", missing.join(", "), beginning(question)))
        }
        TurnInput::ToolResponse { request_id, status, response_text } => {
            let said = beginning(response_text);
            detail("tool", format!("{} {status}: {said}", visible(request_id)))
        }
        TurnInput::LastFailure { response_text } => detail("failure", beginning(response_text)),
    })
}

/// What the turn came to.
fn came_to(decision: &TurnDecision) -> Vec<String> {
    let outcome = decision.interrupt_continuity_outcome.map(|outcome| format!(", {outcome}"));
    let policy = decision.interrupt_resume_policy.map(|policy| format!(", {policy}"));
    let stops = decision.tts_control.map(|control| format!(", speech {control}"));
    let why = format!(
        "{}{}{}{}",
        decision.reason_code,
        outcome.unwrap_or_default(),
        policy.unwrap_or_default(),
        stops.unwrap_or_default()
    );
    let dispatch = decision.dispatch.as_ref().map(|dispatch| {
        let what = visible(&dispatch.intent_type);
        detail("hands over", format!("{what} as {}", dispatch.kind))
    });
    let single = [
        Some(detail(decision.directive.name(), why)),
        decision.response_text.as_ref().map(|text| detail("says", beginning(text))),
        decision.clarify.as_ref().map(|clarify| detail("asks", question(clarify))),
        dispatch,
        decision.dropped_pending.map(gives_up),
    ];
    let remainders = decision.remainders.iter().map(|one| detail("remainder", fate(one)));
    single.into_iter().flatten().chain(remainders).collect()
}

fn row(body: &RowCommitted) -> String {
    let key = visible(&body.idempotency_key);
    match body.decided_by {
        DecidedBy::BranchTable => format!("row of turn {}, key {key}", body.turn_id),
        DecidedBy::Caller => format!(
            "row of turn {} by its caller, {}: {} {}, key {key}",
            body.turn_id,
            visible(&body.user_id),
            body.payload.directive,
            body.reason_code
        ),
    }
}

/// Who spoke is known of a refused turn; what about is not kept.
fn refused(body: &RowRefused, envelope: &Envelope) -> (String, Vec<String>) {
    let what = body.directive.map(|directive| format!("row {directive} of turn"));
    let what = what.unwrap_or_else(|| turn_or_plan(&body.command).into());
    let head = format!(
        "{what} {} of {} on {} refused, asked by {}, key {}",
        body.turn_id,
        visible(&body.user_id),
        visible(&body.device_id),
        doer(&envelope.actor, envelope.proof),
        visible(&body.idempotency_key)
    );
    // The message was made visible when it was recorded.
    let message = visible_once(&body.message);
    let remainders = body.remainders.iter().map(|one| detail("remainder", fate(one)));
    let silenced = body.tts_control.map(|control| detail("speech", control));
    let details = std::iter::once(detail("because", message)).chain(silenced);
    (head, details.chain(remainders).collect())
}

fn buffer_expired(body: &BufferExpired, at: Time) -> (String, Vec<String>) {
    let whose = visible(&body.speaker_user_id);
    let what = format!("of turn {}, to {whose}: DISCARDED", body.captured_turn);
    let why = because(body.reason_code, body.interrupt_resume_policy);
    let head = format!("remainder expired {}", expiry(body.expires_at, at));
    (head, vec![why, detail("remainder", what)])
}

fn session(body: &SessionRegistered) -> String {
    let (name, user) = (visible(&body.session_id), visible(&body.user_id));
    format!("session {name} of {user} on {}: {}", visible(&body.device_id), body.status)
}

fn discarded(body: &RemaindersDiscarded) -> (String, Vec<String>) {
    let details = body.remainders.iter().map(|one| detail("remainder", fate(one)));
    let head = match &body.session_id {
        Some(session) => format!("{}, session {}", body.reason_code, visible(session)),
        None => body.reason_code.to_string(),
    };
    (head, details.collect())
}

fn displaced(body: &RemainderDisplaced) -> (String, Vec<String>) {
    let why = because(body.reason_code, body.interrupt_resume_policy);
    let head = format!("remainder gives way to that of turn {}", body.displaced_by_turn);
    (head, vec![why, detail("remainder", fate(&body.remainder))])
}

fn plan_ended(body: &PlanEnded) -> (String, Vec<String>) {
    let key = visible(&body.plan_key);
    let head = format!("plan {key} of turn {} ended without its words", body.turn_id);
    let why = because(body.reason_code, body.interrupt_resume_policy);
    let passes = body.passed_to_turn.map(|turn| detail("passes to", format!("turn {turn}")));
    let details = [why, detail("remainder", fate(&body.remainder))].into_iter();
    (head, details.chain(passes).collect())
}

/// What was asked in a session or a thread that was closed is asked no more.
fn disarmed(body: &PendingDisarmed) -> (String, Vec<String>) {
    let pending = (body.pending_state != PendingState::None).then_some(body.pending_state);
    let check = body.return_check.map(|turn| format!("return check on the words of turn {turn}"));
    let details = pending.map(gives_up).into_iter();
    let details = details.chain(check.map(|check| detail("gives up", check)));
    let ends_thread = body.reason_code == ReasonCode::ThreadClosed;
    let session = (!ends_thread).then(|| format!(", session {}", visible(&body.session_id)));
    (format!("{}{}", body.reason_code, session.unwrap_or_default()), details.collect())
}

fn because(reason: ReasonCode, policy: ResumePolicy) -> String {
    detail("because", format!("{reason}, {policy}"))
}

/// What the thread waited for, and does not any more.
fn gives_up(pending: PendingState) -> String {
    detail("gives up", pending)
}

fn detail(name: &str, value: impl Display) -> String {
    format!("{name:<10}  {value}")
}
