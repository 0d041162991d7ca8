//! Who this user is, and who it may become.

use super::check::Check;
use crate::questions::hold_view::ROOT_IS_ALL;
use holdpoint_engine::floors::FloorFiles;
use holdpoint_engine::shell::{UserDatabase, state_home, user_database, user_number};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Who answers.
const IDENTITY: &str = "identity";
/// What lists what a user may do as another one.
const SUDO: &str = "/usr/bin/sudo";
/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked at meanwhile.
const PAUSE: Duration = Duration::from_millis(10);

/// Whether another name here is another person.
pub(super) fn check() -> Check {
    let from = match user_database() {
        UserDatabase::Program(program) => format!("users are looked up by {}", program.display()),
        UserDatabase::File => "there is no getent of root's, so users are those of /etc/passwd \
                               alone"
            .to_string(),
    };
    if let Err(error) = state_home() {
        let advice = "mend the user database: until it answers, nothing that a policy could hold \
                      begins, and no answer is a person's";
        return Check::fail(IDENTITY, format!("{from}, and it does not answer: {error}"), advice);
    }
    if user_number() == 0 {
        let message = format!("this is root: {ROOT_IS_ALL}; {from}");
        return Check::ok(IDENTITY, message);
    }
    if names_approvers() && lists_anything() {
        let message = format!(
            "a policy of the machine names approvers, and `sudo -n -l` lists what this user may do \
             without a password: whoever may become an approver or root is that approver; {from}"
        );
        let advice = "let `sudo` ask for a password, or take the right away from who is governed";
        return Check::warn(IDENTITY, message, advice);
    }
    Check::ok(IDENTITY, from)
}

/// Whether the file of the machine names approvers; one that cannot be read is told elsewhere.
fn names_approvers() -> bool {
    let floors = FloorFiles::of_machine().read();
    let is_machines = |path: &Path| path.starts_with("/etc");
    floors.is_ok_and(|floors| {
        let mut each = floors.each().iter();
        each.any(|floor| is_machines(&floor.path) && !floor.policy.approvers.is_empty())
    })
}

/// Whether `sudo` lists something without a password, as far as it says so in time.
fn lists_anything() -> bool {
    let mut command = Command::new(SUDO);
    command.args(["-n", "-l"]).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => sleep(PAUSE),
            Err(_) => return false,
        }
    }
    // It is root's, and may be beyond this user's signals: it ends by itself then.
    let _ = child.kill();
    false
}
