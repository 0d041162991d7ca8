//! The shell: where pure rules meet the disk. It reads the clock, draws entropy, takes a turn on
//! the log, lets the rules decide, appends what they decided, and acknowledges only what a sync
//! covers.
//!
//! # Architecture invariants
//!
//! - The domain and the log meet nowhere else.
//! - No rule is taken here: what to do is decided by `holdpoint_domain::decide` alone.
//! - Nothing derived from the state leaves before a sync covers the newest record it depends on.

mod adopted;
mod append;
mod archive;
mod archived;
mod behind;
mod bound_directory;
mod callback;
mod canonical_input;
mod clock;
mod clock_step;
mod closing;
mod conditions;
mod continued;
mod decision_points;
mod engine;
mod engine_options;
mod entropy;
mod error;
mod file_limit;
mod fingerprint;
mod governed;
mod governed_ending;
mod hold_point;
mod identity;
mod indexer;
mod instruction;
mod interrupt;
mod lookup;
mod lost;
mod metrics;
mod metrics_storage;
mod origin;
mod origin_of_user;
mod outcome;
mod own_session;
mod owner;
mod person_terminal;
mod prompter;
mod read_only;
mod rebuild;
mod recall;
mod receipt;
mod recent;
mod recorders;
mod recording;
mod reducer_access;
mod resume;
mod retry;
mod run;
mod run_seat;
mod runs;
mod salvage;
mod snapshot;
mod start;
mod starts;
mod submit;
mod submit_queue;
mod subscription;
mod subscription_notifier;
mod subscription_reader;
mod take_up;
mod terminal_users;
#[cfg(test)]
mod tests;
mod threads;
mod ticket;
mod transaction;
mod unlock;
mod unsynced_turn;
mod user;
mod waits;
mod watch;
mod writers_own;

pub use archive::{ArchivePlan, ArchiveReport, MoveError};
pub use bound_directory::BoundDirectory;
pub use callback::Callback;
pub use canonical_input::{
    CanonicalInputError, MAX_INPUT_BYTES, MAX_INPUT_DEPTH, canonical_input, canonical_input_sha256,
    expect_strict_json,
};
pub use clock::{Clock, Reading, SystemClock};
pub use conditions::{Conditions, IdempotencyKey};
pub use continued::{
    ContinueError, ContinueReport, LeftDirectory, ShortLog, left_beside, left_by_interrupted,
};
pub use decision_points::{
    CreateDecisionPointError, DecisionPointRecord, FindDecisionPointError, NotOptions,
    UpdateDecisionPointError, UpdatedDecisionPoint, WaitError, WaitOutcome, Waited,
};
pub use engine::Engine;
pub use engine_options::EngineOptions;
pub use entropy::{EntropySource, SystemEntropy};
pub use error::{EngineError, SubmitError};
pub use file_limit::file_size_limit_is_an_error;
pub use fingerprint::FingerprintDistance;
pub use holdpoint_domain::execution_loop::OnFull;
pub use identity::Identity;
pub use metrics::{AppendMeasure, Metrics, NoMetrics, TurnMeasure};
pub use origin_of_user::asking_user;
pub(crate) use origin_of_user::{in_initial_user_namespace, user_outside};
pub use own_session::{is_in_front_of, is_of_session};
pub use owner::owner_of;
pub use person_terminal::{
    AskError, PersonTerminal, TypedLine, lockable, terminal_name, user_number,
};
pub use prompter::{NoPrompt, PersonAnswer, PersonInput, Prompter, Question, WaitPolicy};
pub use read_only::{ReadOnlyEngine, ReadOnlyError};
pub use recall::FoundRecord;
pub use recording::Recording;
pub use reducer_access::{LogPosition, ReducerAccess};
pub use resume::ResumeError;
pub use run::{
    EXIT_ABORTED, EXIT_FAULT_TERMINATED, EXIT_HOLDPOINT_FAILED, EXIT_LEFT_WAITING,
    EXIT_NOBODY_ANSWERED, EarlierRun, EndWaits, FaultOutcome, GovernedRun, HeldRun, KeyedRun,
    LeftOpen, RunError, RunReport, RunSummary,
};
pub use salvage::{SalvageError, SalvageProgress, SalvageReport, salvage, writer_of};
pub use start::{
    APPROVE, ApprovalKeys, ApprovalOutcome, ApprovedStart, AskBefore, BOUND_BYTES_MAX,
    BOUND_FILES_MAX, BindingOptions, Bound, CODE_VARIABLES, DENY, NamedLine, SESSION_VARIABLES,
    STEP_VARIABLES, StartAnswer, StartError, StartPrompter, StartSummary, carries_code,
};
pub use submit::{Origin, Receipt, Submitted};
pub use submit_queue::QueueError;
pub use subscription::{Delivered, Subscription, SubscriptionError};
pub use threads::{AuditRow, ReadMode, RowContent, ThreadReadError};
pub use ticket::{Outcome, Ticket};
pub use transaction::{MAX_MEMBERS, Transaction, TransactionDraft};
pub use unlock::approvers_who_are_gone;
pub use user::{UserDatabase, name_of_user, state_home, user_database, user_name};
pub(crate) use user::{home_of_user, is_nobody, numbers_of};
pub use watch::{Wake, Watch};
