//! Runs of which something is asked: which of them can be meant is told by what indexes keep of
//! single records, and whether they are is told by all of their records.

use crate::outcome::{EndRecords, RunOutcome};
use crate::progress::Progress;
use crate::read::{ReadError, ReadOptions};
use crate::records::{Filter, Order, SegmentFacts, row_facts, search};
use crate::run::Run;
use crate::runs::{Begun, Listed, RUN_BEGINS, begun, gather};
use crate::unapproved_starts::StartEnd;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::execution_loop::Exit;
use holdpoint_domain::world::{RowFact, RowKind, RunKey, label_hash};
use holdpoint_log_files::ReadStorage;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// So many runs are read together, at first and at most.
const READ_TOGETHER: (usize, usize) = (64, 4_096);

/// End of a run, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Outcome of it, in one word.
    Outcome(RunOutcome),
    /// The exit status of the process of its last attempt.
    Exit(i32),
    /// End of a start that nobody approved: no run has it.
    Start(StartEnd),
}

/// Conditions on runs. Nothing said: all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Those that ended, and not well.
    pub failed: bool,
    /// Those that have not ended.
    pub running: bool,
    /// Those that ended so.
    pub status: Option<RunStatus>,
    /// Those that this one began.
    pub by: Option<String>,
    /// Those to which this one said yes: to the start, or to a question afterwards.
    pub approved_by: Option<String>,
    /// Those one of whose command lines holds this text.
    pub command: Option<String>,
    /// Those that have all of these labels, by name.
    pub labels: BTreeMap<String, String>,
}

/// Statements of records about a run, as far back as they were gone through.
#[derive(Default)]
struct RunHistory {
    end: EndRecords,
    agreed: Vec<Text>,
    labels: Vec<u64>,
    is_again: bool,
}

impl RunHistory {
    /// Returns whether the run may have been given another command than it began with: in an
    /// attempt after the first one, behind a person's CONTINUE. Its records tell.
    fn may_have_another_command(&self) -> bool {
        self.is_again && !self.agreed.is_empty()
    }
}

impl RunFilter {
    /// Returns whether all runs are wanted.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether a run is wanted.
    #[must_use]
    pub fn admits(&self, run: &Run) -> bool {
        let outcome = RunOutcome::of(&run.entity);
        let has_status = |status| match status {
            RunStatus::Outcome(word) => outcome == word,
            RunStatus::Exit(status) => run.exit_status() == Some(status),
            RunStatus::Start(_) => false,
        };
        (!self.failed || outcome.is_failure())
            && (!self.running || run.entity.halt.is_none())
            && self.status.is_none_or(has_status)
            && self.by.as_ref().is_none_or(|by| run.entity.actor.id == *by)
            && self.approved_by.as_ref().is_none_or(|by| run.approvers().any(|who| who.id == by))
            && self
                .command
                .as_ref()
                .is_none_or(|text| run.commands.values().any(|it| it.contains(text)))
            && self.labels.iter().all(|label| run.labels.get(label.0) == Some(label.1))
    }

    /// Returns whether what rows of a kind say has to do with it.
    fn ask_for(&self, kind: RowKind) -> bool {
        let outcome = self.failed || self.status.is_some();
        match kind {
            RowKind::Began => true,
            RowKind::Exited => outcome,
            RowKind::Again => outcome || self.command.is_some(),
            RowKind::Halted => outcome || self.running,
            RowKind::Agreed => self.approved_by.is_some() || self.command.is_some(),
            RowKind::Labelled => !self.labels.is_empty(),
            // Answers are looked at before the others.
            RowKind::Answered | RowKind::Asked => false,
        }
    }

    /// Returns whether a run can be wanted of which this is known.
    fn may_admit(&self, began: &Began<'_>, known: &RunHistory, answers: &Answers) -> bool {
        let outcome = known.end.outcome();
        let has_status = |status| match status {
            // Whether a lost run had begun is told by its records.
            RunStatus::Outcome(RunOutcome::Refused) => {
                outcome.is_none_or(|it| matches!(it, RunOutcome::Refused | RunOutcome::Lost))
            }
            RunStatus::Outcome(word) => outcome.is_none_or(|outcome| outcome == word),
            RunStatus::Exit(status) => known.end.exit.flatten() == Some(Exit::Status(status)),
            RunStatus::Start(_) => false,
        };
        let agreed = |by: &String| {
            let answered = began.approval.map(|id| answers.get(id));
            // Who answered long before is told by the records.
            let may_have = answered.is_some_and(|by_whom| by_whom.is_none_or(|it| it.contains(by)));
            may_have || known.agreed.iter().any(|who| **who == *by)
        };
        let has_command = |text: &String| {
            began.is_cut || began.command.contains(text) || known.may_have_another_command()
        };
        let has_label =
            |(name, value): (&String, &String)| known.labels.contains(&label_hash(name, value));
        (!self.failed || outcome.is_some_and(RunOutcome::is_failure))
            && (!self.running || known.end.halt.is_none())
            && self.status.is_none_or(has_status)
            && self.by.as_ref().is_none_or(|by| began.by.as_str() == by)
            && self.approved_by.as_ref().is_none_or(agreed)
            && self.command.as_ref().is_none_or(has_command)
            && self.labels.iter().all(has_label)
    }
}

