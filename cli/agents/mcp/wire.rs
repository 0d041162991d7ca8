//! The wire: lines of a client on stdin, lines of the server on stdout.

use super::line::{LineKind, Message, Wrong, judge, too_long};
use crate::ui::output::ascii;
use crate::ui::text::cut;
use crate::ui::{complain, streams};
use rmcp::RoleServer;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncBufReadExt as _, BufReader, Stdin};
use tokio::task::{JoinSet, spawn_blocking};

/// Longest line that is read, in bytes. The longest proposal that the rules allow has about 2 MiB,
/// however its characters are written.
const LINE_BYTES_MAX: usize = 4 << 20;
/// How much is kept of a longer one, in bytes: enough to find its id.
const BEGINNING_BYTES: usize = 64 << 10;
/// How much is told of what is wrong with a line, in bytes.
const SAID_BYTES_MAX: usize = 512;

/// Stdin and stdout. What cannot be taken is answered here, and the server never sees it.
pub(super) struct Wire {
    stdin: BufReader<Stdin>,
    /// The line that is being read: a reading that is broken off goes on with it.
    line: Vec<u8>,
    is_too_long: bool,
    has_ended: bool,
    /// Answers of the wire's own that are being written.
    answers: JoinSet<io::Result<()>>,
    /// True once stdin has ended: nobody is there to hear of more.
    is_over: Arc<AtomicBool>,
}

impl Wire {
    /// The process's own. Where stdin ends, that is noted.
    pub(super) fn new(is_over: Arc<AtomicBool>) -> Self {
        let stdin = BufReader::new(tokio::io::stdin());
        let (line, answers) = (Vec::new(), JoinSet::new());
        Self { stdin, line, is_too_long: false, has_ended: false, answers, is_over }
    }

    /// The next line, judged; `None` at the end. What follows the last line's end is a line too.
    async fn next(&mut self) -> Option<LineKind> {
        loop {
            if self.has_ended {
                return None;
            }
            // Nothing is awaited between taking bytes in and letting the reader forget them.
            let (taken, is_end) = match self.stdin.fill_buf().await {
                Ok([]) | Err(_) => (0, true),
                Ok(piece) => {
                    let end = piece.iter().position(|byte| *byte == b'\n');
                    let content = piece.get(..end.unwrap_or(piece.len())).unwrap_or(piece);
                    keep(&mut self.line, &mut self.is_too_long, content);
                    (content.len().saturating_add(usize::from(end.is_some())), end.is_some())
                }
            };
            self.stdin.consume(taken);
            self.has_ended |= taken == 0;
            if is_end {
                return Some(self.judged());
            }
        }
    }

    /// Judges the line that is there, and begins a new one.
    fn judged(&mut self) -> LineKind {
        let line = std::mem::take(&mut self.line);
        match std::mem::take(&mut self.is_too_long) {
            true => LineKind::Wrong(too_long(&line, LINE_BYTES_MAX)),
            false => judge(&line),
        }
    }

    fn refuse(&mut self, wrong: &Wrong) {
        complain(&cut(wrong.said(), SAID_BYTES_MAX));
        if let Some(answer) = wrong.answer() {
            self.answers.spawn_blocking(move || write_line(&answer.to_string()));
        }
    }
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    #[expect(clippy::manual_async_fn, reason = "the future outlives the borrow of the transport")]
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        async move {
            let line = serde_json::to_string(&item)?;
            spawn_blocking(move || write_line(&line))
                .await
                .unwrap_or_else(|error| Err(io::Error::other(error.to_string())))
        }
    }

    async fn receive(&mut self) -> Option<Message> {
        loop {
            while self.answers.try_join_next().is_some() {}
            match self.next().await {
                Some(LineKind::Message(message)) => return Some(*message),
                Some(LineKind::Nothing) => {}
                Some(LineKind::Wrong(wrong)) => self.refuse(&wrong),
                None => {
                    while self.answers.join_next().await.is_some() {}
                    self.is_over.store(true, Ordering::Relaxed);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes a piece of a line in. Of a line that is too long only the beginning is kept.
fn keep(line: &mut Vec<u8>, is_too_long: &mut bool, piece: &[u8]) {
    if *is_too_long {
        return;
    }
    line.extend_from_slice(piece);
    if line.len() > LINE_BYTES_MAX {
        *is_too_long = true;
        line.truncate(BEGINNING_BYTES);
        line.shrink_to_fit();
    }
}

/// Writes a line of JSON whole, whoever else writes. It is ASCII: readers differ on what ends a
/// line, and no text of somebody else's steers a terminal.
fn write_line(json: &str) -> io::Result<()> {
    let mut line = ascii(json);
    line.push('\n');
    let mut out = streams::stdout();
    out.write_all(line.as_bytes())?;
    out.flush()
}
