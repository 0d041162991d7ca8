//! Who else may be behind this process, by what the kernel and programs that change users say of
//! it. None of it proves who somebody is; each of it can say that somebody is no other person.

use super::origin_of_user::ancestors;
use super::raw_file::proc_file;
use holdpoint_domain::core::actor::{BehindSign, ProcessDoubt};
use rustix::fs::{Stat, fstat, readlink, stat};
use rustix::process::getsid;
use rustix::termios::{isatty, tcgetsid};
use std::path::Path;

/// What the kernel says where nobody logged in.
const NOT_SET: u32 = u32::MAX;
/// In which variables programs that change users say for whom they do.
const CHANGED_FROM: [(&str, BehindSign); 2] =
    [("SUDO_UID", BehindSign::SudoUid), ("PKEXEC_UID", BehindSign::PkexecUid)];
/// What lets the group and others write.
const OTHERS_WRITE: u32 = 0o022;

/// The user who logged in, of whose session this process is; `None`: not known.
pub(super) fn login() -> Option<u32> {
    let number = proc_file("/proc/self/loginuid").ok().flatten()?;
    number.trim().parse().ok().filter(|number| *number != NOT_SET)
}

/// The user who became root by sudo, as the environment says: nothing proves it.
pub(super) fn sudo() -> Option<u32> {
    std::env::var("SUDO_UID").ok()?.trim().parse().ok()
}

/// Every user number that something says is behind this process, and what says it.
pub(super) fn signs() -> Vec<(u32, BehindSign)> {
    let mut found: Vec<(u32, BehindSign)> = Vec::new();
    found.extend(login().map(|user| (user, BehindSign::Login)));
    let input = rustix::stdio::stdin();
    let mut leaders = vec![getsid(None).ok()];
    let standard = isatty(input).then_some(input);
    leaders.extend(standard.map(|terminal| tcgetsid(terminal).ok()));
    let owners = [standard.and_then(|file| fstat(file).ok()), own_terminal()];
    let owners = owners.into_iter().flatten().map(|device| device.st_uid);
    found.extend(owners.map(|user| (user, BehindSign::TerminalOwner)));
    for leader in leaders.into_iter().flatten() {
        let users = users_of(leader.as_raw_nonzero().get());
        found.extend(users.map(|user| (user, BehindSign::SessionLeader)));
    }
    for pid in ancestors() {
        found.extend(users_of(pid).map(|user| (user, BehindSign::Ancestor)));
    }
    for (name, sign) in CHANGED_FROM {
        let number = std::env::var(name).ok().and_then(|number| number.trim().parse().ok());
        found.extend(number.map(|user| (user, sign)));
    }
    found
}

/// The device of the terminal of this process's session: `/dev/tty` itself is root's, whoever's the
/// terminal is.
fn own_terminal() -> Option<Stat> {
    let stated = proc_file("/proc/self/stat").ok().flatten()?;
    let (_, behind_name) = stated.rsplit_once(')')?;
    let number: u64 = behind_name.split_ascii_whitespace().nth(4)?.parse().ok()?;
    let (kind, place) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00));
    let path = match kind {
        136..=143 => format!("/dev/pts/{}", (kind - 136) * 256 + place),
        4 if place >= 64 => format!("/dev/ttyS{}", place - 64),
        4 => format!("/dev/tty{place}"),
        _ => return None,
    };
    let found = stat(&*path).ok()?;
    (rustix::fs::major(found.st_rdev) == u32::try_from(kind).ok()?).then_some(found)
}

/// The real, effective, saved and file system's user of a process.
fn users_of(pid: i32) -> impl Iterator<Item = u32> {
    let status = proc_file(&format!("/proc/{pid}/status")).ok().flatten();
    let users = status.as_deref().and_then(|status| field(status, "Uid:"));
    let words: Vec<u32> = users
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    words.into_iter()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
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
    let own = own.to_string_lossy();
    let is_known = |line: &str| code_of(line).is_none_or(|path| path == own || is_roots(path));
    (!maps.lines().all(is_known)).then_some(ProcessDoubt::ForeignCode)
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
    let is_kernels = matches!(rest, "[vdso]" | "[vsyscall]" | "[vectors]" | "[sigpage]");
    (permissions.contains('x') && !is_kernels).then_some(rest)
}

/// Whether a library is the system's: root's, and nobody else's to change. The kernel says where it
/// is, and only root can put something else there.
fn is_roots(path: &str) -> bool {
    let found = stat(Path::new(path));
    found.is_ok_and(|found| found.st_uid == 0 && found.st_mode & OTHERS_WRITE == 0)
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
        assert!(is_roots("/etc/passwd") && !is_roots("") && !is_roots("/tmp"));
    }

    #[test]
    fn this_process_is_its_own_and_somebody_is_behind_it() {
        assert_eq!(doubt(), None);
        assert!(signs().iter().any(|(_, sign)| *sign == BehindSign::Ancestor));
    }
}
