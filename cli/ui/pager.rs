//! The program that shows a long text page by page on a terminal, as git starts it.

use crate::ui::{complain, streams};
use rustix::fs::OFlags;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::env::var_os;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The variables that name the pager, the first one that is set.
const VARIABLES: [&str; 2] = ["HOLDPOINT_PAGER", "PAGER"];

/// The pager that is meant where none is named.
const USUAL: &str = "less";

/// What the usual pagers are told where the environment says nothing: end where all fits on one
/// screen, leave it there, and show colours.
const TOLD: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// More than a pipe holds: whoever took so much of a text is reading it.
const KEPT_BYTES_MAX: usize = 2 << 20;

/// What a shell ends with where a program cannot be executed or found.
const NOT_STARTED: [i32; 2] = [126, 127];

/// No pager is started for anything that this process writes.
static IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Starts no pager from here on.
pub(crate) fn forbid() {
    IS_FORBIDDEN.store(true, Ordering::Relaxed);
}

/// Whether a long text is shown through a pager: only to somebody who sits at a terminal and can
/// press its keys.
pub(crate) fn is_wanted() -> bool {
    !IS_FORBIDDEN.load(Ordering::Relaxed)
        && io::stdin().is_terminal()
        && io::stdout().is_terminal()
        && PagerChoice::find() != PagerChoice::Nothing
}

/// Which pager is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PagerChoice {
    /// None.
    Nothing,
    /// The usual one.
    Usual,
    /// A command of the user's, for the shell.
    Command(OsString),
}

impl PagerChoice {
    fn find() -> Self {
        VARIABLES.iter().find_map(var_os).map_or(Self::Usual, Self::of)
    }

    fn of(named: OsString) -> Self {
        match named.to_str().map(str::trim) {
            Some("" | "cat") => Self::Nothing,
            _ => Self::Command(named),
        }
    }

    /// How it is started. Nothing but the user's own words is given to the shell.
    fn command(self) -> Option<Command> {
        match self {
            Self::Nothing => None,
            Self::Usual => Some(Command::new(USUAL)),
            Self::Command(words) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(words);
                Some(command)
            }
        }
    }
}

/// A pager that was started, or the terminal itself where it could not be.
pub(crate) struct Pager {
    child: Child,
    pipe: Option<ChildStdin>,
    /// All that it was given, while nobody knows whether it reads.
    kept: Option<Vec<u8>>,
    /// It did not start: what it was given went to the terminal, and so does the rest.
    is_direct: bool,
    is_told_all: Arc<AtomicBool>,
}

impl Pager {
    /// Starts it. `None`: there is none.
    pub(crate) fn start() -> Option<Self> {
        let mut command = PagerChoice::find().command()?;
        let told = TOLD.iter().filter(|(name, _)| var_os(name).is_none());
        command.envs(told.copied()).stdin(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let pipe = child.stdin.take();
        let is_told_all = Arc::new(AtomicBool::new(false));
        outlast_interrupts(&child, Arc::clone(&is_told_all));
        Some(Self { child, pipe, kept: Some(Vec::new()), is_direct: false, is_told_all })
    }

    /// Waits until it was quit.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.is_told_all.store(true, Ordering::Relaxed);
        self.gives_up().map(drop)
    }

    /// Whether it never started. Then the terminal is shown what it was given. How it ended is told
    /// where that is not well.
    fn gives_up(&mut self) -> io::Result<bool> {
        let Some(pipe) = self.pipe.take() else { return Ok(self.is_direct) };
        let other_end = other_end_of(&pipe);
        drop(pipe);
        let status = self.child.wait()?;
        let is_unstarted = status.code().is_some_and(|code| NOT_STARTED.contains(&code));
        let kept = self.kept.take().filter(|_| is_unstarted);
        match kept.filter(|kept| other_end.is_some_and(|end| holds(end, kept))) {
            Some(kept) => {
                self.is_direct = true;
                streams::stdout().write_all(&kept)?;
            }
            None if !status.success() => complain(&format!(
                "the pager ended with {}, and may not have shown all: `--no-pager` does without it",
                match (status.code(), status.signal()) {
                    (Some(code), _) => format!("exit status {code}"),
                    (None, signal) => format!("signal {}", signal.unwrap_or_default()),
                }
            )),
            None => {}
        }
        Ok(self.is_direct)
    }

    fn keep(&mut self, bytes: &[u8]) {
        let kept = self.kept.take();
        self.kept =
            kept.filter(|kept| kept.len() + bytes.len() <= KEPT_BYTES_MAX).map(|mut kept| {
                kept.extend_from_slice(bytes);
                kept
            });
    }
}

/// The end of a pipe that the pager reads from; `None` where this system has no name for it.
fn other_end_of(pipe: &ChildStdin) -> Option<File> {
    let name = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(name).ok()
}

/// Whether all that was written to a pipe is in it still: nobody read any of it.
fn holds(mut end: File, written: &[u8]) -> bool {
    let mut left = Vec::new();
    end.read_to_end(&mut left).is_ok_and(|_| left == written)
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(pipe) = self.pipe.as_mut() else {
            return match self.is_direct {
                true => streams::stdout().write(bytes),
                false => Err(ErrorKind::BrokenPipe.into()),
            };
        };
        match pipe.write(bytes) {
            Ok(written) => {
                self.keep(bytes.get(..written).unwrap_or_default());
                Ok(written)
            }
            // Quit, or never started.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => match self.gives_up()? {
                true => streams::stdout().write(bytes),
                false => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An error on the way is told when the terminal is free again.
impl Drop for Pager {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

/// Lets the pager have an interrupt from the keyboard for itself. Where it is quit before all was
/// written, the interrupt ends this program, as it would without one.
fn outlast_interrupts(pager: &Child, is_told_all: Arc<AtomicBool>) {
    let pid = i32::try_from(pager.id()).ok().and_then(Pid::from_raw);
    let (Some(pid), Ok(mut signals)) = (pid, Signals::new([SIGINT])) else { return };
    // Its status is left to whoever waits for it.
    let wait = move |how| waitid(WaitId::Pid(pid), how | WaitIdOptions::EXITED);
    let kept = WaitIdOptions::NOWAIT;
    thread::spawn(move || {
        for signal in signals.forever() {
            let is_over = wait(kept | WaitIdOptions::NOHANG).is_err();
            let _ = wait(kept);
            if is_over || !is_told_all.load(Ordering::Relaxed) {
                let _ = emulate_default_handler(signal);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_words_and_cat_are_no_pager_and_all_others_are_a_command() {
        for nothing in ["", " ", "cat"] {
            assert_eq!(PagerChoice::of(nothing.into()), PagerChoice::Nothing, "{nothing:?}");
        }
        assert_eq!(PagerChoice::of("less -S".into()), PagerChoice::Command("less -S".into()));
    }
}
