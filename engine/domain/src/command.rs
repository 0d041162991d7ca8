//! Requests that the rules may refuse. Ids, randomness and facts about the world outside arrive
//! here as arguments (property E4); `decide` mints and looks up nothing.
//!
//! In readable formats a command is an object with its name under `command` and its fields beside
//! it: names outside the closed enums, unknown fields and fields given twice do not decode. Bytes
//! are lower-case hexadecimal digits. Random bits that are left away are zeros: whoever reads a
//! command draws fresh ones ([`Command::with_entropy`]).

mod decision_point;
mod human_decision;
mod interruption_thread;
mod readable;
mod writer;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use decision_point::decision_id;
pub use decision_point::{
    CancelDecisionPoint, ConsumeApproval, CreateDecisionPoint, EscalateDecisionPoint,
    ExpireDecisionPoint, RefineDecisionPoint, RemindDecisionPoint, RespondToDecisionPoint,
};
pub use human_decision::{AnswerDecision, ExpireDue, OverrideVisibility, RequestDecision};
pub use interruption_thread::{
    CallerRow, ChangeCapability, ClarifyCommitRow, ConfirmCommitRow, DispatchCommitRow,
    RegisterDevice, RegisterLease, RegisterSession, RegisterTenant, RegisterUser,
    RegisterWorkOrder, RespondCommitRow, TakeTurn, ThreadCommand, TurnScope, WaitCommitRow,
};
use readable::hex;
pub use writer::WriterCommand;

use crate::decision_point::Principal;
use crate::event::{ConfigurationChanged, Exit, OutputStream, ResourceUsage};
use crate::evidence_capture::{StopCondition, StopFacts};
use crate::execution_loop::{ExecutorIdentityStatus, ExecutorResponseType};
use crate::hash::Digest;
use crate::human_decision::HoldTerms;
use crate::limits::ENTROPY_BYTES;
use crate::policy::{GatePolicy, GateTerms};
use crate::sandbox_fault::{ExecutionFaultType, RetryPolicy};

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
        crate::arbitrary::one_of! {
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
    #[serde(deserialize_with = "readable::no_fields")]
    "log.record_fingerprint" RecordFingerprint,
    /// Any state to HALTED, because a signal that is not known to be a person's asked for the end.
    "execution_loop.interrupt" InterruptLoop(InterruptLoop),
}

/// 128 random bits, supplied by whoever issues a command. Every id that the command brings into
/// the world is made of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entropy([u8; ENTROPY_BYTES]);

impl Entropy {
    /// Entropy of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; ENTROPY_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; ENTROPY_BYTES] {
        &self.0
    }
}

/// As 32 lower-case hexadecimal digits.
impl fmt::Display for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base16ct::lower::encode_string(&self.0))
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entropy({self})")
    }
}

/// See [`Command::InitializeLoop`]. The new loop's id is `LOOP-` and the entropy, its observer's
/// `OBS-` and its chain's `CHAIN-` with the same digits; see [`InitializeLoop::loop_id`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InitializeLoop {
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
    /// Who will execute.
    pub executor_id: String,
    /// The instruction envelope, canonically encoded: captured as PRE_DISPATCH evidence.
    #[serde(with = "hex")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Hex"))]
    pub envelope: Vec<u8>,
    /// SHA-256 of the envelope, lower-case hex. Checked against the bytes.
    pub instruction_envelope_hash: String,
    /// The instruction as a person may read it, already redacted.
    pub command_line: String,
    /// How many attempts there may be, 1 to 3.
    pub max_attempts: u8,
    /// What a caller allows at most after a fault; it can only narrow what the fault allows.
    pub retry_ceiling: RetryPolicy,
    /// How long one attempt may take, in milliseconds. `None`: as long as it wants.
    pub timeout_ms: Option<u64>,
    /// When and how a person is asked. Agreed before anything runs: nobody changes it afterwards.
    pub hold: HoldTerms,
    /// Who counts as a person, and where the policy in force comes from.
    #[serde(default)]
    pub gate: GateTerms,
    /// The approval that is spent for the start, where a person is asked before it.
    #[serde(default)]
    pub approval: Option<SpentApproval>,
    /// How the executor presents itself (Phase-28).
    pub handshake: Handshake,
    /// What the observer expects to see (Phase-31).
    pub observer: ObserverExpectation,
}

impl InitializeLoop {
    /// The id that the new loop will have.
    #[must_use]
    pub fn loop_id(&self) -> String {
        crate::text::id("LOOP-", &alloc::format!("{}", self.entropy))
    }
}

/// The approval of a run's start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SpentApproval {
    /// The decision point, bound to [`RUN_TOOL`](crate::policy::RUN_TOOL).
    pub decision_id: String,
    /// Who spends it.
    pub by: Principal,
    /// The digest of all that the approval is bound to besides the instruction envelope; see
    /// [`run_binding`](crate::policy::run_binding).
    pub details: Digest,
}

