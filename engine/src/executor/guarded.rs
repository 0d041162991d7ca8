//! A command that is a child of a guard.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::RecvFlags;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, set_child_subreaper, waitpid,
};

use super::again::again;
use super::child_calls::separate_from_terminals;
use super::command::{CommandSpec, Stdin};
use super::guard::{GUARD_ABOVE, GUARD_NAME, GUARD_VERB, GUARD_VERSION, Guard, OWN_PROGRAM};
use super::guard_messages::{Finished, Incoming, Order, Report, Request, send, send_with};
use super::last_word::LastWord;
use super::leader::{
    Attempt, Leader, LeaderEnd, Limit, Limits, LostGuard, Pipes, Program, STOP_GRACE, Streams,
};
use super::parting::Parting;
use super::process_table::{Among, ProcessTable};
use super::report::{Containment, ExecuteError};
use super::tree::Tree;
use super::usage::Usage;

/// Time that a guard has until the process of the command is there. Nothing runs before.
const READY_MAX: Duration = Duration::from_secs(60);
/// Time that a guard has for an answer before it counts as dead. The answer to a request to kill
/// comes within half a second on a machine that does little else.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Interval at which a guard that has yet to answer is set going, in case somebody stopped it.
const CONTINUE_INTERVAL: Duration = Duration::from_millis(50);
/// Time that those are looked for at most that a dead guard left behind.
const KILLING_MAX: Duration = Duration::from_millis(500);
/// Time that it is waited between two looks.
const KILLING_PAUSE: Duration = Duration::from_millis(2);
/// Time that it is waited between two looks at what was asked to stop.
const STOP_PAUSE: Duration = Duration::from_millis(5);

/// The guards of this process that outlast what their commands left behind. They are nobody's to
/// wait for, and reaped when the next command is started.
static OUTLASTING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
/// The guard that was forked off before anything was to be guarded.
static RESERVE: Mutex<Option<(Pid, UnixStream)>> = Mutex::new(None);

/// A started command and its guard.
///
/// The guard reaps the command only when it is asked for the end of it, or to kill: until then a
/// signal to the group cannot hit a stranger. If this value is dropped before, the guard kills all.
///
/// Once the gate was opened, a guard that is silent says nothing about what became of the command:
/// that is unknown then.
pub(super) struct Guarded {
    /// The guard, or the process above it: a child.
    process: Pid,
    guard: Pid,
    /// The guard, by what cannot become another process.
    guard_handle: Option<OwnedFd>,
    leader: Pid,
    /// Readable once the leader has ended, whether or not the guard says so.
    leader_handle: Option<OwnedFd>,
    channel: UnixStream,
    incoming: Incoming,
    table: ProcessTable,
    /// Processes below the guard.
    tree: Tree,
    /// True if orphans come to this process once the guard is dead, and nobody else is below it.
    adopts: bool,
    attempt: Attempt,
    has_ended: bool,
    /// The limit that the command exceeded, as its guard saw it.
    exceeded: Option<Limit>,
    /// True if the guard was asked to kill, and so may have reaped the leader.
    is_reaped: bool,
    awaits_killing: bool,
    finished: Option<Finished>,
    /// Why the system did not execute the command.
    failure: Option<io::Error>,
    /// The guard is gone or silent without having said how the command ended.
    lost: Option<LostGuard>,
    /// True if the guard waits until the end is on record.
    has_last_word: bool,
}

impl Guarded {
    /// Starts the guard, and by it the command.
    ///
    /// The command runs only once the guard has said that it is ready, and was answered: an error
    /// means that it has not run.
    pub(super) fn start(
        guard: &Guard,
        spec: &CommandSpec,
        program: Program<'_>,
        table: ProcessTable,
    ) -> Result<(Self, Pipes), ExecuteError> {
        let failed = |source| ExecuteError::Guard { program: guard.program().into(), source };
        let (process, channel) = spawn(guard).map_err(failed)?;
        let mut guarded = Self {
            process,
            guard: process,
            guard_handle: None,
            // Until it is known: nothing is signalled before.
            leader: process,
            leader_handle: None,
            channel,
            incoming: Incoming::default(),
            tree: Tree::of(table, process),
            attempt: Attempt::of(spec, program),
            has_ended: false,
            exceeded: None,
            is_reaped: true,
            awaits_killing: false,
            finished: None,
            failure: None,
            lost: None,
            has_last_word: guard.last_word().is_some(),
            adopts: guard.adopts(),
            table,
        };
        let pipes = order(&guarded.channel, guard, spec, program).map_err(failed)?;
        match guarded.first_report().map_err(failed)? {
            Report::Ready { leader, guard } => guarded.meet(leader, guard).map_err(failed)?,
            Report::NotStarted { errno, message } => {
                return Err(guarded.attempt.failed(cause(errno, message)));
            }
            _ => return Err(failed(ErrorKind::InvalidData.into())),
        }
        let limits = Limits { time: spec.timeout, memory: spec.max_memory_bytes };
        // What cannot be sent opens no gate.
        send(&guarded.channel, &Request::Open(limits)).map_err(failed)?;
        guarded.is_reaped = false;
        Ok((guarded, pipes))
    }

