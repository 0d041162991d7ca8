//! Identity of who runs this process, as far as it can be proven, and what that proves of whoever
//! acts in it. The one rule of who acts, for the program, `apply`, the Model Context Protocol,
//! hooks and whoever embeds the engine.
//!
//! A name that a command gives itself is proven where it is the name of this process's own user.
//! Who typed a line at its terminal is proven by that too, for the one command of that line.
//! Any other is a claim, and so is every name outside of the initial user namespace, where a
//! process can make itself any user, under a number that a user may take by way of one, and below a
//! recorder, where nobody is a person.

use super::behind::{Behind, doubt, login};
use super::origin_of_user::{Ancestry, in_initial_user_namespace, is_subordinate};
use super::person_terminal::{TypedLine, user_number};
use super::user::{UserDatabase, is_system_account, numbers_of, told_of_user, user_database};
use holdpoint_domain::core::actor::{
    Actor, Authentication, NamedUser, NotAPerson, Principal, ProcessDoubt, UNKNOWN_USER,
};
use holdpoint_domain::core::refusal::CommonRefusal;
use holdpoint_domain::human_decision::{AnswerChannel, AnswerMeans, HumanDecisionCommand};
use holdpoint_domain::{ActorId, Command, Proof, Refusal, World};
use std::borrow::Cow;
use std::io;

/// The user to whom everything is open.
const ROOT: u32 = 0;

/// Facts that this process can prove.
#[derive(Clone, Debug)]
pub struct Identity {
    user: u32,
    name: String,
    grounds: Grounds,
    /// The terminal at which a person typed what is done. Nobody is at one merely because this
    /// process has one.
    terminal: Option<String>,
    surroundings: Surroundings,
    /// True if every name is believed, for tests.
    is_simulated: bool,
}

/// Facts about whoever started this process; nothing where a test makes it up.
#[derive(Clone, Debug, Default)]
struct Surroundings {
    /// User who logged in; `None`: not known.
    login: Option<u32>,
    /// Users who are behind it.
    behind: Behind,
    is_system_account: bool,
    /// True if names have the numbers of this system's users.
    has_database: bool,
    /// True if `/etc/passwd` alone answers for the user database.
    is_file_alone: bool,
}

impl Surroundings {
    fn of_process(user: u32, ancestry: &Ancestry) -> Self {
        let login = login();
        Self {
            login,
            behind: Behind::of_process(login, ancestry),
            is_system_account: is_system_account(user),
            has_database: true,
            is_file_alone: user_database() == UserDatabase::File,
        }
    }

    /// Returns how the user number is known, in words.
    fn words(&self) -> String {
        let login = match self.login {
            Some(user) => format!(", login of uid {user}"),
            None => ", login not known".to_string(),
        };
        let file = if self.is_file_alone { ", by /etc/passwd alone" } else { "" };
        if self.has_database { format!("{login}{file}") } else { String::new() }
    }
}

/// Answer to the question whether the number of the user says who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grounds {
    /// It does.
    Proven,
    /// In a user namespace a process can make itself any user. So it may be in one where that
    /// cannot be known, and under a number that was given to a user for namespaces: from within one
    /// a program can be made that takes that number outside of it.
    OtherNamespace,
    /// A command that is being recorded is never a person.
    BelowRecorder,
    /// The process may lie about itself, or the user database does not answer.
    Doubted(ProcessDoubt),
}

