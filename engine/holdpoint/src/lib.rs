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
//! | make a state of them | [`Reducer`], [`Reduced`], [`StateHistory`], [`EventType`] |
//! | record several things or none | [`Engine::transaction`], [`Transaction`] |
//! | run a command on the record | [`GovernedRun`], [`Engine::run`], [`RunReport`] |
//! | ask a person and wait | [`ask`], [`Question`], [`respond`], [`DecisionPoint`] |
//! | go on and be told later | [`Engine::submit_later`], [`Ticket`] |
//! | follow what is recorded | [`Engine::subscribe`], [`Subscription`] |
//! | know what the log proves | [`verify`], [`Report`], [`Verdict`], [`Axes`] |
//!
//! Beside that whole crates are here under short names: [`domain`], [`engine`], [`reducers`],
//! [`replay`], [`log_files`] and [`log_format`].
#![cfg(not(windows))]
#![forbid(unsafe_code)]

mod ask;

/// The rules: events, commands, what is decided and what becomes of the state.
pub use holdpoint_domain as domain;
/// Adding of facts to a log, and running of real commands under a gate.
pub use holdpoint_engine as engine;
/// Places of the bytes of a log: finding, mapping and reading its segments.
pub use holdpoint_log_files as log_files;
/// Meaning of the bytes of a log.
pub use holdpoint_log_format as log_format;
/// States of an application's own, rebuilt by replay from its events.
pub use holdpoint_reducers as reducers;
/// Proofs from the records of a log: verifying, rebuilding, telling.
pub use holdpoint_replay as replay;

pub use ask::{AskError, Question, ask, respond};
pub use holdpoint_domain::application::{ApplicationRecorded, Data, RecordEvent};
pub use holdpoint_domain::core::actor::{Actor, Principal};
/// ```
/// use holdpoint::prelude::*;
/// # let home = tempfile::tempdir()?;
/// # let engine = Engine::open(home.path().join("log"))?;
/// let question = Question::choice("Which cache?").option("redis", "Redis");
/// let time = std::time::Duration::from_millis(10);
/// let asked = ask(&engine, &Origin::agent("agent-7"), (), &question, time)?;
///
/// // As it stands on the log: who asked what, and how it ended.
/// let point = engine.decision_point(&asked.point.decision_id)?.ok_or("it was asked just now")?;
/// assert_eq!(&*point.requested_by.id, "agent-7");
/// assert_eq!((point.state, point.selected_option()), (DecisionPointState::Aborted, None));
/// # engine.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use holdpoint_domain::decision_point::DecisionPoint;
pub use holdpoint_domain::decision_point::{ApprovalPolicy, DecisionOption, DecisionPointState};
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
    QueueError, ReadOnlyEngine, ReadOnlyError, Receipt, RunError, RunReport, RunSummary,
    SubmitError, Submitted, Subscription, SubscriptionError, Ticket, Transaction, TransactionDraft,
    WaitError, WaitOutcome, Waited,
};
pub use holdpoint_log_files::DirectoryStorage;
/// ```
/// use holdpoint::prelude::*;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Paid(u64);
/// impl EventType for Paid {
///     const TYPE: &'static str = "order.paid";
/// }
///
/// struct Balance;
/// impl Reducer for Balance {
///     const NAME: &'static str = "balance";
///     // As where nothing is said: a state for each stream.
///     const SCOPE: Scope = Scope::Stream;
///     type State = u64;
///     fn apply(cents: &mut u64, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
///         *cents += event.read::<Paid>()?.map_or(0, |paid| paid.0);
///         Ok(())
///     }
/// }
///
/// # let home = tempfile::tempdir()?;
/// # let log = home.path().join("log");
/// let engine = Engine::open(&log)?;
/// let balances = Reduced::<Balance>::open(&engine, ReducerOptions::default())?;
/// let shop = Origin::automation("shop");
/// let first = engine.record(&shop, (), Paid(1200).of("order-1")?)?.accepted()?.last_sequence;
/// // The event is a command too, to be handed over.
/// let paid = engine.submit_later(&shop, (), &Paid(300).of("order-1")?.into())?.wait()?;
/// let last = paid.accepted()?.last_sequence;
/// assert_eq!(balances.state("order-1")?, 1500);
/// balances.snapshot()?;
/// engine.close()?;
///
/// // At any record, beside whoever writes.
/// let history = StateHistory::<Balance>::of(&log);
/// assert_eq!(history.state("order-1", first)?, 1200);
/// let found = history.bisect("order-1", (0, last), &mut |cents| cents.as_u64() > Some(1200))?;
/// assert_eq!(found, Bisected::Found { record: last });
/// let checked: Result<Checked, ReducerError> = history.check();
/// assert_eq!(checked?.agrees(), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use holdpoint_reducers::Reduced;
pub use holdpoint_reducers::{
    ApplicationEvent, Bisected, Checked, CheckedFingerprint, EventError, EventType, Reducer,
    ReducerError, ReducerFault, ReducerOptions, Scope, StateHistory, Versioned,
};
/// ```
/// use holdpoint::{AxisState, Engine, Origin, RecordEvent, Until, Verdict, state_at, verify};
/// # let home = tempfile::tempdir()?;
/// # let log = home.path().join("log");
/// let engine = Engine::open(&log)?;
/// let placed = RecordEvent::new("order-1", "placed", "42");
/// engine.record(&Origin::automation("shop"), (), placed)?.accepted()?;
/// engine.close()?;
///
/// let report = verify(&log)?;
/// assert_eq!(report.verdict, Verdict::Intact);
/// assert_eq!(report.axes.integrity.state, AxisState::Proven);
/// assert_eq!(report.axes.authenticity.state, AxisState::NotChecked);
/// println!("{report}");
///
/// // The state as it was behind the first record.
/// let before = state_at(&log, Until::Sequence(1), &mut |_| {})?;
/// assert_eq!(before.world.stream_version("order-1"), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use holdpoint_replay::Report;
pub use holdpoint_replay::rebuild_directory as state_at;
pub use holdpoint_replay::verify_directory as verify;
pub use holdpoint_replay::{
    Axes, Axis, AxisState, Committed, Content, Finding, ReadError, Rebuilt, Until, Verdict,
};

/// Names that most programs use: `use holdpoint::prelude::*`.
pub mod prelude {
    pub use crate::{
        ApplicationEvent, Bisected, Checked, CommandSpec, Conditions, DecisionPointState, Discard,
        Engine, EngineOptions, EventError, EventType, GovernedRun, NoSignals, Origin, Question,
        RecordEvent, Reduced, Reducer, ReducerError, ReducerOptions, Refusal, Scope, StateHistory,
        Submitted, Transaction, Until, Verdict, ask, respond, state_at, verify,
    };
}