    /// Returns what the guard says once the process of the command is there. A guard that was
    /// stopped is set going.
    fn first_report(&mut self) -> io::Result<Report> {
        let until = Instant::now() + READY_MAX;
        loop {
            if let Some(report) = self.incoming.take()? {
                return Ok(report);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(ErrorKind::TimedOut, "it did not start the command"));
            }
            let asked = Instant::now();
            wait_for_news(&self.channel, left.min(CONTINUE_INTERVAL));
            if !self.incoming.read(&self.channel, RecvFlags::DONTWAIT)? {
                let what = "it ended before it had started the command";
                return Err(io::Error::new(ErrorKind::UnexpectedEof, what));
            }
            if asked.elapsed() >= CONTINUE_INTERVAL {
                let _ = kill_process(self.process, Signal::CONT);
            }
        }
    }

    /// Takes note of who is who. Neither process is reaped before it is asked for.
    fn meet(&mut self, leader: i32, guard: i32) -> io::Result<()> {
        let unknown = || io::Error::from(ErrorKind::InvalidData);
        let (leader, guard) = (Pid::from_raw(leader), Pid::from_raw(guard));
        let (leader, guard) = leader.zip(guard).ok_or_else(unknown)?;
        if guard != self.process && !self.table.is_child(guard, self.process) {
            return Err(unknown());
        }
        let handle = |pid| pidfd_open(pid, PidfdFlags::empty()).ok();
        (self.leader_handle, self.guard_handle) = (handle(leader), handle(guard));
        (self.leader, self.guard, self.tree) = (leader, guard, Tree::of(self.table, guard));
        Ok(())
    }

    fn signal_guard(&self, signal: Signal) {
        let _ = match &self.guard_handle {
            Some(handle) => pidfd_send_signal(handle, signal),
            // A child that is not reaped.
            None if self.guard == self.process => kill_process(self.guard, signal),
            None => Ok(()),
        };
    }

    /// Returns whether the guard has yet to say something.
    fn is_listened_to(&self) -> bool {
        self.lost.is_none() && self.finished.is_none() && self.failure.is_none()
    }

    /// Takes in what the guard has told. Does not wait.
    fn listen(&mut self) {
        if !self.is_listened_to() {
            return;
        }
        let is_open = self.incoming.read(&self.channel, RecvFlags::DONTWAIT).unwrap_or(false);
        while let Ok(Some(report)) = self.incoming.take() {
            self.note(report);
        }
        if !is_open && self.is_listened_to() {
            self.lose_guard();
        }
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Ended => self.has_ended = true,
            Report::Exceeded(limit) => self.exceeded = Some(limit),
            Report::Finished(finished) => self.finished = Some(finished),
            Report::Killed => self.awaits_killing = false,
            Report::NotStarted { errno, message } => {
                (self.has_ended, self.is_reaped, self.awaits_killing) = (true, true, false);
                self.failure = Some(cause(errno, message));
            }
            Report::Ready { .. } => {}
        }
    }

    /// Asks, and waits for what shows the answer. A guard that was stopped is set going.
    fn ask(&mut self, request: Request, is_answered: impl Fn(&Self) -> bool) {
        let until = Instant::now() + ANSWER_MAX;
        self.tell(request);
        while self.is_listened_to() && !is_answered(self) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.lose_guard();
                return;
            }
            let asked = Instant::now();
            wait_for_news(&self.channel, left.min(CONTINUE_INTERVAL));
            self.listen();
            // To one that goes on it would say that it may have been stopped.
            if asked.elapsed() >= CONTINUE_INTERVAL {
                self.signal_guard(Signal::CONT);
            }
        }
    }

    fn tell(&mut self, request: Request) {
        // What a dead guard said before stands.
        if self.is_listened_to() && send(&self.channel, &request).is_err() {
            self.listen();
            if self.is_listened_to() {
                self.lose_guard();
            }
        }
    }

    /// The guard, where it waits until the end is on record.
    fn parting(&self, lives_on: bool) -> Option<Parting> {
        let channel = self.channel.try_clone().ok().filter(|_| self.has_last_word)?;
        let guard = self.guard_handle.as_ref().and_then(|handle| handle.try_clone().ok());
        Some(Parting { channel, process: self.process, guard, lives_on })
    }

    /// The guard has nothing more to say.
    fn part_from_guard(&mut self, lives_on: bool) {
        if !lives_on {
            self.signal_guard(Signal::KILL);
            self.reap_killed();
            return;
        }
        // Somebody may have stopped it.
        self.signal_guard(Signal::CONT);
        outlasts(self.process);
    }

    /// Kills the child, which is not reaped, and reaps it.
    fn reap_killed(&self) {
        let _ = kill_process(self.process, Signal::KILL);
        let _ = again(|| Ok(waitpid(Some(self.process), WaitOptions::empty())?));
    }

    /// Returns the number of processes known to live on of those that a dead guard left behind.
    fn lost_beyond_reach(&self) -> u32 {
        let adopter = if self.adopts { getpid() } else { self.process };
        Tree::of(self.table, adopter).beyond_reach(None)
    }

    /// The guard is dead, or does not answer: all that descends from it is killed from here, or by
    /// the process above it.
    fn lose_guard(&mut self) {
        self.lost = Some(LostGuard { outlived: !self.leader_has_ended(), at: Instant::now() });
        self.has_ended = true;
        self.tree.kill();
        self.signal_guard(Signal::KILL);
        if !self.is_reaped {
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
        let until = Instant::now() + KILLING_MAX;
        if !self.adopts {
            // What is above the guard ends by itself once all is killed, unless that takes long.
            let mut lives = true;
            while lives && Instant::now() < until {
                wait_a_little();
                lives = lives_on(&self.process);
            }
            if lives {
                outlasts(self.process);
            }
            return;
        }
        self.reap_killed();
        let own = Tree::of(self.table, getpid());
        while !own.living().is_empty() && Instant::now() < until {
            own.kill_from_above();
            wait_a_little();
        }
    }

    /// Returns whether the leader has ended, as the system says. Without that, nobody knows but the
    /// guard.
    fn leader_has_ended(&self) -> bool {
        let Some(handle) = &self.leader_handle else { return false };
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&at_once)).is_ok_and(|it| it > 0)
    }
}

