//! Entries that wait in the files of runs until a writer takes it up: signed by their recorders,
//! and unproven before it is on the log.

use crate::captured_output::CapturedOutput;
use crate::machine::is_not_a_directory;
use crate::records::loop_id_of;
use crate::run::Run;
use crate::words::exit_in_words;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureCommand, EvidenceItem, OutputPiece, OutputStream,
};
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, ExecutionLoopEvent, Exit};
use holdpoint_domain::sandbox_fault::SandboxFaultCommand;
use holdpoint_domain::world::envelope;
use holdpoint_domain::world::waiting::{WaitingCommand, entry_of_key};
use holdpoint_domain::{Command, Envelope, Event, Time};
use holdpoint_log_files::{
    DirectoryStorage, Follower, LogReader, ReadStorage, RunEntries, RunEntry, RunFileFault,
    is_outcome_under_way, outcome_of,
};
use holdpoint_log_format::{
    EntryKind, GuardFacts, GuardKilledFor, LogId, Record, RecordHeader, RunStart, names,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Message about files that no writer takes up, for it follows nothing to them.
const OUT_OF_REACH: &str = "`runs` in the log's directory is not a directory of its own, and no \
    writer follows it";

/// The words for an outcome whose file has no end.
const TORN: &str = "it is torn: its hook was killed before it had kept the outcome, or somebody \
    cut it";

/// Entries that wait in the file of one run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WaitingRun {
    /// The run; of an outcome its file's name, `OUTCOME-` and the digits of the decision point.
    pub run: String,
    /// Entries that its recorder signed, first to last; of an outcome what its hook claims.
    pub entries: Vec<WaitingEntry>,
    /// Why the file, or what follows these entries, is not the recorder's: it counts for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// True if the directory of all such files is in no place that a writer follows.
    #[serde(skip)]
    pub is_out_of_reach: bool,
    /// True if a part of the file is its recorder's: the rest alone counts for nothing.
    #[serde(skip)]
    pub is_recorders_in_part: bool,
    /// The record of the start that its entries belong to.
    #[serde(skip)]
    start: u64,
}

/// One entry that waits: unproven.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingEntry {
    /// Its number among those of the attempt.
    pub number: u64,
    /// Attempt that it is of; 0: of none.
    pub attempt: u8,
    /// The command's name, or `guard_facts`.
    pub what: String,
    /// The same in words.
    pub words: String,
    /// End of the process, where the entry says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Part of the command's output that it holds.
    #[serde(skip)]
    pub output: Vec<WaitingOutput>,
    /// The whole length of each stream that the attempt printed, in bytes, where it states that.
    #[serde(skip)]
    pub lengths: Vec<(OutputStream, u64)>,
}

/// A stretch of output that waits.
#[derive(Clone, Debug)]
pub struct WaitingOutput {
    /// Stream that it is of.
    pub stream: OutputStream,
    /// Place in the stream where it begins, in bytes.
    pub offset: u64,
    /// Time when its first byte was read, by the recorder's clock, where the entry says so.
    pub first_byte_at: Option<Time>,
    /// True if bytes may be left out before it: it was kept at the end of a span.
    pub is_behind_gap: bool,
    /// The number of its entry.
    pub number: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl WaitingRun {
    /// Returns what of the file is not its recorder's, and why.
    #[must_use]
    pub fn foreign(&self) -> Option<String> {
        let (run, fault) = (&self.run, visible(self.fault.as_ref()?));
        Some(match self.is_recorders_in_part {
            true => format!(
                "runs/{run} is in part a file that is not the recorder's, and that part counts for \
                 nothing: {fault}"
            ),
            false => format!(
                "runs/{run} is a file that is not the recorder's, and counts for nothing: {fault}"
            ),
        })
    }

    /// Returns how the process ended, as far as what waits says so.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.entries.iter().rev().find_map(|entry| entry.exit)
    }

