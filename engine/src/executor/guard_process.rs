//! The guard: a process between the recorder and the command, which ends the command with
//! everything that it started when the recorder is gone.
//!
//! It is the one to which the system gives the orphans below it, so that no process of the command
//! leaves its tree, however it was started. It leads a session of its own, so that no key of a
//! terminal and no signal to the recorder's group reaches it.
//!
//! It outlasts what the command leaves behind, so that this stays below a guard, by whose name who
//! acts is told from a person; but nobody waits for it then.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

use super::child_calls::{
    Usage, close_inherited, ended_child, separate_from_terminals, wait_with_usage,
};
use super::guard::{GUARD_NAME, GUARD_VERB, GUARD_VERSION};
use super::guard_messages::{Finished, Incoming, Order, Report, Request, send};
use super::guard_signals::outlive_signals;
use super::keeper::serve_as_keeper;
use super::leader::{Limit, Limits};
use super::memory::MemoryWatch;
use super::own_child::{command, execute_found, execute_opened};
use super::process_table::{Among, ProcessTable};
use super::run::TERMINATE_GRACE;
use super::tree::Tree;

/// How long the recorder waits at most for the answer that all were killed.
const KILLING_MAX: Duration = Duration::from_millis(500);
/// How long it is waited for what was killed before it is looked for again.
const KILLING_PAUSE: Duration = Duration::from_millis(2);
/// How often it is tried again to kill what belongs to another user, once nobody records it.
const UNKILLABLE_PAUSE: Duration = Duration::from_secs(1);

/// Does the work of a guard if this process was started as one, and says whether it was.
///
/// A program that names itself as the [`Guard`](super::Guard) of its commands calls this first in
/// its `main`, before it starts a thread, and ends when the answer is not `None`. The same holds
/// for the [`Keeper`](super::Keeper) of a terminal.
///
/// # Errors
///
/// Inside of the answer: nobody speaks to this guard as a recorder of this version does, or the
/// system refused what a guard needs. The command is then not running.
pub fn serve_as_guard() -> Option<io::Result<()>> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(GUARD_VERB)) {
        return serve_as_keeper();
    }
    let is_ours = arguments.next().as_deref() == Some(OsStr::new(GUARD_VERSION));
    Some(if is_ours { serve() } else { Err(not_by_hand()) })
}

fn serve() -> io::Result<()> {
    let channel = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3).map_err(|_| not_by_hand())?;
    let channel = UnixStream::from(channel);
    channel.peer_addr().map_err(|_| not_by_hand())?;
    rustix::thread::set_name(GUARD_NAME)?;
    set_child_subreaper(Some(getpid()))?;
    let bell = outlive_signals()?;
    let table = ProcessTable::find().ok_or(ErrorKind::Unsupported)?;
    let Some((order, incoming)) = receive_order(&channel)? else { return Ok(()) };
    let Some((leader, held)) = start(&channel, order, incoming.descriptors)? else { return Ok(()) };
    let guard = GuardProcess {
        channel,
        bell,
        incoming: Incoming::default(),
        table,
        tree: Tree::of(table, getpid()),
        leader,
        has_ended: false,
        deadline: None,
        memory: None,
        was_told_to_kill: false,
        reaped: None,
        held,
    };
    guard.watch()
}

/// Waits for the first message: `None` if the recorder is gone before.
fn receive_order(channel: &UnixStream) -> io::Result<Option<(Order, Incoming)>> {
    let mut incoming = Incoming::default();
    while incoming.read(channel, RecvFlags::empty())? {
        if let Some(order) = incoming.take()? {
            return Ok(Some((order, incoming)));
        }
    }
    Ok(None)
}

/// Starts the command: its number, and what is to be kept open.
fn start(
    channel: &UnixStream,
    order: Order,
    descriptors: Vec<OwnedFd>,
) -> io::Result<Option<(Pid, Vec<OwnedFd>)>> {
    let mut descriptors = descriptors.into_iter();
    let mut stream = || descriptors.next().map(Stdio::from).ok_or(ErrorKind::InvalidData);
    let (stdout, stderr) = (stream()?, stream()?);
    let stdin = if order.has_stdin { stream()? } else { Stdio::null() };
    let mut command = command(
        order.path.as_ref(),
        &order.name,
        &order.arguments,
        order.directory.as_ref(),
        &order.environment,
    );
    separate_from_terminals(&mut command, order.has_terminal);
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    let planned = match order.plan {
        Some(plan) => {
            let opened = descriptors.next().ok_or(ErrorKind::InvalidData)?;
            execute_opened(&mut command, plan, opened.as_fd(), &order.environment)
        }
        None => execute_found(
            &mut command,
            order.path.as_ref(),
            &order.name,
            &order.arguments,
            &order.environment,
        ),
    };
    let started = planned.and_then(|()| command.spawn());
    // The ends of the pipes that only the command is to hold, and its program.
    drop(command);
    match started {
        Ok(child) => {
            let leader = Pid::from_child(&child);
            send(channel, &Report::Started { pid: leader.as_raw_nonzero().get() })?;
            Ok(Some((leader, descriptors.collect())))
        }
        Err(error) => {
            let (errno, message) = (error.raw_os_error(), error.to_string());
            send(channel, &Report::NotStarted { errno, message })?;
            Ok(None)
        }
    }
}

