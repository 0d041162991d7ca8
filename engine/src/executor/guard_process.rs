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
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use holdpoint_log_format::GuardKilledFor;
use rustix::net::RecvFlags;
use rustix::process::{Pid, Signal, getpid, kill_process_group, set_child_subreaper};

use super::child_calls::{ended_child, wait_with_usage};
use super::gate::{Gate, Passage, was_ended_by, was_killed};
use super::guard::{GUARD_ABOVE, GUARD_NAME, GUARD_VERB, GUARD_VERSION};
use super::guard_above::{hold_nothing, serve_above};
use super::guard_messages::{Finished, Incoming, Order, Report, Request, send};
use super::guard_signals::{outlive_signals, silence, wait_for};
use super::keeper::serve_as_keeper;
use super::last_word::{Entrusted, LastWord, keep_memory_private};
use super::leader::{Limit, Limits};
use super::memory::MemoryWatch;
use super::pauses::{Pauses, Ran};
use super::process_table::{Among, ProcessTable};
use super::run::TERMINATE_GRACE;
use super::tree::Tree;
use super::usage::Usage;

/// Time that the recorder waits at most for the answer that all were killed.
const KILLING_MAX: Duration = Duration::from_millis(500);
/// Time by which a guard ends a command that exceeds its time later than its recorder does.
const LATENESS: Duration = Duration::from_millis(250);
/// Time that it is waited for what was killed before it is looked for again.
const KILLING_PAUSE: Duration = Duration::from_millis(2);
/// Interval at which it is tried again to kill what belongs to another user, once nobody records
/// it.
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
    let is_above = arguments.next().as_deref() == Some(OsStr::new(GUARD_ABOVE));
    Some(match (is_ours, is_above) {
        (true, false) => serve(),
        (true, true) => serve_above(),
        (false, _) => Err(not_by_hand()),
    })
}

pub(super) fn serve() -> io::Result<()> {
    let channel = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3).map_err(|_| not_by_hand())?;
    let channel = UnixStream::from(channel);
    channel.peer_addr().map_err(|_| not_by_hand())?;
    rustix::thread::set_name(GUARD_NAME)?;
    keep_memory_private();
    set_child_subreaper(Some(getpid()))?;
    let bell = outlive_signals()?;
    let pauses = Pauses::heed()?;
    let table = ProcessTable::find().ok_or(ErrorKind::Unsupported)?;
    let Some((mut order, mut incoming)) = receive_order(&channel)? else { return Ok(()) };
    let descriptors = std::mem::take(&mut incoming.descriptors);
    let entrusted = order.last_word.take();
    let (mut gate, held) = match Gate::begin(order, descriptors) {
        Ok(begun) => begun,
        Err(error) => return send(&channel, &not_started(&error)),
    };
    let (last_word, held) = take_last_word(entrusted, held)?;
    let opened = open_gate(&channel, &mut incoming, &mut gate);
    let Ok(Some((leader, limits))) = opened else {
        gate.close();
        // Somebody may have stopped the process of the command.
        Tree::of(table, getpid()).kill_from_above();
        return opened.map(drop);
    };
    let opened = Instant::now();
    let deadline = limits.time.and_then(|time| opened.checked_add(time)?.checked_add(LATENESS));
    let guard = GuardProcess {
        channel,
        bell,
        incoming,
        table,
        tree: Tree::of(table, getpid()),
        leader,
        passage: gate.passage(),
        gate: Some(gate),
        failure: None,
        opened,
        pauses,
        was_continued: false,
        ran: None,
        has_ended: false,
        deadline,
        kill_at: None,
        memory: limits.memory.map(|it| MemoryWatch::new(Some(table), Some(it))),
        was_told_to_kill: false,
        killed_for: GuardKilledFor::Nothing,
        reaped: None,
        last_word,
        held,
    };
    guard.watch()
}