    /// Returns whether what waits states the whole length of what the attempt printed.
    #[must_use]
    pub fn ends_output(&self) -> bool {
        self.entries.iter().any(|entry| !entry.lengths.is_empty())
    }

    /// Counts the bytes of a stream that the last attempt of the run printed are neither on record
    /// nor in what waits, as far as what waits says so.
    #[must_use]
    pub fn missing_of(&self, run: &Run, stream: OutputStream) -> u64 {
        let output = run.output(stream, Some(run.entity.attempt_count()));
        self.missing(stream, output.map_or(0, CapturedOutput::length))
    }

    fn missing(&self, stream: OutputStream, recorded: u64) -> u64 {
        let (mut end, mut missing) = (recorded, 0_u64);
        let all = self.entries.iter().flat_map(|entry| &entry.output);
        for piece in all.filter(|piece| piece.stream == stream) {
            missing = missing.saturating_add(piece.offset.saturating_sub(end));
            end = end.max(piece.offset.saturating_add(piece.bytes.len() as u64));
        }
        let lengths = self.entries.iter().flat_map(|entry| &entry.lengths);
        let stated = lengths.filter(|(of, _)| *of == stream).map(|(_, length)| *length).max();
        missing.saturating_add(stated.unwrap_or(0).saturating_sub(end))
    }

    /// Returns whether there is anything to tell.
    const fn is_told(&self) -> bool {
        !self.entries.is_empty() || self.fault.is_some()
    }

    /// Leaves what is behind an entry of an attempt: what the log has does not wait.
    fn keep_behind(&mut self, taken_up: Option<(u8, u64)>) {
        let Some(taken_up) = taken_up else { return };
        self.entries.retain(|entry| (entry.attempt, entry.number) > taken_up);
    }

    /// The output that waits, by its entries, behind what the last attempt has on record.
    #[must_use]
    pub fn output(&self, run: &Run) -> Vec<WaitingOutput> {
        let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
        let mut all = Vec::new();
        for piece in self.entries.iter().flat_map(|entry| &entry.output) {
            let recorded = || run.output(piece.stream, Some(run.entity.attempt_count()));
            let end = ends
                .entry(piece.stream.name())
                .or_insert_with(|| recorded().map_or(0, CapturedOutput::length));
            let known = end.saturating_sub(piece.offset);
            let behind = piece.bytes.get(usize::try_from(known).unwrap_or(usize::MAX)..);
            *end = piece.offset.saturating_add(piece.bytes.len() as u64).max(*end);
            if let Some(bytes) = behind.filter(|bytes| !bytes.is_empty()) {
                let offset = piece.offset.saturating_add(known);
                all.push(WaitingOutput { offset, bytes: bytes.to_vec(), ..*piece });
            }
        }
        all
    }

    /// The streams whose whole length what waits states.
    pub fn ended(&self) -> impl Iterator<Item = OutputStream> {
        self.entries.iter().flat_map(|entry| &entry.lengths).map(|(stream, _)| *stream)
    }
}

/// Reads what waits for a run that has not ended on record; `None`: nothing, and its file is as its
/// recorder made it.
#[must_use]
pub fn waiting_for(storage: &DirectoryStorage, run: &Run) -> Option<WaitingRun> {
    let mut waiting = in_file(storage, run.entity.loop_id())?;
    waiting.keep_behind(run.taken_up);
    waiting.is_told().then_some(waiting)
}

/// Returns what the file of a run holds, whatever of it is on the log.
fn in_file(storage: &DirectoryStorage, loop_id: &str) -> Option<WaitingRun> {
    names::parse_run(loop_id)?;
    let mut waiting = WaitingRun { run: loop_id.to_string(), ..WaitingRun::default() };
    if let Err(fault) = read(storage, loop_id, &mut waiting) {
        waiting.fault = Some(fault);
        waiting.is_recorders_in_part = !waiting.entries.is_empty();
    }
    Some(waiting)
}

