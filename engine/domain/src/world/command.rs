//! Requests that the rules may refuse: the union, and what every command has in common. Ids,
//! randomness and facts about the world outside arrive here as arguments (property E4); `decide`
//! mints and looks up nothing.
//!
//! In readable formats a command is an object with its name under `command` and its fields beside
//! it: names outside the closed enums, unknown fields and fields given twice do not decode. Bytes
//! are lower-case hexadecimal digits. Random bits that are left away are zeros: whoever reads a
//! command draws fresh ones ([`Command::with_entropy`]).

use alloc::boxed::Box;

use serde::{Deserialize, Deserializer, Serialize};

use crate::core::actor::{ActorId, Authentication, Principal};
use crate::core::hash::{Digest, HashBuilder, sha256};
use crate::core::ids::Entropy;
use crate::core::payload::Text;
use crate::core::text::bounded;
use crate::decision_point::command::{
    CancelDecisionPoint, ConsumeApproval, CreateDecisionPoint, EscalateDecisionPoint,
    ExpireDecisionPoint, RefineDecisionPoint, RemindDecisionPoint, RespondToDecisionPoint,
};
use crate::evidence_capture::command::CaptureEvidence;
use crate::execution_loop::command::{
    AwaitResponse, CompleteLoop, DispatchLoop, InitializeLoop, InterruptLoop, ReportResponse,
    StopLoop,
};
use crate::human_decision::command::{
    AnswerDecision, ExpireDue, OverrideVisibility, RequestDecision,
};
use crate::interruption_thread::command::{
    CallerRow, ClarifyCommitRow, ConfirmCommitRow, DispatchCommitRow, RespondCommitRow, TakeTurn,
    ThreadCommand, TurnScope, WaitCommitRow,
};
use crate::interruption_thread::decision::{ENGINE_ID, Remainder};
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::rules::{check_fields, check_row, check_thread_names};
use crate::interruption_thread::types::{Directive, Fate, FateReason};
use crate::interruption_thread::validate::{check_form, check_name};
use crate::log::command::ChangePolicy;
use crate::log::event::ConfigurationChanged;
use crate::registration::command::{
    ChangeCapability, RegisterDevice, RegisterLease, RegisterSession, RegisterTenant, RegisterUser,
    RegisterWorkOrder,
};
use crate::registration::types::Capability;
use crate::sandbox_fault::command::ReportFault;
use crate::world::index_terms::Term;

