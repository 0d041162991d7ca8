//! Audit rows of one thread: committed, refused, and of what ended by no turn.

use super::threads::turn_or_plan;
use crate::reach::Reach;
use crate::read::Committed;
use crate::words::moment;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{
    DecidedBy, Directive, InterruptionThreadEvent, OutcomeRow, PendingState, ReasonCode, Remainder,
    ResumePolicy, RowCommitted, RowEventType, RowPayload, RowRefused, Severity, TtsControl,
};
use holdpoint_domain::registration::WorkOrderStatus;
use holdpoint_domain::{Event, Time};
use serde::Serialize;

/// Audit row of a thread as a program reads it: absent is what says nothing.
#[derive(Serialize)]
pub struct ThreadRow<'a> {
    /// The sequence of the row's record.
    audit_event_id: u64,
    time: Time,
    tenant_id: String,
    correlation_id: String,
    /// Turn that left the words unsaid, in a row of words that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<&'a str>,
    reason_code: ReasonCode,
    reason_number: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    #[serde(flatten)]
    outcome: RowOutcome<'a>,
    /// Standing of its record, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<&'static str>,
}

/// Fate of a row.
#[derive(Serialize)]
#[serde(untagged)]
enum RowOutcome<'a> {
    Committed {
        event_type: RowEventType,
        severity: Severity,
        #[serde(skip_serializing_if = "Option::is_none")]
        issue_fingerprint: Option<&'a str>,
        decided_by: DecidedBy,
        #[serde(skip_serializing_if = "Option::is_none")]
        dropped_pending: Option<PendingState>,
        /// Fates of the words that the turn touches.
        #[serde(skip_serializing_if = "<[Remainder]>::is_empty")]
        remainders: &'a [Remainder],
        payload: Payload<'a>,
    },
    Refused {
        refused: RowRefusal<'a>,
    },
    Ended {
        ended: RowEnd,
    },
}

/// End of words or of a request by no turn and no caller.
#[derive(Serialize)]
struct RowEnd {
    /// The answer that the words belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_id: Option<u64>,
    interrupt_resume_policy: ResumePolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue_fingerprint: Option<String>,
    /// The turn under which the words of a plan go on, where another plan or turn interrupts the
    /// same.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_to_turn: Option<u64>,
    /// The request that the thread waits for no more; NONE where that was a return check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_state: Option<PendingState>,
}

/// Refusal of a turn or a row, and why.
#[derive(Serialize)]
struct RowRefusal<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    directive: Option<&'static str>,
    class: RefusalClass,
    message: &'a str,
    /// Words that the turn left unsaid: lost with it, or kept by the thread or its open plan.
    #[serde(skip_serializing_if = "<[Remainder]>::is_empty")]
    remainders: &'a [Remainder],
    /// Fate of these words.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupt_resume_policy: Option<ResumePolicy>,
    /// Action on speech that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    tts_control: Option<TtsControl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue_fingerprint: Option<&'a str>,
}

/// The seed's payload keys, and no other.
#[derive(Serialize)]
struct Payload<'a> {
    directive: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm_kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    what_is_missing: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clarification_unit_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatch_target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_kind: Option<&'a str>,
    work_order_id: &'a str,
    work_order_status_snapshot: WorkOrderStatus,
    pending_state: PendingState,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_token_hash: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupt_resume_policy: Option<ResumePolicy>,
}

impl<'a> ThreadRow<'a> {
    /// The rows of a record.
    #[must_use]
    pub fn of(record: &'a Committed) -> Vec<Self> {
        let envelope = record.envelope();
        let Some(Event::InterruptionThread(event)) = envelope.map(|envelope| &envelope.event)
        else {
            return Vec::new();
        };
        match event {
            InterruptionThreadEvent::RowCommitted(row) => vec![Self::committed(record, row)],
            InterruptionThreadEvent::RowRefused(row) => vec![Self::refused(record, row)],
            other => {
                let rows = other.outcome_rows().into_iter();
                rows.map(|row| Self::ended(record, row)).collect()
            }
        }
    }

    /// The same, with what is proven of its record.
    #[must_use]
    pub fn within(self, reach: &Reach) -> Self {
        let standing = reach.standing(self.audit_event_id, false);
        Self { standing: Some(standing.name()), ..self }
    }

    /// A row of a record, with nothing but what every row has.
    fn at(
        record: &Committed,
        (tenant_id, correlation_id): (&str, &str),
        reason_code: ReasonCode,
        outcome: RowOutcome<'a>,
    ) -> Self {
        Self {
            audit_event_id: record.header.sequence,
            time: record.time(),
            tenant_id: tenant_id.to_string(),
            correlation_id: correlation_id.to_string(),
            turn_id: None,
            session_id: None,
            user_id: None,
            device_id: None,
            reason_code,
            reason_number: reason_code.number(),
            idempotency_key: None,
            outcome,
            standing: None,
        }
    }

