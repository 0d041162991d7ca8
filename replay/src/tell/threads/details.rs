//! Values of a record of a thread, each below its name.

use crate::tell::named_by_application;
use crate::words::{beginning, end, kind_in_words};
use holdpoint_domain::Envelope;
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{
    Clarify, Heard, Interruption, InterruptionThreadEvent, PendingDisarmed, PendingState,
    PlanDrafted, PlanEnded, ReasonCode, Remainder, ResumePolicy, RowRefused, TtsResumeSnapshot,
    TurnDecision, TurnInput, TurnRequest,
};

/// A name, and the value that stands below it.
type Detail = (&'static str, String);

/// Says what a record holds.
pub(crate) fn details(event: &InterruptionThreadEvent, envelope: &Envelope) -> Vec<Detail> {
    use InterruptionThreadEvent as E;
    match event {
        E::TurnTaken(body) => {
            let mut details = asked(&body.request);
            details.extend(came_to(&body.decision));
            details
        }
        E::RowCommitted(body) => body.dropped_pending.map(gives_up).into_iter().collect(),
        E::RowRefused(body) => refused(body, envelope),
        E::BufferExpired(body) => {
            let what = format!(
                "of turn {}, to {}: DISCARDED",
                body.captured_turn,
                visible(&body.speaker_user_id)
            );
            vec![because(body.reason_code, body.interrupt_resume_policy), ("remainder", what)]
        }
        E::ReturnCheckExpired(body) => {
            vec![because(body.reason_code, body.interrupt_resume_policy)]
        }
        E::RemaindersDiscarded(body) => body.remainders.iter().map(remainder).collect(),
        E::RemainderDisplaced(body) => vec![
            because(body.reason_code, body.interrupt_resume_policy),
            remainder(&body.remainder),
        ],
        E::PlanEnded(body) => plan_ended(body),
        E::PendingDisarmed(body) => disarmed(body),
        E::PlanDrafted(body) => plan(body),
        E::TurnCommitted(body) => {
            let branch = format!("{}, {}", body.decision.branch, body.decision.reason_code);
            vec![heard(&body.heard), ("branch", branch)]
        }
        E::RowsRead(_) => vec![("read by", by(envelope))],
        E::ThreadMoved(_) | E::ThreadClosed(_) => Vec::new(),
    }
}

/// Says who caused a record, and what of that nothing proves.
fn by(envelope: &Envelope) -> String {
    let (actor, proof) = (&envelope.actor, envelope.proof);
    let by = proof.map_or(Authentication::None, |proof| proof.by);
    format!("{} ({})", named_by_application(&actor.id), kind_in_words(actor.kind, by))
}

fn plan(body: &PlanDrafted) -> Vec<Detail> {
    let mut details = vec![heard(&body.heard)];
    details.extend(asked(&body.request));
    details.push(("branch", format!("{}, {}", body.plan.branch, body.plan.reason_code)));
    details.extend(body.plan.would_say.iter().map(|text| ("would say", beginning(text))));
    details
}

/// The words, and how sure it is what they mean, and that somebody interrupted.
fn heard(heard: &Heard) -> Detail {
    let state = if heard.transcript.is_final { "final" } else { "so far" };
    let candidate = heard.candidate.map(|of| format!(", interruption {}", of.confidence_bp));
    let (words, sure) = (beginning(&heard.transcript.text), heard.hypothesis.confidence_bp);
    ("heard", format!("{words} {state}, meaning {sure}{}", candidate.unwrap_or_default()))
}

/// Details of a turn's request.
fn asked(request: &TurnRequest) -> Vec<Detail> {
    let relation = request.interrupt_subject_relation.map(|relation| {
        let sure = request.interrupt_subject_relation_confidence_bp;
        let sure = sure.map(|sure| format!(" {sure}")).unwrap_or_default();
        ("relation", format!("{relation}{sure}"))
    });
    let sensitive = request.sensitive_memory_present;
    let found = [
        request.interruption.as_ref().map(interruption),
        request.tts_resume_snapshot.as_ref().map(snapshot),
        relation,
        request.confirm_answer.map(|answer| ("answer", answer.to_string())),
        input(&request.input),
        sensitive.then(|| ("memory", "what would be said is sensitive".to_string())),
    ];
    found.into_iter().flatten().collect()
}

fn interruption(interruption: &Interruption) -> Detail {
    let (band, risk) = (interruption.candidate_confidence_band, interruption.risk_context_class);
    let phrase = beginning(&interruption.phrase_text);
    let sure = interruption.phrase_confidence_bp;
    ("interrupts", format!("{phrase} {sure} {band}, risk {risk}"))
}

/// Detail of the words said and unsaid at an interruption.
fn snapshot(snapshot: &TtsResumeSnapshot) -> Detail {
    let cursor = usize::try_from(snapshot.spoken_cursor_byte).unwrap_or(usize::MAX);
    let (spoken, unsaid) =
        snapshot.response_text.split_at_checked(cursor).unwrap_or((&snapshot.response_text, ""));
    let said = format!("{} | unsaid {}", end(spoken), beginning(unsaid));
    ("spoken", format!("answer {}: {said}", snapshot.answer_id))
}

fn input(input: &TurnInput) -> Option<Detail> {
    Some(match input {
        TurnInput::None => return None,
        TurnInput::Chat { response_text } => ("chat", beginning(response_text)),
        TurnInput::Intent { intent_type, class } => {
            ("intent", format!("{} {class}", visible(intent_type)))
        }
        TurnInput::NlpClarify { question, missing_fields, .. } => {
            let missing = missing_fields.iter().map(|field| visible(field).to_string());
            let missing: Vec<String> = missing.collect();
            ("unclear", format!("{}: {}", missing.join(", "), beginning(question)))
        }
        TurnInput::ToolResponse { request_id, status, response_text } => {
            let said = beginning(response_text);
            ("tool", format!("{} {status}: {said}", visible(request_id)))
        }
        TurnInput::LastFailure { response_text } => ("failure", beginning(response_text)),
    })
}

/// Details of a turn's decision.
fn came_to(decision: &TurnDecision) -> Vec<Detail> {
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
        ("hands over", format!("{what} as {}", dispatch.kind))
    });
    let single = [
        Some((decision.directive.name(), why)),
        decision.response_text.as_ref().map(|text| ("says", beginning(text))),
        decision.clarify.as_ref().map(|clarify| ("asks", question(clarify))),
        dispatch,
        decision.dropped_pending.map(gives_up),
    ];
    let remainders = decision.remainders.iter().map(remainder);
    single.into_iter().flatten().chain(remainders).collect()
}

