//! Places of floors.

use super::settings::{FILE_BYTES_MAX, Settings, fault_at, parse};
use super::trusted::{Trust, read};
use super::{Defaults, Floor, Floors, FloorsError, fault_of};
use crate::shell::{
    home_of_user, in_initial_user_namespace, is_nobody, numbers_of, user_number, user_outside,
};
use holdpoint_domain::core::actor::{Authentication, NamedUser};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::people::check_each_once;
use holdpoint_domain::core::refusal::CommonRefusal;
use holdpoint_domain::log::GatePolicy;
use holdpoint_domain::world::OpenBounds;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The system's.
const OF_SYSTEM: &str = "/etc/holdpoint/config.toml";
/// Path of a user's file, below the home.
const IN_HOME: &str = ".config/holdpoint/config.toml";
/// Path of a user's file, below `XDG_CONFIG_HOME`.
const IN_CONFIGURATION: &str = "holdpoint/config.toml";
/// Variable that names another directory of configurations. It adds one, and hides none.
const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";

/// Owner of a file, and so what it may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The machine's: root's.
    Machine,
    /// The user's, below the home that the user database names.
    User,
    /// File of whoever sets the environment: it may only demand more.
    Environment,
}

/// The files that may hold a floor.
#[derive(Clone, Debug)]
pub struct FloorFiles {
    places: Vec<FloorFile>,
    unknown: Option<Unknown>,
    /// True if less than the built-in defaults may be asked for.
    is_below_defaults: bool,
}

/// One of them.
#[derive(Clone, Debug)]
struct FloorFile {
    path: PathBuf,
    trust: Trust,
    whose: Whose,
}

/// Why it is not known where one may be.
#[derive(Clone, Copy, Debug)]
enum Unknown {
    /// The home of this user could not be looked up, and what the system said.
    Home { user: u32, code: Option<i32>, kind: ErrorKind },
    /// The number of this user outside of the user namespace is not stated.
    Outside { user: u32 },
    /// It could not be read, and what the system said.
    OutsideUnread { user: u32, code: Option<i32> },
}

impl Default for FloorFiles {
    fn default() -> Self {
        Self::of_machine()
    }
}

impl FloorFiles {
    /// Those of this machine and of the user who runs this process.
    #[must_use]
    pub fn of_machine() -> Self {
        let user = user_number();
        let mut files = Self { places: Vec::new(), unknown: None, is_below_defaults: false };
        files.add(PathBuf::from(OF_SYSTEM), Trust::of_root(), Whose::Machine);
        let outside = user_outside(user);
        let known = outside.as_ref().ok().copied().flatten();
        for number in [Some(user), known].into_iter().flatten() {
            match home_of_user(number) {
                Ok(Some(home)) => {
                    files.add(home.join(IN_HOME), Trust::of_root_or(user), Whose::User);
                }
                Ok(None) => {}
                Err(error) => {
                    files.unknown = Some(Unknown::Home {
                        user: number,
                        code: error.raw_os_error(),
                        kind: error.kind(),
                    });
                }
            }
        }
        match outside {
            Ok(Some(_)) => {}
            Ok(None) => files.unknown = Some(Unknown::Outside { user }),
            Err(error) => {
                files.unknown = Some(Unknown::OutsideUnread { user, code: error.raw_os_error() });
            }
        }
        if let Some(path) = added() {
            files.add(path, Trust::of_root_or(user), Whose::Environment);
        }
        files
    }

    /// These alone, the first standing for the system's: for tests of what is built on an engine.
    #[cfg(feature = "simulated-people")]
    #[must_use]
    pub fn simulated(paths: &[&Path]) -> Self {
        let mut files = Self { places: Vec::new(), unknown: None, is_below_defaults: true };
        for path in paths {
            let whose = if files.places.is_empty() { Whose::Machine } else { Whose::User };
            files.add(path.to_path_buf(), Trust::of_root_or(user_number()), whose);
        }
        files
    }

    /// The same where less than the built-in defaults may be asked for: for tests in which several
    /// people act in one process.
    #[cfg(feature = "simulated-people")]
    #[must_use]
    pub fn below_defaults(self) -> Self {
        Self { is_below_defaults: true, ..self }
    }

    fn add(&mut self, path: PathBuf, trust: Trust, whose: Whose) {
        if !self.places.iter().any(|known| known.path == path) {
            self.places.push(FloorFile { path, trust, whose });
        }
    }

    /// Lists where floors are looked for, the strongest first.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().map(|file| file.path.as_path())
    }

    /// Reads them as they are now.
    ///
    /// # Errors
    /// One cannot be believed, two contradict each other, or it is not known where one may be.
    pub fn read(&self) -> Result<Floors, FloorsError> {
        if let Some(unknown) = self.unknown {
            return Err(unknown.error());
        }
        let found = self.places.iter().filter_map(|file| floor(file).transpose());
        let floors = Floors::of(found.collect::<Result<_, _>>().map_err(as_seen_from_here)?)?;
        Ok(if self.is_below_defaults { floors.below_defaults() } else { floors })
    }
}

impl Unknown {
    fn error(self) -> FloorsError {
        match self {
            Self::Home { user, code, kind } => {
                let source = code.map_or_else(|| kind.into(), io::Error::from_raw_os_error);
                FloorsError::UnknownHome { user, source }
            }
            Self::Outside { user } => FloorsError::UnknownUser { user },
            Self::OutsideUnread { user, code } => {
                FloorsError::UnreadUser { user, source: said(code) }
            }
        }
    }
}