/// Reads what waits for any run, by the runs' ids.
#[must_use]
pub fn all_waiting(storage: &DirectoryStorage) -> Vec<WaitingRun> {
    let mut listed = storage.list(names::RUNS).unwrap_or_default();
    listed.sort();
    let runs = listed.iter().filter_map(|entry| names::parse_run(&entry.name));
    let runs = runs.filter_map(|loop_id| in_file(storage, loop_id)).map(without_output);
    let mut runs: Vec<WaitingRun> = runs.filter(WaitingRun::is_told).collect();
    let first = runs.iter().filter(|run| !run.entries.is_empty()).map(|run| run.start).min();
    let on_log = first.and_then(|first| OnLog::behind(storage, first)).unwrap_or_default();
    runs.iter_mut().for_each(|run| on_log.take_from(run));
    let outcomes = listed.iter().filter_map(|entry| outcome_waiting(storage, &entry.name));
    runs.into_iter().filter(WaitingRun::is_told).chain(outcomes).collect()
}

/// State that the log has of entries that are still in files.
#[derive(Default)]
struct OnLog {
    /// The attempt and number of the newest entry that was taken up, by loop.
    taken_up: BTreeMap<String, (u8, u64)>,
    /// The loops that have ended: nothing of them is taken up any more.
    ended: BTreeSet<String>,
}

impl OnLog {
    /// From a record on.
    fn behind(storage: &DirectoryStorage, first: u64) -> Option<Self> {
        let reader = LogReader::of(storage).ok()?;
        let segment = *reader.firsts().get(reader.holding(first)?)?;
        let mut follower = Follower::at_segment(storage, segment).ok()?;
        let mut found = Self::default();
        let read = follower.catch_up(storage, &mut |_, record| {
            let header = &record.header;
            if let Ok(envelope) = envelope::decode(header.kind, header.version, record.payload) {
                found.take(&envelope);
            }
        });
        read.ok().map(|_| found)
    }

    fn take(&mut self, envelope: &Envelope) {
        let Some(loop_id) = loop_id_of(Some(envelope)) else { return };
        if let Some(entry) = envelope.idempotency.as_ref().and_then(entry_of_key) {
            let newest = self.taken_up.entry(loop_id.to_string()).or_default();
            *newest = entry.max(*newest);
        }
        if matches!(envelope.event, Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(_))) {
            self.ended.insert(loop_id.to_string());
        }
    }

    fn take_from(&self, run: &mut WaitingRun) {
        if self.ended.contains(&run.run) {
            run.entries.clear();
        }
        run.keep_behind(self.taken_up.get(&run.run).copied());
    }
}

/// The decision points of whose approved calls a hook's claim waits: unproven.
#[must_use]
pub fn outcomes_waiting(storage: &DirectoryStorage) -> BTreeSet<String> {
    let listed = storage.list(names::RUNS).unwrap_or_default().into_iter();
    let waits = |name: &str| {
        let waiting = outcome_waiting(storage, name)?;
        (!waiting.entries.is_empty()).then(|| names::parse_outcome(name)).flatten()
    };
    listed.filter_map(|entry| waits(&entry.name)).collect()
}

