//! The system's user database, and who runs this process.
//!
//! The database is asked by a program of the system's own, `getent`, which is started with an empty
//! environment: no library that the environment names answers in its place. Whatever it says is
//! bounded in time. A number that the program would look up in `/etc/passwd` first is read there
//! without it: starting it takes two thirds of what starting this program takes. Where the system
//! has no such program, that file is all there is.

use crate::raw_file::{is_file, read_file};
use holdpoint_domain::core::text::check_identifier;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, Stat, fcntl_setfl, stat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getuid, kill_process_group};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Paths at which the system keeps the program that is asked, the first that is there.
const GETENT: [&str; 2] = ["/usr/bin/getent", "/bin/getent"];
/// The users where there is no such program.
const PASSWD: &str = "/etc/passwd";
/// File in which the system says in which order its databases are asked.
const NSSWITCH: &str = "/etc/nsswitch.conf";
/// File that states the first number of a person.
const LOGIN_DEFS: &str = "/etc/login.defs";
/// The first number of a person where that is not stated.
const UID_MIN: u32 = 1000;
/// The number of the user whom every system has.
const ROOT: &str = "0";
/// Time that the database has for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time that its answers are believed in a process that goes on: as long as people wait.
const FRESH: Duration = Duration::from_secs(60);
/// The longest answer, or file, that is read, in bytes.
const BYTES_MAX: u64 = 1 << 20;
/// Status of `getent` where it found not all that it was asked for.
const NOT_FOUND: i32 = 2;
/// Permission bits that let the group and others write.
const OTHERS_WRITE: u32 = 0o022;

/// A line of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Account {
    name: String,
    number: u32,
    home: PathBuf,
    shell: String,
}

/// Source of answers about users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserDatabase {
    /// This program of the system's.
    Program(PathBuf),
    /// `/etc/passwd`, since the system has no such program.
    File,
}

/// Answers of before, by what was asked, and since when the database has been silent.
struct Answers {
    found: BTreeMap<String, (Instant, Option<Account>)>,
    silent_since: Option<Instant>,
}

static ANSWERS: Mutex<Answers> = Mutex::new(Answers { found: BTreeMap::new(), silent_since: None });

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

/// Returns whether a user has this number. Where the database does not answer, none is known to.
pub(super) fn has_name(uid: u32) -> bool {
    user(uid).is_ok_and(|user| user.is_some())
}

/// The home of a user, whatever the environment says. `None`: no such user, or none of its own.
///
/// # Errors
/// The database does not answer: whether there is one is not known.
pub(crate) fn home_of_user(uid: u32) -> io::Result<Option<PathBuf>> {
    let home = user(uid)?.map(|user| user.home);
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

/// The number behind each name, in their order; `None`: no user has that name. `uid 1000` is this
/// number, also where its user has a name and so never answers under this one.
///
/// # Errors
/// The database does not answer.
pub(crate) fn numbers_of(names: &[&str]) -> io::Result<Vec<Option<u32>>> {
    let named = accounts(names)?.into_iter().zip(names);
    Ok(named
        .map(|(account, name)| account.map_or_else(|| plain(name), |it| Some(it.number)))
        .collect())
}

/// The number under which the user of each name answers by that very name, in their order; `None`:
/// nobody does.
///
/// # Errors
/// The database does not answer.
pub(crate) fn numbers_that_answer(names: &[&str]) -> io::Result<Vec<Option<u32>>> {
    let named = accounts(names)?.into_iter().zip(names);
    named
        .map(|(account, name)| match (account, plain(name)) {
            (None, Some(number)) => Ok(user(number)?.is_none().then_some(number)),
            (account, _) => Ok(account.map(|account| account.number)),
        })
        .collect()
}

/// The number in `uid 1000`, by which a user without a name is known.
fn plain(name: &str) -> Option<u32> {
    let number = name.strip_prefix("uid ")?.parse().ok()?;
    (*name == *format!("uid {number}")).then_some(number)
}

/// Returns whether no user here has any of these names. Where the database does not answer, that is
/// not known.
pub(crate) fn is_nobody<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let names: Vec<&str> = names.collect();
    numbers_that_answer(&names).is_ok_and(|numbers| numbers.iter().all(Option::is_none))
}

