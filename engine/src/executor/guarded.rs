//! A command that is a child of a guard.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::RecvFlags;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
    waitpid,
};

use super::child_calls::{Usage, separate_from_terminals};
use super::command::{CommandSpec, Stdin};
use super::guard::{GUARD_NAME, GUARD_VERB, GUARD_VERSION, Guard};
use super::guard_messages::{Finished, Incoming, Order, Report, Request, send, send_with};
use super::leader::{End, Leader, Limit, Limits, Pipes, Program, STOP_GRACE, Streams, start_error};
use super::process_table::{Among, ProcessTable};
use super::report::{Containment, ExecuteError};
use super::tree::Tree;

/// How long a guard has for an answer before it counts as dead. The answer to a request to kill
/// comes within half a second.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// How often a guard that has yet to answer is set going, in case somebody stopped it.
const CONTINUE_INTERVAL: Duration = Duration::from_millis(50);
/// How long those are looked for at most that a dead guard left behind.
const KILLING_MAX: Duration = Duration::from_millis(500);
/// How long it is waited between two looks.
const KILLING_PAUSE: Duration = Duration::from_millis(2);
/// How long it is waited between two looks at what was asked to stop.
const STOP_PAUSE: Duration = Duration::from_millis(5);

/// The guards of this process that outlast what their commands left behind. They are nobody's to
/// wait for, and reaped when the next command is started.
static OUTLASTING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// A started command and its guard.
///
/// The guard reaps the command only when it is asked for the end of it, or to kill: until then a
/// signal to the group cannot hit a stranger. If this value is dropped before, the guard kills all.
pub(super) struct Guarded {
    process: Child,
    guard: Pid,
    leader: Pid,
    channel: UnixStream,
    incoming: Incoming,
    table: ProcessTable,
    /// What is below the guard.
    tree: Tree,
    /// Whether orphans come to this process once the guard is dead, and nobody else is below it.
    adopts: bool,
    has_ended: bool,
    /// The limit for which the guard killed the command while this process was stopped.
    exceeded: Option<Limit>,
    /// Whether the guard was asked to kill, and so may have reaped the leader.
    is_reaped: bool,
    awaits_killing: bool,
    finished: Option<Finished>,
    /// Whether the guard is gone or silent without having said how the command ended.
    is_lost: bool,
}

impl Guarded {
    /// Starts the guard, and by it the command.
    pub(super) fn start(
        guard: &Guard,
        spec: &CommandSpec,
        program: Program<'_>,
        table: ProcessTable,
    ) -> Result<(Self, Pipes), ExecuteError> {
        let failed = |source| ExecuteError::Guard { program: guard.program().into(), source };
        let (process, channel) = spawn(guard).map_err(failed)?;
        let guard_pid = Pid::from_child(&process);
        let mut guarded = Self {
            process,
            guard: guard_pid,
            // Until it is known: nothing is signalled before.
            leader: guard_pid,
            channel,
            incoming: Incoming::default(),
            tree: Tree::of(table, guard_pid),
            has_ended: false,
            exceeded: None,
            is_reaped: true,
            awaits_killing: false,
            finished: None,
            is_lost: false,
            adopts: guard.adopts(),
            table,
        };
        let pipes = order(&guarded.channel, guard, spec, program).map_err(failed)?;
        match guarded.first_report().map_err(failed)? {
            Report::Started { pid } => {
                let unknown = || failed(ErrorKind::InvalidData.into());
                guarded.leader = Pid::from_raw(pid).ok_or_else(unknown)?;
                guarded.is_reaped = false;
                Ok((guarded, pipes))
            }
            Report::NotStarted { errno, message } => {
                let other = || io::Error::new(ErrorKind::InvalidInput, message);
                let error = errno.map_or_else(other, io::Error::from_raw_os_error);
                Err(start_error(spec, program, error))
            }
            _ => Err(failed(ErrorKind::InvalidData.into())),
        }
    }

    /// Whether the command started: the guard answers as soon as the system does.
    fn first_report(&mut self) -> io::Result<Report> {
        loop {
            if let Some(report) = self.incoming.take()? {
                return Ok(report);
            }
            if !self.incoming.read(&self.channel, RecvFlags::empty())? {
                let what = "it ended before it had started the command";
                return Err(io::Error::new(ErrorKind::UnexpectedEof, what));
            }
        }
    }

