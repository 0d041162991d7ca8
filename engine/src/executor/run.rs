//! One execution, from the start of the command to the report.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use super::again::again;
use super::child_calls::{StopRequests, inherited_terminals};
use super::command::CommandSpec;
use super::due::{earliest, timespec};
use super::leader::{Leader, LeaderEnd, Limit, Program, start};
use super::memory::MemoryWatch;
use super::opened::OpenedProgram;
use super::outlets::{Outlets, PieceRecording};
use super::output::{Notice, OutputSink, OutputStream};
use super::own_terminal::OwnTerminal;
use super::pauses::{Pauses, Ran};
use super::pieces::PieceCutter;
use super::process_table::ProcessTable;
use super::report::{Containment, ExecuteError, ExecutionReport, Outcome, exit_status};
use super::signals::{ForwardedSignal, SignalOrigin, SignalSource};
use super::snapshots::SnapshotWatch;
use super::stage::{Cause, Stage};
use super::stream::{READ_BYTES, Stream};

/// From SIGTERM at the timeout to SIGKILL.
pub const TERMINATE_GRACE: Duration = Duration::from_secs(1);
/// From the first signal of a human to SIGKILL; a second signal does not wait for it.
pub const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
/// Time that processes of the group may outlive the command before they are killed.
pub const STRAY_GRACE: Duration = Duration::from_millis(500);
/// Time that output is still read after that, from processes that have left the group.
pub const LAST_DRAIN: Duration = Duration::from_millis(250);
/// Time that a sink that is behind, and [defers](OutputSink::defer) nothing, is waited for after
/// SIGKILL was due, once a command is being stopped.
pub const SINK_GRACE: Duration = Duration::from_secs(1);

/// Bytes of each stream that a sink may be behind while the command is stopped: a pipe's most.
const AHEAD_WHILE_STOPPING: usize = 1024 * 1024;
/// The same once the command has ended.
const AHEAD_BEHIND_THE_END: usize = 8 * 1024 * 1024;

/// Interval between looks for the end, and that of strays, where no system announces it.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Runs a command to its end, whatever that is, and reports.
///
/// # Errors
///
/// [`ExecuteError::Refused`] when the program is not there or cannot be executed; another
/// [`ExecuteError`] when this machine could not start or watch it. In either case nothing of the
/// command is left running.
pub fn execute(
    spec: &CommandSpec,
    sink: &mut dyn OutputSink,
    signals: &mut dyn SignalSource,
) -> Result<ExecutionReport, ExecuteError> {
    let path = spec.resolve()?;
    let run = Run::start(spec, Program { path: &path, opened: None })?;
    run.carry_out(spec, &mut Outlets { sink, recorder: None }, signals)
}

/// Executes like [`execute`], but what is executed is what was opened, whatever stands in its place
/// by now.
///
/// # Errors
///
/// As [`execute`], and [`ExecuteError::Replaced`] where what was opened was changed since, or where
/// a script that its interpreter opens by its path is another one.
pub fn execute_opened(
    spec: &CommandSpec,
    opened: OpenedProgram,
    sink: &mut dyn OutputSink,
    signals: &mut dyn SignalSource,
) -> Result<ExecutionReport, ExecuteError> {
    let run = Run::start(spec, Program { path: opened.path(), opened: Some(&opened) })?;
    // Whoever waits to write to it may.
    drop(opened);
    run.carry_out(spec, &mut Outlets { sink, recorder: None }, signals)
}

/// Does the same as [`execute`], or [`execute_opened`], with the output recorded while it comes.
/// The report holds none of its bytes.
pub(crate) fn execute_recorded(
    spec: &CommandSpec,
    opened: Option<OpenedProgram>,
    sink: &mut dyn OutputSink,
    signals: &mut dyn SignalSource,
    recorded: PieceRecording<'_>,
) -> Result<ExecutionReport, ExecuteError> {
    let path = opened.is_none().then(|| spec.resolve()).transpose()?;
    let named = path.as_deref().or(opened.as_ref().map(OpenedProgram::path));
    let program = Program { path: named.unwrap_or(Path::new("")), opened: opened.as_ref() };
    let mut run = Run::start(spec, program)?;
    drop(opened);
    run.cutter = Some(PieceCutter::new(spec.max_output_bytes, recorded.flush));
    run.snapshots = SnapshotWatch::of(run.table, run.opened);
    run.carry_out(spec, &mut Outlets { sink, recorder: Some(recorded.recorder) }, signals)
}

