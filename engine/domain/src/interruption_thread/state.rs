//! Interruption threads by tenant and correlation.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::core::codec::LazyPart;
use crate::core::payload::{List, Text};
use crate::core::time::Timestamp;
use crate::interruption_thread::decision::{
    Pending, Remainder, ResumeBuffer, SpokenText, ThreadState,
};
use crate::interruption_thread::speculation::{Heard, OpenPlan, TurnCommitDecision};
use crate::interruption_thread::types::{Directive, PendingState, ReasonCode};

/// Most threads that are remembered after they were closed: the newest.
pub const MAX_CLOSED_THREADS: usize = 1_024;

/// Most threads of which it is remembered that they were closed: the newest. That an older one was
/// is found in the log.
pub const MAX_ENDED_THREADS: usize = 2_048;

/// One thread with everything that a turn needs to know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The tenant.
    pub tenant_id: Text,
    /// The correlation.
    pub correlation_id: Text,
    /// State that the branch table reads and changes.
    pub state: ThreadState,
    /// The newest turn.
    pub last_turn_id: u64,
    /// Directive that it came to.
    pub last_directive: Directive,
    /// Why.
    pub last_reason_code: ReasonCode,
    /// The session of the newest turn, where it had one.
    pub session_id: Option<Text>,
    /// Time when the thread began.
    pub started_at: Timestamp,
    /// The sequence of the record that began it.
    pub started_sequence: u64,
    /// The sequence of the last record that changed it: its version.
    pub version: u64,
    /// The turns that were taken and the rows that callers committed.
    pub turns: u64,
    /// True if the newest turn's row is still to come: never between two batches.
    pub awaits_row: bool,
    /// True if it ended.
    pub is_closed: bool,
    /// Plan for its next turn. A room of its own carries it.
    #[serde(skip)]
    pub(crate) plan: Option<Planned>,
    /// The words that the row of the newest turn has to name: none between two batches. A room of
    /// its own carries them.
    #[serde(skip)]
    pub(crate) due_remainders: List<Remainder>,
    /// Words that the turn of that plan leaves unsaid, until the thread keeps them. A room of its
    /// own carries them.
    #[serde(skip)]
    pub(crate) planned_remainder: Option<ResumeBuffer>,
    /// True while it is not sure that anybody interrupted those words. A room of its own carries
    /// it.
    #[serde(skip)]
    pub(crate) is_planned_unsure: bool,
}

/// A plan; and, once it is committed, what was heard and what the turn that follows says and does:
/// never between two batches.
pub(crate) type Planned = (OpenPlan, Option<Box<(Heard, TurnCommitDecision)>>);

impl Thread {
    /// Returns what is planned for its next turn, also where it is too late for that.
    #[must_use]
    pub fn open_plan(&self) -> Option<&OpenPlan> {
        self.plan.as_ref().map(|(open, _)| open)
    }

    /// The thread's own session: in which a turn or a row is that names none. It is where somebody
    /// was last spoken to, or else where somebody last spoke; `None` where that was in no session.
    #[must_use]
    pub fn own_session(&self) -> Option<&Text> {
        let active = self.state.marks.active_session_id.as_ref();
        let newest = self.session_id.as_ref();
        if self.last_directive == Directive::Wait { active.or(newest) } else { newest.or(active) }
    }

    /// Returns whether the session is its own.
    pub(crate) fn is_in(&self, session_id: &str) -> bool {
        self.own_session().is_some_and(|own| own.as_str() == session_id)
    }
}

/// Tenant and correlation.
pub(crate) type ThreadKey = (Text, Text);

/// Threads that were closed, with the record that closed each.
pub(crate) type Ended = BTreeMap<ThreadKey, u64>;

/// A thread that was closed so long ago that only the log knows, and the record that closed it.
pub(crate) type ClosedThread = (ThreadKey, u64);

/// Every thread that is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Threads {
    pub(crate) live: BTreeMap<ThreadKey, Thread>,
    /// Times at which something expires next in each thread, earliest first. They follow from the
    /// threads.
    due: BTreeSet<(Timestamp, ThreadKey)>,
    /// Those that were closed.
    past: LazyPart<PastThreads>,
    /// The newest record that closed a thread which is not remembered to be so.
    forgotten: u64,
    /// The first record that only rules make by which a thread has a session of its own; 0: none.
    /// What was recorded before is judged by the rules of its time.
    sessions_since: u64,
}

/// Threads that were closed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PastThreads {
    /// Closed threads by the record that closed them; the newest 1024.
    closed: BTreeMap<u64, Thread>,
    /// The newest threads that were closed, at most 2048, and with which record: none begins again.
    ended: Ended,
    /// The same, by record.
    ended_at: BTreeMap<u64, ThreadKey>,
}