fn said(code: Option<i32>) -> io::Error {
    code.map_or_else(|| ErrorKind::Other.into(), io::Error::from_raw_os_error)
}

/// In a user namespace a file belongs to somebody else than outside, and is read by somebody else.
fn as_seen_from_here(error: FloorsError) -> FloorsError {
    match error {
        FloorsError::Unreadable { .. } | FloorsError::ForeignOwner { .. }
            if in_initial_user_namespace().is_ok_and(|is_initial| !is_initial) =>
        {
            FloorsError::InUserNamespace { source: Box::new(error) }
        }
        error => error,
    }
}

/// Returns what one file demands, where there is one.
fn floor(file: &FloorFile) -> Result<Option<Floor>, FloorsError> {
    let FloorFile { path, trust, whose } = file;
    let whose = *whose;
    let Some(bytes) = read(path, *trust, FILE_BYTES_MAX)? else { return Ok(None) };
    let path = path.clone();
    let settings: Settings = match parse(&bytes) {
        Ok(settings) => settings,
        Err(fault) => return Err(FloorsError::Malformed { path, fault }),
    };
    // A file that was cut to nothing would else demand nothing.
    if parse::<toml::Table>(&bytes).is_ok_and(|tables| tables.is_empty()) {
        return Err(FloorsError::Empty { path });
    }
    // Who says that claims count and nothing else demands nothing.
    let claims = GatePolicy { authentication: Some(Authentication::None), ..GatePolicy::default() };
    let policy = Some(settings.hold.policy()).filter(|it| *it != claims).unwrap_or_default();
    if let Err(fault) = policy.check() {
        return Err(FloorsError::Unkeepable { path, fault });
    }
    if let Err(fault) = check_numbers(&policy)? {
        return Err(FloorsError::NamedTwice { path, fault });
    }
    if names_nobody(&policy) {
        let names = policy.approvers.iter().cloned().collect();
        return Err(FloorsError::NamesNobody { path, names });
    }
    if let Some(logs) = settings.logs.as_ref().filter(|_| whose != Whose::Machine) {
        let message = "only the machine's file names the logs that are trusted: let root do that";
        let fault = fault_at(&bytes, logs.span().start, message);
        return Err(FloorsError::Malformed { path, fault });
    }
    let trusted = settings.logs.map(|logs| logs.into_inner().trusted).unwrap_or_default();
    let (log, inbox) = (settings.policy.log, settings.inbox.logs);
    let named = log.iter().chain(&inbox).chain(&trusted);
    if let Some(log) = named.into_iter().find(|log| !log.is_absolute()) {
        return Err(FloorsError::RelativeLog { path, log: log.clone() });
    }
    if whose == Whose::Environment {
        let mut less = Defaults::default().loosened_by(&settings.hold, &settings.evidence);
        less.extend(settings.questions.loosens(OpenBounds::DEFAULT));
        if let Some(loosened) = less.first() {
            let fault = fault_of(&bytes, loosened);
            return Err(FloorsError::Malformed { path, fault });
        }
    }
    let (hold, evidence) = (settings.hold.clone(), settings.evidence);
    let escalation_targets = settings.hold.escalation_targets.unwrap_or_default();
    let (sha256, questions) = (sha256(&bytes), settings.questions);
    Ok(Some(Floor {
        path,
        sha256,
        policy,
        escalation_targets,
        log,
        inbox,
        questions,
        trusted,
        evidence,
        hold,
        whose,
    }))
}

/// Checks whether each list of the policy names each user once.
fn check_numbers(policy: &GatePolicy) -> Result<Result<(), CommonRefusal>, FloorsError> {
    let lists = [Some(&policy.approvers), policy.escalation_approvers.as_ref()];
    for list in lists.into_iter().chain([policy.override_approvers.as_ref()]).flatten() {
        let names: Vec<&str> = list.iter().map(|name| &**name).collect();
        let numbers =
            numbers_of(&names).map_err(|source| FloorsError::UnknownNumbers { source })?;
        let named = list.iter().zip(numbers);
        let people = named.map(|(name, user)| NamedUser { name: name.clone(), user }).collect();
        if let Err(fault) = check_each_once(list, &people) {
            return Ok(Err(fault));
        }
    }
    Ok(Ok(()))
}

/// Returns whether only people are named whom nobody here can prove to be: they would be asked for
/// ever.
#[must_use]
pub fn names_nobody(policy: &GatePolicy) -> bool {
    let escalation = policy.escalation_approvers.iter().flat_map(|names| names.iter());
    let names = policy.approvers.iter().chain(escalation).map(|name| &**name);
    let is_proven = policy.least_proof() != Authentication::None;
    is_proven && !policy.approvers.is_empty() && is_nobody(names)
}

/// The file in the directory that the environment names; a relative one names none.
fn added() -> Option<PathBuf> {
    let named = std::env::var_os(XDG_CONFIG_HOME).map(PathBuf::from)?;
    named.is_absolute().then(|| named.join(IN_CONFIGURATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_file_is_the_first_and_none_counts_twice() {
        let files = FloorFiles::of_machine();
        let paths: Vec<&Path> = files.paths().collect();
        assert_eq!(paths.first(), Some(&Path::new(OF_SYSTEM)));
        let mut once = paths.clone();
        once.dedup();
        assert_eq!(once, paths);
    }
}
