//! The handshake (Phase-28): it proves that an executor is eligible and grants no authority.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::ExecutionLoopContext;
use crate::closed::closed_enum;
use crate::text::is_blank;

closed_enum! {
    /// What is known about an executor's identity.
    pub enum ExecutorIdentityStatus {
        /// Nothing is known.
        Unknown = "UNKNOWN",
        /// The executor is registered.
        Registered = "REGISTERED",
        /// The registration was withdrawn.
        Revoked = "REVOKED",
    }
}

closed_enum! {
    /// The outcome of a handshake. A loop whose handshake was rejected halts.
    pub enum HandshakeDecision {
        /// The executor is eligible for this envelope.
        Accept = "ACCEPT",
        /// Anything else: ambiguity is rejection.
        Reject = "REJECT",
    }
}

/// An executor as it presents itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorIdentity {
    /// Its id.
    pub executor_id: String,
    /// What is known about it.
    pub trust_status: ExecutorIdentityStatus,
}

/// What is compared in a handshake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeContext {
    /// The hash of the envelope that the executor says it holds.
    pub instruction_envelope_hash: String,
    /// The executor.
    pub executor_identity: ExecutorIdentity,
    /// When, as ISO-8601 text.
    pub timestamp: String,
}

/// A handshake decision and its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeResult {
    /// ACCEPT or REJECT.
    pub decision: HandshakeDecision,
    /// Why, as a fixed sentence.
    pub reason: String,
}

/// Decides whether this executor may be given this loop's envelope: registered, named, the
/// loop's own executor, and holding exactly the loop's envelope. Everything else is REJECT.
#[must_use]
pub fn decide_handshake(
    loop_context: &ExecutionLoopContext,
    handshake: &HandshakeContext,
) -> HandshakeResult {
    let (decision, reason) = match handshake_fault(loop_context, handshake) {
        None => (HandshakeDecision::Accept, "Executor is registered and bound to the envelope"),
        Some(fault) => (HandshakeDecision::Reject, fault),
    };
    HandshakeResult { decision, reason: String::from(reason) }
}

fn handshake_fault(
    loop_context: &ExecutionLoopContext,
    handshake: &HandshakeContext,
) -> Option<&'static str> {
    let identity = &handshake.executor_identity;
    if is_blank(&identity.executor_id) || is_blank(&handshake.instruction_envelope_hash) {
        return Some("Executor id or envelope hash is missing");
    }
    if is_blank(&handshake.timestamp) {
        return Some("Timestamp is missing");
    }
    match identity.trust_status {
        ExecutorIdentityStatus::Unknown => return Some("Executor is not registered"),
        ExecutorIdentityStatus::Revoked => return Some("Executor registration was revoked"),
        ExecutorIdentityStatus::Registered => {}
    }
    if identity.executor_id != loop_context.executor_id() {
        return Some("Executor is not the executor of this loop");
    }
    if handshake.instruction_envelope_hash != loop_context.instruction_envelope_hash() {
        return Some("Envelope hash differs from the envelope of this loop");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution_loop::initialize_execution_loop;

    fn handshake(executor_id: &str, envelope: &str, status: ExecutorIdentityStatus) -> bool {
        let loop_context = initialize_execution_loop("hash", "exec-1", "00000000");
        let context = HandshakeContext {
            instruction_envelope_hash: envelope.into(),
            executor_identity: ExecutorIdentity {
                executor_id: executor_id.into(),
                trust_status: status,
            },
            timestamp: "2026-01-25T16:00:00Z".into(),
        };
        decide_handshake(&loop_context, &context).decision == HandshakeDecision::Accept
    }

    #[test]
    fn only_the_registered_executor_of_this_envelope_is_accepted() {
        use ExecutorIdentityStatus::{Registered, Revoked, Unknown};
        assert!(handshake("exec-1", "hash", Registered));
        assert!(!handshake("exec-1", "hash", Unknown));
        assert!(!handshake("exec-1", "hash", Revoked));
        assert!(!handshake("evil", "hash", Registered));
        assert!(!handshake("exec-1", "other", Registered));
        assert!(!handshake("", "hash", Registered));
        assert!(!handshake("exec-1", " ", Registered));
    }
}
