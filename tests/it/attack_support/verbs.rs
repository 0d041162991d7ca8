//! The readings: verbs as they are typed, and what each of them shows.

/// What a reading shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// Whether the log holds.
    Verdict,
    /// The same, and which of the files derived from it are right.
    Caches,
    /// Records, each on a line of its own.
    Records,
    /// The records of the log that it makes.
    Made,
    /// The same, under numbers of their own.
    Kept,
    /// Records in steps.
    Steps,
    /// What has become of things.
    State,
    /// The same, with lists of what it came of.
    Parts(&'static [&'static str]),
}

/// A verb with the options that make another reading of it. `SEQ`, `KIND`, `LOOP`, `DECISION` and
/// `TEXT` stand for what the attacked record has, `REQUEST` for the question that waits, `ARCHIVE`
/// for the archive and `NEW` for a directory that is not there yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verb {
    pub(crate) line: &'static str,
    pub(crate) shows: Shows,
}

const fn verb(line: &'static str, shows: Shows) -> Verb {
    Verb { line, shows }
}

pub(crate) const DIFF: Verb = verb("diff 0", Shows::Parts(&["entities"]));
const BISECT: Verb = verb("diff --when totals.events>=SEQ", Shows::Parts(&["records", "causes"]));
const REPLAY_LOOP: Verb = verb("replay LOOP --story", Shows::Parts(&["story"]));
const HEALTH: Verb = verb("thread list --health", Shows::Parts(&["rows"]));
const RUNS: Verb = verb("runs", Shows::State);
const RUNS_OK: Verb = verb("runs status=ok", Shows::State);
const SHOW_LOOP: Verb = verb("show LOOP", Shows::Parts(&["outputs"]));
const SHOW_DECISION: Verb = verb("show DECISION", Shows::State);
const INBOX: Verb = verb("inbox", Shows::State);
const OUTPUT: Verb = verb("output LOOP", Shows::State);
const EXPORT: Verb = verb("export --format jsonl --output -", Shows::Records);
const LOG_COPY: Verb = verb("copy LOG NEW", Shows::Made);
const SALVAGE: Verb = verb("copy --salvage LOG NEW", Shows::Kept);

/// Every reading of a log, in the order of the columns.
///
/// What would tell the same code twice is left out: `log entity=ID`, `actor`, `correlation`,
/// `--since` and `--until` choose as `loop` and `kind` do, `export --format csv` and `sqlite` write
/// the records of `jsonl`, `verify --fail-fast` is `verify` up to its first finding, `replay
/// ID` is of other things than loops too, `diff DIR/` compares two states as `diff` does,
/// `--whole` and `--at` read as `replay` does, `report` tells what `verify` and `log` do, and what
/// its pages carry has a matrix of its own, `runs failed=true` and the like choose as `status=S`
/// does, and `show REQUEST` is another verb as `show DECISION` is. What waits for more
/// (`log --follow`, `decision wait`) or serves others (`hook`, `mcp`) begins with the looks
/// and turns that stand here.
pub(crate) const ON_LOG: [Verb; 39] = [
    verb("verify", Shows::Verdict),
    verb("verify SEQ..SEQ", Shows::Verdict),
    verb("verify --caches", Shows::Caches),
    verb("verify --map", Shows::Verdict),
    verb("doctor", Shows::Verdict),
    verb("log", Shows::Records),
    verb("log --reverse", Shows::Records),
    verb("log -n 3", Shows::Records),
    verb("log --since SEQ --until SEQ", Shows::Records),
    verb("log kind=KIND", Shows::Records),
    verb("log loop=LOOP", Shows::Records),
    verb("log decision=DECISION", Shows::Records),
    verb("log text=TEXT", Shows::Records),
    verb("log --stat", Shows::State),
    LOG_COPY,
    SALVAGE,
    EXPORT,
    verb("show --trace SEQ", Shows::Steps),
    verb("replay", Shows::State),
    verb("replay --until SEQ", Shows::State),
    REPLAY_LOOP,
    verb("replay --live", Shows::State),
    DIFF,
    BISECT,
    verb("decision show REQUEST", Shows::State),
    verb("decision list", Shows::State),
    verb("decision show DECISION", Shows::State),
    verb("thread list", Shows::State),
    verb("thread show talk", Shows::State),
    verb("thread show --rows talk", Shows::State),
    verb("thread show --story talk", Shows::State),
    HEALTH,
    verb("policy show", Shows::State),
    RUNS,
    RUNS_OK,
    SHOW_LOOP,
    SHOW_DECISION,
    OUTPUT,
    INBOX,
];

/// Every reading of a log whose first records are in an archive. Those that do not look into it
/// (`-n`, the looks at what lives) are here for what was done to HEAD and to the
/// statement of what was moved. `verify` without `--archive` says that it did not look there.
pub(crate) const ON_PAIR: [Verb; 35] = [
    verb("verify --archive ARCHIVE", Shows::Verdict),
    verb("log", Shows::Records),
    verb("log --archive ARCHIVE", Shows::Records),
    verb("log --reverse", Shows::Records),
    verb("log -n 3", Shows::Records),
    verb("log --since SEQ --until SEQ", Shows::Records),
    verb("log kind=KIND", Shows::Records),
    verb("log loop=LOOP", Shows::Records),
    verb("log decision=DECISION", Shows::Records),
    verb("log text=TEXT", Shows::Records),
    verb("log --stat", Shows::State),
    LOG_COPY,
    SALVAGE,
    EXPORT,
    verb("show --trace SEQ", Shows::Steps),
    verb("replay", Shows::State),
    verb("replay --archive ARCHIVE", Shows::State),
    verb("replay --until SEQ", Shows::State),
    REPLAY_LOOP,
    DIFF,
    BISECT,
    verb("decision list", Shows::State),
    verb("decision show DECISION", Shows::State),
    verb("thread list", Shows::State),
    verb("thread show --rows talk", Shows::State),
    verb("thread show --story talk", Shows::State),
    HEALTH,
    verb("policy show", Shows::State),
    RUNS,
    verb("runs --archive ARCHIVE", Shows::State),
    RUNS_OK,
    SHOW_LOOP,
    SHOW_DECISION,
    OUTPUT,
    INBOX,
];

impl Verb {
    pub(crate) fn on_log(line: &str) -> Self {
        ON_LOG.into_iter().find(|verb| verb.line == line).unwrap()
    }

    /// Whether exit 0 is said of the whole log.
    pub(crate) fn is_of_whole(self) -> bool {
        !self.line.contains("SEQ")
    }
}
