//! A machine with users and policies of its own, on which the real program runs.

mod home;

use crate::program::{Place, skip, status, text};
pub(crate) use home::{configure, home, remembered, take_claims, trust};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Users of [`Machine`].
pub(crate) const ALICE: u32 = 4001;
pub(crate) const BOB: u32 = 4002;

/// A machine with users and floors of its own: another `/etc` in a mount namespace.
pub(crate) struct Machine {
    pub(crate) place: Place,
    pub(crate) etc: TempDir,
}

impl Machine {
    /// `None`, said visibly, where nothing may be mounted.
    pub(crate) fn new() -> Option<Self> {
        let may = Command::new("unshare").args(["-m", "true"]).output();
        if !may.is_ok_and(|output| output.status.success()) {
            skip("another /etc needs a mount namespace, and so root");
            return None;
        }
        let etc = TempDir::new().unwrap();
        fs::set_permissions(etc.path(), Permissions::from_mode(0o755)).unwrap();
        for name in ["ld.so.cache", "nsswitch.conf", "group"] {
            let _ = fs::copy(Path::new("/etc").join(name), etc.path().join(name));
        }
        let users = format!(
            "root:x:0:0::/etc/homes/root:/bin/sh\n\
             alice:x:{ALICE}:{ALICE}::/etc/homes/alice:/bin/sh\n\
             bob:x:{BOB}:{BOB}::/etc/homes/bob:/bin/sh\n"
        );
        fs::write(etc.path().join("passwd"), users).unwrap();
        let machine = Self { place: Place::new(), etc };
        fs::set_permissions(machine.place.directory.path(), Permissions::from_mode(0o777)).unwrap();
        machine.make("holdpoint", 0);
        machine.make("homes/root", 0);
        for (name, user) in [("alice", ALICE), ("bob", BOB)] {
            for directory in ["", "/.config", "/.config/holdpoint"] {
                machine.make(&format!("homes/{name}{directory}"), user);
            }
        }
        Some(machine)
    }

    pub(crate) fn make(&self, directory: &str, owner: u32) {
        let path = self.etc.path().join(directory);
        fs::create_dir_all(&path).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
    }

    pub(crate) fn system(&self) -> PathBuf {
        self.etc.path().join("holdpoint/config.toml")
    }

    pub(crate) fn in_home(&self, name: &str) -> PathBuf {
        self.etc.path().join(format!("homes/{name}/.config/holdpoint/config.toml"))
    }

    /// A floor that is written as it has to be.
    pub(crate) fn floor(&self, path: &Path, owner: u32, content: &str) {
        fs::write(path, content).unwrap();
        chown(path, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    }

    /// The program on this machine, as a user, below another program where one is given.
    pub(crate) fn command(&self, user: u32, below: &[&str], arguments: &[&str]) -> Command {
        let program = self.place.command(arguments);
        let mut command = self.other(user, below);
        command.arg(program.get_program()).args(program.get_args());
        command
    }

    /// Any program on this machine, as a user.
    pub(crate) fn other(&self, user: u32, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", "mount --bind \"$0\" /etc && exec \"$@\""]);
        command.arg(self.etc.path()).arg("setpriv");
        command.args([format!("--reuid={user}"), format!("--regid={user}")]);
        command.arg("--clear-groups").args(words);
        command.current_dir(self.place.directory.path()).stdin(Stdio::null());
        for name in ["HOLDPOINT_LOG", "HOLDPOINT_CONFIG", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn call(&self, user: u32, arguments: &[&str]) -> Output {
        self.command(user, &[], arguments).output().unwrap()
    }

    /// Everything in the log is this user's from here on.
    pub(crate) fn give_log(&self, user: u32) {
        let owner = format!("{user}:{user}");
        let given = Command::new("chown").args(["-R", &owner]).arg(&self.place.log).status();
        assert!(given.unwrap().success());
    }
}

pub(crate) fn told(output: &Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[track_caller]
pub(crate) fn assert_refused(output: &Output, expected: i32, names: &[&str]) {
    let said = told(output);
    assert_eq!(status(output), expected, "{said}");
    names.iter().for_each(|name| assert!(said.contains(name), "{name}: {said}"));
}