/// Writes the union and the names from one table, so that they agree.
macro_rules! commands {
    ($($(#[$doc:meta])* $name:literal $Variant:ident $(($Body:ty))?,)+) => {
        /// A request. Closed.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "command", deny_unknown_fields)]
        #[expect(
            clippy::large_enum_variant,
            reason = "a command is made once and carried out; a box would be one more allocation"
        )]
        pub enum Command {
            $($(#[$doc])* #[serde(rename = $name)] $Variant $(($Body))?,)+
        }

        impl Command {
            /// Every command's name, in the order of the enum.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// The command's name in readable formats, `system.what_to_do`.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$Variant { .. } => $name,)+ }
            }
        }

        #[cfg(feature = "arbitrary")]
        crate::core::arbitrary::one_of! {
            Command: $(|_input| Ok(Command::$Variant $((_input.arbitrary::<$Body>()?))?),)+
        }
    };
}

commands! {
    /// Create a loop in INIT, shake hands with its executor, attach its observer.
    "execution_loop.initialize" InitializeLoop(InitializeLoop),
    /// INIT to DISPATCHED: the first attempt. All ten stop conditions are checked.
    "execution_loop.dispatch" DispatchLoop(DispatchLoop),
    /// DISPATCHED to AWAITING_RESPONSE.
    "execution_loop.await_response" AwaitResponse(AwaitResponse),
    /// Capture raw evidence at the observation point that the loop's state stands for.
    "evidence_capture.capture" CaptureEvidence(CaptureEvidence),
    /// AWAITING_RESPONSE to EVALUATED: normalize and evaluate a response.
    "execution_loop.report_response" ReportResponse(ReportResponse),
    /// AWAITING_RESPONSE to EVALUATED: the attempt failed; let Phase-21 decide what follows.
    "sandbox_fault.report" ReportFault(ReportFault),
    /// EVALUATED to DISPATCHED: the next attempt, where Phase-21 permits it and no hold applies,
    /// or where a person decided RETRY. All ten stop conditions are checked.
    "execution_loop.retry" RetryLoop(DispatchLoop),
    /// EVALUATED to HALTED, with the reason that the last evaluation gives, where no hold applies.
    "execution_loop.complete" CompleteLoop(CompleteLoop),
    /// Any state to HALTED by one of the ten stop conditions.
    "execution_loop.stop" StopLoop(StopLoop),
    /// Ask a person what becomes of an EVALUATED loop.
    "human_decision.request" RequestDecision(RequestDecision),
    /// Answer such a question. What follows is in the same batch: CONTINUE ends the loop as its
    /// evaluation gives, ABORT halts it, ESCALATE asks the target, RETRY permits another attempt.
    "human_decision.answer" AnswerDecision(AnswerDecision),
    /// Record what is due for a request: the warning at 80 %, ABORT at the deadline.
    "human_decision.expire" ExpireDue(ExpireDue),
    /// Allow a field that is OVERRIDE_REQUIRED to be shown to whoever decides.
    "human_decision.override_visibility" OverrideVisibility(OverrideVisibility),
    /// Allow an actor the capabilities of PH1.X, or take them away. Only a HUMAN may.
    "interruption_thread.change_capability" ChangeCapability(ChangeCapability),
    /// Register a tenant, or change its status.
    "interruption_thread.register_tenant" RegisterTenant(RegisterTenant),
    /// Register a user of a tenant, or change the status.
    "interruption_thread.register_user" RegisterUser(RegisterUser),
    /// Register a device for a user, or change the status.
    "interruption_thread.register_device" RegisterDevice(RegisterDevice),
    /// Register a session, or change its status. CLOSED gives up what was left unsaid in it.
    "interruption_thread.register_session" RegisterSession(RegisterSession),
    /// Register a work order, or change its status.
    "interruption_thread.register_work_order" RegisterWorkOrder(RegisterWorkOrder),
    /// Register a lease on a work order, or end it.
    "interruption_thread.register_lease" RegisterLease(RegisterLease),
    /// Take a turn: the branch table chooses the directive; its row and the thread's transition
    /// are one batch.
    "interruption_thread.take_turn" TakeTurn(TakeTurn),
    /// PH1X_CONFIRM_COMMIT_ROW.
    "interruption_thread.confirm_commit_row" ConfirmCommitRow(ConfirmCommitRow),
    /// PH1X_CLARIFY_COMMIT_ROW.
    "interruption_thread.clarify_commit_row" ClarifyCommitRow(ClarifyCommitRow),
    /// PH1X_RESPOND_COMMIT_ROW.
    "interruption_thread.respond_commit_row" RespondCommitRow(RespondCommitRow),
    /// PH1X_DISPATCH_COMMIT_ROW.
    "interruption_thread.dispatch_commit_row" DispatchCommitRow(DispatchCommitRow),
    /// PH1X_WAIT_COMMIT_ROW.
    "interruption_thread.wait_commit_row" WaitCommitRow(WaitCommitRow),
    /// PH1X_READ_AUDIT_ROWS in the diagnostic mode: record that the rows are read. Any other read
    /// is a query and no command.
    "interruption_thread.read_audit_rows" ReadAuditRows(ThreadCommand),
    /// Record what has expired in a thread by now.
    "interruption_thread.expire" ExpireThread(ThreadCommand),
    /// End a thread: what was left unsaid is given up, and no turn follows.
    "interruption_thread.close" CloseThread(ThreadCommand),
    /// Ask: a new decision point.
    "decision_point.create" CreateDecisionPoint(Box<CreateDecisionPoint>),
    /// Answer a round. The first answer counts; guidance opens the next round; what comes when the
    /// round is over is kept and does not count.
    "decision_point.respond" RespondToDecisionPoint(RespondToDecisionPoint),
    /// Propose anew after guidance.
    "decision_point.refine" RefineDecisionPoint(RefineDecisionPoint),
    /// Take a question back.
    "decision_point.cancel" CancelDecisionPoint(CancelDecisionPoint),
    /// Tell somebody else of a question.
    "decision_point.escalate" EscalateDecisionPoint(EscalateDecisionPoint),
    /// Remind whoever is asked.
    "decision_point.remind" RemindDecisionPoint(RemindDecisionPoint),
    /// Spend the approval of one action, once.
    "decision_point.consume" ConsumeApproval(ConsumeApproval),
    /// Record what is due for a round: its default, its abort, the end of its approval.
    "decision_point.expire" ExpireDecisionPoint(ExpireDecisionPoint),
    /// Set the policy of the log: it demands at least what the one before did.
    "policy.set" SetPolicy(Box<ChangePolicy>),
    /// Set a looser policy of the log, which was approved.
    "policy.relax" RelaxPolicy(Box<ChangePolicy>),
    /// Record under which configuration a program works from here on: `null` for none.
    "log.record_configuration" RecordConfiguration(ConfigurationChanged),
    /// Record the fingerprint of the state before this record.
    #[serde(deserialize_with = "no_fields")]
    "log.record_fingerprint" RecordFingerprint,
    /// Any state to HALTED, because a signal that is not known to be a person's asked for the end.
    "execution_loop.interrupt" InterruptLoop(InterruptLoop),
}

impl Command {
    /// The loop, request, thread or decision point that the command is about.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        if let Some(loop_id) = self.driven_loop() {
            return Some(loop_id);
        }
        Some(match self {
            Self::AnswerDecision(c) => &c.request_id,
            Self::ExpireDue(c) => &c.request_id,
            Self::OverrideVisibility(c) => &c.request_id,
            Self::ChangeCapability(c) => &c.actor_id,
            Self::RegisterTenant(c) => &c.tenant_id,
            Self::RegisterUser(c) => &c.user_id,
            Self::RegisterDevice(c) => &c.device_id,
            Self::RegisterSession(c) => &c.session_id,
            Self::RegisterWorkOrder(c) => &c.work_order_id,
            Self::RegisterLease(c) => &c.work_order_id,
            Self::CreateDecisionPoint(_) => return None,
            Self::InitializeLoop(_)
            | Self::SetPolicy(_)
            | Self::RelaxPolicy(_)
            | Self::RecordConfiguration(_)
            | Self::RecordFingerprint => {
                return None;
            }
            other => {
                let thread = other.thread().map(|(_, correlation_id)| correlation_id);
                return other.decision_point().or(thread);
            }
        })
    }

    /// The loop that the command moves on, or adds to: what whoever records a run does with it. An
    /// answer to a question about a loop is none of that.
    #[must_use]
    pub fn driven_loop(&self) -> Option<&str> {
        Some(match self {
            Self::DispatchLoop(c) | Self::RetryLoop(c) => &c.loop_id,
            Self::AwaitResponse(c) => &c.loop_id,
            Self::CaptureEvidence(c) => &c.loop_id,
            Self::ReportResponse(c) => &c.loop_id,
            Self::ReportFault(c) => &c.loop_id,
            Self::CompleteLoop(c) => &c.loop_id,
            Self::StopLoop(c) => &c.loop_id,
            Self::InterruptLoop(c) => &c.loop_id,
            Self::RequestDecision(c) => &c.loop_id,
            _ => return None,
        })
    }

    /// The decision point that the command is about; `None` for a new one, and for commands of
    /// other systems.
    #[must_use]
    pub fn decision_point(&self) -> Option<&str> {
        Some(match self {
            Self::RespondToDecisionPoint(c) => &c.decision_id,
            Self::RefineDecisionPoint(c) => &c.decision_id,
            Self::CancelDecisionPoint(c) => &c.decision_id,
            Self::EscalateDecisionPoint(c) => &c.decision_id,
            Self::RemindDecisionPoint(c) => &c.decision_id,
            Self::ConsumeApproval(c) => &c.decision_id,
            Self::ExpireDecisionPoint(c) => &c.decision_id,
            _ => return None,
        })
    }

    /// Who gives a command on a decision point, by the command's own words.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        Some(match self {
            Self::CreateDecisionPoint(c) => &c.by,
            Self::RespondToDecisionPoint(c) => &c.by,
            Self::RefineDecisionPoint(c) => &c.by,
            Self::CancelDecisionPoint(c) => &c.by,
            Self::EscalateDecisionPoint(c) => &c.by,
            Self::RemindDecisionPoint(c) => &c.by,
            Self::ConsumeApproval(c) => &c.by,
            Self::SetPolicy(c) | Self::RelaxPolicy(c) => &c.by,
            Self::InitializeLoop(c) => &c.approval.as_ref()?.by,
            _ => return None,
        })
    }

    /// The random bits of the command, if it has any.
    #[must_use]
    pub const fn entropy(&self) -> Option<Entropy> {
        Some(match self {
            Self::InitializeLoop(c) => c.entropy,
            Self::DispatchLoop(c) | Self::RetryLoop(c) => c.entropy,
            Self::AwaitResponse(c) => c.entropy,
            Self::CaptureEvidence(c) => c.entropy,
            Self::ReportResponse(c) => c.entropy,
            Self::ReportFault(c) => c.entropy,
            Self::CompleteLoop(c) => c.entropy,
            Self::StopLoop(c) => c.entropy,
            Self::InterruptLoop(c) => c.entropy,
            Self::RequestDecision(c) => c.entropy,
            Self::AnswerDecision(c) => c.entropy,
            Self::ExpireDue(c) => c.entropy,
            Self::CreateDecisionPoint(c) => c.entropy,
            Self::RespondToDecisionPoint(c) => c.entropy,
            Self::ChangeCapability(_)
            | Self::RegisterTenant(_)
            | Self::RegisterUser(_)
            | Self::RegisterDevice(_)
            | Self::RegisterSession(_)
            | Self::RegisterWorkOrder(_)
            | Self::RegisterLease(_)
            | Self::TakeTurn(_)
            | Self::ConfirmCommitRow(_)
            | Self::ClarifyCommitRow(_)
            | Self::RespondCommitRow(_)
            | Self::DispatchCommitRow(_)
            | Self::WaitCommitRow(_)
            | Self::ReadAuditRows(_)
            | Self::ExpireThread(_)
            | Self::CloseThread(_)
            | Self::RefineDecisionPoint(_)
            | Self::CancelDecisionPoint(_)
            | Self::EscalateDecisionPoint(_)
            | Self::RemindDecisionPoint(_)
            | Self::ConsumeApproval(_)
            | Self::ExpireDecisionPoint(_)
            | Self::OverrideVisibility(_)
            | Self::SetPolicy(_)
            | Self::RelaxPolicy(_)
            | Self::RecordConfiguration(_)
            | Self::RecordFingerprint => return None,
        })
    }

    /// The same command with other random bits.
    #[must_use]
    pub fn with_entropy(mut self, entropy: Entropy) -> Self {
        match &mut self {
            Self::InitializeLoop(c) => c.entropy = entropy,
            Self::DispatchLoop(c) | Self::RetryLoop(c) => c.entropy = entropy,
            Self::AwaitResponse(c) => c.entropy = entropy,
            Self::CaptureEvidence(c) => c.entropy = entropy,
            Self::ReportResponse(c) => c.entropy = entropy,
            Self::ReportFault(c) => c.entropy = entropy,
            Self::CompleteLoop(c) => c.entropy = entropy,
            Self::StopLoop(c) => c.entropy = entropy,
            Self::InterruptLoop(c) => c.entropy = entropy,
            Self::RequestDecision(c) => c.entropy = entropy,
            Self::AnswerDecision(c) => c.entropy = entropy,
            Self::ExpireDue(c) => c.entropy = entropy,
            Self::CreateDecisionPoint(c) => c.entropy = entropy,
            Self::RespondToDecisionPoint(c) => c.entropy = entropy,
            _ => {}
        }
        self
    }

    /// Who gives a command, by the command's own words, to be put right by the process that
    /// records it.
    pub fn principal_mut(&mut self) -> Option<&mut Principal> {
        Some(match self {
            Self::CreateDecisionPoint(c) => &mut c.by,
            Self::RespondToDecisionPoint(c) => &mut c.by,
            Self::RefineDecisionPoint(c) => &mut c.by,
            Self::CancelDecisionPoint(c) => &mut c.by,
            Self::EscalateDecisionPoint(c) => &mut c.by,
            Self::RemindDecisionPoint(c) => &mut c.by,
            Self::ConsumeApproval(c) => &mut c.by,
            Self::SetPolicy(c) | Self::RelaxPolicy(c) => &mut c.by,
            Self::InitializeLoop(c) => &mut c.approval.as_mut()?.by,
            _ => return None,
        })
    }

    /// The same command, where nothing is said of what proves who gives it.
    fn without_means(mut self) -> Self {
        if let Some(by) = self.principal_mut() {
            (by.authenticated_by, by.means) = (Authentication::None, Text::default());
        }
        self
    }

    /// SHA-256 of what the command asks for and who gives it, for
    /// [`Idempotency::content`](crate::core::ids::Idempotency::content): what somebody else gives
    /// under the same key is something else.
    #[must_use]
    pub fn content_by(&self, actor: &ActorId) -> Digest {
        HashBuilder::new("holdpoint.command-content-by", 1)
            .digest(&self.content())
            .text(actor.kind.name())
            .text(&actor.id)
            .finish()
    }

    /// SHA-256 of what the command asks for. Its
    /// random bits, its time and what proves who gives it are no part of it: who repeats a command
    /// at another terminal asks for the same.
    #[must_use]
    pub fn content(&self) -> Digest {
        let asked_for = self.clone().with_entropy(Entropy::default()).without_means();
        let bytes = bincode::serde::encode_to_vec(asked_for, bincode::config::standard());
        let builder = HashBuilder::new("holdpoint.command-content", 1).text(self.name());
        match bytes {
            Ok(bytes) => builder.digest(&sha256(&bytes)).finish(),
            Err(_) => builder.absent().finish(),
        }
    }
}

