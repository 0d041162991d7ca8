//! A flight recorder and approval gate to embed: one crate to depend on, with the names that one
//! looks for. The program for the command line is the crate `holdpoint-cli`.
//!
//! ```no_run
#![doc = include_str!("../examples/hello.rs")]
//! ```
//!
//! | to | look at |
//! |---|---|
//! | open a log and write to it | [`Engine`], [`EngineOptions`] |
//! | look at one and write nothing | [`ReadOnlyEngine`], [`state_at`], [`verify`] |
//! | say who asks | [`Origin`] |
//! | do something once, or only on a version | [`Conditions`], [`IdempotencyKey`] |
//! | record an event of one's own | [`RecordEvent`], [`Engine::record`] |
//! | record several things or none | [`Engine::transaction`], [`Transaction`] |
//! | run a command on the record | [`GovernedRun`], [`Engine::run`], [`RunReport`] |
//! | ask a person and wait | [`ask`], [`Question`], [`respond`], [`DecisionPoint`] |
//! | go on and be told later | [`Engine::submit_later`], [`Ticket`] |
//! | follow what is recorded | [`Engine::subscribe`], [`Subscription`] |
//! | know what the log proves | [`verify`], [`Report`], [`Verdict`], [`Axes`] |
//!
//! Beside that whole crates are here under short names: [`domain`], [`engine`], [`replay`],
//! [`log_files`] and [`log_format`].
#![cfg(not(windows))]
#![forbid(unsafe_code)]

mod ask;

/// The rules: events, commands, what is decided and what becomes of the state.
pub use holdpoint_domain as domain;
/// How facts are added to a log, and real commands run under a gate.
pub use holdpoint_engine as engine;
/// Where the bytes of a log lie: finding, mapping and reading its segments.
pub use holdpoint_log_files as log_files;
/// What the bytes of a log mean.
pub use holdpoint_log_format as log_format;
/// What the records of a log prove: verifying, rebuilding, telling.
pub use holdpoint_replay as replay;

pub use ask::{AskError, Question, ask, ask_when, respond};
pub use holdpoint_domain::application::{ApplicationEvent, ApplicationRecorded, Data, RecordEvent};
pub use holdpoint_domain::core::actor::{Actor, Principal};
pub use holdpoint_domain::decision_point::{
    ApprovalPolicy, DecisionOption, DecisionPoint, DecisionPointState,
};
pub use holdpoint_domain::execution_loop::HaltReason;
pub use holdpoint_domain::human_decision::{HoldPolicy, HoldTerms, HumanDecision};
pub use holdpoint_domain::{ActorId, Command, Envelope, Event, Proof, Refusal, Time, World};
pub use holdpoint_engine::executor::{
    CommandSpec, Discard, ExecutionReport, NoSignals, OutputSink, OutputStream, SignalSource,
    Signals,
};
pub use holdpoint_engine::log::{Level, Options, Ownership};
pub use holdpoint_engine::shell::{
    Conditions, DecisionPointRecord, Delivered, EarlierRun, Engine, EngineError, EngineOptions,
    GovernedRun, HeldRun, IdempotencyKey, Identity, KeyedRun, NoPrompt, Origin, Outcome, Prompter,
    QueueError, ReadOnlyEngine, ReadOnlyError, Receipt, RunError, RunReport, SubmitError,
    Submitted, Subscription, SubscriptionError, Ticket, Transaction, TransactionDraft, WaitError,
    WaitOutcome, Waited,
};
pub use holdpoint_log_files::DirectoryStorage;
pub use holdpoint_replay::rebuild_directory as state_at;
pub use holdpoint_replay::verify_directory as verify;
pub use holdpoint_replay::{
    Axes, Axis, AxisState, Committed, Content, Finding, ReadError, Rebuilt, Report, Until, Verdict,
};

/// What most programs name: `use holdpoint::prelude::*`.
pub mod prelude {
    pub use crate::{
        ApplicationRecorded, CommandSpec, Conditions, DecisionPointState, Discard, Engine,
        EngineOptions, GovernedRun, NoSignals, Origin, Question, RecordEvent, Refusal, Submitted,
        Transaction, Until, Verdict, ask, respond, state_at, verify,
    };
}
