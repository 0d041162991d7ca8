//! Every public type may cross threads and be shared by them; the few that may not say why.

use crate::workspace;
use holdpoint::log_files::{DirectoryStorage, ReadStorage};
use holdpoint::reducers::{ApplicationEvent, EventError, Reducer};
use std::collections::BTreeSet;

const fn may_cross_threads<T: Send + Sync>() {}

const fn may_move_to_another<T: Send>() {}

// A state is decoded as it is asked, so that one thread asks at a time.
const _: () = {
    may_move_to_another::<holdpoint::World>();
    may_move_to_another::<holdpoint::replay::Rebuilt>();
    may_move_to_another::<holdpoint::replay::NewestState>();
    may_move_to_another::<holdpoint::replay::Moment>();
    may_move_to_another::<holdpoint::replay::IdMatches>();
    may_move_to_another::<holdpoint::replay::Listed>();
    may_move_to_another::<holdpoint::replay::Run>();
    may_move_to_another::<holdpoint::replay::RunLookup>();
    may_move_to_another::<holdpoint::replay::Timeline<'static, DirectoryStorage>>();
};

struct Sum;

impl Reducer for Sum {
    const NAME: &'static str = "sum";
    type State = u64;

    fn apply(_: &mut u64, _: &ApplicationEvent<'_>) -> Result<(), EventError> {
        Ok(())
    }
}

/// Checks the types of each module, and lists their names, with the file that names them.
macro_rules! shared {
    ($($module:path, $file:literal: [$($Type:ty),+ $(,)?];)+) => {
        $(const _: () = {
            #[allow(unused_imports, reason = "some are named by two modules")]
            use $module::*;
            $(may_cross_threads::<$Type>();)+
        };)+
        const SHARED: &[(&str, &[&str])] = &[$(($file, &[$(stringify!($Type)),+]),)+];
    };
}