impl Leader for Guarded {
    fn pid(&self) -> Pid {
        self.leader
    }

    fn containment(&self) -> Containment {
        Containment::Tree
    }

    fn among(&self) -> Among {
        Among::Descendants(self.guard)
    }

    fn group(&self) -> Among {
        Among::GroupBelow { group: self.leader, of: self.guard }
    }

    fn notices(&self) -> Vec<BorrowedFd<'_>> {
        let channel = self.is_listened_to().then(|| self.channel.as_fd());
        channel.into_iter().chain(self.leader_handle.as_ref().map(AsFd::as_fd)).collect()
    }

    fn exceeded(&self) -> Option<Limit> {
        self.exceeded
    }

    fn will_be_killed(&mut self, after: Duration) {
        if !self.has_ended {
            self.tell(Request::KillAfter(after));
        }
    }

    fn signal_group(&self, signal: Signal) {
        if !self.is_reaped && self.lost.is_none() {
            let _ = kill_process_group(self.leader, signal);
        }
    }

    fn signal_all(&self, signal: Signal) {
        self.signal_group(signal);
        self.tree.signal_outside(self.leader, signal);
    }

    fn kill_all(&mut self) {
        (self.awaits_killing, self.is_reaped) = (true, true);
        self.ask(Request::Kill, |guarded| !guarded.awaits_killing);
    }

    fn has_ended(&mut self) -> Result<bool, ExecuteError> {
        self.listen();
        self.has_ended = self.has_ended || self.leader_has_ended();
        Ok(self.has_ended)
    }

    fn suspend(&mut self) {
        if self.lost.is_some() || self.is_reaped {
            return;
        }
        self.tree.signal(Signal::TSTP);
        let until = Instant::now() + STOP_GRACE;
        while !self.tree.living().iter().all(|it| it.is_stopped) && Instant::now() < until {
            wait_for_news(&self.channel, STOP_PAUSE);
        }
        self.tree.stop();
    }

    fn resume(&mut self) {
        self.listen();
        self.tree.signal(Signal::CONT);
    }

    fn group_survives(&mut self) -> Result<bool, ExecuteError> {
        Ok(!self.table.living(self.group()).is_empty())
    }

    fn finish(&mut self) -> Result<LeaderEnd, ExecuteError> {
        self.ask(Request::Finish, |guarded| guarded.finished.is_some());
        if let Some(failure) = self.failure.take() {
            // Nothing is left to be dropped: the guard ends by itself.
            self.finished = Some(Finished::default());
            self.part_from_guard(false);
            return Err(self.attempt.failed(failure));
        }
        let Some(finished) = self.finished.clone() else {
            return Ok(LeaderEnd {
                status: ExitStatus::from_raw(libc::SIGKILL),
                usage: Usage::default(),
                survivors: Vec::new(),
                beyond_reach: self.lost_beyond_reach(),
                starters_peak: None,
                ran: None,
                lost_guard: self.lost,
                parting: None,
            });
        };
        let parting = self.parting(finished.lives_on);
        if parting.is_none() {
            self.part_from_guard(finished.lives_on);
        }
        Ok(LeaderEnd {
            status: ExitStatus::from_raw(finished.status),
            usage: finished.usage,
            survivors: finished.survivors,
            beyond_reach: finished.beyond_reach,
            starters_peak: finished.own_peak,
            ran: Some(finished.ran),
            lost_guard: None,
            parting,
        })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.lost.is_some() || self.finished.is_some() {
            return;
        }
        if !std::thread::panicking() {
            // Why nobody watches the command any more is recorded from here.
            let _ = send(&self.channel, &Request::Part);
        }
        // To the guard this is the end of its recorder. It closes its side when all are killed.
        let _ = self.channel.shutdown(Shutdown::Write);
        let until = Instant::now() + ANSWER_MAX;
        while self.incoming.read(&self.channel, RecvFlags::DONTWAIT).unwrap_or(false) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.tree.kill();
                break;
            }
            self.signal_guard(Signal::CONT);
            wait_for_news(&self.channel, left.min(CONTINUE_INTERVAL));
        }
        self.part_from_guard(!self.tree.living().is_empty());
    }
}