/// See [`Command::SetPolicy`] and [`Command::RelaxPolicy`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangePolicy {
    /// Who: a person at a terminal.
    pub by: Principal,
    /// The whole policy from here on.
    pub policy: GatePolicy,
    /// The decision point that approved it, bound to the policy before and this one. For
    /// `policy.relax`, and for no other.
    #[serde(default)]
    pub approval: Option<String>,
}

/// How an executor presents itself before it is given an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Handshake {
    /// Its id.
    pub executor_id: String,
    /// What is known about it.
    pub trust_status: ExecutorIdentityStatus,
    /// The hash of the envelope that it holds.
    pub instruction_envelope_hash: String,
}

/// What an observer expects of the loop that it is attached to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ObserverExpectation {
    /// The executor that it expects.
    pub executor_id: String,
    /// The instruction that it expects.
    pub envelope_hash: String,
}

/// See [`Command::DispatchLoop`] and [`Command::RetryLoop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DispatchLoop {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
    /// The hash of what is about to be executed.
    pub envelope_hash: String,
    /// What only the caller can know.
    pub facts: DispatchFacts,
}

/// Facts about the world outside at dispatch. `None` is "not stated", and what is not stated
/// halts the loop. The facts behind the other stop conditions are the loop's own and are not
/// asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DispatchFacts {
    /// False: MISSING_AUTHORIZATION.
    pub authorization_present: Option<bool>,
    /// False: EXECUTOR_NOT_REGISTERED.
    pub executor_registered: Option<bool>,
    /// False: RESOURCE_LIMIT_EXCEEDED.
    pub resources_available: Option<bool>,
    /// False: AMBIGUOUS_INTENT.
    pub intent_clear: Option<bool>,
    /// True: HUMAN_ABORT.
    pub human_abort_signaled: Option<bool>,
}

/// See [`Command::AwaitResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AwaitResponse {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
}

/// See [`Command::CaptureEvidence`]. All items are captured, in order, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaptureEvidence {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
    /// One to eight items.
    pub items: Vec<EvidenceItem>,
}

/// Evidence that is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EvidenceItem {
    /// EXECUTOR_OUTPUT: a stream of output, or its beginning alone. Only while a response is
    /// awaited.
    ExecutorOutput {
        /// Which stream.
        stream: OutputStream,
        /// The bytes captured, at most 16 MiB.
        #[serde(with = "hex")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Hex"))]
        raw_data: Vec<u8>,
        /// Length of the whole stream, in bytes; not below that of the bytes captured.
        true_length: u64,
        /// SHA-256 of the whole stream; checked where the bytes captured are the whole.
        whole_sha256: Digest,
    },
    /// RESOURCE_SNAPSHOT: what the attempt used.
    ResourceSnapshot(ResourceUsage),
    /// TIMESTAMP_EVENT: something timed, in the caller's own bytes, at most 16 MiB.
    TimestampEvent(
        #[serde(with = "hex")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Hex"))]
        Vec<u8>,
    ),
    /// EXECUTOR_OUTPUT: the beginning and the end of a stream of output that is longer than what
    /// is kept of it. Only while a response is awaited.
    ExecutorOutputCut {
        /// Which stream.
        stream: OutputStream,
        /// The first bytes, right before the last ones; at most 16 MiB.
        #[serde(with = "hex")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Hex"))]
        raw_data: Vec<u8>,
        /// How many of them are the beginning of the stream.
        head_length: u64,
        /// Length of the whole stream, in bytes; above that of the bytes captured.
        true_length: u64,
        /// SHA-256 of the whole stream.
        whole_sha256: Digest,
    },
}

/// See [`Command::ReportResponse`]. The attempt's raw output must have been captured before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportResponse {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
    /// Who answers. Anyone but the loop's executor is rejected.
    pub executor_id: String,
    /// The hash of the instruction that is answered.
    pub instruction_hash: String,
    /// What the executor reports.
    pub reported_status: ExecutorResponseType,
    /// The error that it reports, in words.
    pub error: Option<String>,
    /// How its process ended.
    pub exit: Exit,
}

/// See [`Command::ReportFault`]. The fault's id is `FAULT-` and the entropy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportFault {
    /// Which loop: the execution that failed.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
    /// The attempt that failed; refused if it is not the one that runs.
    pub attempt: u8,
    /// How it failed.
    pub fault_type: ExecutionFaultType,
    /// What is said about it, in words.
    pub fault_message: String,
    /// How its process ended.
    pub exit: Exit,
}

/// See [`Command::CompleteLoop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompleteLoop {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
}

/// See [`Command::StopLoop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StopLoop {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
    /// Which of the ten.
    pub condition: StopCondition,
    /// What is known. Only the fact of this condition is looked at; not known stops, and known
    /// to be well is refused.
    pub facts: StopFacts,
    /// The details, in words.
    pub details: String,
}

/// See [`Command::InterruptLoop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InterruptLoop {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
    /// The signal's number.
    pub signal: i32,
    /// The process that sent it, where the kernel tells.
    pub sender_pid: Option<u32>,
    /// The user number of that process, where the kernel tells.
    pub sender_uid: Option<u32>,
}
