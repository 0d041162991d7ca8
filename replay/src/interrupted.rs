//! Sender of the signal that ended a run, as its recorder wrote it down.

use holdpoint_domain::evidence_capture::{EvidenceCaptured, EvidenceContent};
use holdpoint_domain::execution_loop::{ExecutionLoopState, HaltReason};

/// A signal that ended a run, and who sent it as far as the system said so to its recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// The number of the signal.
    pub signal: u32,
    /// The process that sent it.
    pub process: Option<u32>,
    /// The user whose process that was.
    pub user: Option<u32>,
}

impl Interrupted {
    /// `None`: this is no evidence of an interruption. The rules word it, and nothing else counts.
    pub(crate) fn of(body: &EvidenceCaptured) -> Option<Self> {
        if !matches!(
            body.content,
            EvidenceContent::Transition { to: ExecutionLoopState::Halted, .. }
        ) {
            return None;
        }
        Self::read(std::str::from_utf8(body.raw_data.as_bytes()).ok()?)
    }

    fn read(text: &str) -> Option<Self> {
        let told = text.strip_prefix(HaltReason::Interrupted.name())?.strip_prefix(": signal ")?;
        let (signal, sender) = told.split_once(" from ")?;
        let (process, user) = match sender {
            "a sender that is not known" => (None, None),
            _ => match sender.strip_prefix("a process of user number ") {
                Some(user) => (None, Some(number(user)?)),
                None => of_process(sender.strip_prefix("process ")?)?,
            },
        };
        Some(Self { signal: number(signal)?, process, user })
    }
}

/// A process, and its user where that is told.
fn of_process(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    Some(match text.split_once(" of user number ") {
        Some((process, user)) => (Some(number(process)?), Some(number(user)?)),
        None => (Some(number(text)?), None),
    })
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_told_as_the_rules_word_it_and_nothing_else_is_one() {
        let read =
            |sender: &str| Interrupted::read(&format!("INTERRUPTED: signal 15 from {sender}"));
        let by = |process, user| Some(Interrupted { signal: 15, process, user });
        assert_eq!(read("process 4711 of user number 1000"), by(Some(4711), Some(1000)));
        assert_eq!(read("process 4711"), by(Some(4711), None));
        assert_eq!(read("a process of user number 0"), by(None, Some(0)));
        assert_eq!(read("a sender that is not known"), by(None, None));
        for other in ["root", "process 4711 of user number root", "process +1", "process 1 "] {
            assert_eq!(read(other), None, "{other}");
        }
        assert_eq!(Interrupted::read("ABORT: signal 15 from process 1"), None);
        assert_eq!(Interrupted::read("INTERRUPTED: signal x from process 1"), None);
    }
}
