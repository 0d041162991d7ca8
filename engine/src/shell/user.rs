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
    let uid = getuid().as_raw();
    let users = std::fs::read(USERS).unwrap_or_default();
    name_of(uid, &String::from_utf8_lossy(&users)).unwrap_or_else(|| format!("uid {uid}"))
}

/// The home of the user who runs this process, as the system's own list of users has it.
pub(super) fn user_home() -> Option<PathBuf> {
    let users = std::fs::read(USERS).ok()?;
    home_of(getuid().as_raw(), &String::from_utf8_lossy(&users))
}

/// The sixth field of the first line of this user, where it is a path from the root.
fn home_of(uid: u32, users: &str) -> Option<PathBuf> {
    let homes = users.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let found: u32 = fields.get(2)?.parse().ok()?;
        (found == uid).then(|| PathBuf::from(fields.get(5).copied().unwrap_or_default()))
    });
    homes.into_iter().next().filter(|home| home.is_absolute())
}

/// The first line `name:password:uid:...` of this user, if the name may be recorded.
fn name_of(uid: u32, users: &str) -> Option<String> {
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found: u32 = fields.nth(1)?.parse().ok()?;
        (found == uid).then_some(name)
    })?;
    check_identifier("user", name).is_ok().then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number_and_a_name_that_hides_something_is_none() {
        let users = "root:x:0:0::/root:/bin/sh\nada:x:1000:1000\nbad\u{202e}:x:7:7\n:x:8:8\nx\n";
        assert_eq!(name_of(0, users).as_deref(), Some("root"));
        assert_eq!(home_of(0, "a:x:1\nroot:x:0:0::/root:/bin/sh"), Some("/root".into()));
        assert_eq!([home_of(1, users), home_of(0, "r:x:0:0::tmp:")], [None, None]);
        assert_eq!(name_of(1000, users).as_deref(), Some("ada"));
        assert_eq!([name_of(7, users), name_of(8, users), name_of(9, users)], [None, None, None]);
    }
}
