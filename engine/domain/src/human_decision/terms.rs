//! The terms of a hold, agreed before anything runs: nobody can change them after the fact. They
//! say how long a person has: a warning at 80 %, then ABORT.

use serde::{Deserialize, Serialize};

use thiserror::Error;

use crate::core::payload::{List, Text};
use crate::core::text::{IdentifierFault, check_identifier, is_reserved_name};
use crate::core::time::Timestamp;
use crate::core::{bodies, closed_enum};
use crate::human_decision::rules::SYSTEM_TIMEOUT;

/// The longest time that a person may be given, in milliseconds (366 days).
pub const MAX_TIMEOUT_MS: u64 = 366 * 24 * 60 * 60 * 1000;

const NS_PER_MS: u64 = 1_000_000;

/// Time that a person has to decide, in milliseconds: 1 to [`MAX_TIMEOUT_MS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u64", into = "u64")]
#[cfg_attr(feature = "schema", schemars(rename = "DecisionTimeout"))]
pub struct HumanDecisionTimeout(u64);

/// A time in which nobody can decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a decision timeout of {found_ms} ms is out of range; give 1 ms to 366 days")]
pub struct TimeoutOutOfRange {
    /// Time that was asked for, in milliseconds.
    pub found_ms: u64,
}

impl HumanDecisionTimeout {
    /// The default: five minutes.
    pub const DEFAULT: Self = Self(5 * 60 * 1000);
    /// The default of a question that nobody waits for: a day.
    pub const UNATTENDED: Self = Self(24 * 60 * 60 * 1000);

    /// A timeout of so many milliseconds.
    ///
    /// # Errors
    /// [`TimeoutOutOfRange`]: zero, or more than 366 days.
    pub fn from_milliseconds(milliseconds: u64) -> Result<Self, TimeoutOutOfRange> {
        match milliseconds {
            1..=MAX_TIMEOUT_MS => Ok(Self(milliseconds)),
            _ => Err(TimeoutOutOfRange { found_ms: milliseconds }),
        }
    }

    /// Milliseconds.
    #[must_use]
    pub const fn milliseconds(self) -> u64 {
        self.0
    }

    /// The deadline of a request that is made at this time, or `None` if the calendar ends first.
    #[must_use]
    pub fn deadline(self, created_at: Timestamp) -> Option<Timestamp> {
        let nanoseconds = self.0.saturating_mul(NS_PER_MS);
        created_at.nanoseconds().checked_add(nanoseconds).map(Timestamp::from_nanoseconds)
    }
}

impl TryFrom<u64> for HumanDecisionTimeout {
    type Error = TimeoutOutOfRange;

    fn try_from(milliseconds: u64) -> Result<Self, TimeoutOutOfRange> {
        Self::from_milliseconds(milliseconds)
    }
}

impl From<HumanDecisionTimeout> for u64 {
    fn from(timeout: HumanDecisionTimeout) -> Self {
        timeout.0
    }
}

/// A warning that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Time when it was due.
    pub due_at: Timestamp,
    /// Time when somebody looked.
    pub recorded_at: Timestamp,
    /// The sequence of the record.
    pub sequence: u64,
}

/// Computes when the person is warned: after exactly 80 % of the time between the two, rounded down
/// to the nanosecond.
#[must_use]
pub fn warning_time(created_at: Timestamp, timeout_at: Timestamp) -> Timestamp {
    let whole = u128::from(timeout_at.nanoseconds_since(created_at));
    let four_fifths = u64::try_from(whole * 4 / 5).unwrap_or(u64::MAX);
    Timestamp::from_nanoseconds(created_at.nanoseconds().saturating_add(four_fifths))
}

closed_enum! {
    /// Condition on which a loop is held for a person's decision.
    pub enum HoldPolicy {
        /// Never, unless somebody asks.
        Never = "NEVER",
        /// Hold after an attempt that did not end well: anything that would not halt as COMPLETED.
        OnFailure = "ON_FAILURE",
        /// After every attempt that Phase-21 did not terminate.
        After = "AFTER",
    }
}

