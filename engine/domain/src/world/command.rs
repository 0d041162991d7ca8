//! Requests that the rules may refuse: the union, and what every command has in common. Ids,
//! randomness and facts about the world outside arrive here as arguments (property E4); `decide`
//! mints and looks up nothing.
//!
//! In readable formats a command is an object with its name under `command` and its fields beside
//! it: names outside the closed enums, unknown fields and fields given twice do not decode. Bytes
//! are lower-case hexadecimal digits. Random bits that are left away are zeros: whoever reads a
//! command draws fresh ones ([`Command::with_entropy`]).

use alloc::string::String;

use serde::{Deserialize, Deserializer, Serialize};

use crate::application::command::{ApplicationCommand, RecordEvent};
use crate::application::rules::check_command as check_application;
use crate::core::actor::{ActorId, Authentication, Principal};
use crate::core::hash::{Digest, HashBuilder, sha256};
use crate::core::ids::Entropy;
use crate::core::payload::Text;
use crate::core::refusal::Malformed;
use crate::core::{Tried, joined};
use crate::decision_point::command::DecisionPointCommand;
use crate::evidence_capture::command::EvidenceCaptureCommand;
use crate::execution_loop::command::ExecutionLoopCommand;
use crate::human_decision::command::HumanDecisionCommand;
use crate::interruption_thread::command::{CallerRow, InterruptionThreadCommand, TurnScope};
use crate::interruption_thread::decision::{ENGINE_ID, Remainder};
use crate::interruption_thread::request::TurnRequest;
use crate::interruption_thread::rules::check_command;
use crate::log::command::LogCommand;
use crate::registration::command::RegistrationCommand;
use crate::registration::rules::check_names;
use crate::registration::types::Capability;
use crate::sandbox_fault::command::SandboxFaultCommand;
use crate::world::index_terms::Term;

/// Writes the union and what it hands on to a system, from one list.
macro_rules! systems {
    (#[doc = $doc:literal] $(#[$attribute:meta])* $Union:ident {
        $($(#[$system_doc:meta])* $System:ident($Command:ident),)+
    }) => {
        #[doc = $doc]
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(untagged, try_from = "BySystem")]
        $(#[$attribute])*
        pub enum $Union {
            $($(#[$system_doc])* $System($Command),)+
        }

        /// A command as it is read: by the system that has its name.
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "no command has this name")]
        $(#[$attribute])*
        enum BySystem {
            $($System(Tried<$Command>),)+
        }

        impl TryFrom<BySystem> for $Union {
            type Error = String;

            fn try_from(read: BySystem) -> Result<Self, String> {
                match read { $(BySystem::$System(Tried(command)) => command.map(Self::$System),)+ }
            }
        }

        $(impl From<$Command> for $Union {
            fn from(command: $Command) -> Self {
                Self::$System(command)
            }
        })+

        const NAME_COUNT: usize = 0 $(+ $Command::NAMES.len())+;

        impl $Union {
            /// Every command's name, in the order of the enum.
            pub const NAMES: &'static [&'static str] =
                &joined::<_, NAME_COUNT>("", &[$($Command::NAMES),+]);

            /// The command's name in readable formats, `system.what_to_do`.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$System(command) => command.name(),)+ }
            }

            /// The command of this name, its body read from the fields beside it, so that what is
            /// wrong with them is found in its place. `None` where no command has this name.
            ///
            /// # Errors
            /// What the fields' format says of a body that cannot be read.
            pub fn read<'de, D: Deserializer<'de>>(
                name: &str,
                fields: D,
            ) -> Option<Result<Self, D::Error>> {
                $(if $Command::NAMES.contains(&name) {
                    return $Command::read(name, fields).map(|read| read.map(Self::$System));
                })+
                None
            }

            /// The random bits of the command, if it has any.
            #[must_use]
            pub const fn entropy(&self) -> Option<Entropy> {
                match self { $(Self::$System(command) => command.entropy().copied(),)+ }
            }

            /// The same command with other random bits.
            #[must_use]
            pub fn with_entropy(mut self, entropy: Entropy) -> Self {
                let own = match &mut self {
                    $(Self::$System(command) => command.entropy_mut(),)+
                };
                if let Some(own) = own {
                    *own = entropy;
                }
                self
            }

            /// Returns who gives the command, by its own words. A loop is begun by who gives its
            /// approval.
            #[must_use]
            pub fn principal(&self) -> Option<&Principal> {
                match self {
                    Self::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(c)) => {
                        Some(&c.approval.as_ref()?.by)
                    }
                    $(Self::$System(command) => command.by(),)+
                }
            }

            /// Returns who gives a command, by the command's own words, to be put right by the
            /// process that records it.
            pub fn principal_mut(&mut self) -> Option<&mut Principal> {
                match self {
                    Self::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(c)) => {
                        Some(&mut c.approval.as_mut()?.by)
                    }
                    $(Self::$System(command) => command.by_mut(),)+
                }
            }
        }

        #[cfg(feature = "arbitrary")]
        crate::core::arbitrary::one_of! {
            $Union of $($System($Command)),+
        }

        #[cfg(feature = "schema")]
        crate::core::schema::flat_union! { $doc $Union: $($Command),+ }
    };
}