    fn committed(record: &Committed, row: &'a RowCommitted) -> Self {
        let outcome = RowOutcome::Committed {
            event_type: row.event_type,
            severity: row.severity,
            issue_fingerprint: row.issue_fingerprint.as_deref(),
            decided_by: row.decided_by,
            dropped_pending: row.dropped_pending,
            remainders: &row.remainders,
            payload: Payload::of(&row.payload),
        };
        let thread = (&*row.tenant_id, &*row.correlation_id);
        Self {
            turn_id: Some(row.turn_id),
            session_id: row.session_id.as_ref().map(|session| session.to_string()),
            user_id: Some(row.user_id.to_string()),
            device_id: Some(&row.device_id),
            idempotency_key: Some(&row.idempotency_key),
            ..Self::at(record, thread, row.reason_code, outcome)
        }
    }

    fn refused(record: &Committed, row: &'a RowRefused) -> Self {
        let refused = RowRefusal {
            command: &row.command,
            directive: row.directive.map(Directive::payload_value),
            class: row.class,
            message: &row.message,
            remainders: &row.remainders,
            interrupt_resume_policy: row.remainders.first().map(|words| words.fate.policy()),
            tts_control: row.tts_control,
            issue_fingerprint: row.issue_fingerprint.as_deref(),
        };
        let thread = (&*row.tenant_id, &*row.correlation_id);
        Self {
            turn_id: Some(row.turn_id),
            user_id: Some(row.user_id.to_string()),
            device_id: Some(&row.device_id),
            idempotency_key: Some(&row.idempotency_key),
            ..Self::at(record, thread, row.reason_code, RowOutcome::Refused { refused })
        }
    }

    fn ended(record: &Committed, row: OutcomeRow) -> Self {
        let ended = RowEnd {
            answer_id: row.answer_id,
            interrupt_resume_policy: row.interrupt_resume_policy,
            issue_fingerprint: row.issue_fingerprint.map(|issue| issue.to_string()),
            passed_to_turn: row.passed_to_turn,
            pending_state: row.pending_state,
        };
        let thread = (&*row.tenant_id, &*row.correlation_id);
        Self {
            turn_id: row.turn_id,
            session_id: row.session_id.map(|session| session.to_string()),
            user_id: row.user_id.map(|user| user.to_string()),
            ..Self::at(record, thread, row.reason_code, RowOutcome::Ended { ended })
        }
    }

    /// The sequence of its record.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.audit_event_id
    }

    /// The cells of a line: row, time, turn, directive, reason, kind, work order, pending, policy,
    /// user and key.
    #[must_use]
    pub fn cells(&self) -> [String; 11] {
        let [directive, kind, work_order, pending, policy] = self.outcome.cells();
        [
            self.audit_event_id.to_string(),
            moment(self.time),
            self.turn_id.map_or(String::new(), |turn| turn.to_string()),
            directive,
            self.reason_code.to_string(),
            kind,
            work_order,
            pending,
            policy,
            visible(self.user_id.as_deref().unwrap_or_default()).to_string(),
            visible(self.idempotency_key.unwrap_or_default()).to_string(),
        ]
    }
}

impl RowOutcome<'_> {
    /// Directive, kind, work order, pending and policy.
    fn cells(&self) -> [String; 5] {
        match self {
            Self::Committed { payload, .. } => payload.cells(),
            Self::Refused { refused } => {
                let directive = refused.directive.unwrap_or(turn_or_plan(refused.command));
                let [none, also_none] = [const { String::new() }; 2];
                let class = refused.class.to_string();
                let policy = refused.interrupt_resume_policy.map(|policy| policy.to_string());
                let policy = policy.unwrap_or_default();
                [format!("refused: {directive}"), class, none, also_none, policy]
            }
            Self::Ended { ended } => {
                let [none, also_none, nor_this] = [const { String::new() }; 3];
                let policy = ended.interrupt_resume_policy.to_string();
                ["ended".into(), none, also_none, nor_this, policy]
            }
        }
    }
}

impl<'a> Payload<'a> {
    fn of(payload: &'a RowPayload) -> Self {
        Self {
            directive: payload.directive.payload_value(),
            confirm_kind: payload.confirm_kind.as_deref(),
            what_is_missing: payload.what_is_missing.as_deref(),
            clarification_unit_id: payload.clarification_unit_id.as_deref(),
            response_kind: payload.response_kind.as_deref(),
            dispatch_target: payload.dispatch_target.as_deref(),
            wait_kind: payload.wait_kind.as_deref(),
            work_order_id: &payload.work_order_id,
            work_order_status_snapshot: payload.work_order_status_snapshot,
            pending_state: payload.pending_state,
            lease_token_hash: payload.lease_token_hash,
            interrupt_resume_policy: payload.interrupt_resume_policy,
        }
    }

    fn cells(&self) -> [String; 5] {
        let kinds = [
            self.confirm_kind,
            self.what_is_missing,
            self.response_kind,
            self.dispatch_target,
            self.wait_kind,
        ];
        let kind = kinds.into_iter().flatten().next().unwrap_or("");
        let (order, status) = (self.work_order_id, self.work_order_status_snapshot);
        [
            self.directive.to_string(),
            visible(kind).to_string(),
            format!("{} {status}", visible(order)),
            self.pending_state.to_string(),
            self.interrupt_resume_policy.map_or(String::new(), |policy| policy.to_string()),
        ]
    }
}
