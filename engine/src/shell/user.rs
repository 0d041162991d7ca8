//! Who runs this process, for the actor of what it records.

use holdpoint_domain::text::check_identifier;
use rustix::process::getuid;
use std::path::PathBuf;

/// Where names of local users stand.
const USERS: &str = "/etc/passwd";

/// The name of the user who runs this process as the system's own list of users has it, or
/// `uid 1000` where it is not there. What the environment claims is not believed.
#[must_use]
pub fn user_name() -> String {
    name_of_user(getuid().as_raw())
}

/// The name of a user by number, as [`user_name`] has that of this process.
#[must_use]
pub fn name_of_user(uid: u32) -> String {
    name_of(uid, &users()).unwrap_or_else(|| format!("uid {uid}"))
}

/// The home that the system's own list of users names, whatever the environment does.
pub(crate) fn home_of_user(uid: u32) -> Option<PathBuf> {
    let users = users();
    let home = PathBuf::from(entry(uid, &users)?.nth(3)?);
    home.is_absolute().then_some(home)
}

/// Whether no user here has any of these names. Where the list of users cannot be read, that is not
/// known.
pub(crate) fn is_nobody<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    let users = users();
    !users.is_empty() && !names.any(|name| is_somebody(name, &users))
}

/// Whether a process can have this name: that of an entry, or `uid 1000` for a number without one.
fn is_somebody(name: &str, users: &str) -> bool {
    let number = name.strip_prefix("uid ").and_then(|number| number.parse::<u32>().ok());
    if let Some(uid) = number {
        return name == format!("uid {uid}") && name_of(uid, users).is_none();
    }
    users.lines().any(|line| {
        let mut fields = line.split(':');
        let is_it = fields.next() == Some(name);
        let uid = fields.nth(1).and_then(|uid| uid.parse().ok());
        is_it && uid.is_some_and(|uid| name_of(uid, users).as_deref() == Some(name))
    })
}

fn users() -> String {
    String::from_utf8_lossy(&std::fs::read(USERS).unwrap_or_default()).into_owned()
}

/// The name in the entry of this user, if it may be recorded.
fn name_of(uid: u32, users: &str) -> Option<String> {
    let name = entry(uid, users)?.next()?;
    check_identifier("user", name).is_ok().then(|| name.to_string())
}

/// The fields of the first line `name:password:uid:gid:comment:home:shell` of this user, but for
/// password and number.
fn entry(uid: u32, users: &str) -> Option<impl Iterator<Item = &str>> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found: u32 = fields.nth(1)?.parse().ok()?;
        (found == uid).then(|| std::iter::once(name).chain(fields))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number_and_a_name_that_hides_something_is_none() {
        let users = "root:x:0:0::/root:/bin/sh\nada:x:1000:1000\nbad\u{202e}:x:7:7\n:x:8:8\nx\n";
        assert_eq!(name_of(0, users).as_deref(), Some("root"));
        assert_eq!(name_of(1000, users).as_deref(), Some("ada"));
        for (name, is_known) in [
            ("ada", true),
            ("nosuchuser", false),
            ("uid 1000", false),
            ("uid 1001", true),
            ("uid 01001", false),
            ("x", false),
        ] {
            assert_eq!(is_somebody(name, users), is_known, "{name}");
        }
        assert_eq!([name_of(7, users), name_of(8, users), name_of(9, users)], [None, None, None]);
    }
}