/// Returns what a guard may write with, of what it is given to keep open.
fn take_last_word(
    entrusted: Option<Entrusted>,
    held: Vec<OwnedFd>,
) -> io::Result<(Option<LastWord>, Vec<OwnedFd>)> {
    let Some(entrusted) = entrusted else { return Ok((None, held)) };
    let mut held = held.into_iter();
    let both = held.next().zip(held.next()).ok_or(ErrorKind::InvalidData)?;
    Ok((Some(LastWord::received(&entrusted, both.into())), held.collect()))
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

/// Tells the recorder that the command is ready, and opens the gate once it says so: the number of
/// the command and its limits. `None` if it is not to run, or cannot.
fn open_gate(
    channel: &UnixStream,
    incoming: &mut Incoming,
    gate: &mut Gate,
) -> io::Result<Option<(Pid, Limits)>> {
    let mut arrived = None;
    loop {
        if arrived.is_none() {
            // Looked at first: a process that failed at the gate has said all that it will.
            let result = gate.result();
            arrived = gate.arrived()?;
            match (arrived, result) {
                (Some(leader), _) => {
                    let [leader, guard] = [leader, getpid()].map(|it| it.as_raw_nonzero().get());
                    send(channel, &Report::Ready { leader, guard })?;
                }
                (None, Some(result)) => {
                    let error = result.err().unwrap_or_else(|| ErrorKind::UnexpectedEof.into());
                    send(channel, &not_started(&error))?;
                    return Ok(None);
                }
                (None, None) => {}
            }
        }
        match (incoming.take()?, arrived) {
            (Some(Request::Open(limits)), Some(leader)) => {
                gate.open()?;
                return Ok(Some((leader, limits)));
            }
            (Some(_), _) => return Ok(None),
            (None, _) => {}
        }
        let arrival = arrived.is_none().then(|| [gate.arrival(), gate.news()]);
        wait_for([channel.as_fd()].into_iter().chain(arrival.into_iter().flatten()), None);
        if !incoming.read(channel, RecvFlags::DONTWAIT)? {
            return Ok(None);
        }
    }
}

fn not_started(error: &io::Error) -> Report {
    Report::NotStarted { errno: error.raw_os_error(), message: error.to_string() }
}

/// A guard whose command was let through its gate.
struct GuardProcess {
    channel: UnixStream,
    bell: UnixStream,
    incoming: Incoming,
    table: ProcessTable,
    tree: Tree,
    leader: Pid,
    /// Until it is known that the leader passed its gate.
    passage: Option<Passage>,
    /// Until it is known whether the system executes the command.
    gate: Option<Gate>,
    /// Why it does not.
    failure: Option<io::Error>,
    opened: Instant,
    pauses: Pauses,
    /// True if this process was continued between its last look at the leader and the one before.
    was_continued: bool,
    /// Time for which the leader ran, as far as this process saw it.
    ran: Option<Ran>,
    /// True if the recorder was told that the leader has ended.
    has_ended: bool,
    /// Time at which the command is asked to end, and killed a little later, although the recorder
    /// has not asked for it: it may be stopped.
    deadline: Option<Instant>,
    /// Time at which the command is killed although the recorder has not asked for it.
    kill_at: Option<Instant>,
    /// The memory of the command, where that has a limit.
    memory: Option<MemoryWatch>,
    was_told_to_kill: bool,
    /// Why the command was ended, as far as this process ended it before it had ended.
    killed_for: GuardKilledFor,
    reaped: Option<(ExitStatus, Usage)>,
    /// Means to write the end where nobody else records it.
    last_word: Option<LastWord>,
    /// Open until the command is over, for whoever looks whether this process looks after it.
    held: Vec<OwnedFd>,
}

/// Why a guard has nothing more to attend to.
enum Attended {
    Asked(Request),
    RecorderGone,
    NotStarted,
}

impl GuardProcess {
    /// Does what the recorder asks, until it has what it wants or is gone.
    fn watch(mut self) -> io::Result<()> {
        loop {
            let request = match self.attend() {
                Ok(Attended::Asked(request)) => request,
                Ok(Attended::NotStarted) => return Ok(()),
                // Whatever is wrong with the channel, nobody records the command any more.
                Ok(Attended::RecorderGone) | Err(_) => return self.end_alone(),
            };
            let answered = match request {
                Request::Kill => {
                    self.kills_for(GuardKilledFor::Asked);
                    self.kill_all().and_then(|()| send(&self.channel, &Report::Killed))
                }
                Request::KillAfter(time) => {
                    self.kills_for(GuardKilledFor::Asked);
                    let kill_at = Instant::now().checked_add(time);
                    self.kill_at = kill_at.and_then(|kill_at| kill_at.checked_add(LATENESS));
                    (self.deadline, self.memory) = (None, None);
                    Ok(())
                }
                Request::Finish => return self.finish(),
                Request::Open(_) => Ok(()),
                // Its recorder lives, and records what it did not ask about.
                Request::Part => {
                    self.last_word = None;
                    Ok(())
                }
            };
            if answered.is_err() {
                return self.end_alone();
            }
        }
    }

    /// Tells of the command until something is asked.
    fn attend(&mut self) -> io::Result<Attended> {
        loop {
            self.heed_start();
            self.look()?;
            if let Some(error) = &self.failure {
                // A recorder that is gone has nothing to be told.
                let _ = send(&self.channel, &not_started(error));
                return Ok(Attended::NotStarted);
            }
            if let Some(request) = self.incoming.take()? {
                return Ok(Attended::Asked(request));
            }
            self.keep_limits()?;
            let memory = self.memory.as_ref().filter(|_| !self.has_ended);
            let memory = memory.and_then(MemoryWatch::due);
            let due = [self.deadline, self.kill_at, memory].into_iter().flatten().min();
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            let start = self.gate.as_ref().map(Gate::news);
            wait_for([self.channel.as_fd(), self.bell.as_fd()].into_iter().chain(start), left);
            silence(&self.bell);
            if !self.incoming.read(&self.channel, RecvFlags::DONTWAIT)? {
                return Ok(Attended::RecorderGone);
            }
        }
    }

    /// Ends the command that exceeds a limit, a little after the recorder would: it may be stopped.
    fn keep_limits(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.run_out(now)?;
        }
        let among = Among::Descendants(getpid());
        let memory = self.memory.as_mut().filter(|_| !self.has_ended);
        if let Some(seen) = memory.and_then(|it| it.look(self.leader, among, now)) {
            self.kills_for(GuardKilledFor::Memory);
            send(&self.channel, &Report::Exceeded(Limit::Memory { seen }))?;
            self.kill_at = Some(now);
        }
        if self.kill_at.is_some_and(|kill_at| now >= kill_at) {
            (self.deadline, self.kill_at, self.memory) = (None, None, None);
            self.kill_all()?;
            let is_left = !self.tree.living().is_empty() && !self.tree.is_beyond_us();
            self.kill_at = is_left.then(|| Instant::now() + KILLING_PAUSE);
        }
        Ok(())
    }

    /// The time of the command is over. One that has ended by itself leaves nobody in its group.
    fn run_out(&mut self, now: Instant) -> io::Result<()> {
        (self.deadline, self.memory) = (None, None);
        self.look()?;
        if !self.has_ended {
            self.tree.signal(Signal::TERM);
            if self.pauses.may_be() {
                self.look()?;
            }
        }
        if self.has_ended && !was_ended_by(self.leader, Signal::TERM) {
            if self.reaped.is_none() {
                let _ = kill_process_group(self.leader, Signal::KILL);
            }
            return Ok(());
        }
        self.kill_at = Some(now + TERMINATE_GRACE);
        self.killed_for = GuardKilledFor::Time;
        send(&self.channel, &Report::Exceeded(Limit::Time))?;
        // They may be stopped with the recorder.
        self.tree.signal(Signal::CONT);
        Ok(())
    }

    fn kill_all(&mut self) -> io::Result<()> {
        self.was_told_to_kill = true;
        self.kill_tree(Some(Instant::now() + KILLING_MAX));
        self.tell_end()
    }

    /// Does the same as [`GuardProcess::look_at_children`], by who may have been stopped since the
    /// last look.
    fn look(&mut self) -> io::Result<()> {
        self.was_continued = self.pauses.forget();
        self.look_at_children()
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
        if !is_over || self.has_ended || !self.was_executed() {
            return Ok(());
        }
        self.note_end();
        self.has_ended = true;
        send(&self.channel, &Report::Ended)
    }

    fn note_end(&mut self) {
        self.ran.get_or_insert_with(|| {
            let time = self.opened.elapsed();
            Ran { time, is_at_most: self.was_continued || self.pauses.may_be() }
        });
    }

    /// Notes whether the system executes the command, as soon as that is known.
    fn heed_start(&mut self) {
        if let Some(result) = self.gate.as_ref().and_then(Gate::result) {
            (self.gate, self.failure) = (None, result.err());
        }
    }

    /// Returns whether the system executed the command, whose process has ended: so this is known
    /// at once. Where it did not, whoever made the process reaps it.
    fn was_executed(&mut self) -> bool {
        if let Some(gate) = self.gate.take() {
            self.failure = gate.wait().err();
        }
        let is_unused = self.passage.take().is_some_and(|passage| passage.is_unused());
        let is_ours = self.was_told_to_kill || self.killed_for != GuardKilledFor::Nothing;
        if self.failure.is_none() && is_unused && !is_ours && was_killed(self.leader) {
            // To whoever made the process it looks like one that executed.
            drop(wait_with_usage(self.leader));
            self.failure = Some(io::Error::other("its process was killed before it executed"));
        }
        self.failure.is_none()
    }

    /// Kills all that is below this process, until nothing is left or only what it may not kill,
    /// or until the recorder wants an answer.
    fn kill_tree(&mut self, until: Option<Instant>) {
        loop {
            self.tree.kill_from_above();
            if self.reap_all() || (!self.tree.living().is_empty() && self.tree.is_beyond_us()) {
                return;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            wait_for([self.bell.as_fd()], Some(KILLING_PAUSE));
            silence(&self.bell);
        }
    }

    /// Reaps whoever has ended. Whether no child is left, and so no descendant: it would have
    /// become a child.
    fn reap_all(&mut self) -> bool {
        loop {
            match ended_child() {
                Ok(Some(child)) if child != self.leader => drop(wait_with_usage(child)),
                Ok(Some(leader)) if self.was_executed() => {
                    self.note_end();
                    self.reaped = wait_with_usage(leader).ok();
                }
                // Whoever made it has reaped it by now.
                Ok(Some(_)) => {}
                Ok(None) => return false,
                Err(error) => return error.raw_os_error() == Some(libc::ECHILD),
            }
        }
    }

    /// The command is over. What it left behind goes on.
    fn finish(mut self) -> io::Result<()> {
        if !self.was_executed() {
            let failure = self.failure.take().unwrap_or_else(|| ErrorKind::Other.into());
            return send(&self.channel, &not_started(&failure));
        }
        let (status, usage) = match self.reaped.take() {
            Some(reaped) => reaped,
            None => wait_with_usage(self.leader)?,
        };
        self.note_end();
        // Without a child there is no descendant.
        let lives_on = !self.reap_all();
        let left = lives_on.then_some(self.tree);
        let finished = Finished {
            status: status.into_raw(),
            usage,
            ran: self.ran.unwrap_or_default(),
            own_peak: self.table.own_peak_resident_bytes(),
            survivors: left.map(Tree::survivors).unwrap_or_default(),
            beyond_reach: left.map_or(0, |left| left.beyond_reach(self.group_to_end())),
            lives_on,
        };
        self.reaped = Some((status, usage));
        let was_heard = send(&self.channel, &Report::Finished(finished)).is_ok();
        if self.last_word.is_none() && !was_heard {
            return self.end_alone();
        }
        if !was_heard || !self.is_recorded() {
            self.write_last_word();
        }
        self.outlast();
        Ok(())
    }

    /// Waits until the recorder says that the end is on record; `false` if it is gone before.
    fn is_recorded(&mut self) -> bool {
        if self.last_word.is_none() {
            return true;
        }
        loop {
            match self.incoming.take() {
                Ok(Some(Request::Part)) => return true,
                Ok(Some(_)) => continue,
                Ok(None) => {}
                Err(_) => return false,
            }
            if !self.incoming.read(&self.channel, RecvFlags::empty()).unwrap_or(false) {
                return false;
            }
        }
    }

    /// Writes down how the command ended, once that is known. What the disk refuses of that is
    /// lost: nobody is left to be told.
    fn write_last_word(&mut self) {
        let Some((status, usage)) = self.reaped else { return };
        // Of SIGKILL alone nobody makes an end of its own.
        let by_itself = self.killed_for == GuardKilledFor::Recorder
            && status.signal() != Some(Signal::KILL.as_raw());
        let killed_for = if by_itself { GuardKilledFor::Nothing } else { self.killed_for };
        if let Some(last_word) = self.last_word.take() {
            let _ = last_word.write((status, usage), self.ran.unwrap_or_default(), killed_for);
        }
    }

    /// The group that was to end with the command; `None`: everything was.
    fn group_to_end(&self) -> Option<Pid> {
        (!self.was_told_to_kill).then_some(self.leader)
    }

    /// Nobody records the command any more: what can be killed of it is. As long as its first
    /// process lives, the run's file stays this process's.
    fn end_alone(mut self) -> io::Result<()> {
        let _ = self.look_at_children();
        if !self.has_ended {
            self.kills_for(GuardKilledFor::Recorder);
        }
        self.kill_tree(Some(Instant::now() + KILLING_MAX));
        self.write_last_word();
        self.kill_tree(None);
        let _ = self.channel.shutdown(Shutdown::Both);
        while self.last_word.is_some() && !self.reap_all() && self.reaped.is_none() {
            wait_for([self.bell.as_fd()], Some(UNKILLABLE_PAUSE));
            silence(&self.bell);
            self.kill_tree(None);
        }
        self.write_last_word();
        self.let_go();
        while !self.reap_all() {
            self.kill_tree(None);
            wait_for([self.bell.as_fd()], Some(UNKILLABLE_PAUSE));
            silence(&self.bell);
        }
        Ok(())
    }

    /// Notes why the command is killed. The first cause stands.
    fn kills_for(&mut self, cause: GuardKilledFor) {
        if self.killed_for == GuardKilledFor::Nothing && !self.has_ended {
            self.killed_for = cause;
        }
    }

    /// Stays the one to which the system gives the orphans, until the last of what the command left
    /// behind is gone: somebody with a guard above is no person, whatever terminal it opens.
    fn outlast(mut self) {
        self.let_go();
        while !self.reap_all() {
            wait_for([self.bell.as_fd()], None);
            silence(&self.bell);
        }
    }

    /// Lets go of the recorder too, and of what was to be kept open.
    fn let_go(&mut self) {
        (self.last_word, self.held) = (None, Vec::new());
        let _ = self.channel.shutdown(Shutdown::Both);
        hold_nothing();
    }
}

pub(super) fn not_by_hand() -> io::Error {
    let advice = "a guard is started by the recorder of a command, of the same version";
    io::Error::new(ErrorKind::InvalidInput, advice)
}
