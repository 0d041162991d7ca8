//! Who runs this process, as far as it can be proven, and what that proves of whoever acts in it.
//! The one rule of who acts, for the program, `apply`, the Model Context Protocol, hooks and
//! whoever embeds the engine.
//!
//! A name that a command gives itself is proven where it is the name of this process's own user.
//! Who typed a line at its terminal is proven by that too, for the one command that the line is for.
//! Any other is a claim, and so is every name outside of the initial user namespace, where a
//! process can make itself any user, under a number that a user may take by way of one, and below a
//! recorder, where nobody is a person.

use super::origin_of_user::{below_recorder, in_initial_user_namespace, is_subordinate};
use super::person_terminal::{TypedLine, terminal_name, user_number};
use super::user::told_of_user;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal, UNKNOWN_USER};
use holdpoint_domain::human_decision::{AnswerChannel, AnswerMeans, HumanDecisionCommand};
use holdpoint_domain::{ActorId, Command, Proof};
use std::borrow::Cow;

/// What this process can prove.
#[derive(Clone, Debug)]
pub struct Identity {
    user: u32,
    name: String,
    grounds: Grounds,
    /// The terminal at which a person typed what is done, or that is on standard input.
    terminal: Option<String>,
    /// Whether every name is believed, for tests.
    is_simulated: bool,
}

/// Whether the number of the user says who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grounds {
    /// It does.
    Proven,
    /// In a user namespace a process can make itself any user. So it may be in one where that
    /// cannot be known, and under a number that was given to a user for namespaces: from within one
    /// a program can be made that takes that number outside of it. Nor does a number say who it is
    /// where the user database does not answer: its user may have another name by then.
    OtherNamespace,
    /// A command that is being recorded is never a person.
    BelowRecorder,
}

impl Identity {
    /// What this process can prove of itself, asked of the kernel.
    #[must_use]
    pub fn of_process() -> Self {
        let user = user_number();
        let (name, is_answered) = told_of_user(user);
        let is_known = in_initial_user_namespace().unwrap_or(false) && is_answered;
        let grounds = if !is_known || is_subordinate(user) {
            Grounds::OtherNamespace
        } else if below_recorder() {
            Grounds::BelowRecorder
        } else {
            Grounds::Proven
        };
        Self { user, name, grounds, terminal: terminal_name(), is_simulated: false }
    }

    /// Believes every name that it is told, as if each were a person of that name at a terminal:
    /// for tests of what is built on an engine, with several people in one process.
    #[cfg(feature = "simulated-people")]
    #[must_use]
    pub fn simulated() -> Self {
        Self { is_simulated: true, ..Self::of_process() }
    }

    /// A process of a user whom a test makes up, judged as any other: at this terminal, if any.
    #[cfg(feature = "simulated-people")]
    #[must_use]
    pub fn simulated_process(user: u32, name: &str, terminal: Option<&str>) -> Self {
        let (name, terminal) = (name.to_string(), terminal.map(str::to_string));
        Self { user, name, grounds: Grounds::Proven, terminal, is_simulated: false }
    }

    /// The same below a recorder.
    #[cfg(feature = "simulated-people")]
    #[must_use]
    pub fn recorded(self) -> Self {
        Self { grounds: Grounds::BelowRecorder, ..self }
    }

    /// The same in a user namespace of its own.
    #[cfg(feature = "simulated-people")]
    #[must_use]
    pub fn in_own_namespace(self) -> Self {
        Self { grounds: Grounds::OtherNamespace, ..self }
    }

    /// The same for the one command that a person typed a line for.
    pub(super) fn at_terminal_of(&self, line: TypedLine) -> Self {
        Self { terminal: Some(line.into_terminal()), ..self.clone() }
    }

    /// The name of this process's user.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is proven of whoever acts under a name.
    #[must_use]
    pub fn proof_of(&self, actor: &ActorId) -> Proof {
        if self.is_simulated {
            return simulated_proof(actor);
        }
        let user = match self.grounds {
            Grounds::OtherNamespace => UNKNOWN_USER,
            Grounds::Proven | Grounds::BelowRecorder => self.user,
        };
        let is_own = actor.id == self.name;
        let by = match (self.grounds, actor.kind) {
            (Grounds::Proven, Actor::Human) if is_own && self.terminal.is_some() => {
                Authentication::Terminal
            }
            (Grounds::Proven, Actor::Human | Actor::Agent | Actor::Automation) if is_own => {
                Authentication::OsUser
            }
            (Grounds::BelowRecorder, Actor::Agent | Actor::Automation) if is_own => {
                Authentication::OsUser
            }
            _ => Authentication::None,
        };
        Proof { user, by }
    }

