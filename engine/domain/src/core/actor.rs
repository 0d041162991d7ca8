//! Actors (Phase-01): only a human has authority.
//!
//! A name that a caller gives itself is a claim. It is recorded, shown as not proven, and counts
//! only where a policy takes claims. What the process that records something can prove of who did
//! it is a [`Proof`]; [`PersonTerms`] say who counts as a person.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::core::payload::{List, Text};
use crate::core::refusal::refusals;
use crate::core::{closed_enum, recorded};

closed_enum! {
    /// Kind of who did something. Phase-01 knows HUMAN and SYSTEM; what acts on a human's behalf is
    /// told apart here as AGENT (chooses its own steps) and AUTOMATION (follows a fixed script).
    pub enum Actor {
        /// A person: the only authority.
        Human = "HUMAN",
        /// A program that chooses its own steps.
        Agent = "AGENT",
        /// A program that follows a fixed script.
        Automation = "AUTOMATION",
        /// Holdpoint itself.
        System = "SYSTEM",
    }
}

closed_enum! {
    /// Authority of an actor.
    pub enum Role {
        /// May initiate, confirm and override.
        Authority = "AUTHORITY",
        /// May only do what an authority initiated.
        Executor = "EXECUTOR",
    }
}

impl Actor {
    /// Phase-01: HUMAN is the sole authoritative actor; every other actor executes.
    #[must_use]
    pub const fn role(self) -> Role {
        match self {
            Self::Human => Role::Authority,
            Self::Agent | Self::Automation | Self::System => Role::Executor,
        }
    }
}

/// Identity of who did something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActorId {
    /// Human, agent, automation or Holdpoint itself.
    pub kind: Actor,
    /// The name under which the actor is known, at most
    /// [`MAX_ID_BYTES`](crate::core::limits::MAX_ID_BYTES).
    pub id: String,
}

closed_enum! {
    /// Proof of who somebody is, the weakest first.
    pub enum Authentication {
        /// Nothing: a name that was claimed.
        None = "none",
        /// The operating system's user, by its number.
        OsUser = "os-user",
        /// The operating system's user, at a terminal.
        Terminal = "terminal",
    }
}

/// Somebody who asks or answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Principal {
    /// Human, agent, automation or Holdpoint itself.
    pub kind: Actor,
    /// The name, at most 256 bytes.
    pub id: Text,
    /// Proof of the name.
    pub authenticated_by: Authentication,
    /// By what means, in words: the terminal, the user's number. At most 256 bytes.
    pub means: Text,
}

/// The name of Holdpoint itself.
pub(crate) const HOLDPOINT: &str = "holdpoint";

impl Principal {
    /// Tells whether it is Holdpoint itself: nobody else asks under its name.
    #[must_use]
    pub fn is_holdpoint(&self) -> bool {
        self.kind == Actor::System && *self.id == *HOLDPOINT
    }

    /// Returns whether it is the actor of a record.
    #[must_use]
    pub fn is(&self, actor: &ActorId) -> bool {
        self.kind == actor.kind && *self.id == *actor.id
    }

    /// The actor of the records that follow from what it does.
    #[must_use]
    pub fn actor(&self) -> ActorId {
        ActorId { kind: self.kind, id: self.id.as_str().into() }
    }

    /// `human`, `agent` or `system`; an automation is an agent.
    #[must_use]
    pub const fn kind_name(&self) -> &'static str {
        match self.kind {
            Actor::Human => "human",
            Actor::Agent | Actor::Automation => "agent",
            Actor::System => "system",
        }
    }
}

/// Facts that the process that recorded something could prove of who did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The number of the user whose process it was.
    pub user: u32,
    /// Means by which the name is proven; `none`: it is a claim of that process.
    pub by: Authentication,
}

impl Proof {
    /// A claim by a process of this user.
    #[must_use]
    pub const fn claim(user: u32) -> Self {
        Self { user, by: Authentication::None }
    }

    /// Returns whether the name is only claimed.
    #[must_use]
    pub const fn is_claim(self) -> bool {
        matches!(self.by, Authentication::None)
    }
}

recorded! {
    /// A name in a policy or in the terms of a question, and whose it was then.
    NamedUser {
        /// The name.
        name: Text,
        /// The number that the user database had for it; `None`: it had none.
        user: Option<u32>,
    }
}

/// Names with the numbers that they had when they were recorded: as many as the terms of one hold
/// can have.
pub type NamedUsers = List<NamedUser, 320>;

impl NamedUsers {
    /// The number that was recorded for a name.
    #[must_use]
    pub fn number_of(&self, name: &str) -> RecordedNumber {
        let named = self.iter().find(|named| *named.name == *name);
        named.map_or(RecordedNumber::Unstated, |named| {
            named.user.map_or(RecordedNumber::Missing, RecordedNumber::User)
        })
    }
}