/// An execution under way.
struct Run {
    leader: Box<dyn Leader>,
    streams: [Stream; 2],
    /// Cutter of their bytes into pieces, where somebody records those.
    cutter: Option<PieceCutter>,
    /// True if the recorder took what came so far.
    may_read: bool,
    buffer: Box<[u8]>,
    /// Terminals that the command did not get, until that was told.
    closed: Vec<i32>,
    /// The command's own terminal, if it has one.
    terminal: Option<OwnTerminal>,
    /// Requests that stop this process, while it has to stop with the command.
    stops: Option<StopRequests>,
    table: Option<ProcessTable>,
    memory: MemoryWatch,
    /// The watch over its processes, where somebody records what it sees.
    snapshots: Option<SnapshotWatch>,
    memory_limit: Option<u64>,
    /// Time at which the command was let go.
    opened: Instant,
    timeout: Option<Duration>,
    pauses: Pauses,
    /// Time for which it ran, as far as this process saw it.
    seen_to_run: Option<Ran>,
    /// True if this process was stopped between its last look and the end of the command's time.
    is_timeout_in_doubt: bool,
    deadline: Option<Instant>,
    stage: Stage,
    cause: Option<Cause>,
    kill_at: Option<Instant>,
    /// Time at which a sink that is behind is given up; `None` as long as nothing is being stopped.
    patience_until: Option<Instant>,
    /// True if a signal asked for the end of a command that was over.
    has_insisted: bool,
    left_behind: bool,
}

impl Run {
    fn start(spec: &CommandSpec, program: Program<'_>) -> Result<Self, ExecuteError> {
        let table = ProcessTable::find();
        let memory = MemoryWatch::new(table, spec.max_memory_bytes);
        let closed = inherited_terminals();
        let watch = |during| move |source| ExecuteError::Watch { during, source };
        let pauses = Pauses::heed().map_err(watch("preparing to be stopped"))?;
        let (leader, pipes) = start(spec, program, table)?;
        let opened = Instant::now();
        let stream = |name, pipe| {
            Stream::new(name, pipe, spec.max_output_bytes).map_err(watch("preparing its output"))
        };
        Ok(Self {
            streams: [
                stream(OutputStream::Stdout, Some(pipes.stdout))?,
                stream(OutputStream::Stderr, pipes.stderr)?,
            ],
            cutter: None,
            may_read: true,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            closed,
            terminal: pipes.terminal,
            stops: None,
            leader,
            table,
            memory,
            snapshots: None,
            memory_limit: spec.max_memory_bytes,
            opened,
            timeout: spec.timeout,
            pauses,
            seen_to_run: None,
            is_timeout_in_doubt: false,
            deadline: spec.timeout.and_then(|timeout| opened.checked_add(timeout)),
            stage: Stage::Running,
            cause: None,
            kill_at: None,
            patience_until: None,
            has_insisted: false,
            left_behind: false,
        })
    }

    fn carry_out(
        mut self,
        spec: &CommandSpec,
        outlets: &mut Outlets<'_>,
        signals: &mut dyn SignalSource,
    ) -> Result<ExecutionReport, ExecuteError> {
        let watched = self.watch(spec, outlets, signals);
        outlets.end(self.cutter.as_mut());
        watched.and_then(|()| self.report())
    }