/// A command without fields is refused with any, like every other.
fn no_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(deserializer).map(|Nothing {}| ())
}

impl Command {
    /// The row, for the five COMMIT_ROW capabilities.
    #[must_use]
    pub fn caller_row(&self) -> Option<CallerRow<'_>> {
        let row = |scope, directive, kind, reason_code| CallerRow {
            scope,
            directive,
            kind,
            clarification_unit_id: None,
            lease_token_hash: None,
            reason_code,
        };
        Some(match self {
            Self::ConfirmCommitRow(c) => {
                row(c.scope(), Directive::Confirm, &*c.confirm_kind, c.reason_code)
            }
            Self::ClarifyCommitRow(c) => CallerRow {
                clarification_unit_id: Some(&c.clarification_unit_id),
                ..row(c.scope(), Directive::Clarify, &*c.what_is_missing, c.reason_code)
            },
            Self::RespondCommitRow(c) => {
                row(c.scope(), Directive::Respond, &*c.response_kind, c.reason_code)
            }
            Self::DispatchCommitRow(c) => CallerRow {
                lease_token_hash: c.lease_token_hash,
                ..row(c.scope(), Directive::Dispatch, &*c.dispatch_target, c.reason_code)
            },
            Self::WaitCommitRow(c) => row(c.scope(), Directive::Wait, &*c.wait_kind, c.reason_code),
            _ => return None,
        })
    }

    /// The scope, for turns and rows.
    #[must_use]
    pub fn turn_scope(&self) -> Option<TurnScope<'_>> {
        match self {
            Self::TakeTurn(c) => Some(c.scope()),
            other => other.caller_row().map(|row| row.scope),
        }
    }

    /// What the command's snapshot leaves unsaid, as it ends where the turn is refused.
    pub(crate) fn unsaid(&self) -> Option<Remainder> {
        let Self::TakeTurn(turn) = self else { return None };
        let snapshot = turn.request.tts_resume_snapshot.as_ref()?;
        Some(Remainder {
            captured_turn: turn.turn_id,
            answer_id: snapshot.answer_id,
            speaker_user_id: bounded(&turn.request.active_speaker_user_id, 128).into(),
            fate: Fate::Discarded,
            reason: FateReason::TurnRefused,
        })
    }

    /// The thread that the command is about: tenant and correlation.
    #[must_use]
    pub fn thread(&self) -> Option<(&str, &str)> {
        match self {
            Self::ExpireThread(c) | Self::CloseThread(c) | Self::ReadAuditRows(c) => {
                Some((&c.tenant_id, &c.correlation_id))
            }
            other => other.turn_scope().map(|scope| (scope.tenant_id, scope.correlation_id)),
        }
    }

    /// The capability that the caller needs; `None` for commands that anybody may give.
    #[must_use]
    pub const fn needed_capability(&self) -> Option<Capability> {
        match self {
            Self::RegisterTenant(_)
            | Self::RegisterUser(_)
            | Self::RegisterDevice(_)
            | Self::RegisterSession(_)
            | Self::RegisterWorkOrder(_)
            | Self::RegisterLease(_)
            | Self::TakeTurn(_)
            | Self::ConfirmCommitRow(_)
            | Self::ClarifyCommitRow(_)
            | Self::RespondCommitRow(_)
            | Self::DispatchCommitRow(_)
            | Self::WaitCommitRow(_)
            | Self::CloseThread(_)
            | Self::ReadAuditRows(_) => Some(Capability::SeleneOsOnly),
            _ => None,
        }
    }

    /// The key that a turn or a row brings, under which it is carried out once: tenant, engine and
    /// key. It is unique within the command's correlation.
    #[must_use]
    pub fn own_key(&self) -> Option<(&str, &'static str, &str)> {
        let scope = self.turn_scope()?;
        Some((scope.tenant_id, ENGINE_ID, scope.idempotency_key))
    }

    /// Whether the command registers something, or says who may do what: it is about no loop,
    /// request or thread, whatever the names in it.
    #[must_use]
    pub const fn is_registration(&self) -> bool {
        matches!(
            self,
            Self::ChangeCapability(_)
                | Self::RegisterTenant(_)
                | Self::RegisterUser(_)
                | Self::RegisterDevice(_)
                | Self::RegisterSession(_)
                | Self::RegisterWorkOrder(_)
                | Self::RegisterLease(_)
        )
    }
}

