//! The keeper of a terminal: a process of its own that changes the settings of a terminal for this
//! one, and puts them back when this one ends, however it ends.
//!
//! It leads a session of its own, so that no key, no hang-up and no signal to a group reaches it,
//! and it holds nothing but the terminal and its end of a channel.

use std::ffi::{CStr, OsStr};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk};
use rustix::stdio::stdout;
use rustix::termios::{
    Action, InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex,
    Termios, ioctl_tiocexcl, ioctl_tiocnxcl, tcflow, tcflush, tcgetattr, tcsetattr,
};

use super::child_calls::separate_from_terminals;
use super::guard_signals::outlive_signals;

/// The first argument with which a program is started as a keeper, and the second.
const KEEPER_VERB: &str = "__terminal";
const KEEPER_VERSION: &str = "1";
/// The name that a keeper shows in the table of processes.
const KEEPER_NAME: &CStr = c"holdpoint-term";
/// Time that a keeper has for an answer. It does nothing that waits.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Request to a keeper, of one byte. The answer is one line: nothing where it is done, the number
/// of a process where that one holds the terminal, or the number of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeeperRequest {
    /// Hold the lock of the terminal, which one process has at a time.
    Lock,
    /// Nobody else opens it but root, what was typed is forgotten, and it takes whole lines.
    Lines,
    /// Nobody else opens it but root. Its settings are for the other process to change.
    Exclusive,
    /// Every byte passes as it is.
    Raw,
    /// The settings as they were, without the lock.
    PutBack,
}

impl KeeperRequest {
    const ALL: [Self; 5] = [Self::Lock, Self::Lines, Self::Exclusive, Self::Raw, Self::PutBack];

    fn byte(self) -> u8 {
        match self {
            Self::Lock => b'l',
            Self::Lines => b'q',
            Self::Exclusive => b'x',
            Self::Raw => b'r',
            Self::PutBack => b'b',
        }
    }
}

/// Why a terminal is not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// Another process asks there.
    #[error("process {pid} asks at this terminal already")]
    Taken {
        /// Its number.
        pid: i32,
    },
    /// The keeper could not be started, or does not answer.
    #[error("the terminal cannot be kept for a question: {0}")]
    Failed(#[from] io::Error),
}

/// A terminal whose settings a process of its own puts back when this is dropped, or when this
/// process is gone.
#[derive(Debug)]
pub struct Keeper {
    channel: UnixStream,
    process: Child,
    /// The terminal and its settings before, for where somebody kills the keeper.
    terminal: OwnedFd,
    before: Option<Termios>,
}

impl Keeper {
    /// Starts the keeper of a terminal, as another start of a program that calls
    /// [`serve_as_guard`](super::serve_as_guard) first of all.
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    pub fn start(program: &Path, terminal: BorrowedFd<'_>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(ANSWER_MAX))?;
        let terminal = rustix::io::fcntl_dupfd_cloexec(terminal, 3)?;
        let before = tcgetattr(&terminal).ok();
        let mut command = Command::new(program);
        command
            .arg0(OsStr::from_bytes(KEEPER_NAME.to_bytes()))
            .args([KEEPER_VERB, KEEPER_VERSION])
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(terminal.try_clone()?)
            .stderr(Stdio::null());
        separate_from_terminals(&mut command, false);
        Ok(Self { process: command.spawn()?, channel: ours, terminal, before })
    }

    /// Puts the settings back and lets go of the lock. Where the terminal is gone there is nothing
    /// to put back.
    pub fn put_back(&mut self) {
        if self.ask(KeeperRequest::PutBack).is_err() {
            self.put_back_from_here();
        }
    }

