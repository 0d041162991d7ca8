//! Proofs from the facts of a Holdpoint log: verify it, rebuild the state at any record or moment,
//! tell the story of one loop, list the records.
//!
//! # Architecture invariants
//!
//! - Read-only by construction: this crate does not depend on `holdpoint-engine`, and the storage
//!   it is given has no call that changes anything.
//! - One verdict: a damaged log is judged by the recovery table of `holdpoint-log-format` alone,
//!   the same that opening for writing acts on.
//! - Batches are all or nothing: nothing here shows, counts or applies a part of one.
//! - Raw evidence is neither shown nor kept: only its length and its SHA-256. What a command was
//!   and what it printed is given where one run is asked for: [`run`].
#![cfg(not(windows))]
#![forbid(unsafe_code)]

pub mod again;
mod anchor;
mod archive_statements;
pub mod archives;
mod axes;
mod begun_twice;
pub mod bisect;
pub mod caches;
mod captured_output;
mod caused;
pub mod damage;
pub mod diff;
pub mod directory;
pub mod entity;
pub mod evidence_copies;
pub mod export;
pub mod extract;
pub mod finding;
pub mod id_text;
mod indexed_as_read;
mod interrupted;
pub mod json_fault;
pub mod json_reader;
pub mod live;
pub mod machine;
mod meaning;
pub mod merged_output;
pub mod outcome;
pub mod prefix;
pub mod progress;
pub mod question;
pub mod question_filter;
pub mod reach;
pub mod read;
pub mod rebuild;
mod recorder_notes;
pub mod records;
pub mod report;
pub mod run;
pub mod run_list;
mod run_times;
pub mod runs;
pub mod runs_wanted;
mod second_beginnings;
pub mod session_answers;
pub mod session_row;
pub mod sessions;
pub mod state;
mod statements;
pub mod statistics;
pub mod stretches;
pub mod strict_json;
pub mod systems;
pub mod tail;
mod tell;
pub mod thread_sessions;
pub mod timeline;
pub mod together;
pub mod trace;
pub mod unapproved_starts;
pub mod verify;
pub mod waiting;
mod whole_output;
pub mod words;

/// Source of `verify.py`, which verifies a log or the records in a page.
pub const PYTHON_VERIFIER: &str = include_str!("../verify.py");

pub use again::{Retry, retries_of};
pub use anchor::Archived;
pub use archives::ArchivedLog;
pub use begun_twice::{BegunLookup, BegunOnce, BegunTwice, begun_twice};
pub use bisect::{Answer, BisectError, FirstBatch, Outcome, bisect};
pub use caches::{CacheState, CachedIndex, CachedSnapshot, Caches, check_caches};
pub use captured_output::{CapturedOutput, Missing, OutputHole, OutputPart};
pub use caused::{Caused, caused_by};
pub use damage::DamageMap;
pub use diff::{Change, Difference, EntityChange, RunSummary, ValueChange, diff, diff_states};
pub use directory::{read_directory, rebuild_directory, verify_directory};
pub use entity::{Entity, find_entities, ids};
pub use evidence_copies::{CommandCopy, CopyCheck, EVIDENCE_COPIES, EvidenceCopy};
pub use extract::{Extract, Extracted, Taken, TakenRecord, extract};
pub use finding::{Finding, Problem, leading};
pub use holdpoint_log_files::later::{Later, told_of};
pub use holdpoint_log_files::records_named;
pub use holdpoint_log_files::survey::Reached;
pub use interrupted::Interrupted;
pub use live::{NewestState, Tells, is_salvaged, stated};
pub use outcome::RunOutcome;
pub use prefix::{CommonPrefix, common_prefix};
pub use progress::Progress;
pub use reach::{Reach, durable_to};
pub use read::{Committed, Content, ReadError, ReadOptions};
pub use rebuild::{Rebuilt, Until, rebuild, rebuild_live};
pub use recorder_notes::TerminalSize;
pub use records::{
    ActorFilter, Filter, Line, Name, NameKind, OneOf, Order, Part, RunNames, Searched, Span,
    TextFilter, each_name, ids_beginning_with, is_part, links_of, names_of_runs, newest, records,
    search, span, story,
};
pub use report::{Axes, Axis, AxisState, Head, Report, Tail, Unproven, Verdict};
pub use run::{
    Approver, CommandClaims, Doer, IdMatches, Run, RunLookup, run_beginning_with, run_of,
};
pub use runs::{Begun, Listed, RUN_BEGINS, begun, decision_points, runs_of};
pub use runs_wanted::{RunFilter, RunStatus, find_runs};
pub use sessions::{Asks, QUESTIONS_MAX, Session, SessionList, find_sessions, session_asking};
pub use state::state_of;
pub use statistics::{Statistics, statistics};
pub use tail::{LogTail, Missed, TailError};
pub use tell::{ThreadRow, in_words, story_row};
pub use timeline::{Moment, Timeline, travel};
pub use together::{Together, verify_together};
pub use trace::{Beginning, Person, Role, Step, StepRecord, Trace, Traced, TracedRun, trace};
pub use verify::{
    OutsideHead, OutsideState, Range, RangeReport, VerifyRequest, Witnessed, verify, verify_asked,
    verify_range,
};
