//! Where the streams of the command go, and what is said while it runs.

mod deferred;

use crate::ui::{complain, streams};
use deferred::Deferred;
use holdpoint_engine::executor::{Notice, OutputSink, OutputStream, PassThrough, SignalSource};
use rustix::fs::{Mode, OFlags, open};
use rustix::termios::ttyname;
use std::io::{self, IsTerminal, Stderr, Stdout};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What is said where no guard can look after the command.
const NOT_CONTAINED: &str = "this system offers no way to hold the processes of the command \
    together (on Linux, /proc must show this process): what leaves its process group is out of \
    reach of limits, and the command lives on if this program is killed";

/// How many closed descriptors are named.
const NAMED_MAX: usize = 8;

/// The streams of this program.
pub(super) struct Screen {
    streams: Streams,
    /// What is left of a command that is over.
    deferred: Deferred,
}

/// Where each stream of the command goes.
enum Streams {
    /// Each to its own.
    Apart(PassThrough<Target<Stdout>, Target<Stderr>>),
    /// Both to stderr, because stdout is for programs.
    OnStderr(PassThrough<Target<Stderr>, Target<Stderr>>),
}

impl Screen {
    /// Passes the command's streams on; with `json` both of them to stderr.
    pub(super) fn new(json: bool) -> Self {
        let streams = match json {
            true => Streams::OnStderr(PassThrough::new(
                Target::of(io::stderr()),
                Target::of(io::stderr()),
            )),
            false => {
                Streams::Apart(PassThrough::new(Target::of(io::stdout()), Target::of(io::stderr())))
            }
        };
        Self { streams, deferred: Deferred::default() }
    }

    /// Passes on what is left, until its reader has all of it or is gone, or a signal asks for the
    /// end. At a terminal that takes nothing any more, what is left of a command that
    /// `was_stopped` is given up after a few seconds. Gives what could not be passed on, and why.
    pub(super) fn finish(
        self,
        signals: &mut dyn SignalSource,
        was_stopped: bool,
    ) -> Option<(OutputStream, io::Error)> {
        let Self { streams: mut own, mut deferred } = self;
        if deferred.pass_all_on(own.sink(), signals, was_stopped) {
            // It takes no sentence either.
            streams::note_stuck();
        }
        deferred.into_failure()
    }
}

impl Streams {
    fn sink(&mut self) -> &mut dyn OutputSink {
        match self {
            Self::Apart(streams) => streams,
            Self::OnStderr(streams) => streams,
        }
    }
}

/// Where a stream goes. A terminal is opened once more, so that no write to it waits: where its
/// other end is never read, a command is stopped in time all the same.
enum Target<T> {
    Own(T),
    Terminal(OwnedFd),
}

impl<T: AsFd + IsTerminal> Target<T> {
    fn of(stream: T) -> Self {
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let path = stream.is_terminal().then(|| ttyname(&stream, Vec::new()).ok()).flatten();
        match path.and_then(|path| open(path, flags, Mode::empty()).ok()) {
            Some(opened) => Self::Terminal(opened),
            None => Self::Own(stream),
        }
    }
}

impl<T: AsFd> AsFd for Target<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(stream) => stream.as_fd(),
            Self::Terminal(opened) => opened.as_fd(),
        }
    }
}

impl OutputSink for Screen {
    fn accept(&mut self, stream: OutputStream, chunk: &[u8]) -> io::Result<usize> {
        let sink = self.streams.sink();
        // What an earlier attempt printed comes first.
        if self.deferred.pass_on(stream, sink) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let accepted = sink.accept(stream, chunk);
        if let Err(error) = &accepted {
            self.deferred.note(stream, error);
        }
        accepted
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::TerminalsClosed(descriptors) => complain(&terminals_closed(&descriptors)),
            Notice::NotContained => complain(NOT_CONTAINED),
        }
    }

    fn defer(&mut self, stream: OutputStream, rest: Vec<u8>) -> Option<Vec<u8>> {
        self.deferred.keep(stream, rest);
        None
    }

    fn catch_up(&mut self) {
        self.deferred.catch_up(self.streams.sink());
    }

    fn descriptor(&self, stream: OutputStream) -> Option<BorrowedFd<'_>> {
        match &self.streams {
            Streams::Apart(streams) => streams.descriptor(stream),
            Streams::OnStderr(streams) => streams.descriptor(stream),
        }
    }
}

/// Names the terminals that the command would have inherited.
fn terminals_closed(descriptors: &[i32]) -> String {
    let first = descriptors.iter().take(NAMED_MAX).map(ToString::to_string);
    let more = match descriptors.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (word, verb) = match descriptors {
        [_] => ("descriptor", "is a terminal, and was"),
        _ => ("descriptors", "are terminals, and were"),
    };
    let named = first.collect::<Vec<_>>().join(", ");
    format!("{word} {named}{more} {verb} closed for the command")
}
