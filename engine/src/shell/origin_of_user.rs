//! Check that the number of this process's user says who it is.

use super::user::has_name;
use crate::executor::{GUARD_NAME, user_namespace_number};
use crate::raw_file::{is_missing, proc_file, read_file};
use rustix::io::Errno;
use rustix::process::{Pid, getppid, getuid, test_kill_process};
use std::io;
use std::path::Path;

/// The number of the initial user namespace (`PROC_USER_INIT_INO` of the kernel's interface).
const INITIAL_USER_NAMESPACE: u64 = 0xEFFF_FFFD;
/// Map of the users of the initial namespace, which no other has but one that maps all alike.
const EVERY_USER: [&str; 3] = ["0", "0", "4294967295"];
/// File of the users that this user namespace has, and of those that they are outside of it.
const USERS_OUTSIDE: &str = "/proc/self/uid_map";
/// File of the user that stands for the users that a namespace does not have.
const OVERFLOW_USER: &str = "/proc/sys/kernel/overflowuid";
/// The same where that file does not say.
const USUAL_OVERFLOW_USER: u32 = 65_534;
/// File of the numbers that users may take besides their own.
const SUBORDINATE_USERS: &str = "/etc/subuid";
/// Amount of that that is read, in bytes: tens of thousands of users take less.
const SUBORDINATE_BYTES_MAX: u64 = 1 << 20;
/// Number of ancestors that are looked at: more than any system lets processes nest.
const ANCESTORS_MAX: usize = 4096;
/// Number of times ancestors are looked at where one of them ends meanwhile.
const WALKS_MAX: usize = 3;
/// True if the system has a `/proc` that says who started whom.
const HAS_PROC: bool = cfg!(target_os = "linux");

/// Returns whether a user may run programs under a number that is not the own one: it is in a range
/// of subordinate ones (subuid(5)), which tell nothing of who they are. Where the file cannot be
/// read, any number without a name may be one.
pub(super) fn is_subordinate(number: u32) -> bool {
    match subordinate_ranges() {
        Ok(ranges) => ranges.lines().any(|line| holds(line, number)),
        Err(error) if is_missing(&error) => false,
        Err(_) => !has_name(number),
    }
}