/// Returns whether a number is that of a system account: below the first of people, or without a
/// shell to log in with. The database that does not answer has said of nobody that it is a person.
pub(super) fn is_system_account(uid: u32) -> bool {
    let has_shell = user(uid).ok().flatten().is_some_and(|account| is_login_shell(&account.shell));
    uid < uid_min() || !has_shell
}

fn is_login_shell(shell: &str) -> bool {
    let name = shell.rsplit('/').next().unwrap_or_default();
    !matches!(name, "" | "nologin" | "false" | "true" | "sync" | "shutdown" | "halt")
}

fn uid_min() -> u32 {
    let Ok(bytes) = read_file(Path::new(LOGIN_DEFS), BYTES_MAX) else { return UID_MIN };
    let text = String::from_utf8_lossy(&bytes);
    let stated = text.lines().rev().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next()? == "UID_MIN").then(|| words.next()?.parse().ok())?
    });
    stated.unwrap_or(UID_MIN)
}

fn user(uid: u32) -> io::Result<Option<Account>> {
    let key = uid.to_string();
    let found = accounts_of(&[&key], |account| account.number == uid)?;
    Ok(found.into_iter().next().flatten())
}

fn accounts(names: &[&str]) -> io::Result<Vec<Option<Account>>> {
    // What cannot be a name in the database is in it under no name.
    let may_be = |name: &&str| {
        !name.is_empty() && !name.starts_with('-') && !name.contains([':', '\n', '\0', ' '])
    };
    let asked: Vec<&str> = names.iter().copied().filter(may_be).collect();
    let found = accounts_of(&asked, |_| true)?;
    let named = |name: &&str| {
        let found = found.iter().flatten().find(|account| account.name == **name);
        found.cloned()
    };
    Ok(names.iter().map(named).collect())
}

/// Returns the account that the database has for each key, believed for a while.
fn accounts_of(
    keys: &[&str],
    is_meant: impl Fn(&Account) -> bool,
) -> io::Result<Vec<Option<Account>>> {
    let mut answers = ANSWERS.lock();
    let now = Instant::now();
    let is_fresh = |since: Instant| now.saturating_duration_since(since) < FRESH;
    if answers.silent_since.is_some_and(is_fresh) {
        return Err(silent());
    }
    answers.found.retain(|_, (since, _)| is_fresh(*since));
    let missing: Vec<&str> =
        keys.iter().copied().filter(|key| !answers.found.contains_key(*key)).collect();
    if !missing.is_empty() {
        let found = match lookup(&missing) {
            Ok(found) => found,
            Err(error) => {
                // What failed at once is cheap to ask again, and its reason is told each time.
                if error.kind() == ErrorKind::TimedOut {
                    answers.silent_since = Some(now);
                }
                return Err(error);
            }
        };
        for key in missing {
            let is_it =
                |account: &&Account| account.name == key || account.number.to_string() == key;
            let account = found.iter().find(is_it).cloned();
            answers.found.insert(key.to_string(), (now, account));
        }
    }
    let of = |key: &&str| answers.found.get(*key).and_then(|(_, account)| account.clone());
    Ok(keys.iter().map(|key| of(key).filter(&is_meant)).collect())
}

fn silent() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "the user database does not answer")
}

fn lookup(keys: &[&str]) -> io::Result<Vec<Account>> {
    let text = match user_database() {
        UserDatabase::Program(program) => {
            return in_first_file(keys).map_or_else(|| ask_beside_root(&program, keys), Ok);
        }
        UserDatabase::File => match read_file(Path::new(PASSWD), BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if crate::raw_file::is_missing(&error) => Vec::new(),
            Err(error) => return Err(error),
        },
    };
    Ok(accounts_in(&text))
}

