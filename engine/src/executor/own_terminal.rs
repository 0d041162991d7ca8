//! A pseudo-terminal for one command, and the terminal of this process behind it: keys go in, and
//! what appears comes out as one stream.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd, ioctl_fionbio};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Winsize, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr, tcsetwinsize,
};

use super::command::CommandSpec;
use super::descriptors::is_terminal;
use super::keeper::{Keeper, KeeperRequest};
use super::report::TerminalSize;

/// Amount that is taken of what was typed at once, and kept while the command does not read.
const TYPED_BYTES: usize = 1024;
/// The size of a terminal where there is no other one to take it from.
const USUAL_SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
/// Interval at which the end of input is told to a command at whose terminal nobody can type, and
/// how often the foreground is looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes of Ctrl-C and Ctrl-\.
const STOPPING_KEYS: [u8; 2] = [0x03, 0x1c];

/// The pseudo-terminal of a command.
#[derive(Debug)]
pub(super) struct OwnTerminal {
    /// The side of this process.
    ours: OwnedFd,
    /// The side of the command, open here as long as it runs: until then there is no end of output.
    theirs: Option<OwnedFd>,
    keyboard: Option<Keyboard>,
    /// The program that keeps the settings of the terminal where somebody may type, in the
    /// foreground.
    keeper_program: Option<PathBuf>,
    typed: Vec<u8>,
    has_stopping_key: bool,
    /// Size with which it was made.
    first_size: Winsize,
    next_look: Instant,
}

/// The terminal on standard input, at which somebody may type for the command.
#[derive(Debug)]
struct Keyboard {
    device: OwnedFd,
    /// Puts the settings back when this is dropped.
    _keeper: Keeper,
}

