//! The terminal at which a person sits.

use super::own_session::{OwnSession, is_in_front_of, is_of_session};
use super::terminal_users::Others;
use crate::executor::{KeepError, Keeper, KeeperRequest, StopRequests};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use rustix::process::getuid;
use rustix::termios::{QueueSelector, isatty, tcflush, ttyname};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longest line that is taken from a terminal, in bytes; terminals themselves allow 4096.
const LINE_MAX: usize = 8192;
/// Time that a terminal has to take what is written to it.
const SAYING_MAX: Duration = Duration::from_secs(5);
/// Number of times the number may be wrong that somebody is asked for.
const IN_VAIN_MAX: u8 = 3;

/// The terminal of this process's session, open for a conversation line by line.
#[derive(Debug)]
pub struct PersonTerminal {
    /// Opened when it is needed first; no read or write of it waits.
    device: Option<File>,
    name: String,
    typed: Vec<u8>,
    keeper: Option<Keeper>,
    is_asking: bool,
    is_stuck: bool,
    stops: Option<StopRequests>,
    others: Option<Others>,
    /// A line that somebody else may have typed, and the number that says otherwise.
    doubted: Option<(String, String)>,
    /// Number of times that number was not the right one.
    in_vain: u8,
}

/// A line that somebody typed at the terminal of this process's session. It proves a person there,
/// for one command: [`Engine::submit_typed`](super::Engine::submit_typed) takes it. Only
/// [`PersonTerminal`] makes one, of what was typed since it last
/// [forgot](PersonTerminal::forget_typed) what had been typed.
#[derive(Debug, PartialEq, Eq)]
pub struct TypedLine {
    text: String,
    terminal: String,
}

impl TypedLine {
    /// The line, without its end and without blanks around it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The device at which it was typed: `/dev/pts/3`.
    #[must_use]
    pub fn terminal(&self) -> &str {
        &self.terminal
    }

    pub(super) fn into_terminal(self) -> String {
        self.terminal
    }
}

/// Why nothing is asked at a terminal now.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// Somebody else works at the terminal.
    #[error("this process is in the background of its terminal")]
    Background,
    /// Another process asks there, or what keeps its settings does not answer.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// It takes nothing more of what is written to it.
    #[error("the terminal takes nothing of what is written to it")]
    Stuck,
    /// It cannot be opened, or its settings cannot be changed.
    #[error("nothing can be asked at the terminal: {0}")]
    Failed(#[from] io::Error),
}

impl PersonTerminal {
    /// The terminal, if standard input and standard error are one, and it is that of this process's
    /// session. Nothing is asked there before [`begin`](Self::begin).
    #[must_use]
    pub fn open() -> Option<Self> {
        let name = terminal_name()?;
        if !isatty(rustix::stdio::stderr()) || !is_of_session(rustix::stdio::stdin()) {
            return None;
        }
        Some(Self::named(name))
    }

    fn named(name: String) -> Self {
        Self {
            device: None,
            name,
            typed: Vec::new(),
            keeper: None,
            is_asking: false,
            is_stuck: false,
            stops: None,
            others: None,
            doubted: None,
            in_vain: 0,
        }
    }

    /// The terminal of this process's session, whatever standard input is; `None` where there is
    /// none, or where another group of processes is in its foreground.
    #[must_use]
    pub fn of_session() -> Option<Self> {
        is_in_foreground(None).then(|| Self::named(session_terminal_name()))
    }

