//! Floors: what the files of the machine and of its user demand of every hold point.
//!
//! Three files count: `/etc/holdpoint/config.toml`, `.config/holdpoint/config.toml` in the home
//! that the user database names, and one in `XDG_CONFIG_HOME`, which is added and takes the place
//! of none. Each demands something for itself, and what is begun keeps all of them. A file that is
//! missing demands nothing; one that cannot be believed lets nothing begin.

mod defaults;
mod fault;
mod places;
mod settings;
mod table;
mod trusted;

pub use defaults::{Defaults, KEYS, Key, fault_of, fault_of_key};
pub use fault::FloorsError;
pub use places::{FloorFiles, Whose, names_nobody};
pub use settings::{FileFault, QuestionsTable, parse};
pub use table::{EvidenceTable, HoldTable, Moments, each_once};

use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::List;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::DecisionPointCommand;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::human_decision::{EscalationTarget, HumanDecisionCommand};
use holdpoint_domain::log::{BUILT_IN, GatePolicy, Loosened, PolicyRefusal};
use holdpoint_domain::world::{OpenBounds, check_floor};
use holdpoint_domain::{Command, Refusal, Time, World};
use std::path::{Path, PathBuf};

/// Demands of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floor {
    /// The file, as it is looked for.
    pub path: PathBuf,
    /// SHA-256 of what it says.
    pub sha256: Digest,
    /// Policy that every hold point has to keep.
    pub policy: GatePolicy,
    /// To whom a question may be passed on where nobody says otherwise.
    pub escalation_targets: List<EscalationTarget>,
    /// The one log that may be written to under it.
    pub log: Option<PathBuf>,
    /// The logs whose questions its readers want to see together. They demand nothing.
    pub inbox: Vec<PathBuf>,
    /// Number of questions that may be open at once.
    pub questions: QuestionsTable,
    /// The logs that answer for people here, whoever began them: of the machine's file alone.
    pub trusted: Vec<PathBuf>,
    /// Evidence that goes on record: of the environment's file only what is kept secret.
    pub evidence: EvidenceTable,
    /// Table that it states, as it stands.
    hold: HoldTable,
    whose: Whose,
}

/// Demands of all files, the strongest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floors {
    floors: Vec<Floor>,
    policy: GatePolicy,
    defaults: Defaults,
    /// True if less than the defaults may be asked for, as a person at a terminal said.
    is_below_defaults: bool,
}

impl Floor {
    /// The file's name, as refusals have it.
    #[must_use]
    pub fn name(&self) -> String {
        visible(&self.path.to_string_lossy()).to_string()
    }

    fn refusal(&self, loosened: Loosened) -> Refusal {
        PolicyRefusal::Loosened { floor: self.name(), loosened }.into()
    }

    /// The same log, by whatever name.
    fn check_log(&self, log: &Path) -> Result<(), Refusal> {
        let Some(pinned) = &self.log else { return Ok(()) };
        let (expected, found) = (place_of(pinned), place_of(log));
        if expected == found {
            return Ok(());
        }
        let shown = |path: &Path| visible(&path.to_string_lossy()).to_string();
        let (expected, found) = (shown(&expected), shown(&found));
        Err(self.refusal(Loosened { field: "log", expected, found }))
    }
}

impl Floors {
    /// Returns what the files that were found demand together.
    ///
    /// # Errors
    /// Two of them contradict each other.
    fn of(floors: Vec<Floor>) -> Result<Self, FloorsError> {
        let policy = GatePolicy::join(&floors, |floor| &floor.policy).map_err(|found| {
            let (one, other) = (found.one.name(), found.other.name());
            FloorsError::Contradiction { one, other, reason: found.reason }
        })?;
        let of_owners = floors.iter().filter(|floor| floor.whose != Whose::Environment);
        let mut defaults = Defaults::over(of_owners.map(|floor| (&floor.hold, &floor.evidence)));
        let of_others = floors.iter().filter(|floor| floor.whose == Whose::Environment);
        for floor in of_others {
            defaults.redact.extend(floor.evidence.redact.iter().cloned());
            defaults.show_output &= floor.hold.show_output != Some(false);
        }
        Ok(Self { floors, policy, defaults, is_below_defaults: false })
    }

    /// Returns what holds where nobody says anything else: the built-in defaults, and what the
    /// machine's file and the user's own state in their place.
    #[must_use]
    pub fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// The same where less than the defaults may be asked for.
    pub(crate) fn below_defaults(self) -> Self {
        Self { is_below_defaults: true, ..self }
    }

    /// Each file that is there, the system's first.
    #[must_use]
    pub fn each(&self) -> &[Floor] {
        &self.floors
    }

    /// Returns what all of them demand together.
    #[must_use]
    pub fn policy(&self) -> &GatePolicy {
        &self.policy
    }

    /// Counts the questions that may be open at once: as the files state, the smaller of two, else
    /// as usual.
    #[must_use]
    pub fn open_bounds(&self) -> OpenBounds {
        QuestionsTable::join(self.floors.iter().map(|floor| &floor.questions))
            .over(OpenBounds::DEFAULT)
    }

    /// The logs that root names: they answer for people here, whoever began them.
    #[must_use]
    pub fn trusted(&self) -> Vec<&Path> {
        let named = self.floors.iter().flat_map(|floor| &floor.trusted);
        named.map(PathBuf::as_path).collect()
    }

    /// Checks whether a command to a log keeps each of them.
    ///
    /// # Errors
    /// The refusal names the file and the field.
    pub fn check(
        &self,
        world: &World,
        log: &Path,
        command: &Command,
        at: Time,
    ) -> Result<(), Refusal> {
        if !self.is_below_defaults {
            let kept = self.defaults.check(world, command);
            kept.map_err(|loosened| {
                let floor = BUILT_IN.to_string();
                Refusal::from(PolicyRefusal::Loosened { floor, loosened })
            })?;
        }
        for floor in self.floors.iter().filter(|_| is_governed(command)) {
            floor.check_log(log)?;
            let kept = check_floor(world, &floor.policy, command, at);
            kept.map_err(|loosened| floor.refusal(loosened))?;
        }
        Ok(())
    }
}

/// Returns whether a command puts a question of any kind.
pub(crate) fn asks(command: &Command) -> bool {
    matches!(
        command,
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(_))
            | Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(_))
    )
}

/// Returns whether a command begins something that floors govern.
pub(crate) fn is_governed(command: &Command) -> bool {
    match command {
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(_))
        | Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(_))
        | Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(_)) => true,
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(command)) => {
            command.needs_person() || command.policy.is_some()
        }
        _ => false,
    }
}

/// A directory without links, as far as it exists.
fn place_of(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    absolute.canonicalize().unwrap_or_else(|_| {
        let parent = absolute.parent().and_then(|parent| parent.canonicalize().ok());
        let joined = parent.zip(absolute.file_name()).map(|(parent, name)| parent.join(name));
        joined.unwrap_or(absolute)
    })
}