impl Identity {
    /// Asks the kernel what this process can prove of itself.
    #[must_use]
    pub fn of_process() -> Self {
        let user = user_number();
        let (name, is_answered) = told_of_user(user);
        let is_known = in_initial_user_namespace().unwrap_or(false);
        let doubt = doubt().or((!is_answered).then_some(ProcessDoubt::SilentDatabase));
        let ancestry = Ancestry::of_process();
        let grounds = if !is_known || is_subordinate(user) {
            Grounds::OtherNamespace
        } else if let Some(doubt) = doubt {
            Grounds::Doubted(doubt)
        } else if ancestry.has_guard() {
            Grounds::BelowRecorder
        } else {
            Grounds::Proven
        };
        let surroundings = Surroundings::of_process(user, &ancestry);
        Self { user, name, grounds, terminal: None, surroundings, is_simulated: false }
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
        let (grounds, surroundings) = (Grounds::Proven, Surroundings::default());
        Self { user, name, grounds, terminal, surroundings, is_simulated: false }
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

    /// The person who typed a line at this process's terminal, as the actor says, with the proof of
    /// that; `None` where no person did.
    pub(super) fn person_who_typed(
        &self,
        line: TypedLine,
        actor: &ActorId,
    ) -> Option<(Principal, Proof)> {
        let identity = self.at_terminal_of(line);
        let proof = identity.proof_of(actor);
        let is_person = proof.by == Authentication::Terminal && actor.kind == Actor::Human;
        is_person.then(|| (identity.principal(actor.kind, &actor.id), proof))
    }

    /// The name of this process's user.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what is proven of whoever acts under a name.
    #[must_use]
    pub fn proof_of(&self, actor: &ActorId) -> Proof {
        if self.is_simulated {
            return simulated_proof(actor);
        }
        let user = match self.grounds {
            Grounds::OtherNamespace => UNKNOWN_USER,
            Grounds::Proven | Grounds::BelowRecorder | Grounds::Doubted(_) => self.user,
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
                format!("terminal {terminal}, uid {uid}{}", self.surroundings.words())
            }
            (Authentication::Terminal, _, None) => format!("a terminal, uid {uid}"),
            (Authentication::OsUser, _, _) => {
                format!("uid {uid}, no terminal{}", self.surroundings.words())
            }
            (Authentication::None, Grounds::OtherNamespace, _) => {
                format!("claimed in or by way of a user namespace as uid {uid}")
            }
            (Authentication::None, Grounds::BelowRecorder, _) => {
                format!("claimed by uid {uid} in a recorded command")
            }
            (Authentication::None, Grounds::Doubted(_), _) => {
                format!("claimed by uid {uid} in a process that proves nothing")
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

    /// Checks that the user of this process answers, and nobody else through it: where another user
    /// asked, or it is not known who did, and where the terms name this user. Root that asks is
    /// everybody, and nothing here says more of it.
    ///
    /// # Errors
    /// [`NotAPerson`] says who is behind this process, or that it is nobody.
    pub(super) fn check_another(
        &self,
        world: &World,
        actor: &ActorId,
        command: &Command,
    ) -> Result<(), Refusal> {
        let Some(asked) = world.asked_person(command) else { return Ok(()) };
        let is_looked_at = !self.is_simulated && !asked.takes_claims && asked.asked_by != ROOT;
        if !is_looked_at || actor.kind != Actor::Human {
            return Ok(());
        }
        let (user, around) = (asked.asked_by, &self.surroundings);
        let (is_other, is_named) = (user != self.user, asked.names(&self.name));
        // Where this very user is asked for, or it is not known who asks, nobody else may be behind
        // it: who asks through a third user is not the asker.
        let is_anybodys = is_named || user == UNKNOWN_USER;
        let is_one = |behind: u32| match is_anybodys {
            true => ![self.user, ROOT].contains(&behind),
            false => is_other && behind == user,
        };
        let sign = around.behind.signs.iter().find(|(behind, _)| is_one(*behind));
        let reason = match sign {
            Some((behind, sign)) if *behind == user => {
                NotAPerson::AskerBehind { user, sign: *sign }
            }
            Some((behind, sign)) => NotAPerson::OtherBehind { user: *behind, sign: *sign },
            None if is_other && around.is_system_account && !is_named => {
                NotAPerson::SystemAccount { user: self.user }
            }
            None if is_other && around.behind.is_hidden => NotAPerson::HiddenBehind { user },
            None => return Ok(()),
        };
        Err(CommonRefusal::PersonNeeded { what: "answering this", reason }.into())
    }

    /// The refusal with the reason why nothing is proven, where this process has one.
    pub(super) fn explain(&self, refusal: Refusal) -> Refusal {
        let Grounds::Doubted(doubt) = self.grounds else { return refusal };
        refusal.with_doubt(doubt)
    }

    /// The command with the numbers of those whom it names, as the user database has them now.
    ///
    /// # Errors
    /// The database does not answer.
    pub(super) fn with_numbers<'c>(
        &self,
        command: Cow<'c, Command>,
    ) -> io::Result<Cow<'c, Command>> {
        let Some(names) = command.people_named() else { return Ok(command) };
        let numbers = if self.is_simulated {
            let number = |name: &str| {
                simulated_proof(&ActorId { kind: Actor::Human, id: name.to_string() }).user
            };
            names.iter().map(|name| Some(number(name))).collect()
        } else if self.surroundings.has_database {
            numbers_of(&names.iter().map(|name| name.as_str()).collect::<Vec<_>>())?
        } else {
            return Ok(command);
        };
        let named = names.iter().zip(numbers);
        let people = named.map(|(name, user)| NamedUser { name: (*name).clone(), user }).collect();
        let mut command = command.into_owned();
        command.state_people(people);
        Ok(Cow::Owned(command))
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
        let surroundings = Surroundings::default();
        Identity { user: 1000, name, grounds, terminal, surroundings, is_simulated: false }
    }

    /// Over the whole product of who runs the process and who is named.
    #[test]
    fn only_the_own_name_of_a_user_that_is_known_is_proven() {
        use Authentication::{None as Claim, OsUser, Terminal};
        let doubted = Grounds::Doubted(ProcessDoubt::Traced);
        for grounds in [Grounds::Proven, Grounds::OtherNamespace, Grounds::BelowRecorder, doubted] {
            for terminal in [None, Some("/dev/pts/1")] {
                for kind in Actor::ALL {
                    for name in ["ada", "grace", "Ada", "ada "] {
                        let identity = identity(grounds, terminal);
                        let proof = identity.proof_of(&ActorId { kind: *kind, id: name.into() });
                        let is_own = name == "ada"
                            && matches!(grounds, Grounds::Proven | Grounds::BelowRecorder);
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