/// A guard whose command was started.
struct GuardProcess {
    channel: UnixStream,
    bell: UnixStream,
    incoming: Incoming,
    table: ProcessTable,
    tree: Tree,
    leader: Pid,
    /// Whether the recorder was told that the leader has ended.
    has_ended: bool,
    /// When the command is killed although the recorder, which is stopped, cannot ask for it.
    deadline: Option<Instant>,
    /// The memory of the command, while the recorder is stopped.
    memory: Option<MemoryWatch>,
    was_told_to_kill: bool,
    reaped: Option<(ExitStatus, Usage)>,
    /// Open until the command is over, for whoever looks whether this process looks after it.
    held: Vec<OwnedFd>,
}

impl GuardProcess {
    /// Does what the recorder asks, until it has what it wants or is gone.
    fn watch(mut self) -> io::Result<()> {
        loop {
            let request = match self.attend() {
                Ok(Some(request)) => request,
                // Whatever is wrong with the channel, nobody records the command any more.
                Ok(None) | Err(_) => return self.end_alone(),
            };
            let answered = match request {
                Request::Kill => {
                    self.was_told_to_kill = true;
                    self.kill_tree(Some(Instant::now() + KILLING_MAX));
                    self.tell_end().and_then(|()| send(&self.channel, &Report::Killed))
                }
                Request::KeepLimits(Limits { time, memory }) => {
                    self.deadline = time.and_then(|time| Instant::now().checked_add(time));
                    let limited = memory.map(|it| MemoryWatch::new(Some(self.table), Some(it)));
                    self.memory = limited;
                    Ok(())
                }
                Request::LeaveLimits => {
                    (self.deadline, self.memory) = (None, None);
                    Ok(())
                }
                Request::Finish => return self.finish(),
            };
            if answered.is_err() {
                return self.end_alone();
            }
        }
    }