/// Returns what the system answered, as a guard tells it.
fn cause(errno: Option<i32>, message: String) -> io::Error {
    let other = || io::Error::new(ErrorKind::InvalidInput, message);
    errno.map_or_else(other, io::Error::from_raw_os_error)
}

/// A guard that has yet to end is reaped when the next command is started.
pub(super) fn outlasts(process: Pid) {
    OUTLASTING.lock().push(process);
}

/// Reaps a child that has ended, and tells of any other.
fn lives_on(child: &Pid) -> bool {
    matches!(waitpid(Some(*child), WaitOptions::NOHANG), Ok(None))
}

/// Lets the first command have a guard that was forked off, and the other end of its channel.
pub(super) fn wait_in_reserve(guard: Pid, channel: UnixStream) {
    *RESERVE.lock() = Some((guard, channel));
}

/// Starts a guard, with one end of a channel as its standard input.
fn spawn(guard: &Guard) -> io::Result<(Pid, UnixStream)> {
    OUTLASTING.lock().retain(lives_on);
    if guard.adopts() {
        set_child_subreaper(Some(getpid()))?;
        let reserve = RESERVE.lock().take_if(|_| guard.program() == Path::new(OWN_PROGRAM));
        // Somebody may have killed it.
        if let Some(forked) = reserve.filter(|(forked, _)| lives_on(forked)) {
            return Ok(forked);
        }
    }
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(guard.program());
    command
        .arg0(OsStr::from_bytes(GUARD_NAME.to_bytes()))
        .args([GUARD_VERB, GUARD_VERSION])
        .args((!guard.adopts()).then_some(GUARD_ABOVE))
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    separate_from_terminals(&mut command, false);
    Ok((Pid::from_child(&command.spawn()?), ours))
}

/// Tells the guard what to start. The ends of the pipes that the command writes to are the guard's
/// alone afterwards.
fn order(
    channel: &UnixStream,
    guard: &Guard,
    spec: &CommandSpec,
    program: Program<'_>,
) -> io::Result<Pipes> {
    let streams = Streams::make(spec.stdin)?;
    let mut descriptors = vec![streams.stdout.as_fd(), streams.stderr.as_fd()];
    descriptors.extend(streams.stdin.as_ref().map(AsFd::as_fd));
    let planned = program.opened.and_then(|opened| opened.plan(spec));
    let (plan, opened) = planned.unzip();
    descriptors.extend(opened);
    descriptors.extend(guard.held());
    let order = Order {
        path: program.path.into(),
        name: spec.program.clone(),
        arguments: spec.arguments.clone(),
        directory: spec.directory.clone().into_os_string(),
        environment: spec.environment.clone(),
        signals: spec.signals,
        has_stdin: streams.stdin.is_some(),
        has_terminal: spec.stdin == Stdin::Terminal,
        plan,
        last_word: guard.last_word().map(LastWord::entrusted),
    };
    send_with(channel, &order, &descriptors)?;
    Ok(streams.pipes)
}

fn wait_for_news(channel: &UnixStream, at_most: Duration) {
    let mut watched = [PollFd::new(channel, PollFlags::IN)];
    let at_most = Timespec::try_from(at_most).ok();
    // Whoever waits looks at the clock and asks again.
    let _ = poll(&mut watched, at_most.as_ref());
}

fn wait_a_little() {
    std::thread::sleep(KILLING_PAUSE);
}