systems! {
    /// A request. Closed.
    #[expect(
        clippy::large_enum_variant,
        reason = "a command is made once and carried out; a box would be one more allocation"
    )]
    Command {
        /// To the log itself.
        Log(LogCommand),
        /// On execution loops.
        ExecutionLoop(ExecutionLoopCommand),
        /// On their evidence.
        EvidenceCapture(EvidenceCaptureCommand),
        /// On their attempts that failed.
        SandboxFault(SandboxFaultCommand),
        /// On questions about them to a person.
        HumanDecision(HumanDecisionCommand),
        /// On what is registered for interruption threads.
        Registration(RegistrationCommand),
        /// On interruption threads.
        InterruptionThread(InterruptionThreadCommand),
        /// On decision points.
        DecisionPoint(DecisionPointCommand),
        /// Events that the application records.
        Application(ApplicationCommand),
    }
}

impl From<RecordEvent> for Command {
    fn from(event: RecordEvent) -> Self {
        ApplicationCommand::RecordEvent(event).into()
    }
}

impl Command {
    /// The loop, request, thread, decision point or stream that the command is about.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::ExecutionLoop(_) | Self::EvidenceCapture(_) | Self::SandboxFault(_) => {
                self.driven_loop()
            }
            Self::HumanDecision(HumanDecisionCommand::RequestHumanDecision(c)) => Some(&c.loop_id),
            Self::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(c)) => {
                Some(&c.request_id)
            }
            Self::HumanDecision(HumanDecisionCommand::ExpireDue(c)) => Some(&c.request_id),
            Self::HumanDecision(HumanDecisionCommand::OverrideVisibility(c)) => Some(&c.request_id),
            Self::HumanDecision(HumanDecisionCommand::ShowOutput(c)) => Some(&c.request_id),
            Self::Registration(command) => Some(command.subject()),
            Self::InterruptionThread(command) => Some(command.thread().1),
            Self::DecisionPoint(command) => command.decision_id(),
            Self::Application(_) => self.stream(),
            Self::Log(_) => None,
        }
    }

    /// The loop that the command moves on, or adds to: what whoever records a run does with it. An
    /// answer to a question about a loop is none of that.
    #[must_use]
    pub fn driven_loop(&self) -> Option<&str> {
        match self {
            Self::ExecutionLoop(command) => command.loop_id(),
            Self::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(c)) => Some(&c.loop_id),
            Self::EvidenceCapture(EvidenceCaptureCommand::RecordOutput(c)) => Some(&c.loop_id),
            Self::SandboxFault(SandboxFaultCommand::ReportFault(c)) => Some(&c.loop_id),
            Self::HumanDecision(HumanDecisionCommand::RequestHumanDecision(c)) => Some(&c.loop_id),
            Self::HumanDecision(_)
            | Self::Log(_)
            | Self::Registration(_)
            | Self::InterruptionThread(_)
            | Self::DecisionPoint(_)
            | Self::Application(_) => None,
        }
    }

    /// The stream that the command is about; `None` for commands of other systems.
    #[must_use]
    pub fn stream(&self) -> Option<&str> {
        let Self::Application(ApplicationCommand::RecordEvent(c)) = self else { return None };
        Some(&c.stream)
    }

    /// The decision point that the command is about; `None` for a new one, and for commands of
    /// other systems.
    #[must_use]
    pub fn decision_point(&self) -> Option<&str> {
        let Self::DecisionPoint(command) = self else { return None };
        command.decision_id()
    }

    /// The decision point whose approval is spent with what the command does.
    #[must_use]
    pub fn spent_approval(&self) -> Option<&str> {
        if let Self::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(c)) = self {
            return Some(&c.approval.as_ref()?.decision_id);
        }
        let Self::Log(LogCommand::RelaxPolicy(c)) = self else { return None };
        c.approval.as_deref()
    }

    /// The same command, where nothing is said of what proves who gives it.
    fn without_means(mut self) -> Self {
        if let Some(by) = self.principal_mut() {
            (by.authenticated_by, by.means) = (Authentication::None, Text::default());
        }
        self
    }

    /// SHA-256 of what the command asks for and who gives it, for
    /// [`Idempotency::content`](crate::core::ids::Idempotency::content): what somebody else gives
    /// under the same key is something else.
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