/// Returns what the program finds, asked for root as well: it says alike that there is no such user
/// and that it could not read the users. Where it finds not even root, it has not answered.
fn ask_beside_root(program: &Path, keys: &[&str]) -> io::Result<Vec<Account>> {
    let found = accounts_in(&ask(program, &[&[ROOT], keys].concat())?);
    match found.iter().any(|account| account.number == 0) {
        true => Ok(found),
        false => Err(silent()),
    }
}

/// The users with these numbers, where `/etc/passwd` is what the system looks in first and has them
/// all. `None`: only the program can tell.
fn in_first_file(numbers: &[&str]) -> Option<Vec<Account>> {
    let systems_file = |path: &str| {
        let bytes = is_systems(Path::new(path)).then(|| read_file(Path::new(path), BYTES_MAX).ok());
        String::from_utf8(bytes??).ok()
    };
    if !asks_file_first(&systems_file(NSSWITCH)?) {
        return None;
    }
    let users: Option<Vec<Account>> = systems_file(PASSWD)?.lines().map(plain_account).collect();
    let users = users?;
    let of = |number: &&str| users.iter().find(|user| user.number.to_string() == **number).cloned();
    numbers.iter().map(of).collect()
}

/// Returns whether users are looked for in the file before anything else, and what is found there
/// ends the search (nsswitch.conf(5)).
fn asks_file_first(nsswitch: &str) -> bool {
    let mut stated = nsswitch.lines().filter_map(|line| line.strip_prefix("passwd:"));
    let mut services = stated.next().unwrap_or_default().split_ascii_whitespace();
    let is_first = services.next() == Some("files");
    is_first && services.next().is_none_or(|next| !next.starts_with('[')) && stated.next().is_none()
}

/// A line that every reader of the file takes for the same user.
fn plain_account(line: &str) -> Option<Account> {
    let starts_a_name =
        line.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_');
    let is_plain = starts_a_name && line.split(':').count() == 7;
    is_plain.then(|| account(line))?
}

fn accounts_in(text: &[u8]) -> Vec<Account> {
    String::from_utf8_lossy(text).lines().filter_map(account).collect()
}

/// A line is `NAME:PASSWORD:NUMBER:GROUP:COMMENT:HOME:SHELL`.
fn account(line: &str) -> Option<Account> {
    let mut fields = line.split(':');
    let (name, number) = (fields.next()?, fields.nth(1)?.parse().ok()?);
    let (home, shell) = (fields.nth(2)?, fields.next().unwrap_or_default());
    let (name, shell) = (name.to_string(), shell.to_string());
    (!name.is_empty()).then(|| Account { name, number, home: PathBuf::from(home), shell })
}

/// Returns who answers for the user database: a program that only root can have put there.
#[must_use]
pub fn user_database() -> UserDatabase {
    let programs = GETENT.into_iter().map(Path::new);
    let program = programs
        .filter(|path| is_systems(path))
        .find(|path| stat(*path).is_ok_and(|found| is_file(&found) && found.st_mode & 0o111 != 0));
    program.map_or(UserDatabase::File, |path| UserDatabase::Program(path.to_path_buf()))
}

/// Returns whether the file and every directory above it are root's to change alone. In a user
/// namespace root has another number, and nothing is proven there.
pub(super) fn is_systems(path: &Path) -> bool {
    let is_here = || super::in_initial_user_namespace().unwrap_or(true);
    path.ancestors().all(|part| {
        let is_roots = |found: Stat| found.st_uid == 0 || !is_here();
        stat(part).is_ok_and(|found| found.st_mode & OTHERS_WRITE == 0 && is_roots(found))
    })
}

/// Asks the program, which is given nothing of this process but what it is asked. This goes by the
/// C library, as starting a program does. A library that stands in its place is found by
/// [`ProcessDoubt`](holdpoint_domain::core::actor::ProcessDoubt), and then nothing is proven.
fn ask(program: &Path, keys: &[&str]) -> io::Result<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(["passwd", "--"]).args(keys).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let until = Instant::now() + PATIENCE;
    let mut child = command.spawn()?;
    let answer = answer_of(&mut child, until);
    if answer.is_err() {
        if let Some(group) = Pid::from_raw(child.id().try_into().unwrap_or_default()) {
            // Where it is gone already there is nothing to end.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // It was just killed: this does not wait for what it does.
        let _ = child.wait();
    }
    answer
}

