//! Others who may be behind this process, by what the kernel and programs that change users say of
//! it. None of it proves who somebody is; each of it can say that somebody is no other person.

use super::origin_of_user::{Ancestor, Ancestry, exists, field};
use super::own_session::OwnSession;
use super::user::is_systems;
use crate::raw_file::proc_file;
use holdpoint_domain::core::actor::{BehindSign, ProcessDoubt};
use rustix::fs::{fstat, readlink};
use rustix::termios::isatty;
use std::path::Path;

/// Number that the kernel gives where nobody logged in.
const NOT_SET: u32 = u32::MAX;
/// In which variables programs that change users say for whom they do.
const CHANGED_FROM: [(&str, BehindSign); 2] =
    [("SUDO_UID", BehindSign::SudoUid), ("PKEXEC_UID", BehindSign::PkexecUid)];

/// The user who logged in, of whose session this process is; `None`: not known.
pub(super) fn login() -> Option<u32> {
    let number = proc_file("/proc/self/loginuid").ok().flatten()?;
    number.trim().parse().ok().filter(|number| *number != NOT_SET)
}

/// The user who became root by sudo, as the environment says: nothing proves it.
pub(super) fn sudo() -> Option<u32> {
    std::env::var("SUDO_UID").ok()?.trim().parse().ok()
}

/// Users behind this process, as far as they can be read.
#[derive(Clone, Debug, Default)]
pub(super) struct Behind {
    /// Each user that something says is behind it, and what says so.
    pub(super) signs: Vec<(u32, BehindSign)>,
    /// A process or a device behind it could not be read: there may be more signs.
    pub(super) is_hidden: bool,
}

impl Behind {
    /// Asks the kernel and the environment.
    pub(super) fn of_process(login: Option<u32>, ancestry: &Ancestry) -> Self {
        let mut behind = Self { signs: Vec::new(), is_hidden: !ancestry.is_whole };
        behind.add(login, BehindSign::Login);
        behind.add_terminal(ancestry);
        for ancestor in &ancestry.ancestors {
            behind.add(ancestor.users.iter().copied(), BehindSign::Ancestor);
        }
        for (name, sign) in CHANGED_FROM {
            let number = std::env::var(name).ok().and_then(|number| number.trim().parse().ok());
            behind.add(number, sign);
        }
        behind
    }

    fn add(&mut self, users: impl IntoIterator<Item = u32>, sign: BehindSign) {
        self.signs.extend(users.into_iter().map(|user| (user, sign)));
    }

    /// Adds the owners of the terminals, and the leader of the session.
    fn add_terminal(&mut self, ancestry: &Ancestry) {
        let input = rustix::stdio::stdin();
        let input = isatty(input).then(|| fstat(input).ok()).flatten();
        self.add(input.map(|device| device.st_uid), BehindSign::TerminalOwner);
        let Ok(own) = OwnSession::of_process() else {
            self.is_hidden = true;
            return;
        };
        match own.terminal_device() {
            Ok(device) => {
                self.add(device.map(|device| device.st_uid), BehindSign::TerminalOwner);
            }
            Err(_) => self.is_hidden = true,
        }
        let Some(leader) = own.leader else { return };
        let known = ancestry.ancestors.iter().find(|ancestor| ancestor.pid == leader);
        match known
            .map_or_else(|| Ancestor::of(leader).map(|it| it.users), |it| Some(it.users.clone()))
        {
            Some(users) => self.add(users, BehindSign::SessionLeader),
            None => self.is_hidden |= exists(leader),
        }
    }
}

/// Why the answers of this process prove nothing, where they do not.
pub(super) fn doubt() -> Option<ProcessDoubt> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let (Ok(Some(status)), Ok(Some(maps))) =
        (proc_file("/proc/self/status"), proc_file("/proc/self/maps"))
    else {
        return Some(ProcessDoubt::Unread);
    };
    match field(&status, "TracerPid:") {
        Some("0") => {}
        Some(_) => return Some(ProcessDoubt::Traced),
        None => return Some(ProcessDoubt::Unread),
    }
    let Ok(own) = readlink("/proc/self/exe", Vec::new()) else {
        return Some(ProcessDoubt::Unread);
    };
    has_foreign_code(&maps, &own.to_string_lossy()).then_some(ProcessDoubt::ForeignCode)
}

/// Returns whether a process can execute more than a program and the system's own libraries, by
/// what the kernel says it has mapped.
pub(super) fn has_foreign_code(maps: &str, program: &str) -> bool {
    let is_known = |path: &str| path == program || is_systems(Path::new(path));
    !maps.split('\n').all(|line| code_of(line).is_none_or(is_known))
}

/// The path behind a mapping that can be executed; empty where no file is behind it. `None`: it
/// cannot be executed, or the kernel itself put it there.
fn code_of(line: &str) -> Option<&str> {
    // `START-END PERMISSIONS OFFSET DEVICE INODE PATH`; the path may hold blanks.
    let mut rest = line;
    let mut permissions = "";
    for place in 0..5 {
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        if place == 1 {
            permissions = word;
        }
        rest = behind.trim_start();
    }
    let is_kernels =
        matches!(rest, "[vdso]" | "[vsyscall]" | "[vectors]" | "[sigpage]" | "[uprobes]");
    (permissions.contains('x') && !is_kernels).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_executed_and_is_not_the_kernels_is_code() {
        for (line, code) in [
            ("7f00-7f01 r--p 00000000 08:01 12 /usr/lib/x.so", None),
            ("7f00-7f01 r-xp 00000000 08:01 12      /usr/lib/x.so", Some("/usr/lib/x.so")),
            ("7f00-7f01 r-xp 00000000 08:01 12  /tmp/a b (deleted)", Some("/tmp/a b (deleted)")),
            ("7f00-7f01 rwxp 00000000 00:00 0 ", Some("")),
            ("7f00-7f01 r-xp 00000000 00:00 0     [vdso]", None),
            ("7f00-7f01 r-xp 00000000 00:00 0     [stack]", Some("[stack]")),
        ] {
            assert_eq!(code_of(line), code, "{line}");
        }
        // The kernel's words for a name with a line break, and for a file that is gone.
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a\\012.so (deleted)");
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        let maps = |path: &str| format!("7f00-7f01 r-xp 00000000 08:01 12 {path}\n");
        assert!(has_foreign_code(&maps(path.to_str().unwrap()), "/bin/sh"));
        assert!(
            has_foreign_code(&maps(""), "/bin/sh") && has_foreign_code(&maps("/tmp"), "/bin/sh")
        );
        assert!(!has_foreign_code(&maps("/etc/passwd"), "/bin/sh"));
        assert!(!has_foreign_code(&maps("/tmp/program"), "/tmp/program"));
    }

    #[test]
    fn this_process_is_its_own_and_somebody_is_behind_it() {
        assert_eq!(doubt(), None);
        let behind = Behind::of_process(None, &Ancestry::of_process());
        assert!(behind.signs.iter().any(|(_, sign)| *sign == BehindSign::Ancestor));
    }
}