/// The names of those who answered a decision point, by its id.
type Answers = BTreeMap<Text, Vec<String>>;

/// Beginning of a run.
struct Began<'f> {
    by: &'f Text,
    approval: Option<&'f Text>,
    command: &'f Text,
    is_cut: bool,
}

/// The newest runs that are wanted among those that begin within a range, so many at most, the
/// newest first. `range` bounds the record that begins a run, by sequence and time.
///
/// # Errors
/// As [`crate::verify()`].
pub fn find_runs<S: ReadStorage>(
    storage: &S,
    range: &Filter,
    wanted: &RunFilter,
    most: usize,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Listed, ReadError> {
    let due = if wanted.is_all() { most.clamp(1, READ_TOGETHER.1) } else { 1 };
    let (page, searched) = begun(storage, range, due, options)?;
    let mut found = Listed { runs: Vec::new(), uncounted: Vec::new(), searched };
    let Some(newest) = page.first().filter(|_| most > 0) else { return Ok(found) };
    if wanted.is_all() {
        found.read_all(storage, range, (page, due), most, options)?;
        found.leave_out_begun_twice(storage)?;
        return Ok(found);
    }
    let oldest = found.oldest(storage, range, options)?;
    let mut candidates = Candidates::new(wanted, (oldest, newest.sequence));
    // What is read of the newest segment is read for each reading: few are not read alone.
    let mut due = Vec::new();
    let searched = row_facts(storage, options, progress, &|_| true, &mut |segment| {
        due.append(&mut candidates.of(&segment));
        if due.len() >= READ_TOGETHER.0.min(most.saturating_sub(found.runs.len())) {
            found.read_wanted(storage, &std::mem::take(&mut due), wanted, most, options)?;
        }
        let is_last = segment.first_sequence <= oldest;
        let is_enough = found.runs.len() >= most || !found.searched.is_sound();
        Ok(if is_last || is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    found.searched.join(searched);
    found.read_wanted(storage, &due, wanted, most, options)?;
    found.runs.truncate(most);
    found.leave_out_begun_twice(storage)?;
    Ok(found)
}

/// The runs that can be wanted, as segments are gone through from the newest one back.
struct Candidates<'w> {
    wanted: &'w RunFilter,
    /// The first and the last record with which one of them can begin.
    bounds: (u64, u64),
    /// Histories of runs whose beginning was not come to yet.
    known: BTreeMap<RunKey, RunHistory>,
    /// True if nothing was met that could not be read.
    is_sure: bool,
}

impl<'w> Candidates<'w> {
    fn new(wanted: &'w RunFilter, bounds: (u64, u64)) -> Self {
        Self { wanted, bounds, known: BTreeMap::new(), is_sure: true }
    }

    /// Those that begin in a segment, the newest first.
    fn of(&mut self, segment: &SegmentFacts) -> Vec<Begun> {
        self.is_sure &= segment.is_whole;
        let mut answers = Answers::new();
        if self.wanted.approved_by.is_some() {
            for (_, fact) in segment.of_kinds(|kind| kind == RowKind::Answered) {
                if let Some(RowFact::Answered { decision_id, by }) = fact {
                    answers.entry(decision_id).or_default().push(by.as_str().to_string());
                }
            }
        }
        let wanted = self.wanted;
        let facts = segment.of_kinds(|kind| wanted.ask_for(kind)).rev();
        facts.filter_map(|(sequence, fact)| self.take(sequence, fact, &answers)).collect()
    }

    /// The next fact, going back: of each kind, the first one met is the newest.
    fn take(&mut self, sequence: u64, fact: Option<RowFact>, answers: &Answers) -> Option<Begun> {
        self.is_sure &= fact.is_some();
        let fact = fact?;
        match fact {
            RowFact::Began { run, by, approval, command, is_cut } => {
                let known = self.known.remove(&run).unwrap_or_default();
                let (first, last) = self.bounds;
                let (by, approval, command) = (&by, approval.as_ref(), &command);
                let began = Began { by, approval, command, is_cut };
                let may_be = !self.is_sure || self.wanted.may_admit(&began, &known, answers);
                ((first..=last).contains(&sequence) && may_be).then(|| Begun {
                    sequence,
                    loop_id: run.loop_id(),
                    approval: approval.map(|id| id.as_str().to_string()),
                    twice: None,
                })
            }
            RowFact::Again { ref run }
            | RowFact::Exited { ref run, .. }
            | RowFact::Halted { ref run, .. } => {
                let end = EndRecords::of_row(&fact);
                let known = self.of_run(run.clone());
                known.end.go_back(end);
                known.is_again |= matches!(fact, RowFact::Again { .. });
                None
            }
            RowFact::Agreed { run, by } => {
                self.of_run(run).agreed.push(by);
                None
            }
            RowFact::Labelled { run, labels } => {
                self.of_run(run).labels.extend(labels.iter());
                None
            }
            RowFact::Answered { .. } | RowFact::Asked { .. } => None,
        }
    }

    fn of_run(&mut self, run: RunKey) -> &mut RunHistory {
        self.known.entry(run).or_default()
    }
}

impl Listed {
    /// The first record of a range that begins a run, or one before it.
    fn oldest<S: ReadStorage>(
        &mut self,
        storage: &S,
        range: &Filter,
        options: ReadOptions<'_>,
    ) -> Result<u64, ReadError> {
        let mut oldest = range.first.unwrap_or(0);
        if range.since.is_some() {
            let filter = Filter { kind: Some(RUN_BEGINS.to_string()), ..range.clone() };
            let order = Order::OldestFirst;
            let searched =
                search(storage, &filter, order, options, &mut |_| {}, &mut |line, _| {
                    oldest = line.sequence;
                    ControlFlow::Break(())
                })?;
            self.searched.join(searched);
        }
        Ok(oldest)
    }

    /// Reads the newest runs of a range, until there are enough that count. The first page of their
    /// beginnings, of so many that were due, is known.
    fn read_all<S: ReadStorage>(
        &mut self,
        storage: &S,
        range: &Filter,
        (mut page, mut due): (Vec<Begun>, usize),
        most: usize,
        options: ReadOptions<'_>,
    ) -> Result<(), ReadError> {
        let mut range = range.clone();
        while let Some(oldest) = page.last().map(|begun| begun.sequence) {
            self.read_page(storage, &page, &RunFilter::default(), options)?;
            let is_last = page.len() < due || !self.searched.is_sound();
            if is_last || self.runs.len() >= most {
                return Ok(());
            }
            range.last = Some(oldest.saturating_sub(1));
            due = most.saturating_sub(self.runs.len()).min(READ_TOGETHER.1);
            let searched;
            (page, searched) = begun(storage, &range, due, options)?;
            self.searched.join(searched);
        }
        Ok(())
    }

    /// Reads candidates, until there are enough that are wanted.
    fn read_wanted<S: ReadStorage>(
        &mut self,
        storage: &S,
        candidates: &[Begun],
        wanted: &RunFilter,
        most: usize,
        options: ReadOptions<'_>,
    ) -> Result<(), ReadError> {
        let (mut left, mut together) = (candidates, READ_TOGETHER.0);
        while !left.is_empty() && self.runs.len() < most && self.searched.is_sound() {
            let (page, rest) = left.split_at(together.min(left.len()));
            self.read_page(storage, page, wanted, options)?;
            (left, together) = (rest, together.saturating_mul(4).min(READ_TOGETHER.1));
        }
        Ok(())
    }

    /// Reads runs, the newest first, up to the first one of which something cannot be read: that
    /// one and those before it are not told, for what is missing may say how they ended. Says
    /// whether all could be read.
    fn read_page<S: ReadStorage>(
        &mut self,
        storage: &S,
        page: &[Begun],
        wanted: &RunFilter,
        options: ReadOptions<'_>,
    ) -> Result<bool, ReadError> {
        let Self { runs, uncounted, searched } = gather(storage, page, options)?;
        let is_sound = searched.is_sound();
        self.searched.join(searched);
        if is_sound {
            self.runs.extend(runs.into_iter().filter(|run| wanted.admits(run)));
            self.uncounted.extend(uncounted);
            return Ok(true);
        }
        let (newer, older) = page.split_at(page.len() / 2);
        if newer.is_empty() || !self.read_page(storage, newer, wanted, options)? {
            let untold = if newer.is_empty() { page } else { older };
            self.uncounted.extend_from_slice(untold);
            return Ok(false);
        }
        self.read_page(storage, older, wanted, options)
    }
}