shared! {
    holdpoint, "engine/holdpoint/src/lib.rs": [
        Actor, ActorId, ApplicationEvent<'static>, ApplicationRecorded, ApprovalPolicy,
        AskError, Axes, Axis, AxisState, Bisected, Checked, CheckedFingerprint, Command,
        CommandSpec, Committed, Conditions, Content, Data, DecisionOption,
        DecisionPoint, DecisionPointRecord, DecisionPointState, Delivered,
        DirectoryStorage, Discard, EarlierRun, Engine, EngineError, EngineOptions,
        Envelope, Event, EventError, ExecutionReport, Finding, GovernedRun, HaltReason,
        HeldRun, HoldPolicy, HoldTerms, HumanDecision, IdempotencyKey, Identity,
        KeyedRun, Level, NoPrompt, NoSignals, Options, Origin, Outcome, OutputStream,
        Ownership, Principal, Proof, Question, QueueError, ReadError, ReadOnlyEngine,
        ReadOnlyError, Receipt, RecordEvent, Reduced<Sum>, ReducerError,
        ReducerFault, ReducerOptions, Refusal, Report, RunError, RunReport, RunSummary,
        Scope, Signals, StateHistory<Sum>, SubmitError, Submitted, Subscription,
        SubscriptionError, Ticket, Time, Transaction, TransactionDraft<'static,
        DirectoryStorage>, Until, Verdict, Versioned<u64>, WaitError, WaitOutcome,
        Waited,
    ];
    holdpoint::engine::shell, "engine/src/shell/mod.rs": [
        AppendMeasure, ApprovalKeys, ApprovalOutcome, ApprovedStart<'static>,
        ArchivePlan, ArchiveReport, AskBefore, AskError, AuditRow, BindingOptions,
        Bound, BoundDirectory, Callback, CanonicalInputError, Conditions, ContinueError,
        ContinueReport, CreateDecisionPointError, DecisionPointRecord, Delivered,
        EarlierRun, EndWaits, Engine, EngineError, EngineOptions, FaultOutcome,
        FindDecisionPointError, FingerprintDistance, FoundRecord, GovernedRun, HeldRun,
        IdempotencyKey, Identity, KeyedRun, LeftDirectory, LeftOpen, LogPosition,
        MoveError, NamedLine, NoMetrics, NoPrompt, NotOptions, OnFull, Origin, Outcome,
        PersonAnswer, PersonInput, PersonTerminal, Question, QueueError, ReadMode,
        ReadOnlyEngine, ReadOnlyError, Reading, Receipt, Recording,
        ReducerAccess<DirectoryStorage>, ResumeError, RowContent, RunError, RunReport,
        RunSummary, SalvageError, SalvageProgress, SalvageReport, ShortLog, StartAnswer,
        StartError, StartSummary, SubmitError, Submitted, Subscription,
        SubscriptionError, SystemClock, SystemEntropy, ThreadReadError, Ticket,
        Transaction, TransactionDraft<'static, DirectoryStorage>, TurnMeasure,
        TypedLine, UpdateDecisionPointError, UpdatedDecisionPoint, UserDatabase,
        WaitError, WaitOutcome, WaitPolicy, Waited, Wake<'static>, Watch,
    ];
    holdpoint::engine::log, "engine/src/log/mod.rs": [
        Acknowledgement<'static, DirectoryStorage>, AppendError, Appended,
        Archive<'static, DirectoryStorage>, ArchiveError, CloseError, Copied,
        CopyDirectoryError, CopyError, DeferOutcomeError, DeferredOutcome, Level, Log,
        NameState, NewRecord, OpenError, OpenReport, Options, Ownership, PoisonCause, Recovered,
        Room, RootState, RunFile, RunFileStamp, SealedSegment,
    ];
    holdpoint::engine::executor, "engine/src/executor/mod.rs": [
        CapturedOutput, CommandSpec, Containment, Discard, EnvironmentPolicy,
        ExecuteError, ExecutionReport, ForwardedSignal, Guard, InstructionEnvelope,
        KeepError, Keeper, KeeperRequest, NoSignals, Notice, Obstacle, OpenProgramError,
        OpenedFile, OpenedProgram, Outcome, OutputStream, PassThrough<Vec<u8>, Vec<u8>>,
        ReceivedSignal, ShownValue, SignalOrigin, SignalReceiver, SignalSender,
        SignalState, Signals, SinkFailure, StartRefusal, Stdin, Survivor, TerminalSize,
        Variable,
    ];
    holdpoint::engine::floors, "engine/src/floors/mod.rs": [
        Defaults, EvidenceTable, FileFault, Floor, FloorFiles, Floors, FloorsError,
        HoldTable, Key, Moments, QuestionsTable, Whose,
    ];
    holdpoint::engine::adoption, "engine/src/adoption/mod.rs": [
        Adoption, Ground, LogPlace, LogRegistry, NotAdopted, RegistryError,
    ];
    holdpoint::reducers, "engine/reducers/src/lib.rs": [
        ApplicationEvent<'static>, Bisected, Checked, CheckedFingerprint, EventError,
        Outcome, Patch, Reduced<Sum>, ReducerError, ReducerFault, ReducerOptions, Scope,
        StateHistory<Sum>, Versioned<u64>,
    ];
    holdpoint::replay, "replay/src/lib.rs": [
        ActorFilter, Answer, Approver<'static>, Archived, ArchivedLog, Axes, Axis,
        AxisState, Beginning, Begun, BegunLookup, BegunOnce, BegunTwice, BisectError<u64>,
        CacheState, CachedIndex, CachedSnapshot, Caches, CapturedOutput, Caused, Change,
        CommandClaims, CommandCopy, Committed, CommonPrefix, Content, CopyCheck, DamageMap,
        Difference, Doer, Entity, EntityChange, EvidenceCopy, Extract, Extracted,
        Filter, Finding, FirstBatch, Head, Interrupted, Later, Line, LogTail, Missed,
        Missing,
        Name<'static>, NameKind, OneOf, Order, Outcome, OutputHole,
        OutputPart, OutsideHead, OutsideState, Part, Person, Problem, Progress, Range,
        RangeReport, Reach, Reached, ReadError, Report,
        Retry, Role, RunFilter, RunNames, RunOutcome, RunStatus,
        RunSummary, Searched, Session, SessionList, Span, Statistics, Step, StepRecord,
        Tail, TailError, Taken, TakenRecord, Tells, TerminalSize, TextFilter,
        ThreadRow<'static>, Together, Trace,
        Traced, TracedRun, Unproven, Until, ValueChange, Verdict, VerifyRequest,
        Witnessed,
    ];
    holdpoint::log_files, "log-format/files/src/lib.rs": [
        ArchivePlaces, DirectoryStorage, DisplacedDirectory, Entry, EntryKind, Extent, FileId,
        Finding, FollowError,
        Follower, JoinedLog<DirectoryStorage>, LogReader<'static, DirectoryStorage>,
        Mapped<std::fs::File>, Place, Problem, RecordPlace, Run, RunEntries, RunEntry,
        RunFileFault, Stamp, Standing, Stop, Survey, SurveyError, SurveyOptions, Ties,
    ];
    holdpoint::log_format, "log-format/src/lib.rs": [
        BootId, ChainPosition, ChecksumSeed, EntryFault, EntryHeader, EntryKind, Fault,
        Flags, GuardFacts, GuardKilledFor, Head, Item<'static>, ItemLength, Link,
        LinkPrefix, Lock, LogId, OwnerState, Record<'static>, RecordHeader, RunKey,
        RunStart, Seal, SegmentHeader, SnapshotHeader,
    ];
}