    /// Takes in what the guard has told. Does not wait.
    fn listen(&mut self) {
        if self.is_lost || self.finished.is_some() {
            return;
        }
        let is_open = self.incoming.read(&self.channel, RecvFlags::DONTWAIT).unwrap_or(false);
        while let Ok(Some(report)) = self.incoming.take() {
            self.note(report);
        }
        if !is_open && self.finished.is_none() {
            self.lose_guard();
        }
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Ended => self.has_ended = true,
            Report::Exceeded(limit) => self.exceeded = Some(limit),
            Report::Finished(finished) => self.finished = Some(finished),
            Report::Killed => self.awaits_killing = false,
            Report::Started { .. } | Report::NotStarted { .. } => {}
        }
    }

    /// Asks, and waits for what shows the answer. A guard that was stopped is set going.
    fn ask(&mut self, request: Request, is_answered: impl Fn(&Self) -> bool) {
        let until = Instant::now() + ANSWER_MAX;
        if !self.is_lost && send(&self.channel, &request).is_err() {
            self.lose_guard();
        }
        while !self.is_lost && !is_answered(self) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.lose_guard();
                return;
            }
            let _ = kill_process(self.guard, Signal::CONT);
            wait_for_news(&self.channel, left.min(CONTINUE_INTERVAL));
            self.listen();
        }
    }

    /// The guard has said its last word.
    fn part_from_guard(&mut self, lives_on: bool) {
        if lives_on {
            // Somebody may have stopped it.
            let _ = kill_process(self.guard, Signal::CONT);
            OUTLASTING.lock().push(self.guard);
        } else {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }

    /// How many are known to live on of what a dead guard left behind.
    fn lost_beyond_reach(&self) -> u32 {
        let group = (!self.adopts).then_some(self.leader);
        Tree::of(self.table, getpid()).beyond_reach(group)
    }

    /// The guard is dead, or does not answer: what can be found is killed from here.
    fn lose_guard(&mut self) {
        (self.is_lost, self.has_ended) = (true, true);
        self.tree.kill();
        let _ = self.process.kill();
        let _ = self.process.wait();
        if !self.is_reaped {
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
        let own = Tree::of(self.table, getpid());
        let until = Instant::now() + KILLING_MAX;
        while self.adopts && !own.living().is_empty() && Instant::now() < until {
            own.kill();
            wait_for_news(&self.channel, KILLING_PAUSE);
        }
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

    fn notice(&self) -> Option<BorrowedFd<'_>> {
        (!self.is_lost).then(|| self.channel.as_fd())
    }

    fn signal_group(&self, signal: Signal) {
        if !self.is_reaped && !self.is_lost {
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
        Ok(self.has_ended)
    }

    fn suspend(&mut self, limits: Limits) {
        if self.is_lost || self.is_reaped {
            return;
        }
        self.tree.signal(Signal::TSTP);
        let until = Instant::now() + STOP_GRACE;
        while !self.tree.living().iter().all(|it| it.is_stopped) && Instant::now() < until {
            wait_for_news(&self.channel, STOP_PAUSE);
        }
        self.tree.stop();
        if send(&self.channel, &Request::KeepLimits(limits)).is_err() {
            self.lose_guard();
        }
    }

    fn resume(&mut self) -> Option<Limit> {
        if !self.is_lost && send(&self.channel, &Request::LeaveLimits).is_err() {
            self.lose_guard();
        }
        self.listen();
        self.tree.signal(Signal::CONT);
        self.exceeded
    }

    fn group_survives(&mut self) -> Result<bool, ExecuteError> {
        Ok(!self.table.living_members(self.leader).is_empty())
    }

    fn finish(&mut self) -> Result<End, ExecuteError> {
        self.ask(Request::Finish, |guarded| guarded.finished.is_some());
        let Some(finished) = self.finished.clone() else {
            return Ok(End {
                status: ExitStatus::from_raw(libc::SIGKILL),
                usage: Usage::default(),
                survivors: Vec::new(),
                beyond_reach: self.lost_beyond_reach(),
                starters_peak: None,
                lost_guard: true,
            });
        };
        self.part_from_guard(finished.lives_on);
        Ok(End {
            status: ExitStatus::from_raw(finished.status),
            usage: finished.usage,
            survivors: finished.survivors,
            beyond_reach: finished.beyond_reach,
            starters_peak: finished.own_peak,
            lost_guard: false,
        })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.is_lost || self.finished.is_some() {
            return;
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
            let _ = kill_process(self.guard, Signal::CONT);
            wait_for_news(&self.channel, left.min(CONTINUE_INTERVAL));
        }
        self.part_from_guard(!self.tree.living().is_empty());
    }
}

/// Reaps the guards that have ended since.
fn reap_outlasting() {
    let lives_on = |guard: &Pid| matches!(waitpid(Some(*guard), WaitOptions::NOHANG), Ok(None));
    OUTLASTING.lock().retain(lives_on);
}

/// Starts a guard, with one end of a channel as its standard input.
fn spawn(guard: &Guard) -> io::Result<(Child, UnixStream)> {
    reap_outlasting();
    if guard.adopts() {
        set_child_subreaper(Some(getpid()))?;
    }
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(guard.program());
    command
        .arg0(OsStr::from_bytes(GUARD_NAME.to_bytes()))
        .args([GUARD_VERB, GUARD_VERSION])
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    separate_from_terminals(&mut command, false);
    Ok((command.spawn()?, ours))
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
        has_stdin: streams.stdin.is_some(),
        has_terminal: spec.stdin == Stdin::Terminal,
        plan,
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