/// The outcome of an approved call that waits in a file of this name; `None`: nothing does.
fn outcome_waiting(storage: &DirectoryStorage, name: &str) -> Option<WaitingRun> {
    let decision_id = names::parse_outcome(name)?;
    let mut waiting = WaitingRun { run: name.to_string(), ..WaitingRun::default() };
    if is_not_a_directory(storage) {
        let fault = Some(OUT_OF_REACH.to_string());
        return Some(WaitingRun { fault, is_out_of_reach: true, ..waiting });
    }
    let opened = storage.open(&names::run(name)).map_err(RunFileFault::from).transpose()?;
    let is_under_way = opened.as_ref().is_ok_and(is_outcome_under_way);
    match opened.and_then(|file| outcome_of(&file)) {
        Ok((_, None)) if is_under_way => return None,
        Ok((_, None)) => waiting.fault = Some(TORN.to_string()),
        Ok((owner, Some(payload))) => {
            let command = serde_json::from_slice::<WaitingCommand>(&payload).ok();
            match command.filter(|command| command.is_outcome_of(&decision_id, owner)) {
                Some(command) => waiting.entries.push(WaitingEntry {
                    number: 1,
                    attempt: 0,
                    what: command.command.name().to_string(),
                    words: format!("a hook's claim of what became of {decision_id}"),
                    exit: None,
                    output: Vec::new(),
                    lengths: Vec::new(),
                }),
                None => waiting.fault = Some(format!("no hook of user number {owner} wrote it")),
            }
        }
        Err(fault) => waiting.fault = Some(fault.to_string()),
    }
    Some(waiting)
}

fn without_output(mut waiting: WaitingRun) -> WaitingRun {
    waiting.entries.iter_mut().for_each(|entry| entry.output = Vec::new());
    waiting
}

/// Name of the entry of a guard.
const GUARD_FACTS: &str = "guard_facts";

/// The record of a start: its place, the key, and whose process made it.
struct RunStartRecord {
    place: RunStart,
    public: [u8; 32],
    user: u32,
}

fn read(storage: &DirectoryStorage, loop_id: &str, waiting: &mut WaitingRun) -> Result<(), String> {
    let said = |fault: RunFileFault| fault.to_string();
    if is_not_a_directory(storage) {
        waiting.is_out_of_reach = true;
        return Err(OUT_OF_REACH.to_string());
    }
    let opened = storage.open(&names::run(loop_id)).map_err(|error| said(error.into()))?;
    let Some(file) = opened else { return Ok(()) };
    let mut entries = RunEntries::of(file).map_err(said)?;
    let read = read_entries(storage, loop_id, &mut entries, waiting);
    if read.is_err()
        && waiting.entries.iter().all(|entry| entry.what != GUARD_FACTS)
        && let Some((start, word)) = word_of_guard(storage, loop_id, &entries)
    {
        waiting.start = start.place.sequence;
        waiting.entries.extend(told(word, start.place.attempt));
    }
    read
}

fn read_entries(
    storage: &DirectoryStorage,
    loop_id: &str,
    entries: &mut RunEntries,
    waiting: &mut WaitingRun,
) -> Result<(), String> {
    let said = |fault: RunFileFault| fault.to_string();
    let Some(claimed) = entries.claimed_start().map_err(said)? else { return Ok(()) };
    let start = proven_start(storage, loop_id, entries, &claimed)?;
    waiting.start = claimed.sequence;
    while let Some(entry) = entries.next(&start.place, &start.public).map_err(said)? {
        let number = entry.number;
        let told = told(entry, start.place.attempt);
        waiting.entries.push(told.ok_or_else(|| {
            format!("entry {number} cannot be read: a newer holdpoint may have written it")
        })?);
    }
    Ok(())
}

/// The start that entries name, where it is one and the file its recorder's.
fn proven_start(
    storage: &DirectoryStorage,
    loop_id: &str,
    entries: &RunEntries,
    claimed: &RunStart,
) -> Result<RunStartRecord, String> {
    let sequence = claimed.sequence;
    let start = find_start(storage, loop_id, claimed)
        .ok_or_else(|| RunFileFault::Start { sequence }.to_string())?;
    check_owner(storage, entries, &start)?;
    Ok(start)
}

fn check_owner(
    storage: &DirectoryStorage,
    entries: &RunEntries,
    start: &RunStartRecord,
) -> Result<(), String> {
    let (expected, found) = (start.user, entries.owner());
    let is_logs = || storage.owner().is_ok_and(|owner| owner == found);
    match found == expected || (expected == 0 && is_logs()) {
        true => Ok(()),
        false => Err(RunFileFault::Owner { expected, found }.to_string()),
    }
}