fn answer_of(child: &mut Child, until: Instant) -> io::Result<Vec<u8>> {
    let output = child.stdout.take().ok_or(ErrorKind::BrokenPipe)?;
    fcntl_setfl(&output, OFlags::NONBLOCK)?;
    let (mut bytes, mut buffer) = (Vec::new(), [0_u8; 4096]);
    loop {
        wait_for(&mut [PollFd::new(&output, PollFlags::IN)], left(until)?)?;
        match rustix::io::read(&output, &mut buffer) {
            Ok(0) => break,
            Ok(length) => bytes.extend(buffer.iter().take(length)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if bytes.len() as u64 > BYTES_MAX {
            return Err(ErrorKind::FileTooLarge.into());
        }
    }
    loop {
        if let Some(status) = child.try_wait()? {
            return match status.code() {
                Some(0 | NOT_FOUND) => Ok(bytes),
                _ => Err(silent()),
            };
        }
        wait_for(&mut [], left(until)?.min(Duration::from_millis(2)))?;
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(silent()),
        left => Ok(left),
    }
}

fn wait_for(files: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
    let time = time.try_into().map_err(|_| ErrorKind::InvalidInput)?;
    match poll(files, Some(&time)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
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
        let names =
            ["root", "no such user", "uid 0", "uid 3999999999", "uid 03999999999", "-s", "0", ""];
        let expected = [Some(0), None, None, Some(3_999_999_999), None, None, None, None];
        assert_eq!(numbers_that_answer(&names).unwrap(), expected);
        // The user who has a name is meant all the same.
        let meant = [expected[0], expected[1], Some(0), expected[3], None, None, None, None];
        assert_eq!(numbers_of(&names).unwrap(), meant);
    }

    #[test]
    fn the_file_answers_only_where_the_system_would_take_its_answer() {
        for (nsswitch, is_first) in [
            ("passwd: files\n", true),
            ("# passwd: sss\npasswd:\tfiles systemd\ngroup: sss\n", true),
            ("passwd: sss files\n", false),
            ("passwd: files [SUCCESS=continue] sss\n", false),
            ("passwd: compat\n", false),
            ("passwd: files\npasswd: sss\n", false),
            ("group: files\n", false),
            ("", false),
        ] {
            assert_eq!(asks_file_first(nsswitch), is_first, "{nsswitch:?}");
        }
        for line in ["#ada:x:1:1::/:/bin/sh", " ada:x:1:1::/:", "+ada:x:1:1::/:", "ada:x:1:1::/"] {
            assert_eq!(plain_account(line), None, "{line:?}");
        }
        assert!(plain_account("ada:x:1:1::/:/bin/sh").is_some());
        if let Some(found) = in_first_file(&[ROOT]) {
            assert_eq!(found[0].name, "root");
        }
        assert_eq!(in_first_file(&[ROOT, "3999999999"]), None);
    }

    #[test]
    fn a_line_of_the_database_has_seven_fields_and_the_shell_may_be_missing() {
        let line = account("ada:x:1000:1000:Ada,,:/home/ada:/bin/bash").unwrap();
        assert_eq!((line.name.as_str(), line.number), ("ada", 1000));
        assert_eq!((line.home.to_str(), line.shell.as_str()), (Some("/home/ada"), "/bin/bash"));
        assert!(account("ada:x:1000:1000:Ada:/home/ada").is_some());
        for line in ["", "ada", "ada:x:many:0:::", ":x:1:1:::"] {
            assert_eq!(account(line), None, "{line:?}");
        }
        for (shell, is_one) in
            [("/bin/sh", true), ("", false), ("/usr/sbin/nologin", false), ("/bin/false", false)]
        {
            assert_eq!(is_login_shell(shell), is_one, "{shell:?}");
        }
    }
}