const NAME_64: &str = "1 to 64 bytes, visible, without control characters";

const NAME_128: &str = "1 to 128 bytes, visible, without control characters";

const NAME_256: &str = "1 to 256 bytes, visible, without control characters";

impl Command {
    /// Whether the command is well-formed, as far as that can be said without any state. Looked at
    /// before everything else, so that it tells nobody what there is.
    ///
    /// # Errors
    /// [`ThreadRefusal::Malformed`] names the field.
    pub fn check_form(&self) -> Result<(), ThreadRefusal> {
        match self {
            Self::TakeTurn(turn) => {
                check_fields(&turn.scope())?;
                check_form(&turn.request)
            }
            Self::ExpireThread(c) | Self::CloseThread(c) | Self::ReadAuditRows(c) => {
                check_thread_names(&c.tenant_id, &c.correlation_id)
            }
            other => match other.caller_row() {
                Some(row) => check_fields(&row.scope).and_then(|()| check_row(&row)),
                None => other.check_registered_names(),
            },
        }
    }

    fn check_registered_names(&self) -> Result<(), ThreadRefusal> {
        let tenant = |id: &str| check_name("tenant_id", id, 64, NAME_64);
        let name = |field, id: &str| check_name(field, id, 128, NAME_128);
        match self {
            Self::ChangeCapability(c) => check_name("actor_id", &c.actor_id, 256, NAME_256),
            Self::RegisterTenant(c) => tenant(&c.tenant_id),
            Self::RegisterUser(c) => {
                tenant(&c.tenant_id).and_then(|()| name("user_id", &c.user_id))
            }
            Self::RegisterDevice(c) => tenant(&c.tenant_id)
                .and_then(|()| name("device_id", &c.device_id))
                .and_then(|()| name("user_id", &c.user_id)),
            Self::RegisterSession(c) => tenant(&c.tenant_id)
                .and_then(|()| name("session_id", &c.session_id))
                .and_then(|()| name("user_id", &c.user_id))
                .and_then(|()| name("device_id", &c.device_id)),
            Self::RegisterWorkOrder(c) => tenant(&c.tenant_id)
                .and_then(|()| name("work_order_id", &c.work_order_id))
                .and_then(|()| check_name("correlation_id", &c.correlation_id, 256, NAME_256)),
            Self::RegisterLease(c) => {
                tenant(&c.tenant_id).and_then(|()| name("work_order_id", &c.work_order_id))
            }
            _ => Ok(()),
        }
    }
}

impl Command {
    /// The session and the work order that the command names, whatever it does with them: the
    /// rules have to know how they are registered.
    pub fn registered_names(&self) -> impl Iterator<Item = Term<'_>> {
        let (tenant, session, work_order) = match self {
            Self::RegisterSession(c) => (c.tenant_id.as_str(), Some(c.session_id.as_str()), None),
            Self::RegisterWorkOrder(c) => (&*c.tenant_id, None, Some(c.work_order_id.as_str())),
            Self::RegisterLease(c) => (&*c.tenant_id, None, Some(c.work_order_id.as_str())),
            other => match other.turn_scope() {
                Some(scope) => (scope.tenant_id, scope.session_id, Some(scope.work_order_id)),
                None => ("", None, None),
            },
        };
        let session = session.map(|session| Term::Session { tenant, session });
        session
            .into_iter()
            .chain(work_order.map(|work_order| Term::WorkOrder { tenant, work_order }))
    }
}
