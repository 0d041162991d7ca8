//! The command that changes the policy of the log, and what only the log's own writer can know. A
//! caller cannot give the latter: the engine takes [`Command`](crate::Command)s from others, and
//! no [`WriterCommand`] is one.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::actor::{NamedUsers, Principal};
use crate::core::ids::Entropy;
use crate::core::{bodies, commands};
use crate::evidence_capture::types::GuardedEnd;
use crate::log::event::{
    ClockStepAccepted, ClockStepped, ConfigurationChanged, HeadMissingAccepted, HistoryArchived,
    LogContinued, PolicyUnlocked, RecoveryPerformed, SegmentIndexed,
};
use crate::log::policy::GatePolicy;

commands! {
    /// Command on the log itself.
    LogCommand {
        /// Set the policy of the log: it demands at least what the one before did.
        "policy.set" SetPolicy(Box<ChangePolicy>) from by;
        /// Set a looser policy of the log, which was approved.
        "policy.relax" RelaxPolicy(Box<ChangePolicy>) from by;
        /// Record under which configuration a program works from here on: `null` for none.
        "log.record_configuration" RecordConfiguration(ConfigurationChanged);
        /// Record the fingerprint of the state before this record.
        "log.record_fingerprint" RecordFingerprint(RecordFingerprint);
    }
}

/// See [`LogCommand::RecordFingerprint`]. It has no fields, and is refused with any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordFingerprint {}

#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for RecordFingerprint {
    fn arbitrary(_: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self {})
    }
}

/// Records of the log's own writer, made when it has seen the fact. The rules
/// ([`decide_for_writer`](crate::decide_for_writer)) refuse what the state contradicts. Closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriterCommand {
    /// A writer put the log's end in order.
    RecoveryPerformed(RecoveryPerformed),
    /// A missing HEAD was accepted.
    HeadMissingAccepted(HeadMissingAccepted),
    /// The clock stepped.
    ClockStepped(ClockStepped),
    /// A person accepted that the log's time is ahead.
    AcceptClockStep {
        /// Actor, and size of the step.
        body: Box<ClockStepAccepted>,
        /// The commands that end what is due by the old time ([`World::due`](crate::World::due)),
        /// with their random bits.
        due: Vec<crate::Command>,
    },
    /// Records were moved to an archive.
    HistoryArchived(HistoryArchived),
    /// A sealed segment has an index.
    SegmentIndexed(SegmentIndexed),
    /// Root sets a policy in the place of one that names somebody who is gone.
    UnlockPolicy(Box<PolicyUnlocked>),
    /// A person goes on from a log that ends before its HEAD.
    ContinueLog {
        /// Actor, and the records it goes on from.
        body: Box<LogContinued>,
        /// Every live loop, with fresh random bits: its recorder is gone.
        lost: Vec<(String, Entropy)>,
    },
    /// Any state to HALTED, because the process that recorded the loop is gone.
    DeclareLost {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        entropy: Entropy,
        /// End of the command, where its guard saw it.
        end: Option<GuardedEnd>,
    },
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::one_of! {
    WriterCommand:
    |input| input.arbitrary().map(WriterCommand::RecoveryPerformed),
    |input| input.arbitrary().map(WriterCommand::HeadMissingAccepted),
    |input| input.arbitrary().map(WriterCommand::ClockStepped),
    |input| input.arbitrary().map(WriterCommand::HistoryArchived),
    |input| {
        Ok(WriterCommand::AcceptClockStep { body: input.arbitrary()?, due: Vec::new() })
    },
    |input| Ok(WriterCommand::ContinueLog { body: input.arbitrary()?, lost: Vec::new() }),
    |input| input.arbitrary().map(WriterCommand::SegmentIndexed),
    |input| input.arbitrary().map(WriterCommand::UnlockPolicy),
    |input| {
        Ok(WriterCommand::DeclareLost {
            loop_id: input.arbitrary()?,
            entropy: input.arbitrary()?,
            end: input.arbitrary()?,
        })
    },
}

bodies! {
    /// See [`LogCommand::SetPolicy`] and
    /// [`LogCommand::RelaxPolicy`].
    ChangePolicy {
        /// Principal: a person at a terminal.
        by: Principal,
        /// The whole policy from here on.
        policy: GatePolicy,
        /// The decision point that approved it, bound to the policy before and this one. For
        /// `policy.relax`, and for no other.
        #[serde(default)]
        approval: Option<String>,
        /// The numbers of those whom it names: the engine looks them up, and nobody states them.
        #[serde(skip)]
        people: Option<NamedUsers>,
    }
}
