//! Knows what became of everything that threads waited for, and of the words that waited for
//! permission, from audit rows alone. The words that were offered, and what was heard, it is told
//! by whoever talks.

use std::collections::BTreeMap;

use holdpoint_domain::interruption_thread::{
    DecidedBy, Directive, InterruptionThreadEvent, OutcomeRow, PendingState, ReasonCode,
    ResumePolicy, RowCommitted,
};
use holdpoint_domain::{Command, Event};

/// What a thread waits for that no other words answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    kind: PendingState,
    /// The action that needs a yes.
    action: Option<String>,
    /// The words that wait for permission.
    words: Option<String>,
    /// The turn in which a tool was asked.
    tool: Option<u64>,
}

/// What every thread waits for, by its rows.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    threads: BTreeMap<String, Asked>,
    heard: String,
    pub(crate) ends: BTreeMap<&'static str, u64>,
}

impl Requests {
    /// What a thread waits for. A clarifying question is answered by whatever comes next.
    pub(crate) fn waits_for(&self, thread: &str) -> PendingState {
        self.threads.get(thread).map_or(PendingState::None, |asked| asked.kind)
    }

    /// Reads a row; `offered` are the words of the command that it comes of.
    pub(crate) fn read(&mut self, event: &Event, offered: &str) {
        let Event::InterruptionThread(event) = event else { return };
        match event {
            InterruptionThreadEvent::TurnTaken(turn) => {
                self.heard = turn.decision.response_text.as_deref().unwrap_or_default().into();
            }
            InterruptionThreadEvent::RowCommitted(row) => self.committed(row, offered),
            InterruptionThreadEvent::ThreadClosed(ended) => {
                let asked = self.threads.remove(ended.correlation_id.as_str());
                let is_open = asked.is_some_and(|it| it.kind != PendingState::Clarify);
                assert!(!is_open, "closed over a request that no row ended: {ended:?}");
            }
            other => other.outcome_rows().iter().for_each(|row| self.ended(row)),
        }
    }

    /// Reads the row of a request that ended by no turn.
    fn ended(&mut self, row: &OutcomeRow) {
        let Some(ended) = row.pending_state else { return };
        assert_eq!(row.interrupt_resume_policy, ResumePolicy::Discard, "{row:?}");
        let asked = self.threads.remove(row.correlation_id.as_str());
        assert!(asked.is_none_or(|it| it.kind == ended), "{row:?}");
        self.count(match row.session_id {
            Some(_) => "ended with the session",
            None => "ended with the thread",
        });
    }

    fn count(&mut self, how: &'static str) {
        *self.ends.entry(how).or_default() += 1;
    }

    fn committed(&mut self, row: &RowCommitted, offered: &str) {
        let thread = row.correlation_id.to_string();
        let mut before = self.threads.remove(&thread);
        let waited = before.as_ref().map_or(PendingState::None, |asked| asked.kind);
        let stated = row.payload.pending_state;
        let stated = if stated == PendingState::Clarify { PendingState::None } else { stated };
        assert_eq!(waited, stated, "what was waited for ended without a row: {row:?}");
        if let Some(dropped) = row.dropped_pending {
            assert_eq!(waited, dropped, "{row:?}");
            before = None;
            self.count("given up by name");
        } else if let Some(asked) = before.take_if(|asked| is_answered(asked, row)) {
            if row.reason_code == ReasonCode::MemoryPermissionYes {
                let is_heard = asked.words.iter().all(|words| self.heard.contains(words));
                assert!(is_heard, "permitted, and not said: {asked:?}");
                self.count("said by permission");
            }
            self.count("answered");
        }
        let asked = match (before, asked_by(row, offered)) {
            (Some(before), Some(now)) => {
                assert_eq!(before, now, "it ended without a row: {row:?}");
                self.count("asked again");
                Some(now)
            }
            (before, now) => before.or(now),
        };
        asked.map(|asked| self.threads.insert(thread, asked));
    }
}

fn is_answered(asked: &Asked, row: &RowCommitted) -> bool {
    let reason = row.reason_code;
    let by_caller = row.decided_by == DecidedBy::Caller;
    !by_caller
        && match asked.kind {
            PendingState::Confirm => {
                [ReasonCode::ConfirmYesDispatch, ReasonCode::ConfirmNoAbort].contains(&reason)
            }
            // Words that were to be said again, and whose time is over, have a row of their own.
            PendingState::MemoryPermission if reason == ReasonCode::ResumeExpired => {
                asked.words.iter().all(String::is_empty)
            }
            PendingState::MemoryPermission => {
                let answers = [ReasonCode::MemoryPermissionYes, ReasonCode::MemoryPermissionNo];
                answers.contains(&reason)
            }
            PendingState::Tool => [
                ReasonCode::ToolOk,
                ReasonCode::ToolFail,
                ReasonCode::ToolAmbiguous,
                ReasonCode::MemoryPermissionRequired,
            ]
            .contains(&reason),
            _ => false,
        }
}

fn asked_by(row: &RowCommitted, offered: &str) -> Option<Asked> {
    let kind = match row.reason_code {
        _ if row.payload.directive == Directive::Confirm => PendingState::Confirm,
        _ if row.decided_by == DecidedBy::Caller => return None,
        ReasonCode::MemoryPermissionRequired => PendingState::MemoryPermission,
        ReasonCode::DispatchTool => PendingState::Tool,
        _ => return None,
    };
    let is_memory = kind == PendingState::MemoryPermission;
    let words = is_memory.then(|| offered.to_owned());
    let action = row.payload.confirm_kind.as_deref().map(Into::into);
    let tool = (kind == PendingState::Tool).then_some(row.turn_id);
    Some(Asked { kind, action, words, tool })
}

/// The words that the input of a command offers.
pub(crate) fn offered(command: &Command) -> String {
    use holdpoint_domain::interruption_thread::{InterruptionThreadCommand, TurnInput};
    let request = match command {
        Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn)) => &turn.request,
        Command::InterruptionThread(InterruptionThreadCommand::CommitTurn(turn)) => &turn.request,
        _ => return String::new(),
    };
    match &request.input {
        TurnInput::Chat { response_text }
        | TurnInput::ToolResponse { response_text, .. }
        | TurnInput::LastFailure { response_text } => response_text.to_string(),
        _ => String::new(),
    }
}