/// The user number that is on record for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedNumber {
    /// Nothing is recorded: the name is not listed, or the list is older than numbers.
    Unstated,
    /// This number.
    User(u32),
    /// The user database had no number for the name, so the name proves nobody.
    Missing,
}

/// The number of a user that nobody can know: outside of the initial user namespace a process can
/// make itself any user. The kernel gives it to nobody.
pub const UNKNOWN_USER: u32 = u32::MAX;

/// Conditions on which somebody counts as the person who is asked.
///
/// | asked by | the same user | another user |
/// |---|---|---|
/// | a process of some user | at a terminal; nobody under `separation` | as proven as asked for |
/// | nobody in particular | at a terminal | at a terminal |
///
/// Where claims are taken (authentication `none`), any name counts, but under `separation` still
/// none of the same user number, and none whose number nobody can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonTerms {
    /// Weakest proof of the name that counts.
    pub authentication: Authentication,
    /// True if only another user than the one who asks counts.
    pub separation: bool,
    /// The number of the user whose process asks; `None`: nobody in particular.
    pub asked_by: Option<u32>,
    /// The number that was recorded for the name of whoever answers.
    pub number: RecordedNumber,
}

/// Why nothing that a process says of itself is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProcessDoubt {
    /// Executable memory that is neither the program's own nor a library of root's.
    #[error(
        "code that is neither the program's own nor a library of root's is loaded into the process \
         that answers, as LD_PRELOAD does; answer without it"
    )]
    ForeignCode,
    /// A tracer.
    #[error("a debugger traces the process that answers; answer without one")]
    Traced,
    /// The kernel's own files about the process.
    #[error("/proc does not tell what the process that answers is made of; see that it is mounted")]
    Unread,
    /// The user database.
    #[error("the user database does not answer; see that `getent passwd` does, and answer again")]
    SilentDatabase,
}

/// Sign that a user is behind a process that has another user's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BehindSign {
    /// The kernel's record of who logged in.
    #[error("that user logged in to the session that it is in")]
    Login,
    /// The owner of the terminal's device.
    #[error("the terminal belongs to that user")]
    TerminalOwner,
    /// A process that this one descends from.
    #[error("a process of that user started it")]
    Ancestor,
    /// The process that leads the session.
    #[error("a process of that user leads its session")]
    SessionLeader,
    /// `SUDO_UID`.
    #[error("SUDO_UID names that user")]
    SudoUid,
    /// `PKEXEC_UID`.
    #[error("PKEXEC_UID names that user")]
    PkexecUid,
}

refusals! {
    /// Why somebody does not count as a person.
    #[derive(Copy)]
    NotAPerson holding {}
    /// Only a claim.
    #[error(
        "the name is not proven; answer as that user of this system, outside of containers, user \
         namespaces and commands that are recorded, or ask under a policy that takes claimed names"
    )]
    Claimed = "CLAIM_NOT_TAKEN" in Gating,
    /// A process of which nothing is proven.
    #[error("the name is not proven: {0}")]
    Doubted(ProcessDoubt) = "CLAIM_NOT_TAKEN" in Gating,
    /// Another user, behind whom is the one who asks.
    #[error(
        "user {user} asks, and is behind the process that answers: {sign}; another person has to \
         answer at a terminal and a login of their own"
    )]
    AskerBehind {
        /// The number of the user who asks.
        user: u32,
        /// Sign that the user is behind the process.
        sign: BehindSign,
    } = "ASKER_BEHIND" in Gating,
    /// A user, behind whom is another one.
    #[error(
        "user {user} is behind the process that answers: {sign}; whoever is asked has to answer at \
         a terminal and a login of their own"
    )]
    OtherBehind {
        /// The number of the user who is behind it.
        user: u32,
        /// Sign that the user is behind the process.
        sign: BehindSign,
    } = "ASKER_BEHIND" in Gating,
    /// Another user, behind whom somebody may be who cannot be read.
    #[error(
        "{}, and /proc does not show who started the process that answers: mount \
         /proc without hidepid, or with the group of the approvers as gid=, and answer again",
        WhoAsks(*.user)
    )]
    HiddenBehind {
        /// The number of the user who asks.
        user: u32,
    } = "ASKER_BEHIND" in Gating,
    /// Another user, who is no person.
    #[error(
        "user {user} is a system account (a number below UID_MIN of /etc/login.defs, or no shell \
         to log in with), and counts only where a policy names it"
    )]
    SystemAccount {
        /// The number.
        user: u32,
    } = "SYSTEM_ACCOUNT" in Gating,
    /// Proven less than is asked for.
    #[error("the name is proven by {found}, and {expected} is asked for; answer at a terminal")]
    ProvenLess {
        /// Authentication that is asked for.
        expected: Authentication,
        /// Authentication that proves the name.
        found: Authentication,
    } = "PROVEN_LESS" in Gating,
    /// The user who asks, without a terminal.
    #[error(
        "user {user} asks, and counts as a person only at a terminal; answer at one, or let \
         another user answer"
    )]
    NoTerminal {
        /// The user's number.
        user: u32,
    } = "NO_TERMINAL" in Gating,
    /// The user who asks, where another one has to answer.
    #[error(
        "{}, and another user has to answer, outside of containers and user namespaces",
        WhoAsks(*.user)
    )]
    SameUser {
        /// The number of the user who asks, [`UNKNOWN_USER`] where that is not known.
        user: u32,
    } = "SAME_USER" in Gating,
    /// The name belongs to another user than it did when it was recorded.
    #[error(
        "the name belonged to user {expected} when this was asked, and belongs to user {found} \
         now; ask anew"
    )]
    OtherUser {
        /// The number on record.
        expected: u32,
        /// The number of the process that answers.
        found: u32,
    } = "OTHER_USER" in Gating,
    /// A name without a number.
    #[error(
        "no user had this name when this was asked, so the name is a claim; ask anew now that a \
         user has it"
    )]
    NoNumber = "CLAIM_NOT_TAKEN" in Gating,
    /// Without a terminal, where it is not known which user asks.
    #[error(
        "{}, and so whoever answers counts as a person only at a terminal; answer at one",
        WhoAsks(UNKNOWN_USER)
    )]
    NoTerminalForUnknown = "NO_TERMINAL" in Gating,
}

