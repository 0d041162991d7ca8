//! Where floors stand.

use super::settings::{FILE_BYTES_MAX, Settings, parse};
use super::trusted::{Trust, read};
use super::{Floor, Floors, FloorsError};
use crate::shell::{home_of_user, user_number};
use holdpoint_domain::hash::sha256;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The system's.
const OF_SYSTEM: &str = "/etc/holdpoint/config.toml";
/// Of a user, below the home.
const IN_HOME: &str = ".config/holdpoint/config.toml";
/// Of a user, below `XDG_CONFIG_HOME`.
const IN_CONFIGURATION: &str = "holdpoint/config.toml";
/// Where another directory of configurations is named. It adds one, and hides none.
const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Which users this user namespace has, and which they are outside of it.
const USERS_OUTSIDE: &str = "/proc/self/uid_map";

/// The files that may hold a floor.
#[derive(Clone, Debug)]
pub struct FloorFiles {
    places: Vec<(PathBuf, Trust)>,
    /// A user whose home could not be looked up, and what the system said.
    unknown: Option<(u32, Option<i32>)>,
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
        let places = vec![(PathBuf::from(OF_SYSTEM), Trust::of_root())];
        let mut files = Self { places, unknown: None };
        for number in [Some(user), user_outside(user)].into_iter().flatten() {
            match home_of_user(number) {
                Ok(Some(home)) => files.add(home.join(IN_HOME), Trust::of_root_or(user)),
                Ok(None) => {}
                Err(error) => files.unknown = Some((number, error.raw_os_error())),
            }
        }
        if let Some(path) = added() {
            files.add(path, Trust::of_root_or(user));
        }
        files
    }

    /// These alone, the first standing for the system's: for tests of what is built on an engine.
    #[cfg(feature = "simulated-people")]
    #[must_use]
    pub fn simulated(paths: &[&Path]) -> Self {
        let mut files = Self { places: Vec::new(), unknown: None };
        for path in paths {
            files.add(path.to_path_buf(), Trust::of_root_or(user_number()));
        }
        files
    }

    fn add(&mut self, path: PathBuf, trust: Trust) {
        if !self.places.iter().any(|(known, _)| *known == path) {
            self.places.push((path, trust));
        }
    }

    /// Where floors are looked for, the strongest first.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().map(|(path, _)| path.as_path())
    }

    /// Reads them as they are now.
    ///
    /// # Errors
    /// One cannot be believed, two contradict each other, or it is not known where one may be.
    pub fn read(&self) -> Result<Floors, FloorsError> {
        if let Some((user, code)) = self.unknown {
            let source = code.map_or_else(|| ErrorKind::Other.into(), io::Error::from_raw_os_error);
            return Err(FloorsError::UnknownHome { user, source });
        }
        let found = self.places.iter().filter_map(|(path, trust)| floor(path, *trust).transpose());
        Floors::of(found.collect::<Result<_, _>>()?)
    }
}

/// What one file demands, where there is one.
fn floor(path: &Path, trust: Trust) -> Result<Option<Floor>, FloorsError> {
    let Some(bytes) = read(path, trust, FILE_BYTES_MAX)? else { return Ok(None) };
    let path = path.to_path_buf();
    let settings: Settings = match parse(&bytes) {
        Ok(settings) => settings,
        Err(fault) => return Err(FloorsError::Malformed { path, fault }),
    };
    let policy = settings.hold.policy();
    if let Err(fault) = policy.check() {
        return Err(FloorsError::Unkeepable { path, fault });
    }
    let log = settings.policy.log;
    if let Some(log) = log.as_ref().filter(|log| !log.is_absolute()) {
        return Err(FloorsError::RelativeLog { path, log: log.clone() });
    }
    let escalation_targets = settings.hold.escalation_targets.unwrap_or_default();
    Ok(Some(Floor { path, sha256: sha256(&bytes), policy, escalation_targets, log }))
}

/// The file in the directory that the environment names; a relative one names none.
fn added() -> Option<PathBuf> {
    let named = std::env::var_os(XDG_CONFIG_HOME).map(PathBuf::from)?;
    named.is_absolute().then(|| named.join(IN_CONFIGURATION))
}

/// Which user of the namespace outside this one is, where that is another.
fn user_outside(user: u32) -> Option<u32> {
    let map = std::fs::read_to_string(USERS_OUTSIDE).ok()?;
    let outside = map.lines().find_map(|line| number_outside(line, user))?;
    (outside != user).then_some(outside)
}

/// A line is `INSIDE OUTSIDE COUNT`.
fn number_outside(line: &str, user: u32) -> Option<u32> {
    let mut numbers = line.split_ascii_whitespace().map(|word| word.parse::<u32>().ok());
    let (inside, outside, count) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let behind = user.checked_sub(inside).filter(|behind| *behind < count)?;
    outside.checked_add(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_of_a_namespace_is_found_outside_of_it() {
        assert_eq!(number_outside("0 0 4294967295", 1000), Some(1000));
        assert_eq!(number_outside("  1234       1000          1", 1234), Some(1000));
        assert_eq!(number_outside("0 100000 65536", 33), Some(100_033));
        for line in ["", "0 0", "0 0 1", "5 0 9", "x 0 9", "0 4294967295 9"] {
            assert_eq!(number_outside(line, 1), None, "{line:?}");
        }
    }

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