    /// Until all is over.
    fn watch(
        &mut self,
        spec: &CommandSpec,
        outlets: &mut Outlets<'_>,
        signals: &mut dyn SignalSource,
    ) -> Result<(), ExecuteError> {
        let sink = &mut *outlets.sink;
        if spec.guard.is_some() && self.leader.containment() == Containment::Group {
            sink.notice(Notice::NotContained);
        }
        if !self.closed.is_empty() {
            sink.notice(Notice::TerminalsClosed(std::mem::take(&mut self.closed)));
        }
        self.stops = signals.stops_this_process().then(StopRequests::heed).flatten();
        self.take_keyboard(spec)?;
        loop {
            self.heed_stop(spec)?;
            // What ended before a signal was looked at was not ended by it.
            self.heed_the_end()?;
            self.heed_signals(signals);
            self.terminal.iter_mut().for_each(OwnTerminal::advance);
            self.move_output(outlets)?;
            self.heed_the_end()?;
            if self.stage == Stage::Flushing && !self.has_insisted {
                self.streams.iter_mut().for_each(|stream| stream.defer(&mut *outlets.sink));
                self.heed_the_end()?;
            }
            self.heed_the_clock()?;
            if self.stage == Stage::Running {
                let processes = (self.leader.pid(), self.leader.among());
                outlets.look(self.snapshots.as_mut(), processes);
            }
            if self.stage == Stage::Over {
                return Ok(());
            }
            self.wait(outlets, signals)?;
        }
    }

    /// Passes signals on. The first that asks for the end begins it, the second forces it.
    fn heed_signals(&mut self, signals: &mut dyn SignalSource) {
        for received in signals.take() {
            self.pass_signal_on(received.signal);
            if !received.signal.asks_for_the_end() {
                continue;
            }
            if self.stage != Stage::Running {
                // The command is over: a human who still asks is tired of waiting for the sink.
                (self.patience_until, self.has_insisted) = (Some(Instant::now()), true);
            } else if self.cause.is_some() {
                self.kill_at = Some(Instant::now());
            } else {
                self.stop(Cause::Interrupted { by: received }, INTERRUPT_GRACE);
            }
        }
    }

    /// Moves what is there from the pipes to the recorder, or the captures, and the sink.
    fn move_output(&mut self, outlets: &mut Outlets<'_>) -> Result<(), ExecuteError> {
        let ahead = self.ahead();
        for stream in &mut self.streams {
            let reading = outlets.reading(self.cutter.as_mut(), ahead);
            stream.advance(&mut self.buffer, &mut *outlets.sink, reading)?;
            outlets.hand_over(self.cutter.as_mut());
        }
        self.may_read = outlets.may_read();
        let is_running = self.stage == Stage::Running && self.cause.is_none();
        if is_running && outlets.demand_the_end() {
            self.leader.signal_all(Signal::TERM);
            self.stop(Cause::NotRecorded, TERMINATE_GRACE);
        }
        Ok(())
    }

    /// Moves from stage to stage once the leader has ended, as far as it goes.
    fn heed_the_end(&mut self) -> Result<(), ExecuteError> {
        let now = Instant::now();
        self.be_patient(now);
        loop {
            let next = self.next_stage(now)?;
            if next == self.stage {
                return Ok(());
            }
            self.stage = next;
        }
    }

    /// Returns whether the command has ended. Takes in what its guard did to it.
    fn has_ended(&mut self) -> Result<bool, ExecuteError> {
        let was_continued = self.pauses.forget();
        let has_ended = self.leader.has_ended()?;
        if has_ended {
            self.seen_to_run.get_or_insert_with(|| {
                let time = self.opened.elapsed();
                Ran { time, is_at_most: was_continued || self.pauses.may_be() }
            });
        }
        match self.leader.exceeded().filter(|_| self.cause.is_none()) {
            Some(Limit::Time) => self.stop(Cause::TimedOut, TERMINATE_GRACE),
            Some(Limit::Memory { seen }) => {
                self.stop(Cause::MemoryExceeded { seen }, Duration::ZERO);
            }
            None => {}
        }
        Ok(has_ended)
    }

    fn next_stage(&mut self, now: Instant) -> Result<Stage, ExecuteError> {
        let has_ended = self.stage == Stage::Running && self.has_ended()?;
        Ok(match self.stage {
            Stage::Running if has_ended => {
                self.terminal.iter_mut().for_each(OwnTerminal::end);
                Stage::Settling { until: now + STRAY_GRACE }
            }
            Stage::Settling { until } => self.settle(until, now)?,
            Stage::Draining { .. } if self.is_read() => Stage::Flushing,
            Stage::Draining { until } if now >= until => {
                self.streams.iter_mut().for_each(Stream::close);
                Stage::Flushing
            }
            Stage::Flushing if !self.awaits_sink() => Stage::Over,
            stage => stage,
        })
    }