fn subordinate_ranges() -> io::Result<String> {
    let bytes = read_file(Path::new(SUBORDINATE_USERS), SUBORDINATE_BYTES_MAX)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line is `USER:FIRST:COUNT`.
fn holds(line: &str, number: u32) -> bool {
    let mut numbers = line.rsplit(':').map(|part| part.trim().parse::<u64>().ok());
    let (Some(Some(count)), Some(Some(first))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (first..first.saturating_add(count)).contains(&u64::from(number))
}

/// Returns whether this process is in the initial user namespace: asked of the kernel, or where it
/// is too old to say, read off the map of a `/proc` that is one. A map that says nothing is no.
///
/// # Errors
/// The map cannot be read: nothing is known.
pub(crate) fn in_initial_user_namespace() -> io::Result<bool> {
    match user_namespace_number() {
        _ if !cfg!(target_os = "linux") => Ok(true),
        Some(number) => Ok(number == INITIAL_USER_NAMESPACE),
        None => maps_every_user(),
    }
}

/// The number of the user as whom this process asks; `None` in a user namespace, where it is not
/// known.
#[must_use]
pub fn asking_user() -> Option<u32> {
    in_initial_user_namespace().unwrap_or(false).then(|| getuid().as_raw())
}

fn maps_every_user() -> io::Result<bool> {
    let map = proc_file(USERS_OUTSIDE)?;
    Ok(map.is_some_and(|map| map.split_ascii_whitespace().eq(EVERY_USER)))
}

/// Returns which user of the namespace outside this one a user is; `None` where that is not said.
///
/// # Errors
/// As [`in_initial_user_namespace`].
pub(crate) fn user_outside(user: u32) -> io::Result<Option<u32>> {
    if in_initial_user_namespace()? {
        return Ok(Some(user));
    }
    // Also a user whom the map has may be shown so: it says nothing then.
    let shown = proc_file(OVERFLOW_USER).ok().flatten();
    let shown = shown.and_then(|number| number.trim().parse().ok());
    if user == shown.unwrap_or(USUAL_OVERFLOW_USER) {
        return Ok(None);
    }
    let map = proc_file(USERS_OUTSIDE)?;
    Ok(map.and_then(|map| map.lines().find_map(|line| number_outside(line, user))))
}

/// A line is `INSIDE OUTSIDE COUNT`.
fn number_outside(line: &str, user: u32) -> Option<u32> {
    let mut numbers = line.split_ascii_whitespace().map(|word| word.parse::<u32>().ok());
    let (inside, outside, count) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let behind = user.checked_sub(inside).filter(|behind| *behind < count)?;
    outside.checked_add(behind)
}

/// Processes that this one descends from.
#[derive(Debug)]
pub(super) struct Ancestry {
    /// The parent, its parent, and so on.
    pub(super) ancestors: Vec<Ancestor>,
    /// The last one has no parent here. Else the next one cannot be read, as where `/proc` is
    /// mounted with `hidepid`.
    pub(super) is_whole: bool,
}

/// A process, as the kernel states it.
#[derive(Debug)]
pub(super) struct Ancestor {
    pub(super) pid: i32,
    /// The parent, 0 where this process namespace has none.
    parent: i32,
    /// True if it is a guard, by the name that it gave itself.
    is_guard: bool,
    /// The real, effective, saved and file system's user.
    pub(super) users: Vec<u32>,
}

impl Ancestor {
    /// `None`: it cannot be read.
    pub(super) fn of(pid: i32) -> Option<Self> {
        let status = proc_file(&format!("/proc/{pid}/status")).ok()??;
        let users = field(&status, "Uid:")?.split_ascii_whitespace();
        let users: Vec<u32> = users.filter_map(|word| word.parse().ok()).collect();
        let is_guard = field(&status, "Name:")?.as_bytes() == GUARD_NAME.to_bytes();
        let parent = field(&status, "PPid:")?.parse().ok()?;
        (!users.is_empty()).then_some(Self { pid, parent, is_guard, users })
    }
}

/// Returns what a file of lines like `NAME:\tVALUE` says under a name.
pub(super) fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

impl Ancestry {
    /// Reads `/proc`. A process that ends meanwhile leaves its children to another one, so the walk
    /// begins again.
    pub(super) fn of_process() -> Self {
        let mut walk = Self::walk();
        for _ in 1..WALKS_MAX {
            match walk {
                Ok(_) => break,
                Err(_) => walk = Self::walk(),
            }
        }
        walk.unwrap_or_else(|broken| broken)
    }

    /// Returns whether a recorder's guard is among them.
    pub(super) fn has_guard(&self) -> bool {
        self.ancestors.iter().any(|ancestor| ancestor.is_guard)
    }

    /// Else what was found until a process was gone.
    fn walk() -> Result<Self, Self> {
        let mut next = getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
        let mut ancestors = Vec::new();
        while next != 0 && ancestors.len() < ANCESTORS_MAX {
            match Ancestor::of(next) {
                Some(ancestor) => {
                    next = ancestor.parent;
                    ancestors.push(ancestor);
                }
                None if exists(next) => return Ok(Self { ancestors, is_whole: !HAS_PROC }),
                None => return Err(Self { ancestors, is_whole: !HAS_PROC }),
            }
        }
        Ok(Self { ancestors, is_whole: next == 0 })
    }
}

/// Returns whether there is such a process, also one that `/proc` does not show.
pub(super) fn exists(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
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
    fn the_two_ways_of_asking_for_the_namespace_agree() {
        if let Some(number) = user_namespace_number() {
            assert_eq!(number == INITIAL_USER_NAMESPACE, maps_every_user().unwrap());
        }
    }

    #[test]
    fn this_process_has_a_parent_and_nobody_is_its_own() {
        let own = Ancestor::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        let ancestry = Ancestry::of_process();
        assert!(ancestry.is_whole && !ancestry.has_guard());
        let parent = ancestry.ancestors.first().unwrap();
        assert!(parent.pid == own.parent && parent.pid != own.pid && parent.pid > 0);
        assert_eq!(proc_file("/etc/passwd").unwrap(), None);
    }
}