    /// Waits until something was typed, at most this long. Whether it was.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> bool {
        let Some(device) = self.readable() else {
            // Somebody else works at the terminal: until this process is in front again.
            std::thread::sleep(at_most);
            return false;
        };
        let seconds = i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX);
        let timeout = Timespec { tv_sec: seconds, tv_nsec: i64::from(at_most.subsec_nanos()) };
        let mut watched = [PollFd::from_borrowed_fd(device, PollFlags::IN)];
        poll(&mut watched, Some(&timeout)).is_ok_and(|count| count > 0)
    }

    /// The device: `/dev/pts/3`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the terminal for a question, until [`rest`](Self::rest): no other process of ours asks
    /// there, nobody else opens it, what was typed before is forgotten, and it takes whole lines. A
    /// process of its own, another start of this program (see
    /// [`serve_as_guard`](crate::executor::serve_as_guard)), puts all of that back, also where this
    /// one is killed.
    ///
    /// # Errors
    ///
    /// Why nothing is to be asked there now.
    pub fn begin(&mut self) -> Result<(), AskError> {
        if self.is_stuck {
            return Err(AskError::Stuck);
        }
        if !is_in_foreground(self.device.as_ref()) {
            return Err(AskError::Background);
        }
        if !self.is_asking {
            self.take().inspect_err(|error| {
                if !matches!(error, AskError::Keep(KeepError::Taken { .. })) {
                    self.keeper = None;
                }
            })?;
        }
        self.forget_typed();
        Ok(())
    }

    fn take(&mut self) -> Result<(), AskError> {
        let mut keeper = match self.keeper.take() {
            Some(keeper) => keeper,
            None => Keeper::start(&own_program()?, lockable(&self.name)?.as_fd())?,
        };
        let locked = keeper.ask(KeeperRequest::Lock);
        let keeper = self.keeper.insert(keeper);
        locked?;
        if self.device.is_none() {
            let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
            let flags = i32::try_from(flags.bits()).unwrap_or_default();
            let mut options = File::options();
            options.read(true).write(true).custom_flags(flags);
            self.device = Some(options.open("/dev/tty")?);
        }
        keeper.ask(KeeperRequest::Lines)?;
        self.stops = StopRequests::heed();
        self.is_asking = true;
        Ok(())
    }

    /// Gives the terminal back as it was: no question stands there any more.
    pub fn rest(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            keeper.put_back();
        }
        (self.is_asking, self.stops, self.others, self.doubted) = (false, None, None, None);
    }

    /// Returns whether the terminal is taken for a question.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.is_asking
    }

    /// Returns whether something that was written did not reach the terminal in time. Nothing is
    /// asked there any more.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Returns whether a stop of this process was asked for (Ctrl-Z) while a question stands.
    #[must_use]
    pub fn is_stop_asked(&self) -> bool {
        self.stops.as_ref().is_some_and(StopRequests::take)
    }

    /// Gives the terminal back and stops this process, until it is continued. What was asked is to
    /// be put anew.
    pub fn stop(&mut self) {
        let stops = self.stops.take();
        self.rest();
        drop(stops.map(StopRequests::stop));
    }

    /// Throws away what was typed before now: it was no answer to what is asked next.
    pub fn forget_typed(&mut self) {
        self.typed.clear();
        self.doubted = None;
        // Whoever types from here on runs after this look.
        self.others = Some(Others::look());
        if let Some(device) = &self.device {
            // Where this fails nothing is lost but the throwing away.
            let _ = tcflush(device, QueueSelector::IFlush);
        }
    }

    /// The descriptor to wait on; `None` while nothing is asked here, or while this process is in
    /// the background, where reading would stop it. A terminal that is gone is readable: reading
    /// from it says so.
    #[must_use]
    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        let device = self.device.as_ref().filter(|_| self.is_asking)?;
        (is_in_foreground(Some(device)) || is_gone()).then(|| device.as_fd())
    }

    /// Takes what was typed, once [readable](Self::readable): a whole line, or nothing yet. Where
    /// another program of this terminal ran meanwhile and the system lets it type here (TIOCSTI),
    /// the line counts only once a number was typed that such a program cannot read.
    ///
    /// # Errors
    /// The terminal is gone, or was told that nothing more will be typed.
    pub fn line(&mut self) -> io::Result<Option<TypedLine>> {
        let mut buffer = [0_u8; 1024];
        let device = self.device.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let length = match device.read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => length,
            Err(error) if is_for_later(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.typed.extend(buffer.iter().take(length));
        let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') else {
            self.typed.truncate(LINE_MAX);
            return Ok(None);
        };
        let line: Vec<u8> = self.typed.drain(..=end).collect();
        let text = String::from_utf8_lossy(&line).trim().to_string();
        self.confirmed(text)
    }

    /// The line, unless somebody else may have typed it.
    fn confirmed(&mut self, text: String) -> io::Result<Option<TypedLine>> {
        let typed = |text| TypedLine { text, terminal: self.name.clone() };
        if let Some((before, number)) = self.doubted.take() {
            if text == number {
                return Ok(Some(typed(before)));
            }
            self.in_vain = self.in_vain.saturating_add(1);
            if self.in_vain >= IN_VAIN_MAX {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            let said = "holdpoint: that is not the number, and nothing was answered\r\n";
            let nothing = typed(String::new());
            self.say(said);
            return Ok(Some(nothing));
        }
        let Some(other) = self.others.as_ref().and_then(Others::who_ran) else {
            return Ok(Some(typed(text)));
        };
        let number = number()?;
        let said = format!(
            "holdpoint: {other} shares this terminal, ran while this was typed, and may have \
             typed it.\r\nType {number} to say that you did: "
        );
        self.forget_typed();
        self.say(&said);
        self.doubted = Some((text, number));
        Ok(None)
    }

    /// Writes to the terminal, which has a few seconds to take it. Where it is gone there is nobody
    /// to tell.
    pub fn say(&mut self, text: &str) {
        let Some(device) = self.device.as_mut().filter(|_| !self.is_stuck) else { return };
        let mut rest = text.as_bytes();
        let until = Instant::now() + SAYING_MAX;
        while !rest.is_empty() {
            match device.write(rest) {
                Ok(0) => return,
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        self.is_stuck = true;
                        return;
                    }
                    let left = Timespec::try_from(left).ok();
                    let _ = poll(&mut [PollFd::new(device, PollFlags::OUT)], left.as_ref());
                }
                Err(_) => return,
            }
        }
    }

    /// The terminal itself, for its size.
    pub fn device(&self) -> Option<BorrowedFd<'_>> {
        self.device.as_ref().map(AsFd::as_fd)
    }
}