    /// Ends well when nothing is left of the group and its output; otherwise kills in time.
    fn settle(&mut self, until: Instant, now: Instant) -> Result<Stage, ExecuteError> {
        if now < until && !self.is_read() {
            return Ok(self.stage);
        }
        let survives = self.survives()?;
        if self.is_read() && !survives {
            return Ok(Stage::Flushing);
        }
        if now < until {
            return Ok(self.stage);
        }
        self.left_behind = survives;
        self.kill_the_rest();
        Ok(Stage::Draining { until: now + LAST_DRAIN })
    }

    /// Does what is due by the clock while the leader runs.
    fn heed_the_clock(&mut self) -> Result<(), ExecuteError> {
        if self.stage != Stage::Running {
            return Ok(());
        }
        let now = Instant::now();
        let (leader, among) = (self.leader.pid(), self.leader.among());
        if let Some(seen) = self.memory.look(leader, among, now) {
            self.stop(Cause::MemoryExceeded { seen }, Duration::ZERO);
        }
        let is_over = self.deadline.is_some_and(|deadline| now >= deadline);
        // It may have ended while this process was stopped: then that is its own end.
        if self.cause.is_none() && is_over && !self.has_ended()? {
            self.leader.signal_all(Signal::TERM);
            self.is_timeout_in_doubt = self.pauses.may_be();
            self.stop(Cause::TimedOut, TERMINATE_GRACE);
        }
        if self.kill_at.is_some_and(|kill_at| now >= kill_at) {
            self.leader.kill_all();
            self.kill_at = None;
        }
        Ok(())
    }

    /// Stops the command and this process as one job, and continues both when this is continued.
    fn heed_stop(&mut self, spec: &CommandSpec) -> Result<(), ExecuteError> {
        let Some(stops) = self.stops.take_if(|stops| stops.take()) else { return Ok(()) };
        self.terminal.iter_mut().for_each(OwnTerminal::leave_keyboard);
        let is_running = self.stage == Stage::Running;
        if is_running {
            self.leader.suspend();
        }
        self.stops = stops.stop();
        if is_running {
            self.take_keyboard(spec)?;
            self.leader.resume();
        }
        Ok(())
    }

    /// Lets whoever sits at the terminal of this process type at the one of the command.
    fn take_keyboard(&mut self, spec: &CommandSpec) -> Result<(), ExecuteError> {
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        let during = "taking the terminal";
        terminal.take_keyboard(spec).map_err(|source| ExecuteError::Watch { during, source })
    }

