//! Where the streams of the command go, and what is said while it runs.

use crate::exit::complain;
use holdpoint_engine::executor::{Notice, OutputSink, OutputStream, PassThrough, Stdin};
use std::io::{self, IsTerminal, Stderr, Stdout};
use std::os::fd::BorrowedFd;

/// What is said where no guard can look after the command.
const NOT_CONTAINED: &str = "this system offers no way to hold the processes of the command \
    together (on Linux, /proc must show this process): what leaves its process group is out of \
    reach of limits, and the command lives on if this program is killed";

/// The streams of this program.
pub(super) struct Screen {
    streams: Streams,
    stdin: Stdin,
}

enum Streams {
    /// Each to its own.
    Apart(PassThrough<Stdout, Stderr>),
    /// Both to stderr, because stdout is for programs.
    OnStderr(PassThrough<Stderr, Stderr>),
}

impl Screen {
    /// Passes the command's streams on; with `json` both of them to stderr.
    pub(super) fn new(json: bool, stdin: Stdin) -> Self {
        let streams = match json {
            true => Streams::OnStderr(PassThrough::new(io::stderr(), io::stderr())),
            false => Streams::Apart(PassThrough::to_own_streams()),
        };
        Self { streams, stdin }
    }
}

impl OutputSink for Screen {
    fn accept(&mut self, stream: OutputStream, chunk: &[u8]) -> io::Result<usize> {
        match &mut self.streams {
            Streams::Apart(streams) => streams.accept(stream, chunk),
            Streams::OnStderr(streams) => streams.accept(stream, chunk),
        }
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::WantsTerminal => complain(&wants_terminal(self.stdin)),
            Notice::NotContained => complain(NOT_CONTAINED),
        }
    }

    fn descriptor(&self, stream: OutputStream) -> Option<BorrowedFd<'_>> {
        match &self.streams {
            Streams::Apart(streams) => streams.descriptor(stream),
            Streams::OnStderr(streams) => streams.descriptor(stream),
        }
    }
}

/// The command gets the terminal only where this program reads from one and may lend it.
fn wants_terminal(stdin: Stdin) -> String {
    let advice = match (stdin, io::stdin().is_terminal()) {
        (Stdin::Null, true) => "start it again with `--stdin`",
        _ => "start it again with `--stdin`, with the terminal as standard input",
    };
    format!(
        "the command has stopped: it wants to use the terminal, which it was not given; end it \
         with Ctrl-C, and {advice}"
    )
}
