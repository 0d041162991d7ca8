//! One word that a person types at the terminal, before something is done that no argument of a
//! command may do.

use super::{Around, Conversation};
use holdpoint_engine::shell::TypedLine;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

/// How often it is looked whether this process came to the foreground.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What came of asking for a word.
#[derive(Debug)]
pub(crate) enum Typed {
    /// The word was typed.
    Word(TypedLine),
    /// Something else was.
    Other,
    /// There is no terminal, or it is gone.
    NoTerminal,
}

/// Puts lines to the person at the terminal of this process, and has a word typed.
pub(crate) fn typed_word(
    lines: impl FnOnce(usize) -> Vec<String>,
    sentences: &[String],
    word: &str,
) -> Typed {
    let Some(mut conversation) = Conversation::open() else { return Typed::NoTerminal };
    let prompt = format!("holdpoint: type `{word}`, or anything else to leave it: ");
    let command = sentences.first().cloned().unwrap_or_default();
    let around = Around { sentences, command, prompt: &prompt, all: None };
    if conversation.put_question(lines, &around).is_err() {
        return Typed::NoTerminal;
    }
    conversation.prompt(&prompt);
    loop {
        let Some(readable) = conversation.readable() else {
            // Reading in the background would stop this process.
            let _ = poll(&mut [], Some(&LOOK_EVERY));
            continue;
        };
        let mut watched = [PollFd::new(&readable, PollFlags::IN)];
        let ready = poll(&mut watched, Some(&LOOK_EVERY));
        if !matches!(ready, Ok(count) if count > 0) {
            continue;
        }
        match conversation.line() {
            Ok(Some(line)) if line.text() == word => return Typed::Word(line),
            Ok(Some(_)) => return Typed::Other,
            Ok(None) => {}
            Err(_) => return Typed::NoTerminal,
        }
    }
}