/// Names of no type, and of types that stay with their thread.
const OTHERS: &[(&str, &str)] = &[
    ("Asks", "a caller's closure, as it is"),
    ("IdMatches", "holds runs"),
    ("Listed", "holds runs"),
    ("Moment", "holds a state"),
    ("NewestState", "holds a state"),
    ("ReadOptions", "borrows a closure that says whether a writer lives, asked by its own thread"),
    ("Rebuilt", "holds a state"),
    ("Run", "a part of a state"),
    ("RunLookup", "holds a run"),
    ("Timeline", "holds a state"),
    ("World", "a state, whose parts are decoded as they are asked, by one thread at a time"),
    ("WriteTransaction", "holds the log's lock, which the thread that took it gives back"),
];

/// Traits, which an embedder implements: those that an engine keeps ask for both themselves.
const TRAITS: [&str; 15] = [
    "Board",
    "Clock",
    "EntropySource",
    "EventType",
    "LockFile",
    "Metrics",
    "OutputSink",
    "Prompter",
    "ReadFile",
    "ReadStorage",
    "Reducer",
    "SignalSource",
    "StartPrompter",
    "Storage",
    "WriteFile",
];

/// The types and traits that a file names for whoever depends on the crate.
fn named_by(source: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let source = source.split("pub mod prelude").next().unwrap();
    for part in source.split("\npub use ").skip(1) {
        let words = part.split(';').next().unwrap().split(|it: char| !is_of_word(it));
        let is_type =
            |it: &&str| it.starts_with(char::is_uppercase) && it.contains(char::is_lowercase);
        named.extend(words.filter(is_type).map(str::to_string));
    }
    for begin in ["\npub struct ", "\npub enum "] {
        let defined = source.split(begin).skip(1);
        named.extend(defined.map(|it| it.split(|it: char| !is_of_word(it)).next().unwrap().into()));
    }
    named
}

fn is_of_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

#[test]
fn every_public_type_is_send_and_sync_or_says_why() {
    let mut unlisted = Vec::new();
    for (file, types) in SHARED {
        let source = std::fs::read_to_string(workspace().join(file)).unwrap();
        let listed: BTreeSet<&str> =
            types.iter().map(|it| it.split(|it| !is_of_word(it)).next().unwrap()).collect();
        let is_known = |name: &String| {
            listed.contains(name.as_str())
                || TRAITS.contains(&name.as_str())
                || OTHERS.iter().any(|(other, _)| other == name)
        };
        unlisted.extend(named_by(&source).into_iter().filter(|it| !is_known(it)));
    }
    assert_eq!(unlisted, [""; 0], "list them here");
}

/// The same for a log of any storage that may be shared.
const fn any_storage_gives_a_log_that_may_be_shared<S: ReadStorage + Send + Sync>() {
    may_cross_threads::<holdpoint::log_files::JoinedLog<S>>();
}

const _: () = any_storage_gives_a_log_that_may_be_shared::<DirectoryStorage>();