/// User who asks, in words.
struct WhoAsks(u32);

impl fmt::Display for WhoAsks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            UNKNOWN_USER => formatter.write_str(
                "it is not known which user asks (from a container or a user namespace)",
            ),
            user => write!(formatter, "user {user} asks"),
        }
    }
}

/// The gate of one loop or decision point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gate {
    /// The number of the user whose process asks.
    pub(crate) asked_by: u32,
    /// Least authentication that has to prove who answers.
    pub(crate) authentication: Authentication,
    /// True if only another user may answer.
    pub(crate) separation: bool,
}

impl Gate {
    pub(crate) const fn terms(self) -> PersonTerms {
        let Self { asked_by, authentication, separation } = self;
        let number = RecordedNumber::Unstated;
        PersonTerms { authentication, separation, asked_by: Some(asked_by), number }
    }
}

impl PersonTerms {
    /// For acts that nobody asked for: only who sits at a terminal counts.
    pub const AT_A_TERMINAL: Self = Self {
        authentication: Authentication::Terminal,
        separation: false,
        asked_by: None,
        number: RecordedNumber::Unstated,
    };

    /// For whoever grants capabilities: somebody at a terminal, unless the policy of the log states
    /// what else proves a name.
    #[must_use]
    pub fn for_grants(stated: Option<Authentication>) -> Self {
        let authentication = stated.unwrap_or(Authentication::Terminal);
        Self { authentication, ..Self::AT_A_TERMINAL }
    }

    /// Checks whether somebody counts as a person. What was recorded before there were proofs is
    /// not judged by them.
    ///
    /// # Errors
    /// [`NotAPerson`] says why not.
    pub fn admit(&self, proof: Option<Proof>) -> Result<(), NotAPerson> {
        let Some(Proof { user, by: found }) = proof else { return Ok(()) };
        let expected = self.authentication;
        // Who asks or answers from where no number says anything may be anybody.
        let may_be = |asker: u32| asker == user || [asker, user].contains(&UNKNOWN_USER);
        let is_same = self.asked_by.is_some_and(may_be);
        if self.separation && is_same {
            return Err(NotAPerson::SameUser { user: self.asked_by.unwrap_or(user) });
        }
        if expected == Authentication::None {
            return Ok(());
        }
        if found == Authentication::None {
            return Err(NotAPerson::Claimed);
        }
        if found < expected {
            return Err(NotAPerson::ProvenLess { expected, found });
        }
        match self.number {
            RecordedNumber::User(expected) if expected != user => {
                return Err(NotAPerson::OtherUser { expected, found: user });
            }
            RecordedNumber::Missing => return Err(NotAPerson::NoNumber),
            RecordedNumber::User(_) | RecordedNumber::Unstated => {}
        }
        if is_same && found < Authentication::Terminal {
            return Err(match self.asked_by {
                Some(UNKNOWN_USER) => NotAPerson::NoTerminalForUnknown,
                _ => NotAPerson::NoTerminal { user },
            });
        }
        Ok(())
    }
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::made_of! {
    Principal { kind, id, authenticated_by, means }
    Proof { user, by }
}