    /// Tells of the command until something is asked; `None` when the recorder is gone.
    fn attend(&mut self) -> io::Result<Option<Request>> {
        loop {
            self.look_at_children()?;
            if let Some(request) = self.incoming.take()? {
                return Ok(Some(request));
            }
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                self.run_out()?;
                continue;
            }
            let among = Among::Descendants(getpid());
            let seen = self.memory.as_mut().and_then(|it| it.look(self.leader, among, now));
            if let Some(seen) = seen {
                self.run_over(seen)?;
                continue;
            }
            let due = [self.deadline, self.memory.as_ref().and_then(MemoryWatch::due)];
            let due = due.into_iter().flatten().min();
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            wait_for(&[&self.channel, &self.bell], left);
            self.silence_bell();
            if !self.incoming.read(&self.channel, RecvFlags::DONTWAIT)? {
                return Ok(None);
            }
        }
    }

    /// The command's time is over while the recorder is stopped. Its processes are stopped too, and
    /// get the time that the recorder would give them to end by themselves.
    fn run_out(&mut self) -> io::Result<()> {
        (self.deadline, self.memory) = (None, None);
        send(&self.channel, &Report::Exceeded(Limit::Time))?;
        self.tree.signal(Signal::TERM);
        self.tree.signal(Signal::CONT);
        let until = Instant::now() + TERMINATE_GRACE;
        while !self.tree.living().is_empty() && Instant::now() < until {
            wait_for(&[&self.bell], Some(until.saturating_duration_since(Instant::now())));
            self.silence_bell();
        }
        self.was_told_to_kill = true;
        self.kill_tree(Some(Instant::now() + KILLING_MAX));
        self.tell_end()
    }

    /// The command holds too much memory while the recorder is stopped: somebody continued a part
    /// of it, or it held too much already.
    fn run_over(&mut self, seen: u64) -> io::Result<()> {
        (self.deadline, self.memory) = (None, None);
        send(&self.channel, &Report::Exceeded(Limit::Memory { seen }))?;
        self.was_told_to_kill = true;
        self.kill_tree(Some(Instant::now() + KILLING_MAX));
        self.tell_end()
    }

    /// Reaps orphans, and tells what became of the leader, which is reaped last: until then its
    /// number and that of its group are nobody else's.
    fn look_at_children(&mut self) -> io::Result<()> {
        loop {
            match ended_child() {
                Ok(Some(child)) if child == self.leader => return self.tell_end(),
                Ok(Some(child)) => drop(wait_with_usage(child)),
                Ok(None) | Err(_) => return Ok(()),
            }
        }
    }

    fn tell_end(&mut self) -> io::Result<()> {
        let is_over =
            self.reaped.is_some() || ended_child().is_ok_and(|it| it == Some(self.leader));
        if !is_over || self.has_ended {
            return Ok(());
        }
        self.has_ended = true;
        send(&self.channel, &Report::Ended)
    }

    /// Kills all that is below this process, until nothing is left or only what it may not kill,
    /// or until the recorder wants an answer.
    fn kill_tree(&mut self, until: Option<Instant>) {
        loop {
            self.signal_children(Signal::STOP);
            self.tree.kill();
            self.signal_children(Signal::KILL);
            if self.reap_all() || self.tree_is_beyond_us() {
                return;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            wait_for(&[&self.bell], Some(KILLING_PAUSE));
            self.silence_bell();
        }
    }

    /// Children of this very process cannot vanish, so their numbers are safe; and a process that
    /// forks and ends without pause becomes one each time.
    fn signal_children(&self, signal: Signal) {
        for child in self.table.own_children().into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(child, signal);
        }
    }

    fn tree_is_beyond_us(&self) -> bool {
        !self.tree.living().is_empty() && self.tree.is_beyond_us()
    }

    /// Reaps whoever has ended. Whether no child is left, and so no descendant: it would have
    /// become a child.
    fn reap_all(&mut self) -> bool {
        loop {
            match ended_child() {
                Ok(Some(child)) => {
                    let reaped = wait_with_usage(child);
                    if child == self.leader {
                        self.reaped = reaped.ok();
                    }
                }
                Ok(None) => return false,
                Err(error) => return error.raw_os_error() == Some(libc::ECHILD),
            }
        }
    }

    /// The command is over. What it left behind goes on.
    fn finish(mut self) -> io::Result<()> {
        let (status, usage) = match self.reaped.take() {
            Some(reaped) => reaped,
            None => wait_with_usage(self.leader)?,
        };
        let lives_on = !self.reap_all();
        let finished = Finished {
            status: status.into_raw(),
            usage,
            own_peak: self.table.own_peak_resident_bytes(),
            survivors: self.tree.survivors(),
            beyond_reach: self.tree.beyond_reach(self.group_to_end()),
            lives_on,
        };
        if send(&self.channel, &Report::Finished(finished)).is_err() {
            return self.end_alone();
        }
        self.outlast();
        Ok(())
    }

    /// The group that was to end with the command; `None`: everything was.
    fn group_to_end(&self) -> Option<Pid> {
        (!self.was_told_to_kill).then_some(self.leader)
    }

    /// Nobody records the command any more: what can be killed of it is.
    fn end_alone(mut self) -> io::Result<()> {
        self.kill_tree(None);
        self.let_go();
        while !self.reap_all() {
            self.kill_tree(None);
            wait_for(&[&self.bell], Some(UNKILLABLE_PAUSE));
            self.silence_bell();
        }
        Ok(())
    }

    /// Stays the one to which the system gives the orphans, until the last of what the command left
    /// behind is gone: somebody with a guard above is no person, whatever terminal it opens.
    fn outlast(mut self) {
        self.let_go();
        while !self.reap_all() {
            wait_for(&[&self.bell], None);
            self.silence_bell();
        }
    }

    /// Lets go of all that somebody could wait for: of the recorder, of what was to be kept open,
    /// of the directory, and of what this process inherited without being asked. What the system
    /// refuses of that is not worth those below.
    fn let_go(&mut self) {
        self.held.clear();
        let _ = self.channel.shutdown(Shutdown::Both);
        if let Ok(nothing) = File::open("/dev/null") {
            let _ = rustix::stdio::dup2_stdin(nothing);
        }
        let _ = rustix::process::chdir("/");
        let _ = close_inherited();
    }

    fn silence_bell(&mut self) {
        let mut rings = [0; 64];
        while self.bell.read(&mut rings).is_ok_and(|count| count == rings.len()) {}
    }
}

/// Waits until one of them is readable, or for so long.
fn wait_for(channels: &[&UnixStream], at_most: Option<Duration>) {
    let mut watched: Vec<PollFd<'_>> =
        channels.iter().map(|channel| PollFd::new(*channel, PollFlags::IN)).collect();
    let at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
    // An error other than an interruption would only make this busy, and nothing can cause one.
    let _: Result<usize, Errno> = poll(&mut watched, at_most.as_ref());
}

fn not_by_hand() -> io::Error {
    let advice = "a guard is started by the recorder of a command, of the same version";
    io::Error::new(ErrorKind::InvalidInput, advice)
}
