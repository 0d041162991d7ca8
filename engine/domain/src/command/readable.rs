//! What every command has in common: a name, a subject, random bits, a content.

use alloc::string::String;
use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Command, Entropy};
use crate::decision_point::{Authentication, Principal};
use crate::envelope::ActorId;
use crate::event::Text;
use crate::hash::{Digest, HashBuilder, sha256};
use crate::limits::ENTROPY_BYTES;

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
    /// [`crate::envelope::Idempotency::content`]: what somebody else gives under the same key is
    /// something else.
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

/// As 32 lower-case hexadecimal digits.
impl Serialize for Entropy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Entropy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; ENTROPY_BYTES];
        match base16ct::lower::decode(&text, &mut bytes) {
            Ok(decoded) if decoded.len() == ENTROPY_BYTES => Ok(Self::from_bytes(bytes)),
            _ => Err(D::Error::custom("entropy is 32 lower-case hexadecimal digits")),
        }
    }
}

/// A command without fields is refused with any, like every other.
pub(super) fn no_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(deserializer).map(|Nothing {}| ())
}

/// Bytes that are lower-case hexadecimal digits in readable formats.
pub(super) mod hex {
    use alloc::vec::Vec;

    use super::{Deserializer, HexVisitor, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &[u8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&base16ct::lower::encode_string(bytes))
        } else {
            serializer.serialize_bytes(bytes)
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_str(HexVisitor)
    }
}

struct HexVisitor;

impl Visitor<'_> for HexVisitor {
    type Value = alloc::vec::Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes as lower-case hexadecimal digits")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        base16ct::lower::decode_vec(text)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Str("..."), &self))
    }
}