/// Returns what a guard wrote, wherever it stands in a file of which a part is no entry. The log
/// says which starts there are, whatever the file names.
fn word_of_guard(
    storage: &DirectoryStorage,
    loop_id: &str,
    entries: &RunEntries,
) -> Option<(RunStartRecord, RunEntry)> {
    let digits = RunStart::digits_of(loop_id)?;
    let first = entries.first_claimed_by_guard(&digits).ok().flatten()?;
    let starts = starts_of(storage, loop_id, first)?;
    starts.into_iter().rev().find_map(|start| {
        check_owner(storage, entries, &start).ok()?;
        let word = entries.word_of_guard(&start.place, &start.public).ok()??;
        Some((start, word))
    })
}

/// The starts of a loop, from a record on.
fn starts_of(storage: &DirectoryStorage, loop_id: &str, first: u64) -> Option<Vec<RunStartRecord>> {
    let reader = LogReader::of(storage).ok()?;
    let segment = *reader.firsts().get(reader.holding(first).unwrap_or(0))?;
    let mut follower = Follower::at_segment(storage, segment).ok()?;
    let (log, mut starts) = (follower.header.log, Vec::new());
    let read = follower.catch_up(storage, &mut |_, record| {
        starts.extend(start_in(log, loop_id, record));
    });
    read.ok().map(|_| starts)
}

fn find_start(
    storage: &DirectoryStorage,
    loop_id: &str,
    claimed: &RunStart,
) -> Option<RunStartRecord> {
    let reader = LogReader::of(storage).ok()?;
    let first = *reader.firsts().get(reader.holding(claimed.sequence)?)?;
    let mut follower = Follower::at_segment(storage, first).ok()?;
    let mut found = None;
    let read = follower.catch_up_to(storage, claimed.sequence, &mut |_, record| {
        if record.header.sequence == claimed.sequence {
            found = start_in(claimed.log, loop_id, record);
        }
    });
    read.ok()?;
    found.filter(|start| start.place == *claimed)
}

/// The start that a record is, where it is one of this loop, with a key.
fn start_in(log: LogId, loop_id: &str, record: &Record<'_>) -> Option<RunStartRecord> {
    let RecordHeader { kind, version, sequence, link, .. } = record.header;
    let envelope = envelope::decode(kind, version, record.payload).ok()?;
    let Event::ExecutionLoop(ExecutionLoopEvent::ResponseAwaited(body)) = envelope.event else {
        return None;
    };
    let loop_digits = RunStart::digits_of(&body.loop_id)?;
    let place = RunStart { log, loop_digits, attempt: body.attempt, sequence, link };
    let (key, user) = (body.recorder_key?, envelope.proof?.user);
    let is_it = *body.loop_id == *loop_id;
    is_it.then(|| RunStartRecord { place, public: *key.as_bytes(), user })
}

fn told(entry: RunEntry, attempt: u8) -> Option<WaitingEntry> {
    let RunEntry { number, kind, payload } = entry;
    let entry = WaitingEntry {
        number,
        attempt,
        what: GUARD_FACTS.to_string(),
        words: String::new(),
        exit: None,
        output: Vec::new(),
        lengths: Vec::new(),
    };
    if kind == EntryKind::GuardFacts {
        return GuardFacts::decode(&payload).map(|facts| of_guard(entry, &facts));
    }
    let waiting: WaitingCommand = serde_json::from_slice(&payload).ok()?;
    let what = waiting.command.name().to_string();
    Some(of_command(WaitingEntry { what, ..entry }, waiting.command))
}