/// In the order in which they are carried.
impl Serialize for PastThreads {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let closed: Vec<(&u64, &Thread)> = self.closed.iter().collect();
        (closed, &self.ended).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PastThreads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (closed, ended): (Vec<(u64, Thread)>, Ended) = Deserialize::deserialize(deserializer)?;
        let ended_at = ended.iter().map(|(key, at)| (*at, key.clone())).collect();
        Ok(Self { closed: closed.into_iter().collect(), ended, ended_at })
    }
}

impl Threads {
    /// A thread that lives.
    pub(crate) fn live(&self, tenant_id: &str, correlation_id: &str) -> Option<&Thread> {
        self.live.get(&(Text::from(tenant_id), Text::from(correlation_id)))
    }

    /// The rules by which a thread has a session of its own made this record.
    pub(crate) const fn follow_sessions(&mut self, sequence: u64) {
        if self.sessions_since == 0 {
            self.sessions_since = sequence;
        }
    }

    pub(crate) const fn sessions_since(&self) -> u64 {
        self.sessions_since
    }

    pub(crate) const fn has_followed_sessions(&mut self, since: u64) {
        self.sessions_since = since;
    }

    pub(crate) fn find(&self, tenant_id: &str, correlation_id: &str) -> Option<&Thread> {
        let key = (Text::from(tenant_id), Text::from(correlation_id));
        let is_it = |thread: &&Thread| thread.tenant_id == key.0 && thread.correlation_id == key.1;
        self.live.get(&key).or_else(|| self.past.closed.values().rev().find(is_it))
    }

    /// Begins the thread of a record, where it is not live.
    pub(crate) fn begin(
        &mut self,
        tenant_id: &Text,
        correlation_id: &Text,
        begin: impl FnOnce() -> Thread,
    ) {
        self.live.entry((tenant_id.clone(), correlation_id.clone())).or_insert_with(begin);
    }

    /// Applies a change to a live thread and keeps the index of what expires. Says whether there
    /// is such a thread.
    pub(crate) fn change(
        &mut self,
        tenant_id: &Text,
        correlation_id: &Text,
        change: impl FnOnce(&mut Thread),
    ) -> bool {
        let key = (tenant_id.clone(), correlation_id.clone());
        let Some(thread) = self.live.get_mut(&key) else { return false };
        let before = thread.next_expiry();
        change(thread);
        if thread.plan.is_none() {
            thread.planned_remainder = None;
        }
        thread.is_planned_unsure &= thread.plan.is_some();
        let after = thread.next_expiry();
        if before != after {
            before.map(|at| self.due.remove(&(at, key.clone())));
            after.map(|at| self.due.insert((at, key)));
        }
        true
    }

    /// Takes a thread that ended out of the live ones. The oldest closed one, where it is then
    /// remembered no longer, is handed back.
    pub(crate) fn close(
        &mut self,
        tenant_id: &Text,
        correlation_id: &Text,
        sequence: u64,
    ) -> Option<Thread> {
        let key = (tenant_id.clone(), correlation_id.clone());
        let mut thread = self.live.remove(&key)?;
        thread.next_expiry().map(|at| self.due.remove(&(at, key)));
        thread.is_closed = true;
        thread.version = sequence;
        thread.state.end();
        (thread.plan, thread.planned_remainder) = (None, None);
        thread.is_planned_unsure = false;
        thread.due_remainders = List::default();
        self.end((tenant_id.clone(), correlation_id.clone()), sequence);
        let closed = &mut self.past.closed;
        closed.insert(sequence, thread);
        let is_too_many = closed.len() > MAX_CLOSED_THREADS;
        is_too_many.then(|| closed.pop_first()).flatten().map(|(_, oldest)| oldest)
    }

    fn end(&mut self, key: ThreadKey, sequence: u64) {
        let PastThreads { ended, ended_at, .. } = &mut *self.past;
        ended_at.insert(sequence, key.clone());
        if let Some(before) = ended.insert(key, sequence) {
            ended_at.remove(&before);
        }
        while ended.len() > MAX_ENDED_THREADS {
            let Some((oldest, key)) = ended_at.pop_first() else { break };
            ended.remove(&key);
            self.forgotten = self.forgotten.max(oldest);
        }
    }

    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(crate) const fn has_forgotten(&mut self, sequence: u64) {
        self.forgotten = sequence;
    }

    /// Returns the number of those that ended and are remembered.
    pub(crate) fn closed_count(&self) -> usize {
        self.past.closed.len()
    }

    /// Closed threads in the order of their closing.
    pub(crate) fn closed(&self) -> impl Iterator<Item = &Thread> {
        self.past.closed.values()
    }