impl OwnTerminal {
    /// Makes one, as wide and high as the terminal of this process, with the same settings.
    pub(super) fn make() -> io::Result<Self> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
        let mut options = File::options();
        options.read(true).write(true).custom_flags(libc::O_NOCTTY);
        let theirs = OwnedFd::from(options.open(path)?);
        ioctl_fionbio(&ours, true)?;
        if let Ok(settings) = tcgetattr(io::stdin()) {
            tcsetattr(&theirs, OptionalActions::Now, &settings)?;
        }
        let first_size = own_size();
        tcsetwinsize(&ours, first_size)?;
        Ok(Self {
            ours,
            theirs: Some(theirs),
            keyboard: None,
            keeper_program: None,
            typed: Vec::new(),
            has_stopping_key: false,
            first_size,
            next_look: Instant::now(),
        })
    }

    /// The side of the command.
    pub(super) fn theirs(&self) -> io::Result<OwnedFd> {
        let theirs = self.theirs.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        Ok(fcntl_dupfd_cloexec(theirs, 3)?)
    }

    /// Returns where what appears comes out.
    pub(super) fn output(&self) -> io::Result<OwnedFd> {
        Ok(fcntl_dupfd_cloexec(&self.ours, 3)?)
    }

    /// Lets every key that is typed at the terminal of this process reach the command, as long as
    /// this process is in its foreground: in the background it goes on without, and the command
    /// waits where it reads.
    pub(super) fn take_keyboard(&mut self, spec: &CommandSpec) -> io::Result<()> {
        let stdin = io::stdin();
        let guard = spec.guard.as_ref().filter(|_| is_terminal(stdin.as_fd()));
        self.keeper_program = guard.map(|guard| guard.program().to_path_buf());
        self.come_to_front()?;
        self.follow_size();
        Ok(())
    }

    fn come_to_front(&mut self) -> io::Result<()> {
        let Some(program) = self.keeper_program.as_ref().filter(|_| is_in_foreground()) else {
            return Ok(());
        };
        let stdin = io::stdin();
        let mut keeper = Keeper::start(program, stdin.as_fd())?;
        keeper.ask(KeeperRequest::Raw).map_err(io::Error::other)?;
        let device = fcntl_dupfd_cloexec(&stdin, 3)?;
        self.keyboard = Some(Keyboard { device, _keeper: keeper });
        Ok(())
    }

    /// Gives the terminal of this process back as it was.
    pub(super) fn leave_keyboard(&mut self) {
        (self.keyboard, self.keeper_program) = (None, None);
    }

    /// Makes it as wide and high as the terminal of this process.
    pub(super) fn follow_size(&self) {
        // The command looks at its terminal itself.
        let _ = tcsetwinsize(&self.ours, own_size());
    }

    /// Hands on what was typed. Does not wait.
    pub(super) fn advance(&mut self) {
        if self.typed.is_empty() {
            self.read_keys();
        }
        match rustix::io::write(&self.ours, &self.typed) {
            Ok(taken) => drop(self.typed.drain(..taken.min(self.typed.len()))),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The terminal is gone, and with it whoever would read this.
            Err(_) => self.typed.clear(),
        }
        if self.due().is_some_and(|due| Instant::now() >= due) {
            self.next_look = Instant::now() + LOOK_INTERVAL;
            match self.keeper_program {
                // Where the terminal is another question's, the next look may find it free.
                Some(_) => drop(self.come_to_front()),
                None => self.type_end(),
            }
        }
    }

    fn read_keys(&mut self) {
        let Some(keyboard) = &self.keyboard else { return };
        if !is_ready(keyboard.device.as_fd(), PollFlags::IN) {
            return;
        }
        let mut keys = [0; TYPED_BYTES];
        match rustix::io::read(&keyboard.device, &mut keys) {
            // It was hung up.
            Ok(0) | Err(Errno::IO) => (self.keyboard, self.keeper_program) = (None, None),
            Ok(count) => {
                let keys = keys.get(..count).unwrap_or_default();
                self.has_stopping_key |= keys.iter().any(|key| STOPPING_KEYS.contains(key));
                self.typed.extend(keys);
            }
            Err(_) => {}
        }
    }

    /// Types the end of input for whoever reads lines where nobody can type.
    fn type_end(&mut self) {
        let Some(theirs) = &self.theirs else { return };
        let Ok(settings) = tcgetattr(&self.ours) else { return };
        let takes_lines = settings.local_modes.contains(LocalModes::ICANON);
        if takes_lines && !is_ready(theirs.as_fd(), PollFlags::IN) {
            self.typed.push(settings.special_codes[SpecialCodeIndex::VEOF]);
        }
    }

    /// Returns what to wait for.
    pub(super) fn interest(&self) -> Option<PollFd<'_>> {
        match (&self.keyboard, self.typed.is_empty()) {
            (_, false) => Some(PollFd::new(&self.ours, PollFlags::OUT)),
            (Some(keyboard), true) => Some(PollFd::new(&keyboard.device, PollFlags::IN)),
            (None, true) => None,
        }
    }

    /// Returns when the end of input is told again, or the foreground looked for.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.keyboard.is_none() && self.theirs.is_some()).then_some(self.next_look)
    }

    /// The command is over: what it wrote has an end, and nobody types for it.
    pub(super) fn end(&mut self) {
        (self.theirs, self.keyboard) = (None, None);
        self.typed.clear();
    }

    /// Its size as the command found it.
    pub(super) const fn first_size(&self) -> TerminalSize {
        TerminalSize { columns: self.first_size.ws_col, rows: self.first_size.ws_row }
    }

    /// Returns whether a key was typed that asks a command to end.
    pub(super) fn has_stopping_key(&self) -> bool {
        self.has_stopping_key
    }
}

/// Returns whether this process may read from the terminal on its standard input.
fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin())
        .is_ok_and(|group| group.as_raw_nonzero().get() == nix::unistd::getpgrp().as_raw())
}

/// The size of the terminal of this process.
fn own_size() -> Winsize {
    let size = |terminal: BorrowedFd<'_>| {
        tcgetwinsize(terminal).ok().filter(|size| size.ws_row > 0 && size.ws_col > 0)
    };
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let mut own = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()].into_iter();
    own.find_map(size).unwrap_or(USUAL_SIZE)
}

fn is_ready(descriptor: BorrowedFd<'_>, events: PollFlags) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(descriptor, events)], Some(&at_once)).is_ok_and(|it| it > 0)
}
