//! Why a command on a loop is refused.

use alloc::string::String;

use crate::core::limits::{MAX_CHAIN_RECORDS, MAX_ITEMS_PER_CAPTURE, MAX_RAW_BYTES};
use crate::core::refusal::{CommonRefusal, refusals, through};
use crate::core::text::IdentifierFault;
use crate::evidence_capture::pieces::MAX_PIECES_PER_COMMAND;
use crate::execution_loop::types::ExecutionLoopState;
use crate::human_decision::refusal::HumanDecisionRefusal;
use crate::human_decision::terms::TermsFault;
use crate::sandbox_fault::types::FaultMismatch;

/// Answer of the rules to a step of a loop.
pub(crate) type Ruling = Result<(), LoopRefusal>;

refusals! {
    /// Why a command on a loop is refused. Closed.
    LoopRefusal holding {
        /// A rule that every system has.
        Common(CommonRefusal),
        /// A question to a person.
        HumanDecision(HumanDecisionRefusal),
    }
    /// A number of attempts outside 1 to 3.
    #[error("{found} attempts are not possible; allow 1 to {expected_most}")]
    AttemptsOutOfRange {
        /// The most attempts that there may be.
        expected_most: u8,
        /// Number of attempts that the command allows.
        found: u8,
    } = "ATTEMPTS_OUT_OF_RANGE",
    /// A loop with this id is live, or lived once.
    #[error("loop {loop_id} exists; supply fresh random bits for a new loop")]
    LoopExists {
        /// The loop.
        loop_id: String,
    } = "LOOP_EXISTS",
    /// No live loop has this id.
    #[error(
        "loop {loop_id} is not live: it halted or never was; a halted loop is final, so \
             start a new one"
    )]
    LoopNotLive {
        /// The loop.
        loop_id: String,
    } = "LOOP_NOT_LIVE" in Scope,
    /// The loop is in a state in which the command means nothing.
    #[error("loop {loop_id} is {found}; this needs {expected}: {advice}")]
    WrongState {
        /// The loop.
        loop_id: String,
        /// The state that the command needs.
        expected: ExecutionLoopState,
        /// The loop's state.
        found: ExecutionLoopState,
        /// Advice on what to do instead.
        advice: &'static str,
    } = "WRONG_STATE",
    /// EVALUATED to DISPATCHED without a decision that permits it.
    #[error(
        "loop {loop_id} may not be dispatched again: {found}; complete it, or start a new loop"
    )]
    RetryNotPermitted {
        /// The loop.
        loop_id: String,
        /// The decision instead.
        found: String,
    } = "RETRY_NOT_PERMITTED" in Gating,
    /// Nobody decided that the loop may have another instruction, or no attempt is left for it.
    #[error(
        "loop {loop_id} may not be given another instruction: {found}"
    )]
    InstructionNotPermitted {
        /// The loop.
        loop_id: String,
        /// The decision instead.
        found: String,
    } = "INSTRUCTION_NOT_PERMITTED" in Gating,
    /// A response or fault is reported before the attempt's raw output was captured.
    #[error(
        "attempt {attempt} of loop {loop_id} has no raw output yet; capture EXECUTOR_OUTPUT \
             evidence (it may be empty) before reporting"
    )]
    RawOutputMissing {
        /// The loop.
        loop_id: String,
        /// The attempt.
        attempt: u8,
    } = "RAW_OUTPUT_MISSING",
    /// A fault of another attempt than the one that runs.
    #[error("{0}")]
    FaultElsewhere(FaultMismatch) = "FAULT_ELSEWHERE" in Scope,
    /// A stop is asked for and its condition does not hold.
    #[error("{condition} does not hold, by what is stated and known here; leave the loop alone")]
    StopNotTriggered {
        /// The condition's name.
        condition: &'static str,
    } = "STOP_NOT_TRIGGERED",
    /// A stop states a fact that the log itself knows.
    #[error("{fact} is judged by holdpoint alone; state only the world outside, leave it out")]
    FactNotTaken {
        /// The fact.
        fact: &'static str,
    } = "FACT_NOT_TAKEN",
    /// Nothing, or too much, is offered in one capture.
    #[error("{found} evidence items are offered; offer 1 to {MAX_ITEMS_PER_CAPTURE} at once")]
    ItemCount {
        /// Number of items that are offered.
        found: usize,
    } = "ITEM_COUNT",
    /// Raw evidence beyond the limit.
    #[error(
        "raw evidence of {found} bytes; the limit is {MAX_RAW_BYTES}: capture its beginning \
             and state its true length"
    )]
    EvidenceTooLarge {
        /// Its length, in bytes.
        found: usize,
    } = "EVIDENCE_TOO_LARGE",
    /// The statement about an output stream contradicts the bytes captured of it.
    #[error(
        "the output's {field} is {found}, but the captured bytes say {expected}; describe \
             the whole stream"
    )]
    OutputContradicted {
        /// `length` or `SHA-256`.
        field: &'static str,
        /// Value that follows from the bytes.
        expected: String,
        /// Value that was stated.
        found: String,
    } = "OUTPUT_CONTRADICTED",
    /// A piece of output does not follow the ones before it, or what is stated of them is not so.
    #[error("the output's {field} is {found}, but should be {expected}; record pieces in order")]
    PieceContradicted {
        /// The part.
        field: &'static str,
        /// Value that follows from the pieces.
        expected: String,
        /// Value that was stated.
        found: String,
    } = "PIECE_CONTRADICTED",
    /// No piece, or too many, in one command.
    #[error("{found} pieces of output are offered; offer 1 to {MAX_PIECES_PER_COMMAND} at once")]
    PieceCount {
        /// Number of pieces that are offered.
        found: usize,
    } = "PIECE_COUNT",
    /// A snapshot is not of the attempt that runs, or was not taken behind the one before it.
    #[error("the snapshot's {field} is {found}, but should be {expected}; record them in order")]
    SnapshotContradicted {
        /// The part.
        field: &'static str,
        /// Value that follows from the snapshots before.
        expected: String,
        /// Value that was stated.
        found: String,
    } = "SNAPSHOT_CONTRADICTED",
    /// The chain is as long as it may be, but for the records that a halt needs.
    #[error(
        "the evidence chain of loop {loop_id} is full ({MAX_CHAIN_RECORDS} records, some \
             kept for its end); end the loop"
    )]
    ChainFull {
        /// The loop.
        loop_id: String,
    } = "CHAIN_FULL",
    /// The terms of a hold cannot be agreed on.
    #[error("the terms of the hold: {0}")]
    InvalidTerms(#[from] TermsFault) = "INVALID_TERMS",
    /// The same random bits were used before in this chain.
    #[error("evidence record {record_id} exists in this chain; supply fresh random bits")]
    DuplicateRecordId {
        /// The record.
        record_id: String,
    } = "DUPLICATE_RECORD_ID",
}

through! { IdentifierFault => CommonRefusal => LoopRefusal; }