    /// Waits until something happens or is due.
    fn wait(&self, outlets: &Outlets<'_>, signals: &dyn SignalSource) -> Result<(), ExecuteError> {
        let sink = &*outlets.sink;
        let mut watched: Vec<PollFd<'_>> = Vec::with_capacity(6);
        if self.stage == Stage::Running {
            let notices = self.leader.notices().into_iter();
            watched.extend(notices.map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN)));
        }
        let wake = signals.wake();
        watched.extend(wake.map(|wake| PollFd::from_borrowed_fd(wake, PollFlags::IN)));
        watched.extend(self.terminal.as_ref().and_then(OwnTerminal::interest));
        watched.extend(outlets.room().map(|room| PollFd::from_borrowed_fd(room, PollFlags::IN)));
        let reading = (self.may_read, self.ahead());
        watched.extend(self.streams.iter().flat_map(|stream| stream.interest(sink, reading)));
        let timeout = self.next_due().map(|due| timespec(due, Instant::now()));
        let ready = again(|| match poll(&mut watched, timeout.as_ref()) {
            // A signal is news.
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        });
        ready.map_err(|source| ExecuteError::Watch { during: "waiting for events", source })
    }

    /// Puts the facts together.
    fn report(mut self) -> Result<ExecutionReport, ExecuteError> {
        let containment = self.leader.containment();
        let mut end = self.leader.finish()?;
        let parting = end.parting.take();
        let ran = self.judge_time(&end);
        let LeaderEnd { status, usage, survivors, beyond_reach, lost_guard, .. } = end;
        self.memory.started_by(end.starters_peak);
        let peak_memory_bytes = self.memory.peak(usage.max_resident_bytes);
        let of_status = match lost_guard {
            Some(_) => Outcome::GuardLost,
            None => Outcome::of_status(status),
        };
        let outcome = self.outcome(of_status, peak_memory_bytes);
        let [stdout, stderr] = self.streams;
        let mut cutter = self.cutter;
        let (stdout, stdout_failure) = stdout.finish(cutter.as_mut());
        let (stderr, stderr_failure) = stderr.finish(cutter.as_mut());
        Ok(ExecutionReport {
            outcome,
            exit_status: exit_status(status),
            stdout,
            stderr,
            wall: ran.time,
            is_wall_at_most: ran.is_at_most,
            user_cpu: usage.user_cpu,
            system_cpu: usage.system_cpu,
            peak_memory_bytes,
            left_behind: self.left_behind,
            containment,
            survivors,
            beyond_reach,
            terminal: self.terminal.as_ref().map(OwnTerminal::first_size),
            sink_failure: stdout_failure.or(stderr_failure),
            parting,
        })
    }

    /// A command known to have run longer than it may has timed out. Gives how long it ran.
    fn judge_time(&mut self, end: &LeaderEnd) -> Ran {
        let known = end.known_time(self.opened, self.seen_to_run);
        if self.is_timeout_in_doubt && end.status.signal().is_none() {
            self.cause.take_if(|cause| matches!(cause, Cause::TimedOut));
        }
        if known.zip(self.timeout).is_some_and(|(ran, limit)| ran.is_longer_than(limit)) {
            self.cause.get_or_insert(Cause::TimedOut);
        }
        let now = || Ran { time: self.opened.elapsed(), is_at_most: true };
        let ran = known.or(self.seen_to_run).unwrap_or_else(now);
        // Two who count do not begin at the same moment, and it was alive when its time was over.
        match self.timeout.filter(|_| matches!(self.cause, Some(Cause::TimedOut))) {
            Some(limit) => Ran { time: ran.time.max(limit), is_at_most: false },
            None => ran,
        }
    }

    fn outcome(&self, of_status: Outcome, peak: Option<u64>) -> Outcome {
        let limit = self.memory_limit.unwrap_or(u64::MAX);
        match self.cause {
            Some(Cause::TimedOut) => Outcome::TimedOut,
            Some(Cause::NotRecorded) => Outcome::NotRecorded,
            Some(Cause::MemoryExceeded { seen }) => Outcome::MemoryExceeded { limit, seen },
            Some(Cause::Interrupted { by }) => {
                Outcome::Interrupted { signal: by.signal.number(), origin: by.origin }
            }
            None => match (of_status, peak) {
                (Outcome::Signaled { signal, .. }, _) if self.was_typed(signal) => {
                    Outcome::Interrupted { signal, origin: SignalOrigin::Terminal }
                }
                (Outcome::GuardLost, _) => of_status,
                (_, Some(seen)) if seen > limit => Outcome::MemoryExceeded { limit, seen },
                _ => of_status,
            },
        }
    }

    /// Returns whether a signal that ended the command can be taken for a key of its terminal.
    fn was_typed(&self, signal: i32) -> bool {
        let was_typed = self.terminal.as_ref().is_some_and(OwnTerminal::has_stopping_key);
        was_typed && matches!(signal, libc::SIGINT | libc::SIGQUIT)
    }

    fn pass_signal_on(&self, signal: ForwardedSignal) {
        if let (ForwardedSignal::WindowChange, Some(terminal)) = (signal, &self.terminal) {
            terminal.follow_size();
            return;
        }
        if let Some(signal) = Signal::from_named_raw(signal.number()) {
            self.leader.signal_group(signal);
        }
    }

    /// Notes the cause and when SIGKILL follows. A stopped process is set going, so that it can
    /// act on the signal that it was sent.
    fn stop(&mut self, cause: Cause, grace: Duration) {
        let kill_at = Instant::now() + grace;
        self.cause.get_or_insert(cause);
        self.kill_at = Some(kill_at);
        self.patience_until = Some(kill_at + SINK_GRACE);
        self.leader.will_be_killed(grace);
        self.leader.signal_group(Signal::CONT);
    }

    /// While the recorder is behind, the pipes are not read: the time that the command's leftovers
    /// are given does not run. A sink is not waited for without end once a stop was asked.
    fn be_patient(&mut self, now: Instant) {
        let awaits_sink = matches!(self.stage, Stage::Running | Stage::Flushing);
        if awaits_sink && self.patience_until.is_some_and(|until| Instant::now() >= until) {
            self.streams.iter_mut().for_each(Stream::give_up_on_sink);
        }
        match &mut self.stage {
            _ if self.may_read => {}
            Stage::Settling { until } => *until = now + STRAY_GRACE,
            Stage::Draining { until } => *until = now + LAST_DRAIN,
            Stage::Running | Stage::Flushing | Stage::Over => {}
        }
    }

    /// Counts the bytes the sink may be behind: a command that runs waits for its reader, and what
    /// is left of one that is over, or to end, waits for nobody.
    fn ahead(&self) -> usize {
        match self.stage {
            Stage::Running if self.cause.is_none() => 0,
            Stage::Running => AHEAD_WHILE_STOPPING,
            Stage::Settling { .. } => AHEAD_BEHIND_THE_END,
            // What a pipe still holds of what was killed there.
            Stage::Draining { .. } => AHEAD_BEHIND_THE_END + AHEAD_WHILE_STOPPING,
            Stage::Flushing | Stage::Over => 0,
        }
    }

    /// Kills all of a command that was stopped; otherwise its group alone, not what left it.
    fn kill_the_rest(&mut self) {
        if self.cause.is_some() {
            self.leader.kill_all();
        } else if self.table.is_some() || self.left_behind {
            // The leader is not reaped, or its group was just seen to live: no stranger is hit.
            self.leader.signal_group(Signal::KILL);
        }
    }

    /// Returns whether somebody is left who is not to outlive the command.
    fn survives(&mut self) -> Result<bool, ExecuteError> {
        let Some(table) = self.table else { return self.leader.group_survives() };
        let among = match self.cause {
            Some(_) => self.leader.among(),
            None => self.leader.group(),
        };
        Ok(!table.living(among).is_empty())
    }

    /// Returns whether all output was read.
    fn is_read(&self) -> bool {
        self.streams.iter().all(Stream::is_over)
    }

    fn awaits_sink(&self) -> bool {
        self.streams.iter().any(Stream::is_pending)
    }

    /// Returns when something is to be done even if nothing happens.
    fn next_due(&self) -> Option<Instant> {
        let now = Instant::now();
        let of_stage = match self.stage {
            Stage::Running => earliest([self.patience(), self.due_while_running(now)]),
            Stage::Settling { .. } if self.is_read() => Some(now + LOOK_INTERVAL),
            Stage::Settling { until } | Stage::Draining { until } => Some(until),
            Stage::Flushing => self.patience(),
            Stage::Over => None,
        };
        earliest([of_stage, self.cutter.as_ref().and_then(PieceCutter::due)])
    }

    fn patience(&self) -> Option<Instant> {
        self.patience_until.filter(|_| self.awaits_sink())
    }

    fn due_while_running(&self, now: Instant) -> Option<Instant> {
        let look = self.leader.notices().is_empty().then_some(now + LOOK_INTERVAL);
        let deadline = self.deadline.filter(|_| self.cause.is_none());
        let end = self.terminal.as_ref().and_then(OwnTerminal::due);
        let snapshot = self.snapshots.as_ref().and_then(SnapshotWatch::due);
        earliest([look, end, deadline, self.kill_at, self.memory.due(), snapshot])
    }
}