impl Drop for PersonTerminal {
    fn drop(&mut self) {
        self.rest();
    }
}

/// Returns whether something is there only later.
fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Returns whether this process may read from the terminal of its session, which it has `opened` or
/// not. While a question stands there only root opens it once more (TIOCEXCL).
fn is_in_foreground(opened: Option<&File>) -> bool {
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    let streams = [input.as_fd(), error.as_fd(), output.as_fd()];
    if let Some(terminal) =
        opened.map(AsFd::as_fd).or_else(|| streams.into_iter().find(|it| is_of_session(it)))
    {
        return is_in_front_of(terminal);
    }
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    terminal.is_ok_and(is_in_front_of)
}

/// Returns whether the session of this process has lost its terminal, or never had one.
fn is_gone() -> bool {
    let opened = File::open("/dev/tty").map_err(|error| Errno::from_io_error(&error));
    matches!(opened, Err(Some(Errno::NXIO | Errno::IO)))
}

/// Six digits that nobody knows before.
fn number() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{:06}", u64::from_le_bytes(random).checked_rem(1_000_000).unwrap_or_default()))
}

/// This program, for another start of it.
fn own_program() -> io::Result<PathBuf> {
    match cfg!(target_os = "linux") {
        true => Ok("/proc/self/exe".into()),
        false => std::env::current_exe(),
    }
}

/// A descriptor of the device itself that is open for writing, so that it can be locked: the file
/// `/dev/tty` is that of every terminal.
pub fn lockable(name: &str) -> io::Result<OwnedFd> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let is_device = |stream: &BorrowedFd<'_>| {
        let is_for_writing = fcntl_getfl(stream)
            .is_ok_and(|flags| matches!(flags & OFlags::ACCMODE, OFlags::RDWR | OFlags::WRONLY));
        let path = ttyname(stream, Vec::new());
        is_for_writing && path.is_ok_and(|path| path.to_str() == Ok(name) && name != "/dev/tty")
    };
    let streams = [stdin.as_fd(), stderr.as_fd(), stdout.as_fd()];
    match streams.iter().find(|stream| is_device(stream)) {
        Some(stream) => stream.try_clone_to_owned(),
        None => {
            let flags = i32::try_from(OFlags::NOCTTY.bits()).unwrap_or_default();
            let path = real_device(name);
            let opened = File::options().read(true).write(true).custom_flags(flags).open(path);
            opened.map(OwnedFd::from)
        }
    }
}

/// The device behind `/dev/tty`, where the system says so.
fn real_device(name: &str) -> String {
    let own = (name == "/dev/tty").then(OwnSession::of_process).and_then(Result::ok);
    own.and_then(|own| own.terminal_path()).unwrap_or_else(|| name.to_string())
}

/// The device of the session's terminal, where one of the standard streams is it.
fn session_terminal_name() -> String {
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    let streams = [input.as_fd(), error.as_fd(), output.as_fd()].into_iter();
    let name = streams.filter(|it| is_of_session(it)).find_map(|it| ttyname(it, Vec::new()).ok());
    name.map_or_else(|| "/dev/tty".to_string(), |name| name.to_string_lossy().into_owned())
}

/// The device of the terminal on standard input: `/dev/pts/3`; `None` where there is none, or where
/// it is the side of one that a program holds, as `/dev/ptmx`: nobody sits there.
#[must_use]
pub fn terminal_name() -> Option<String> {
    let input = rustix::stdio::stdin();
    if !isatty(input) || is_programs_side(&input) {
        return None;
    }
    let name = ttyname(input, Vec::new());
    Some(name.map_or_else(|_| "a terminal".to_string(), |name| name.to_string_lossy().into_owned()))
}

#[cfg(target_os = "linux")]
fn is_programs_side(terminal: &impl AsFd) -> bool {
    rustix::pty::ptsname(terminal, Vec::new()).is_ok()
}

#[cfg(not(target_os = "linux"))]
const fn is_programs_side(_: &impl AsFd) -> bool {
    false
}

/// The number of the user who runs this process.
#[must_use]
pub fn user_number() -> u32 {
    getuid().as_raw()
}
