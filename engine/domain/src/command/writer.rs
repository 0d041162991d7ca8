//! What only the log's own writer can know. A caller cannot give it: the engine takes
//! [`Command`](super::Command)s from others, and none of these is one.

use alloc::string::String;

use super::Entropy;
use crate::event::{
    ClockStepped, HeadMissingAccepted, HistoryArchived, RecoveryPerformed, SegmentIndexed,
};

/// What the log's own writer records, when it has seen it. The rules
/// ([`decide_for_writer`](crate::decide_for_writer)) refuse what the state contradicts. Closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriterCommand {
    /// A writer put the log's end in order.
    RecoveryPerformed(RecoveryPerformed),
    /// A missing HEAD was accepted.
    HeadMissingAccepted(HeadMissingAccepted),
    /// The clock stepped.
    ClockStepped(ClockStepped),
    /// Records were moved to an archive.
    HistoryArchived(HistoryArchived),
    /// A sealed segment has an index.
    SegmentIndexed(SegmentIndexed),
    /// Any state to HALTED, because the process that recorded the loop is gone.
    DeclareLost {
        /// Which loop.
        loop_id: String,
        /// Fresh random bits.
        entropy: Entropy,
    },
}

#[cfg(feature = "arbitrary")]
crate::arbitrary::one_of! {
    WriterCommand:
    |input| input.arbitrary().map(WriterCommand::RecoveryPerformed),
    |input| input.arbitrary().map(WriterCommand::HeadMissingAccepted),
    |input| input.arbitrary().map(WriterCommand::ClockStepped),
    |input| input.arbitrary().map(WriterCommand::HistoryArchived),
    |input| input.arbitrary().map(WriterCommand::SegmentIndexed),
    |input| {
        Ok(WriterCommand::DeclareLost { loop_id: input.arbitrary()?, entropy: input.arbitrary()? })
    },
}
