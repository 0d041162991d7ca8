//! Output of a command that is over and on record, on its way to a reader who is behind.

use holdpoint_engine::executor::{NoSignals, OutputSink, OutputStream, SignalSource};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// How long a question waits for a reader who takes nothing.
const CATCH_UP_MAX: Duration = Duration::from_millis(500);
/// How long a terminal may take nothing of what a command printed that was stopped.
const TERMINAL_MAX: Duration = Duration::from_secs(5);

const BOTH: [OutputStream; 2] = [OutputStream::Stdout, OutputStream::Stderr];

/// What is left of both streams.
#[derive(Default)]
pub(super) struct Deferred {
    stdout: VecDeque<u8>,
    stderr: VecDeque<u8>,
    failure: Option<(OutputStream, io::Error)>,
}

impl Deferred {
    /// Keeps the rest of a stream.
    pub(super) fn keep(&mut self, stream: OutputStream, rest: Vec<u8>) {
        self.of(stream).extend(rest);
    }

    /// Notes why a stream could not be passed on, unless it waits or was closed: whoever closed it
    /// has seen enough.
    pub(super) fn note(&mut self, stream: OutputStream, error: &io::Error) {
        let is_none = matches!(
            error.kind(),
            ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::BrokenPipe
        );
        if !is_none && self.failure.is_none() {
            let again = error.raw_os_error().map(io::Error::from_raw_os_error);
            self.failure = Some((stream, again.unwrap_or_else(|| error.kind().into())));
        }
    }

    pub(super) fn into_failure(self) -> Option<(OutputStream, io::Error)> {
        self.failure
    }

    fn of(&mut self, stream: OutputStream) -> &mut VecDeque<u8> {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }

    /// Passes on what is taken at once. Whether some of it is left.
    pub(super) fn pass_on(&mut self, stream: OutputStream, sink: &mut dyn OutputSink) -> bool {
        while !self.of(stream).is_empty() {
            let ready =
                sink.descriptor(stream).map(|it| PollFd::from_borrowed_fd(it, PollFlags::OUT));
            if ready.is_some_and(|it| !waits_for(&mut [it], Some(Instant::now()))) {
                return true;
            }
            match sink.accept(stream, self.of(stream).as_slices().0) {
                Ok(taken) if taken > 0 => drop(self.of(stream).drain(..taken)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) => self.fail(stream, &ErrorKind::WriteZero.into()),
                Err(error) => self.fail(stream, &error),
            }
        }
        false
    }

    /// Its reader is gone, or takes nothing any more.
    fn fail(&mut self, stream: OutputStream, error: &io::Error) {
        self.note(stream, error);
        self.of(stream).clear();
    }

    fn is_empty(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }

    fn len(&self) -> usize {
        self.stdout.len().saturating_add(self.stderr.len())
    }

    /// Passes on what a reader takes who goes on reading.
    pub(super) fn catch_up(&mut self, sink: &mut dyn OutputSink) {
        self.pass_on_while(sink, &mut NoSignals, |_| Some(CATCH_UP_MAX));
    }

    /// Passes all of it on, unless a signal asks for the end. Whether a terminal took nothing any
    /// more.
    pub(super) fn pass_all_on(
        &mut self,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
        was_stopped: bool,
    ) -> bool {
        let is_stuck = self.pass_on_while(sink, signals, |waited_for| {
            waited_for
                .iter()
                .any(IsTerminal::is_terminal)
                .then_some(TERMINAL_MAX)
                .filter(|_| was_stopped)
        });
        let left: Vec<_> = BOTH.into_iter().filter(|stream| !self.of(*stream).is_empty()).collect();
        left.into_iter().for_each(|stream| self.fail(stream, &ErrorKind::TimedOut.into()));
        is_stuck
    }

    /// Passes on what is left as long as some of it is taken within a time that may be bounded.
    /// Whether that is over.
    fn pass_on_while(
        &mut self,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
        patience: impl Fn(&[BorrowedFd<'_>]) -> Option<Duration>,
    ) -> bool {
        let (mut left, mut since) = (self.len(), Instant::now());
        loop {
            let behind: Vec<_> = BOTH.into_iter().filter(|it| self.pass_on(*it, sink)).collect();
            if self.is_empty() || signals.take().iter().any(|it| it.signal.asks_for_the_end()) {
                return false;
            }
            if self.len() < left {
                (left, since) = (self.len(), Instant::now());
            }
            let waited_for: Vec<BorrowedFd<'_>> =
                behind.iter().filter_map(|stream| sink.descriptor(*stream)).collect();
            let until = patience(&waited_for).and_then(|patience| since.checked_add(patience));
            if until.is_some_and(|until| Instant::now() >= until) {
                return true;
            }
            let room =
                waited_for.into_iter().map(|it| PollFd::from_borrowed_fd(it, PollFlags::OUT));
            let news = signals.wake().map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN));
            waits_for(&mut room.chain(news).collect::<Vec<_>>(), until);
        }
    }
}

/// Waits until something is ready, or it is so late. Whether something is.
fn waits_for(watched: &mut [PollFd<'_>], until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(watched, left.as_ref()) {
        Ok(ready) => ready > 0,
        // A signal is news, and where nobody can wait, writing does.
        Err(errno) => errno != Errno::INTR,
    }
}