    /// The threads in which something has expired, the one that expired first first.
    pub(crate) fn expired(&self, at: Timestamp) -> impl Iterator<Item = (Timestamp, &Thread)> {
        let due = self.due.iter().take_while(move |(due_at, _)| *due_at <= at);
        due.filter_map(|(due_at, key)| Some((*due_at, self.live.get(key)?)))
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The live threads whose own session this is, or that keep words which were left unsaid in it.
    pub(crate) fn of_session<'a>(
        &'a self,
        tenant_id: &'a str,
        session_id: &'a str,
    ) -> impl Iterator<Item = &'a Thread> {
        let is_of = move |thread: &&Thread| {
            let words = thread.state.resume_buffers.iter();
            let mut words = words.chain(&thread.planned_remainder);
            let is_its = thread.is_in(session_id) || words.any(|b| b.is_of_session(session_id));
            thread.tenant_id.as_str() == tenant_id && is_its
        };
        self.live.values().filter(is_of)
    }

    /// The record that closed a thread, where that is remembered.
    pub(crate) fn ended(&self, tenant_id: &str, correlation_id: &str) -> Option<u64> {
        self.past.ended.get(&(Text::from(tenant_id), Text::from(correlation_id))).copied()
    }

    /// Returns what is carried first: those that live.
    pub(crate) fn carried(&self) -> Vec<&Thread> {
        self.live.values().collect()
    }

    /// Returns what is carried behind those: the ones that were closed, and who ended.
    pub(crate) const fn past(&self) -> &LazyPart<PastThreads> {
        &self.past
    }

    pub(crate) const fn past_mut(&mut self) -> &mut LazyPart<PastThreads> {
        &mut self.past
    }

    /// Returns what is planned, by thread.
    pub(crate) fn plans(&self) -> Vec<(&ThreadKey, &Planned)> {
        self.live.iter().filter_map(|(key, thread)| Some((key, thread.plan.as_ref()?))).collect()
    }

    pub(crate) fn have_plans(&mut self, plans: Vec<(ThreadKey, Planned)>) {
        for (key, plan) in plans {
            self.live.entry(key).and_modify(|thread| thread.plan = Some(plan));
        }
    }

    /// The words that plans own, by thread.
    pub(crate) fn planned_remainders(&self) -> Vec<(&ThreadKey, &ResumeBuffer)> {
        let threads = self.live.iter();
        threads.filter_map(|(key, of)| Some((key, of.planned_remainder.as_ref()?))).collect()
    }

    pub(crate) fn have_planned_remainders(&mut self, owned: Vec<(ThreadKey, ResumeBuffer)>) {
        for ((tenant_id, correlation_id), words) in owned {
            self.change(&tenant_id, &correlation_id, |thread| {
                thread.planned_remainder = Some(words);
            });
        }
    }

    /// The threads whose plans own words that nobody surely interrupted.
    pub(crate) fn planned_unsure(&self) -> Vec<&ThreadKey> {
        let threads = self.live.iter().filter(|(_, thread)| thread.is_planned_unsure);
        threads.map(|(key, _)| key).collect()
    }

    pub(crate) fn have_planned_unsure(&mut self, unsure: Vec<ThreadKey>) {
        for key in unsure {
            self.live.entry(key).and_modify(|thread| thread.is_planned_unsure = true);
        }
    }

    /// The words that rows have to name, by thread.
    pub(crate) fn due_remainders(&self) -> Vec<(&ThreadKey, &List<Remainder>)> {
        let threads = self.live.iter().map(|(key, thread)| (key, &thread.due_remainders));
        threads.filter(|(_, due)| !due.is_empty()).collect()
    }

    pub(crate) fn have_due_remainders(&mut self, due: Vec<(ThreadKey, List<Remainder>)>) {
        for (key, due) in due {
            self.live.entry(key).and_modify(|thread| thread.due_remainders = due);
        }
    }

    /// The threads that were carried; what expires follows from them.
    pub(crate) fn from_carried(live: Vec<Thread>, past: LazyPart<PastThreads>) -> Self {
        let key = |thread: &Thread| (thread.tenant_id.clone(), thread.correlation_id.clone());
        let due = live.iter().filter_map(|thread| Some((thread.state.next_expiry()?, key(thread))));
        let due = due.collect();
        let live = live.into_iter().map(|thread| (key(&thread), thread)).collect();
        Self { live, due, past, forgotten: 0, sessions_since: 0 }
    }
}