    /// By what means a name is proven or claimed, in words.
    fn means(&self, proof: Proof) -> String {
        let uid = self.user;
        match (proof.by, self.grounds, &self.terminal) {
            (Authentication::Terminal, _, Some(terminal)) => {
                format!("terminal {terminal}, uid {uid}")
            }
            (Authentication::Terminal, _, None) => format!("a terminal, uid {uid}"),
            (Authentication::OsUser, _, _) => format!("uid {uid}, no terminal"),
            (Authentication::None, Grounds::OtherNamespace, _) => {
                format!("claimed in or by way of a user namespace as uid {uid}")
            }
            (Authentication::None, Grounds::BelowRecorder, _) => {
                format!("claimed by uid {uid} in a recorded command")
            }
            (Authentication::None, Grounds::Proven, _) => format!("claimed by uid {uid}"),
        }
    }

    /// Somebody under a name, as this process can prove it.
    #[must_use]
    pub fn principal(&self, kind: Actor, name: &str) -> Principal {
        let proof = self.proof_of(&ActorId { kind, id: name.to_string() });
        let means = self.means(proof).into();
        Principal { kind, id: name.into(), authenticated_by: proof.by, means }
    }

    /// The command with what is proven of who gives it, in the place of what it says of that.
    pub(super) fn proven<'c>(&self, command: &'c Command, proof: Proof) -> Cow<'c, Command> {
        let mut command = Cow::Borrowed(command);
        if command.principal().is_some()
            && let Some(by) = command.to_mut().principal_mut()
        {
            by.authenticated_by = proof.by;
            // A program says itself by what means it asks; a person's are what proves the person.
            if by.kind == Actor::Human || by.means.is_empty() {
                by.means = self.means(proof).into();
            }
        }
        if matches!(
            *command,
            Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(_))
                | Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(_))
        ) {
            let means = self.answer_means(proof);
            match command.to_mut() {
                Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer)) => {
                    answer.means = means
                }
                Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(allowed)) => {
                    allowed.means = means
                }
                _ => {}
            }
        }
        command
    }

    fn answer_means(&self, proof: Proof) -> AnswerMeans {
        let channel = match proof.by {
            Authentication::Terminal => AnswerChannel::Terminal,
            Authentication::OsUser => AnswerChannel::OsUser,
            Authentication::None => AnswerChannel::Claim,
        };
        AnswerMeans { channel, detail: self.means(proof).into() }
    }
}

/// A number for each name.
fn simulated_proof(actor: &ActorId) -> Proof {
    let number = |hash: u32, byte: u8| hash.wrapping_mul(31).wrapping_add(u32::from(byte));
    let user = actor.id.bytes().fold(7, number) % 1_000_000;
    let by = match actor.kind {
        Actor::Human => Authentication::Terminal,
        Actor::Agent | Actor::Automation => Authentication::OsUser,
        Actor::System => Authentication::None,
    };
    Proof { user, by }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(grounds: Grounds, terminal: Option<&str>) -> Identity {
        let (name, terminal) = ("ada".to_string(), terminal.map(str::to_string));
        Identity { user: 1000, name, grounds, terminal, is_simulated: false }
    }

    /// Over the whole product of who runs the process and who is named.
    #[test]
    fn only_the_own_name_of_a_user_that_is_known_is_proven() {
        use Authentication::{None as Claim, OsUser, Terminal};
        for grounds in [Grounds::Proven, Grounds::OtherNamespace, Grounds::BelowRecorder] {
            for terminal in [None, Some("/dev/pts/1")] {
                for kind in Actor::ALL {
                    for name in ["ada", "grace", "Ada", "ada "] {
                        let identity = identity(grounds, terminal);
                        let proof = identity.proof_of(&ActorId { kind: *kind, id: name.into() });
                        let is_own = name == "ada" && grounds != Grounds::OtherNamespace;
                        let expected = match kind {
                            Actor::System => Claim,
                            _ if !is_own => Claim,
                            Actor::Human if grounds == Grounds::BelowRecorder => Claim,
                            Actor::Human if terminal.is_some() => Terminal,
                            _ => OsUser,
                        };
                        assert_eq!(proof.by, expected, "{grounds:?} {terminal:?} {kind} {name}");
                        let is_known = grounds != Grounds::OtherNamespace;
                        assert_eq!(proof.user, if is_known { 1000 } else { UNKNOWN_USER });
                    }
                }
            }
        }
    }
}
