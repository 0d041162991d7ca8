//! Schedules for a real program: whoever tests it does something to its processes between any two
//! of their system calls.

use super::listener::{self, Waiting};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use std::collections::BTreeMap;
use std::ffi::c_long;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long nobody of a program may do anything. None is that slow but one that hangs.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How often whoever tests gets to act although nobody makes a call.
const BEAT: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// The calls at which something may be done: what processes do to each other, to their files and
/// pipes, and what waits. The call that hands over these calls is not among them, nor is what a
/// program is executed by.
const STEPS: [c_long; 27] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_openat,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fcntl,
    libc::SYS_ftruncate,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_recvmsg,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_ppoll,
    libc::SYS_waitid,
    libc::SYS_wait4,
    libc::SYS_kill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_setsid,
    libc::SYS_prctl,
    libc::SYS_pipe2,
    libc::SYS_exit_group,
];

const WAITS_AND_MESSAGES: [c_long; 5] =
    [libc::SYS_waitid, libc::SYS_wait4, libc::SYS_ppoll, libc::SYS_recvmsg, libc::SYS_sendto];

/// A call that a process is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub thread: i32,
    /// The process of the thread.
    pub process: i32,
    pub number: c_long,
}

impl Step {
    /// Whether it waits for something, or says something to another process.
    #[must_use]
    pub fn is_wait_or_message(&self) -> bool {
        WAITS_AND_MESSAGES.contains(&self.number)
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The kernel carries it out.
    GoOn,
    /// It fails, and is not carried out.
    Fail(Errno),
    /// The kernel carries it out so much later.
    Later(Duration),
}

/// Runs a program until nothing of it is left, nor of what it started. Each call that is one of
/// `STEPS` is told before the kernel carries it out; without one, `None` is told every few
/// milliseconds.
///
/// # Errors
/// What starting it came to, and [`io::ErrorKind::TimedOut`] where it hangs; all of it is killed
/// then.
pub fn run_stepwise(
    mut command: Command,
    told: &mut dyn FnMut(Option<Step>) -> Answer,
) -> io::Result<Child> {
    let (ours, theirs) = UnixStream::pair()?;
    listener::let_wait(&mut command, &STEPS, theirs);
    // Starting it takes calls that have to be answered.
    let started = std::thread::spawn(move || command.spawn());
    let listener = listener::listener_from(&ours)?;
    let mut steps = Steps { listener, held: Vec::new(), processes: BTreeMap::new() };
    let ended = steps.until_ended(told);
    drop(steps);
    let child = started.join().map_err(|_| io::Error::other("it was not started"))??;
    ended.map(|()| child)
}

struct Steps {
    listener: OwnedFd,
    /// Calls that are answered later.
    held: Vec<(Instant, Waiting)>,
    /// The process of each thread.
    processes: BTreeMap<i32, i32>,
}

impl Steps {
    fn until_ended(&mut self, told: &mut dyn FnMut(Option<Step>) -> Answer) -> io::Result<()> {
        let mut heard = Instant::now();
        loop {
            let mut watched = [PollFd::new(&self.listener, PollFlags::IN)];
            retry_on_intr(|| poll(&mut watched, Some(&BEAT)))?;
            let [listener] = watched;
            let events = listener.revents();
            if events.contains(PollFlags::IN) {
                heard = Instant::now();
                self.hear(told)?;
            } else if events.contains(PollFlags::HUP) {
                return Ok(());
            }
            if !events.contains(PollFlags::IN) {
                let _ = told(None);
            }
            self.let_go()?;
            if heard.elapsed() > SILENCE_MAX {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    fn hear(&mut self, told: &mut dyn FnMut(Option<Step>) -> Answer) -> io::Result<()> {
        let Some(waiting) = listener::next(self.listener.as_fd())? else { return Ok(()) };
        let thread = i32::try_from(waiting.thread).unwrap_or_default();
        let process = *self.processes.entry(thread).or_insert_with(|| process_of(thread));
        match told(Some(Step { thread, process, number: waiting.number })) {
            Answer::GoOn => listener::answer(self.listener.as_fd(), &waiting, None),
            Answer::Fail(error) => listener::answer(self.listener.as_fd(), &waiting, Some(error)),
            Answer::Later(time) => {
                self.held.push((Instant::now() + time, waiting));
                Ok(())
            }
        }
    }

    fn let_go(&mut self) -> io::Result<()> {
        let now = Instant::now();
        for (_, waiting) in self.held.extract_if(.., |(due, _)| *due <= now) {
            listener::answer(self.listener.as_fd(), &waiting, None)?;
        }
        Ok(())
    }
}

/// The process of a thread; the thread itself where that is gone.
fn process_of(thread: i32) -> i32 {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|process| process.trim().parse().ok()).unwrap_or(thread)
}