/// The low seven bits of a wait status are the signal, and the eight above them the status.
fn of_guard(entry: WaitingEntry, facts: &GuardFacts) -> WaitingEntry {
    let exit = match facts.wait_status & 0x7f {
        0 => Exit::Status(facts.wait_status >> 8 & 0xff),
        signal => Exit::Signal(signal),
    };
    let killed = match facts.killed_for {
        GuardKilledFor::Nothing => "",
        GuardKilledFor::Recorder => ", killed by its guard",
        GuardKilledFor::Time => ", ended by its guard at its limit of time",
        GuardKilledFor::Memory => ", ended by its guard at its limit of memory",
        GuardKilledFor::Asked => ", ended because its recorder asked for it",
    };
    let words = format!(
        "its guard saw the end: {}{killed}",
        exit_in_words(exit, "no exit status", "signal")
    );
    WaitingEntry { words, exit: Some(exit), ..entry }
}

fn of_command(mut entry: WaitingEntry, command: Command) -> WaitingEntry {
    match command {
        Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(c)) => {
            entry.words =
                format!("the command ended: {}", exit_in_words(c.exit, "no exit status", "signal"));
            entry.exit = Some(c.exit);
        }
        Command::SandboxFault(SandboxFaultCommand::ReportFault(c)) => {
            entry.words = format!("{}: {}", c.fault_type, visible(&c.fault_message));
            entry.exit = Some(c.exit);
        }
        Command::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(c)) => {
            entry.lengths = c.items.iter().filter_map(length_of).collect();
            let number = entry.number;
            entry.output = c.items.into_iter().filter_map(|item| output_of(item, number)).collect();
            entry.words = "what the attempt printed and used".to_string();
        }
        Command::EvidenceCapture(EvidenceCaptureCommand::RecordOutput(c)) => {
            let number = entry.number;
            let piece = |piece: OutputPiece| WaitingOutput {
                stream: piece.stream,
                offset: piece.offset,
                first_byte_at: Some(piece.first_byte_at),
                is_behind_gap: piece.gap.is_some(),
                number,
                bytes: piece.raw_data,
            };
            entry.output = c.pieces.into_iter().map(piece).collect();
            let length: usize = entry.output.iter().map(|it| it.bytes.len()).sum();
            let _ = write!(entry.words, "{length} bytes of output");
            if !c.snapshots.is_empty() {
                let _ = write!(entry.words, ", {} snapshots of its processes", c.snapshots.len());
            }
        }
        Command::ExecutionLoop(ExecutionLoopCommand::InterruptLoop(c)) => {
            entry.words = format!("interrupted by signal {}", c.signal);
        }
        Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(c)) => {
            entry.words = format!("{}: {}", c.condition, visible(&c.details));
        }
        Command::ExecutionLoop(ExecutionLoopCommand::CompleteLoop(_)) => {
            entry.words = "the run is over".to_string();
        }
        _ => entry.words = entry.what.replace(['.', '_'], " "),
    }
    entry
}

fn length_of(item: &EvidenceItem) -> Option<(OutputStream, u64)> {
    match item {
        EvidenceItem::ExecutorOutput { stream, raw_data, .. }
        | EvidenceItem::ExecutorOutputCut { stream, raw_data, .. } => {
            Some((*stream, raw_data.len() as u64))
        }
        EvidenceItem::ExecutorOutputPieces { stream, true_length, .. } => {
            Some((*stream, *true_length))
        }
        EvidenceItem::ResourceSnapshot(_) | EvidenceItem::TimestampEvent(_) => None,
    }
}

fn output_of(item: EvidenceItem, number: u64) -> Option<WaitingOutput> {
    match item {
        EvidenceItem::ExecutorOutput { stream, raw_data, .. }
        | EvidenceItem::ExecutorOutputCut { stream, raw_data, .. } => Some(WaitingOutput {
            stream,
            offset: 0,
            first_byte_at: None,
            is_behind_gap: false,
            number,
            bytes: raw_data,
        }),
        EvidenceItem::ExecutorOutputPieces { .. }
        | EvidenceItem::ResourceSnapshot(_)
        | EvidenceItem::TimestampEvent(_) => None,
    }
}