bodies! {
    /// The terms of a hold.
    HoldTerms {
        /// Policy that says when the loop is held.
        policy: HoldPolicy,
        /// True if a retry that Phase-21 permits needs a person as well where the hold applies.
        #[serde(default = "yes")]
        retry_needs_person: bool,
        /// Time that a person has to decide, in milliseconds.
        #[serde(default = "default_timeout")]
        decision_timeout_ms: HumanDecisionTimeout,
        /// Names of those who may answer, at most 16. Empty: any person.
        #[serde(default)]
        approvers: List<Text>,
        /// To whom a question may be passed on, at most 16. Each is asked at most once about an
        /// attempt, so the chain of requests is bounded.
        #[serde(default)]
        escalation_targets: List<EscalationTarget>,
        /// Names of those who may allow a field that is OVERRIDE_REQUIRED to be shown. Empty:
        /// nobody.
        #[serde(default)]
        override_approvers: List<Text>,
    }

    /// Someone to whom a question may be passed on.
    EscalationTarget {
        /// The name.
        target: Text,
        /// Names of those who may answer for it. Empty: the person of exactly that name.
        #[serde(default)]
        approvers: List<Text>,
        /// Time that they have, in milliseconds.
        timeout_ms: HumanDecisionTimeout,
    }
}

/// Why terms are no terms.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TermsFault {
    /// A name that is missing, too long or hides characters.
    #[error("{0}")]
    Name(#[from] IdentifierFault),
    /// The timeout's own name.
    #[error("{SYSTEM_TIMEOUT} is reserved for timeouts and cannot be an {field}")]
    Reserved {
        /// Name of the list it is in.
        field: &'static str,
    },
    /// A target that is listed twice.
    #[error("escalation target {target:?} is listed twice; list each once")]
    Repeated {
        /// The target.
        target: Text,
    },
}

impl HoldTerms {
    /// No hold. Somebody may still ask a person: anyone, with five minutes' time.
    #[must_use]
    pub fn never() -> Self {
        Self::of(HoldPolicy::Never)
    }

    /// The defaults under this policy.
    #[must_use]
    pub fn of(policy: HoldPolicy) -> Self {
        Self {
            policy,
            retry_needs_person: true,
            decision_timeout_ms: HumanDecisionTimeout::DEFAULT,
            approvers: List::default(),
            escalation_targets: List::default(),
            override_approvers: List::default(),
        }
    }

    /// Checks whether every name can be recorded and every target is listed once.
    ///
    /// # Errors
    /// [`TermsFault`] names the field and what was found.
    pub fn check(&self) -> Result<(), TermsFault> {
        check_names("approver", &self.approvers)?;
        check_names("override approver", &self.override_approvers)?;
        for (index, entry) in self.escalation_targets.iter().enumerate() {
            check_name("escalation target", &entry.target)?;
            check_names("approver of an escalation target", &entry.approvers)?;
            if self.escalation_targets.iter().skip(index + 1).any(|e| e.target == entry.target) {
                return Err(TermsFault::Repeated { target: entry.target.clone() });
            }
        }
        Ok(())
    }

    /// Returns whether this person may answer a request that was passed on to this target, or to
    /// nobody yet.
    #[must_use]
    pub fn may_answer(&self, human_id: &str, asked_of: Option<&str>) -> bool {
        let Some(target) = asked_of else {
            return self.approvers.is_empty() || names(&self.approvers, human_id);
        };
        match self.target(target) {
            Some(entry) if entry.approvers.is_empty() => human_id == target,
            Some(entry) => names(&entry.approvers, human_id),
            None => false,
        }
    }

    /// Returns whether this person may allow a field to be shown.
    #[must_use]
    pub fn may_override(&self, human_id: &str) -> bool {
        names(&self.override_approvers, human_id)
    }

    /// A configured target.
    #[must_use]
    pub fn target(&self, target: &str) -> Option<&EscalationTarget> {
        self.escalation_targets.iter().find(|entry| entry.target.as_str() == target)
    }
}

fn names(list: &List<Text>, name: &str) -> bool {
    list.iter().any(|entry| entry.as_str() == name)
}

fn check_names(field: &'static str, names: &List<Text>) -> Result<(), TermsFault> {
    names.iter().try_for_each(|name| check_name(field, name))
}

fn check_name(field: &'static str, name: &str) -> Result<(), TermsFault> {
    check_identifier(field, name)?;
    if is_reserved_name(name) { Err(TermsFault::Reserved { field }) } else { Ok(()) }
}

const fn yes() -> bool {
    true
}

const fn default_timeout() -> HumanDecisionTimeout {
    HumanDecisionTimeout::DEFAULT
}

#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for HumanDecisionTimeout {
    fn arbitrary(input: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        let milliseconds = input.int_in_range(1..=MAX_TIMEOUT_MS)?;
        Self::from_milliseconds(milliseconds).map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}