/// Says who asked, and what became of the words that the turn leaves unsaid.
fn refused(body: &RowRefused, envelope: &Envelope) -> Vec<Detail> {
    // The message was made visible when it was recorded.
    let message = visible(&body.message).to_string().replace("\\\\", "\\");
    let silenced = body.tts_control.map(|control| ("speech", control.to_string()));
    let details = [("asked by", by(envelope)), ("because", message)].into_iter().chain(silenced);
    details.chain(body.remainders.iter().map(remainder)).collect()
}

fn plan_ended(body: &PlanEnded) -> Vec<Detail> {
    let why = because(body.reason_code, body.interrupt_resume_policy);
    let passes = body.passed_to_turn.map(|turn| ("passes to", format!("turn {turn}")));
    [why, remainder(&body.remainder)].into_iter().chain(passes).collect()
}

/// Names what was asked in a session or a thread that was closed: it is asked no more.
fn disarmed(body: &PendingDisarmed) -> Vec<Detail> {
    let pending = (body.pending_state != PendingState::None).then_some(body.pending_state);
    let check = body.return_check.map(|turn| format!("return check on the words of turn {turn}"));
    let check = check.map(|check| ("gives up", check));
    pending.map(gives_up).into_iter().chain(check).collect()
}

fn because(reason: ReasonCode, policy: ResumePolicy) -> Detail {
    ("because", format!("{reason}, {policy}"))
}

/// Names the request that the thread waits for no more.
fn gives_up(pending: PendingState) -> Detail {
    ("gives up", pending.to_string())
}

/// Says what became of words that were left unsaid.
fn remainder(remainder: &Remainder) -> Detail {
    let Remainder { captured_turn, speaker_user_id, fate, reason, .. } = remainder;
    let whose = visible(speaker_user_id);
    ("remainder", format!("of turn {captured_turn}, to {whose}: {fate}, {reason}"))
}

/// Puts a question with the ways to answer it.
fn question(clarify: &Clarify) -> String {
    let formats = clarify.accepted_answer_formats.iter();
    let formats: Vec<String> = formats.map(|format| visible(format).to_string()).collect();
    format!("\"{}\" ({})", visible(&clarify.question), formats.join(" | "))
}