/// A readable thread: the names of PH1.X in one flat object, and every key always there.
#[derive(Debug, Serialize)]
pub struct ThreadView<'a> {
    /// The tenant.
    pub tenant_id: &'a str,
    /// The correlation.
    pub correlation_id: &'a str,
    /// Event that the thread waits for; NONE included.
    pub pending_state: PendingState,
    /// The same, with what is needed to go on; null for NONE.
    pub pending: Option<&'a Pending>,
    /// Subject of the newest answered turn.
    pub active_subject_ref: Option<&'a Text>,
    /// Subject that was interrupted.
    pub interrupted_subject_ref: Option<Text>,
    /// The words that were left unsaid last: the innermost of [`Self::resume_buffers`].
    pub resume_buffer: Option<ResumeBuffer>,
    /// All words that were left unsaid and are kept at this time, oldest first: at most 8.
    pub resume_buffers: Vec<ResumeBuffer>,
    /// True if it was asked whether to go back to what was interrupted.
    pub return_check_pending: bool,
    /// From when on an answer to that is too late.
    pub return_check_expires_at: Option<Timestamp>,
    /// The turn whose interruption left the words that it is about.
    pub return_check_turn_id: Option<u64>,
    /// Such a question expired, and nobody has spoken since.
    pub return_check_lapsed: bool,
    /// Words that were left unsaid expired, and nobody has spoken since.
    pub buffer_lapsed: bool,
    /// Newest speaker.
    pub active_speaker_user_id: Option<&'a Text>,
    /// In which session, where there was one.
    pub active_session_id: Option<&'a Text>,
    /// Plan for its next turn: words, of which nothing comes but by their commit.
    pub open_plan: Option<&'a OpenPlan>,
    /// The time of what is planned is over: nothing comes of it any more.
    pub open_plan_lapsed: bool,
    /// The words that the open plan owns: what its turn would leave unsaid.
    pub open_plan_unsaid: Option<&'a ResumeBuffer>,
    /// Newest speech, and to whom it was said, oldest first: digests alone.
    pub said: &'a [SpokenText],
    /// The newest turn.
    pub last_turn_id: u64,
    /// Directive that it came to; `None` where there is none yet.
    pub last_directive: Option<Directive>,
    /// Why.
    pub last_reason_code: Option<ReasonCode>,
    /// The session of the newest turn, where it had one.
    pub session_id: Option<&'a Text>,
    /// The turns that were taken and the rows that callers committed.
    pub turns: u64,
    /// Time when the thread began.
    pub started_at: Timestamp,
    /// With which record.
    pub started_sequence: u64,
    /// The last record that changed it.
    pub version: u64,
    /// True if it ended.
    pub is_closed: bool,
}

impl Thread {
    /// Returns what the branch table would read at this time: what is over by then is taken out,
    /// whether or not that is on record yet.
    #[must_use]
    pub fn state_at(&self, seen_from: Timestamp) -> ThreadState {
        self.standing(seen_from).state
    }

    /// The readable form, as it is seen at this time: what is over by then is shown as over,
    /// whether or not that is on record yet.
    #[must_use]
    pub fn view(&self, seen_from: Timestamp) -> ThreadView<'_> {
        let (state, marks) = (&self.state, &self.state.marks);
        let now = self.standing(seen_from);
        let open_plan_unsaid = now.planned();
        let (seen, has_turns) = (now.state, self.turns > 0);
        let check = seen.marks.return_check;
        ThreadView {
            tenant_id: &self.tenant_id,
            correlation_id: &self.correlation_id,
            pending_state: state.pending_state(),
            pending: marks.pending.as_ref(),
            active_subject_ref: marks.active_subject_ref.as_ref(),
            interrupted_subject_ref: seen.marks.interrupted_subject_ref,
            resume_buffer: seen.resume_buffers.last().cloned(),
            resume_buffers: seen.resume_buffers,
            return_check_pending: check.is_some(),
            return_check_expires_at: check.map(|check| check.expires_at),
            return_check_turn_id: check.map(|check| check.captured_turn),
            return_check_lapsed: seen.marks.return_check_lapsed,
            buffer_lapsed: seen.marks.buffer_lapsed,
            active_speaker_user_id: marks.active_speaker_user_id.as_ref(),
            active_session_id: marks.active_session_id.as_ref(),
            open_plan: self.open_plan(),
            open_plan_lapsed: self.open_plan().is_some_and(|open| open.is_lapsed(seen_from)),
            open_plan_unsaid,
            said: &state.said,
            last_turn_id: self.last_turn_id,
            last_directive: has_turns.then_some(self.last_directive),
            last_reason_code: has_turns.then_some(self.last_reason_code),
            session_id: self.session_id.as_ref(),
            turns: self.turns,
            started_at: self.started_at,
            started_sequence: self.started_sequence,
            version: self.version,
            is_closed: self.is_closed,
        }
    }
}