impl Command {
    /// The row, for the five COMMIT_ROW capabilities.
    #[must_use]
    pub fn caller_row(&self) -> Option<CallerRow<'_>> {
        let Self::InterruptionThread(command) = self else { return None };
        command.caller_row()
    }

    /// The scope, for turns and rows.
    #[must_use]
    pub fn turn_scope(&self) -> Option<TurnScope<'_>> {
        let Self::InterruptionThread(command) = self else { return None };
        command.turn_scope()
    }

    /// Returns whether a turn that is to be taken interrupts what is being said;
    /// `is_barred_by_plan`: its open plan does not let it pass.
    pub(crate) fn interrupts(&self, is_barred_by_plan: bool) -> bool {
        matches!(self, Self::InterruptionThread(it) if it.interrupts(is_barred_by_plan))
    }

    /// Returns what the command's snapshot leaves unsaid, as it ends where the turn is refused.
    pub(crate) fn unsaid(&self) -> Option<Remainder> {
        let Self::InterruptionThread(command) = self else { return None };
        command.unsaid()
    }

    /// The turn that leaves words unsaid.
    pub(crate) fn interrupting(&self) -> Option<(TurnScope<'_>, &TurnRequest)> {
        let Self::InterruptionThread(command) = self else { return None };
        command.interrupting()
    }

    /// HEALTH's topic marker of what the command's turn interrupted, as the command says it.
    pub(crate) fn interrupted_issue(&self) -> Option<Text> {
        let Self::InterruptionThread(command) = self else { return None };
        command.interrupted_issue()
    }

    /// The thread that the command is about: tenant and correlation.
    #[must_use]
    pub fn thread(&self) -> Option<(&str, &str)> {
        let Self::InterruptionThread(command) = self else { return None };
        Some(command.thread())
    }

    /// The capability that the caller needs; `None` for commands that anybody may give.
    #[must_use]
    pub const fn needed_capability(&self) -> Option<Capability> {
        match self {
            // Only a person may, whoever it is.
            Self::Registration(RegistrationCommand::ChangeCapability(_))
            // It records what happened by itself.
            | Self::InterruptionThread(InterruptionThreadCommand::ExpireThread(_)) => None,
            Self::Registration(_) | Self::InterruptionThread(_) => Some(Capability::SeleneOsOnly),
            Self::Log(_)
            | Self::ExecutionLoop(_)
            | Self::EvidenceCapture(_)
            | Self::SandboxFault(_)
            | Self::HumanDecision(_)
            | Self::DecisionPoint(_)
            | Self::Application(_) => None,
        }
    }

    /// The key that a turn or a row brings, under which it is carried out once: tenant, engine and
    /// key. It is unique within the command's correlation.
    #[must_use]
    pub fn own_key(&self) -> Option<(&str, &'static str, &str)> {
        let scope = self.turn_scope()?;
        Some((scope.tenant_id, ENGINE_ID, scope.idempotency_key))
    }

    /// Returns whether the command registers something, or says who may do what: it is about no
    /// loop, request or thread, whatever the names in it.
    #[must_use]
    pub const fn is_registration(&self) -> bool {
        matches!(self, Self::Registration(_))
    }

    /// Checks whether the command is well-formed, as far as that can be said without any state.
    /// Looked at before everything else, so that it tells nobody what there is.
    ///
    /// # Errors
    /// [`Malformed`] names the field.
    pub fn check_form(&self) -> Result<(), Malformed> {
        match self {
            Self::Registration(command) => check_names(command),
            Self::InterruptionThread(command) => check_command(command),
            Self::Application(command) => check_application(command),
            Self::Log(_)
            | Self::ExecutionLoop(_)
            | Self::EvidenceCapture(_)
            | Self::SandboxFault(_)
            | Self::HumanDecision(_)
            | Self::DecisionPoint(_) => Ok(()),
        }
    }

    /// The session and the work order that the command names, whatever it does with them: the
    /// rules have to know how they are registered.
    pub fn registered_names(&self) -> impl Iterator<Item = Term<'_>> {
        let (tenant, session, work_order) = match self {
            Self::Registration(RegistrationCommand::RegisterSession(c)) => {
                (c.tenant_id.as_str(), Some(c.session_id.as_str()), None)
            }
            Self::Registration(RegistrationCommand::RegisterWorkOrder(c)) => {
                (&*c.tenant_id, None, Some(c.work_order_id.as_str()))
            }
            Self::Registration(RegistrationCommand::RegisterLease(c)) => {
                (&*c.tenant_id, None, Some(c.work_order_id.as_str()))
            }
            Self::Registration(_)
            | Self::InterruptionThread(_)
            | Self::Log(_)
            | Self::ExecutionLoop(_)
            | Self::EvidenceCapture(_)
            | Self::SandboxFault(_)
            | Self::HumanDecision(_)
            | Self::DecisionPoint(_)
            | Self::Application(_) => match self.turn_scope() {
                Some(scope) => (scope.tenant_id, scope.session_id, Some(scope.work_order_id)),
                None => ("", None, None),
            },
        };
        let session = session.map(|session| Term::Session { tenant, session });
        session
            .into_iter()
            .chain(work_order.map(|work_order| Term::WorkOrder { tenant, work_order }))
    }
}