    /// Does what the keeper cannot do any more.
    fn put_back_from_here(&self) {
        let _ = ioctl_tiocnxcl(&self.terminal);
        if let Some(before) = &self.before {
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, before);
        }
    }

    /// Asks the keeper for something, and waits until it is done.
    ///
    /// # Errors
    ///
    /// Another process has the lock, the terminal is gone, or the keeper does not answer.
    pub fn ask(&mut self, request: KeeperRequest) -> Result<(), KeepError> {
        self.channel.write_all(&[request.byte()])?;
        let mut answer = Vec::new();
        let mut byte = [0];
        while byte != *b"\n" {
            match self.channel.read(&mut byte) {
                Ok(0) => return Err(KeepError::Failed(ErrorKind::UnexpectedEof.into())),
                Ok(_) => answer.extend(byte),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        match answer.trim_ascii() {
            b"" => Ok(()),
            answer => Err(understood(answer)),
        }
    }
}

/// Returns what went wrong, from the answer of a keeper.
fn understood(answer: &[u8]) -> KeepError {
    let text = String::from_utf8_lossy(answer);
    let number = |text: &str| text.parse::<i32>().ok();
    match text.split_once(' ') {
        Some(("taken", pid)) => KeepError::Taken { pid: number(pid).unwrap_or_default() },
        Some(("error", errno)) => KeepError::Failed(
            number(errno)
                .map_or_else(|| ErrorKind::InvalidData.into(), io::Error::from_raw_os_error),
        ),
        _ => KeepError::Failed(ErrorKind::InvalidData.into()),
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // To the keeper this is the end of the process that it works for.
        let _ = self.channel.shutdown(std::net::Shutdown::Both);
        if !self.process.wait().is_ok_and(|status| status.success()) {
            self.put_back_from_here();
        }
    }
}

/// Does the work of a keeper if this process was started as one, and says whether it was.
pub(super) fn serve_as_keeper() -> Option<io::Result<()>> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(KEEPER_VERB)) {
        return None;
    }
    let is_ours = arguments.next().as_deref() == Some(OsStr::new(KEEPER_VERSION));
    Some(if is_ours { serve() } else { Err(not_by_hand()) })
}

fn serve() -> io::Result<()> {
    let channel = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3).map_err(|_| not_by_hand())?;
    let mut channel = UnixStream::from(channel);
    channel.peer_addr().map_err(|_| not_by_hand())?;
    let before = tcgetattr(stdout()).map_err(|_| not_by_hand())?;
    let _bell = outlive_signals()?;
    #[cfg(target_os = "linux")]
    rustix::thread::set_name(KEEPER_NAME)?;
    let mut kept = HeldTerminal { before, is_exclusive: false, is_changed: false };
    let mut asked = [0];
    loop {
        match channel.read(&mut asked) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        let request = KeeperRequest::ALL.into_iter().find(|request| asked == [request.byte()]);
        let Some(request) = request else { break };
        let answer = kept.answer(request);
        if channel.write_all(format!("{answer}\n").as_bytes()).is_err() {
            break;
        }
    }
    kept.put_back();
    Ok(())
}

/// Changes of a keeper to its terminal, which is its standard output.
struct HeldTerminal {
    before: Termios,
    is_exclusive: bool,
    is_changed: bool,
}

impl HeldTerminal {
    fn answer(&mut self, request: KeeperRequest) -> String {
        let done = match request {
            KeeperRequest::Lock => return lock(),
            KeeperRequest::Lines => self.exclude().and_then(|()| self.take_lines()),
            KeeperRequest::Exclusive => self.exclude(),
            KeeperRequest::Raw => self.take_bytes(),
            KeeperRequest::PutBack => {
                self.put_back();
                fcntl_lock(stdout(), FlockOperation::Unlock)
            }
        };
        done.map_or_else(|errno| format!("error {}", errno.raw_os_error()), |()| String::new())
    }

    fn exclude(&mut self) -> Result<(), Errno> {
        self.note()?;
        self.is_exclusive = true;
        ioctl_tiocexcl(stdout())
    }

    fn take_lines(&mut self) -> Result<(), Errno> {
        self.note()?;
        // Somebody may have typed Ctrl-S.
        let _ = tcflow(stdout(), Action::OOn);
        tcsetattr(stdout(), OptionalActions::Now, &usual(&self.before))?;
        tcflush(stdout(), QueueSelector::IFlush)
    }

    fn take_bytes(&mut self) -> Result<(), Errno> {
        self.note()?;
        let mut raw = self.before.clone();
        raw.make_raw();
        tcsetattr(stdout(), OptionalActions::Now, &raw)
    }

    /// Notes the settings that are put back: those of before the first change since then.
    fn note(&mut self) -> Result<(), Errno> {
        if !self.is_changed {
            self.before = tcgetattr(stdout())?;
            self.is_changed = true;
        }
        Ok(())
    }

