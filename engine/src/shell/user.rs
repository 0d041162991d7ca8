//! Who runs this process, for the actor of what it records: as the system's user database has it,
//! wherever that keeps its users. What the environment claims is not believed.

use holdpoint_domain::core::text::check_identifier;
use nix::errno::Errno;
use nix::unistd::{Uid, User};
use rustix::process::getuid;
use std::io;
use std::path::PathBuf;

/// The name of the user who runs this process, or `uid 1000` where the database has none that can
/// be recorded, or does not answer.
#[must_use]
pub fn user_name() -> String {
    name_of_user(getuid().as_raw())
}

/// The name of a user by number, as [`user_name`] has that of this process.
#[must_use]
pub fn name_of_user(uid: u32) -> String {
    told_of_user(uid).0
}

/// The same, and whether the database answered: by one look, for it may answer the next one
/// otherwise.
pub(super) fn told_of_user(uid: u32) -> (String, bool) {
    let found = user(uid);
    let is_answered = found.is_ok();
    let name = found.ok().flatten().map(|user| user.name);
    let name = name.filter(|name| check_identifier("user", name).is_ok());
    (name.unwrap_or_else(|| format!("uid {uid}")), is_answered)
}

/// Whether a user has this number. Where the database does not answer, none is known to.
pub(super) fn has_name(uid: u32) -> bool {
    user(uid).is_ok_and(|user| user.is_some())
}

/// The home of a user, whatever the environment says. `None`: no such user, or none of its own.
///
/// # Errors
/// The database does not answer: whether there is one is not known.
pub(crate) fn home_of_user(uid: u32) -> io::Result<Option<PathBuf>> {
    let home = user(uid)?.map(|user| user.dir);
    Ok(home.filter(|home| home.is_absolute()))
}

/// The directory for what this program remembers for the user of this process: `.local/state` in
/// the home that the system's user database names, whatever the environment says. `None`: there is
/// no home.
///
/// # Errors
/// The database does not answer: whether there is one is not known.
pub fn state_home() -> io::Result<Option<PathBuf>> {
    let home = home_of_user(getuid().as_raw())?;
    Ok(home.map(|home| home.join(".local").join("state")))
}

fn user(uid: u32) -> io::Result<Option<User>> {
    match User::from_uid(Uid::from_raw(uid)) {
        // How some say that there is none (getpwuid_r(3)).
        Err(Errno::ENOENT | Errno::ESRCH) => Ok(None),
        found => Ok(found?),
    }
}

/// Whether no user here has any of these names. Where the database does not answer, that is not
/// known.
pub(crate) fn is_nobody<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    !names.any(may_be_somebody)
}

/// Whether a process can have this name: that of a user, or `uid 1000` for a number without one.
fn may_be_somebody(name: &str) -> bool {
    if let Some(uid) = name.strip_prefix("uid ").and_then(|number| number.parse().ok()) {
        return name == format!("uid {uid}") && name_of_user(uid) == name;
    }
    match User::from_name(name) {
        Ok(user) => user.is_some_and(|user| name_of_user(user.uid.as_raw()) == name),
        Err(error) => !matches!(error, Errno::ENOENT | Errno::ESRCH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_name_and_a_home_and_who_is_not_there_has_neither() {
        assert_eq!(name_of_user(0), "root");
        assert!(home_of_user(0).unwrap().is_some());
        assert_eq!(name_of_user(3_999_999_999), "uid 3999999999");
        assert_eq!(home_of_user(3_999_999_999).unwrap(), None);
    }

    #[test]
    fn a_name_is_that_of_a_user_or_a_number_without_one() {
        for (name, is_known) in [
            ("root", true),
            ("no such user", false),
            ("uid 0", false),
            ("uid 3999999999", true),
            ("uid 03999999999", false),
        ] {
            assert_eq!(may_be_somebody(name), is_known, "{name}");
        }
    }
}