    fn put_back(&mut self) {
        if std::mem::take(&mut self.is_changed) {
            let _ = tcsetattr(stdout(), OptionalActions::Now, &self.before);
        }
        if std::mem::take(&mut self.is_exclusive) {
            let _ = ioctl_tiocnxcl(stdout());
        }
    }
}

/// Takes the lock of the terminal. Nobody else asks there then, so that what a killed keeper left
/// is no longer meant.
fn lock() -> String {
    match fcntl_lock(stdout(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            let _ = ioctl_tiocnxcl(stdout());
            String::new()
        }
        Err(Errno::AGAIN | Errno::ACCESS) => {
            let keeper = lock_holder(stdout());
            format!("taken {}", keeper.map_or(0, asker_of))
        }
        Err(errno) => format!("error {}", errno.raw_os_error()),
    }
}

/// The process that holds a lock on a file, where this one would have to wait for it.
fn lock_holder(file: BorrowedFd<'_>) -> Option<i32> {
    let found = fcntl_getlk(file, &Flock::from(FlockType::WriteLock)).ok()??;
    found.pid.map(Pid::as_raw_pid)
}

/// The process that asks at a terminal now, if one does.
pub fn terminal_taker(terminal: BorrowedFd<'_>) -> Option<i32> {
    lock_holder(terminal).map(asker_of)
}

/// The process for which a keeper works: its parent.
fn asker_of(keeper: i32) -> i32 {
    let stat = std::fs::read(format!("/proc/{keeper}/stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let Some((name, fields)) = stat.rsplit_once(')') else { return keeper };
    if name.split_once('(').map(|(_, name)| name.as_bytes()) != Some(KEEPER_NAME.to_bytes()) {
        return keeper;
    }
    let parent = fields.split_ascii_whitespace().nth(1).and_then(|parent| parent.parse().ok());
    parent.unwrap_or(keeper)
}

/// Settings with which a terminal takes whole lines, shows what is typed, and gives every key the
/// meaning that it usually has. The speed and the form of characters stay as they are.
pub fn usual(now: &Termios) -> Termios {
    let mut usual = now.clone();
    let utf8 = now.input_modes & InputModes::IUTF8;
    usual.input_modes = InputModes::ICRNL | InputModes::IXON | InputModes::BRKINT | utf8;
    usual.output_modes = OutputModes::OPOST | OutputModes::ONLCR;
    usual.local_modes = LocalModes::ISIG
        | LocalModes::ICANON
        | LocalModes::IEXTEN
        | LocalModes::ECHO
        | LocalModes::ECHOE
        | LocalModes::ECHOK
        | LocalModes::ECHOCTL
        | LocalModes::ECHOKE;
    let codes = &mut usual.special_codes;
    // Both kinds of keyboards stay as they are.
    if !matches!(codes[SpecialCodeIndex::VERASE], 0x08 | 0x7f) {
        codes[SpecialCodeIndex::VERASE] = 0x7f;
    }
    for (index, code) in [
        (SpecialCodeIndex::VINTR, 0x03),
        (SpecialCodeIndex::VQUIT, 0x1c),
        (SpecialCodeIndex::VKILL, 0x15),
        (SpecialCodeIndex::VEOF, 0x04),
        (SpecialCodeIndex::VSTART, 0x11),
        (SpecialCodeIndex::VSTOP, 0x13),
        (SpecialCodeIndex::VSUSP, 0x1a),
        (SpecialCodeIndex::VREPRINT, 0x12),
        (SpecialCodeIndex::VWERASE, 0x17),
        (SpecialCodeIndex::VLNEXT, 0x16),
        (SpecialCodeIndex::VEOL, DISABLED),
        (SpecialCodeIndex::VEOL2, DISABLED),
    ] {
        codes[index] = code;
    }
    usual
}

/// The code of a key that there is not.
const DISABLED: u8 = if cfg!(target_vendor = "apple") { 0xff } else { 0 };

fn not_by_hand() -> io::Error {
    let advice = "the keeper of a terminal is started by whoever asks there";
    io::Error::new(ErrorKind::InvalidInput, advice)
}
