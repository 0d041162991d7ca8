//! Random turns over 200 threads, 10 000 in a usual run: every remainder is accounted for, also
//! from rows alone, nothing that waits for an answer or for permission ends without its row, nobody
//! hears what was being said to somebody else, nothing is said in a session that is not active, and
//! the state is what the records say.

use std::collections::BTreeMap;

use holdpoint_domain::interruption_thread::{
    ConfidenceBand, InterruptionThreadCommand, InterruptionThreadEvent, PendingState, ReasonCode,
    TakeTurn, Thread, ThreadCommand, ThreadState, TtsResumeSnapshot, TurnInput, TurnRequest,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_domain::{Command, Event, Time};
use holdpoint_testing::part::times;
use holdpoint_testing::story::seed;

use crate::thread_accountant::{Books, Words};
use crate::thread_fates::Accountant;
use crate::thread_requests::{Requests, offered};
use holdpoint_testing::threads::drawn::{Moment, drawn_request, drawn_row};
use holdpoint_testing::threads::planned::{committed, drafted, heard, plan_key};
use holdpoint_testing::threads::requests::{chat, points, request};
use holdpoint_testing::threads::{Outcome, Stage, thread_command, turn};
use quickcheck::{Arbitrary as _, Gen};

const TENANT: &str = "tenant_a";
const DEVICE: &str = "device";
const USERS: [&str; 4] = ["ann", "bob", "cleo", "dan"];
const THREADS: u64 = 200;
/// `HOLDPOINT_TIMES=N` takes N times as many.
const TURNS: u64 = 5_000;
/// One thread is told of about twice a minute: what is kept for 60 s is found live and gone.
const STEP_NS: u64 = 250_000_000;

#[test]
fn no_random_turn_loses_a_remainder_or_says_it_to_somebody_else() {
    played(seed(), TURNS * times()).finish();
}

/// With one seed, so that a rare way is not missed by chance.
#[test]
fn the_random_turns_take_every_way_that_a_remainder_can_end() {
    let play = played(4, TURNS);
    play.assert_every_way_was_taken();
    play.finish();
}

fn played(seed: u64, turns: u64) -> Play {
    let mut play = Play::new(seed);
    while play.turns < turns {
        play.step();
        if play.turns.is_multiple_of(TURNS / 2) {
            play.stage.assert_rebuilt();
        }
    }
    play
}

/// A thread as the test knows it.
#[derive(Debug, Clone)]
struct Told {
    name: String,
    newest_turn: u64,
    /// Who speaks, by the turns that were taken.
    speaker: Option<&'static str>,
    /// What was interrupted by the newest plan, to whom it was being said, and the words that it
    /// leaves.
    planned: Option<(TtsResumeSnapshot, &'static str, String)>,
}

struct Play {
    random: Gen,
    stage: Stage,
    accountant: Accountant,
    books: Books,
    requests: Requests,
    threads: Vec<Told>,
    /// The session of each user: its number and where it is.
    sessions: BTreeMap<&'static str, (u64, SessionStatus)>,
    at: u64,
    turns: u64,
    /// Answers that were interrupted.
    answers: u64,
    outcomes: BTreeMap<&'static str, u64>,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut stage = Stage::with_tenant(TENANT);
        let sessions = USERS.map(|user| (user, (0, SessionStatus::Active)));
        let mut accountant = Accountant::default();
        for user in USERS {
            stage.user(TENANT, user, DEVICE);
            let scope = [TENANT, &session_name(user, 0), user, DEVICE];
            let events = stage.session(scope, SessionStatus::Active, 1).events();
            events.iter().for_each(|event| accountant.follow(event, ""));
        }
        let mut play = Self {
            random: Gen::from_size_and_seed(30, seed),
            stage,
            accountant,
            books: Books::default(),
            requests: Requests::default(),
            threads: Vec::new(),
            sessions: BTreeMap::from(sessions),
            at: 1_000_000_000_000,
            turns: 0,
            answers: 0,
            outcomes: BTreeMap::new(),
        };
        (0..THREADS).for_each(|place| play.begin(place, 0));
        play
    }

    fn below(&mut self, bound: u64) -> u64 {
        u64::arbitrary(&mut self.random) % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    fn any<T: Copy>(&mut self, of: &[T]) -> T {
        *self.random.choose(of).unwrap()
    }

    /// A thread that nobody has spoken in.
    fn begin(&mut self, place: u64, life: u64) {
        let name = format!("thread-{place}-{life}");
        self.stage.work_order(TENANT, &name);
        let told = Told { name, newest_turn: 0, speaker: None, planned: None };
        match self.threads.get_mut(usize::try_from(place).unwrap()) {
            Some(old) => *old = told,
            None => self.threads.push(told),
        }
    }

    fn step(&mut self) {
        self.at += self.below(STEP_NS);
        let place = usize::try_from(self.below(THREADS)).unwrap();
        match self.below(100) {
            0 => self.change_session(),
            1 => self.command_thread(place, InterruptionThreadCommand::ExpireThread),
            2 if self.one_in(4) => self.close(place),
            3..7 => self.row(place),
            7..20 => self.take(place, true),
            _ => self.take(place, false),
        }
    }

    /// Gives a command and follows what comes of it.
    fn give(&mut self, place: usize, command: &Command, words: &str) -> Outcome {
        let before = self.stage.world.thread(TENANT, &self.threads[place].name).cloned();
        let outcome = self.stage.give(command, self.at);
        let unsaid = interrupted_by(command);
        let known = match &outcome {
            Outcome::Done(events) => {
                events.iter().for_each(|event| self.accountant.follow(event, words));
                events.iter().for_each(|event| self.books.read(event, unsaid));
                let offered = offered(command);
                events.iter().for_each(|event| self.requests.read(event, &offered));
                let drafted = planned_by(command);
                drafted.into_iter().for_each(|of| {
                    self.books.drafted(&self.threads[place].name, of);
                });
                "done"
            }
            Outcome::Repeated(_) => "repeated",
            Outcome::Refused(refusal) => {
                let row = refusal.audit(&self.stage.world, command);
                assert!(row.is_some() || unsaid.is_none(), "no row of {command:?}");
                row.iter().for_each(|row| self.books.read(row, unsaid));
                refusal.code()
            }
        };
        *self.outcomes.entry(known).or_default() += 1;
        let name = self.threads[place].name.clone();
        let is_alone = matches!(&outcome, Outcome::Done(events) if events.len() == 1);
        if is_plan(command) && is_alone || known != "done" {
            assert_untouched(before, self.stage.world.thread(TENANT, &name), command);
        }
        let state = self.stage.state(TENANT, &name);
        self.accountant.assert_kept(&name, &state);
        let shown =
            self.stage.world.thread(TENANT, &name).map(|thread| {
                serde_json::to_value(thread.view(Time::from_nanoseconds(0))).unwrap()
            });
        let planned = shown.as_ref().and_then(|shown| words_in(&shown["open_plan_unsaid"]));
        let mut kept: Vec<Words> =
            state.resume_buffers.iter().map(|it| (it.captured_turn, it.answer_id)).collect();
        kept.sort_unstable();
        let found = self.books.open(&name);
        assert_eq!(found, (kept, Vec::from_iter(planned)), "{name}: rows alone");
        let waits_for = match state.pending_state() {
            PendingState::Clarify => PendingState::None,
            other => other,
        };
        assert_eq!(self.requests.waits_for(&name), waits_for, "{name}: requests, by rows alone");
        outcome
    }

    fn command_thread(
        &mut self,
        place: usize,
        command: fn(ThreadCommand) -> InterruptionThreadCommand,
    ) {
        let command = command(thread_command(TENANT, &self.threads[place].name)).into();
        self.give(place, &command, "");
    }

    fn close(&mut self, place: usize) {
        self.command_thread(place, InterruptionThreadCommand::CloseThread);
        if self.threads[place].speaker.is_some() {
            let life = self.threads[place].name.rsplit('-').next().unwrap();
            let life: u64 = life.parse().unwrap();
            self.begin(u64::try_from(place).unwrap(), life + 1);
        }
    }

    /// A session is suspended, goes on, or ends and another begins.
    fn change_session(&mut self) {
        let user = self.any(&USERS);
        let (number, status) = self.sessions[user];
        if status == SessionStatus::Active && !self.one_in(6) {
            return;
        }
        let (number, status) = match status {
            SessionStatus::Closed => (number + 1, SessionStatus::Active),
            SessionStatus::Suspended => (number, SessionStatus::Active),
            SessionStatus::Active if self.one_in(4) => (number, SessionStatus::Closed),
            SessionStatus::Active => (number, SessionStatus::Suspended),
        };
        let scope = [TENANT, &session_name(user, number), user, DEVICE];
        let events = self.stage.session(scope, status, self.at).events();
        for event in &events {
            self.accountant.follow(event, "");
            self.books.read(event, None);
            self.requests.read(event, "");
        }
        self.sessions.insert(user, (number, status));
    }

    /// Takes a turn, with a plan and behind the gate where that is asked for.
    fn take(&mut self, place: usize, is_planned: bool) {
        let told = self.threads[place].clone();
        let user = match told.speaker {
            Some(speaker) if !self.one_in(6) => speaker,
            _ => self.any(&USERS),
        };
        let turn_id = told.newest_turn + 1 + self.below(2);
        let state = self.stage.state(TENANT, &told.name);
        let words = format!("[{} {turn_id}] words left unsaid.", told.speaker.unwrap_or(user));
        let moment = Moment { at: self.at, user, turn_id, state: &state, words: &words };
        let mut request = drawn_request(&mut self.random, moment);
        let words = self.interrupting(&mut request, (&told, user), words);
        let command = self.turn(&told.name, user, turn_id, request);
        self.turns += 1;
        let command = match is_planned {
            true => match self.planned((place, user), &command, &words) {
                Some(commit) => commit,
                None => return,
            },
            false => Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command)),
        };
        let outcome = self.give(place, &command, &words);
        let Outcome::Done(events) = outcome else { return };
        let after = self.stage.state(TENANT, &told.name);
        let [
            ..,
            Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(taken)),
            Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(row)),
        ] = &events[..]
        else {
            panic!("a turn ends with itself and its row: {events:?}");
        };
        assert_eq!(taken.state_after, after.digest());
        assert_eq!((row.reason_code, row.turn_id), (taken.decision.reason_code, turn_id));
        assert!(events[..events.len() - 2].iter().all(is_end_of_words), "{events:?}");
        let has_snapshot = taken.request.tts_resume_snapshot.is_some();
        assert!(!has_snapshot || !taken.decision.remainders.is_empty());
        self.spoken(place, turn_id);
    }

    /// Who speaks into a session that is not active, or while another's answer is waited for, stays
    /// a stranger.
    fn spoken(&mut self, place: usize, newest_turn: u64) {
        let told = self.threads[place].clone();
        let known = self.stage.state(TENANT, &told.name).marks.active_speaker_user_id;
        let speaker = USERS.into_iter().find(|user| known.as_deref() == Some(user));
        self.threads[place] = Told { newest_turn, speaker, ..told };
    }

    /// Each interruption is of an answer of its own, but for those of the speech that a plan has
    /// interrupted already. Some are not sure.
    fn interrupting(
        &mut self,
        request: &mut TurnRequest,
        (told, user): (&Told, &'static str),
        words: String,
    ) -> String {
        self.answers += 1;
        let again = self.one_in(3);
        let Some(snapshot) = &mut request.tts_resume_snapshot else { return words };
        snapshot.answer_id = 1_000 + self.answers;
        if self.one_in(4)
            && let Some(of) = &mut request.interruption
        {
            of.candidate_confidence_band = ConfidenceBand::Medium;
            of.phrase_confidence_bp = points(6_999);
            of.gate_confidences.phrase_bp = points(6_999);
            of.subject_relation_confidence_bundle.lexical_bp = points(6_999);
        }
        let listener = told.speaker.unwrap_or(user);
        match told.planned.clone().filter(|(_, to, _)| again && *to == listener) {
            Some((before, _, words)) => {
                *snapshot = before;
                words
            }
            None => words,
        }
    }

    /// Drafts a turn, mostly, and says how it is to be committed: mostly as the gate lets it pass.
    /// Some plans are never committed.
    fn planned(
        &mut self,
        (place, user): (usize, &'static str),
        turn: &TakeTurn,
        words: &str,
    ) -> Option<Command> {
        let said = heard(&turn.request);
        if !self.one_in(10) {
            let mut so_far = said.clone();
            so_far.transcript.is_final = false;
            self.give(place, &drafted(turn, so_far), words);
            let snapshot = turn.request.tts_resume_snapshot.clone();
            let listener = self.threads[place].speaker.unwrap_or(user);
            self.threads[place].planned = snapshot.map(|of| (of, listener, words.to_owned()));
        }
        if self.one_in(3) {
            return None;
        }
        let mut said = said;
        said.transcript.is_final = !self.one_in(10);
        said.hypothesis.confidence_bp = points(self.any(&[6_999, 7_000, 9_000, 9_999]));
        Some(match self.below(20) {
            0 => Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn.clone())),
            1 => committed(turn, "another plan", said),
            2 => {
                let plain = request(&turn.user_id, &turn.request.subject_ref, TurnInput::None);
                let plain = TurnRequest { input: chat("Well."), ..plain };
                let said = heard(&plain);
                let plain = TakeTurn { request: plain.into(), ..turn.clone() };
                committed(&plain, &plan_key(turn), said)
            }
            _ => committed(turn, &plan_key(turn), said),
        })
    }

    /// In the user's newest session, or in none that is named.
    fn turn(&mut self, thread: &str, user: &str, turn_id: u64, request: TurnRequest) -> TakeTurn {
        let mut command = turn(&self.stage, [TENANT, thread, user, DEVICE], turn_id, request);
        let is_named = self.below(5) > 0;
        command.session_id = is_named.then(|| session_name(user, self.sessions[user].0));
        command
    }

    /// A row that a caller commits.
    fn row(&mut self, place: usize) {
        let told = self.threads[place].clone();
        let user = match told.speaker {
            Some(speaker) if !self.one_in(6) => speaker,
            _ => self.any(&USERS),
        };
        let turn_id = told.newest_turn + self.below(3);
        let empty = request(user, "weather", TurnInput::None);
        let scope = self.turn(&told.name, user, turn_id, empty);
        let row = drawn_row(&mut self.random, scope);
        if let Outcome::Done(_) = self.give(place, &row, "") {
            self.spoken(place, turn_id);
        }
    }

    /// Everything that was captured came to one end or is still kept.
    fn finish(mut self) {
        self.stage.assert_rebuilt();
        for told in &self.threads {
            self.accountant.assert_kept(&told.name, &self.stage.state(TENANT, &told.name));
        }
        let kept: usize = self.accountant.kept.values().map(BTreeMap::len).sum();
        let ended: u64 = self.accountant.ends.values().sum();
        assert_eq!(self.accountant.captured, ended + u64::try_from(kept).unwrap());
        println!("{:?}\n{:?}, {kept} kept", self.outcomes, self.accountant.ends);
        println!("by rows alone: {:?}, {:?}", self.books.ends, self.requests.ends);
    }

    fn assert_every_way_was_taken(&self) {
        let (ends, reasons) = (&self.accountant.ends, &self.accountant.reasons);
        assert_eq!(ends.len(), 5, "a way to end was not taken: {ends:?}");
        assert!(ends.values().all(|count| *count >= 10), "{ends:?}");
        let of_rows = &self.books.ends;
        assert_eq!(of_rows.len(), 16, "a fate was not reached: {of_rows:?}");
        let of_requests = &self.requests.ends;
        assert_eq!(of_requests.len(), 6, "an end of a request was not reached: {of_requests:?}");
        assert!(self.accountant.sessions.disarmed >= 10, "{}", self.accountant.sessions.disarmed);
        assert!(self.outcomes["done"] > TURNS / 2, "{:?}", self.outcomes);
        // Reading rows is no part of a conversation, and that a closed thread cannot be closed is
        // told by no row.
        let told: Vec<u16> = (160..=180).filter(|kind| *kind != 173).collect();
        assert_eq!(
            self.stage.kinds.iter().copied().filter(|it| ![5, 14].contains(it)).collect::<Vec<_>>(),
            told
        );
        let gate = ["PLAN_INVALID", "TRANSCRIPT_NOT_FINAL", "HYPOTHESIS_NOT_SURE"];
        for code in gate.map(|code| format!("X_FAIL_{code}")) {
            assert!(self.outcomes.contains_key(&*code), "{code}: {:?}", self.outcomes);
        }
        let branches = ReasonCode::ALL.iter().filter(|code| is_of_turns(**code));
        for code in branches {
            assert!(reasons.contains_key(code.name()), "{code} was not reached");
        }
    }
}

fn session_name(user: &str, number: u64) -> String {
    format!("{user}-{number}")
}

/// The words that a command's turn leaves unsaid, and whether its interruption is sure.
fn interrupted_by(command: &Command) -> Option<(Words, bool)> {
    let (turn_id, request) = match command {
        Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn)) => {
            (turn.turn_id, &turn.request)
        }
        Command::InterruptionThread(InterruptionThreadCommand::CommitTurn(turn)) => {
            (turn.turn_id, &turn.request)
        }
        _ => return None,
    };
    let answer = request.tts_resume_snapshot.as_ref()?.answer_id;
    let is_sure = request.interruption.as_ref()?.phrase_confidence_bp >= points(7_000);
    Some(((turn_id, answer), is_sure))
}

/// The words that a command's plan would leave unsaid, and whether its candidate is sure.
fn planned_by(command: &Command) -> Option<(Words, bool)> {
    let Command::InterruptionThread(InterruptionThreadCommand::DraftPlan(plan)) = command else {
        return None;
    };
    let answer = plan.request.tts_resume_snapshot.as_ref()?.answer_id;
    let is_sure = plan.heard.candidate?.confidence_bp >= points(7_000);
    Some(((plan.turn_id, answer), is_sure))
}

fn words_in(shown: &serde_json::Value) -> Option<Words> {
    Some((shown["captured_turn"].as_u64()?, shown["answer_id"].as_u64()?))
}

fn is_plan(command: &Command) -> bool {
    matches!(command, Command::InterruptionThread(InterruptionThreadCommand::DraftPlan(_)))
}

/// A plan alone, and what was refused, leave the thread as it was: but for the plan, and the record
/// that tells of it. In a thread that a plan begins nothing was said.
fn assert_untouched(before: Option<Thread>, after: Option<&Thread>, command: &Command) {
    let Some(after) = after else { return assert_eq!(before, None) };
    let Some(before) = before else {
        assert_eq!((&after.state, after.turns), (&ThreadState::default(), 0), "{command:?}");
        return;
    };
    let shown = |thread: &Thread| {
        serde_json::to_value(thread.view(holdpoint_domain::Time::default())).unwrap()
    };
    let beyond_the_plan = |thread: &Thread| {
        let mut view = shown(thread);
        for key in ["open_plan", "open_plan_lapsed", "open_plan_unsaid", "version"] {
            view[key] = serde_json::Value::Null;
        }
        view
    };
    assert_eq!(beyond_the_plan(&before), beyond_the_plan(after), "{command:?}");
    // Speech that is cut off makes the words of an unsure plan sure, and changes nothing else.
    let makes_sure = interrupted_by(command).is_some();
    if !is_plan(command) && makes_sure {
        assert_eq!(shown(&before), shown(after), "{command:?}");
    } else if !is_plan(command) {
        assert_eq!(&before, after, "{command:?}");
    }
}

/// What stands before a turn in its batch.
fn is_end_of_words(event: &Event) -> bool {
    matches!(
        event,
        Event::InterruptionThread(InterruptionThreadEvent::RemainderDisplaced(_))
            | Event::InterruptionThread(InterruptionThreadEvent::TurnCommitted(_))
            | Event::InterruptionThread(InterruptionThreadEvent::PlanEnded(_))
            | Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(_))
            | Event::InterruptionThread(InterruptionThreadEvent::ReturnCheckExpired(_))
    )
}

/// Whether turns come to this reason: not those that are for callers' rows, and no refusal.
fn is_of_turns(code: ReasonCode) -> bool {
    let for_rows = [
        ReasonCode::ResumeContinue,
        ReasonCode::ResumeMoreDetail,
        ReasonCode::ConfirmAnswerInvalid,
        ReasonCode::InterruptSwitchTopic,
    ];
    code.number() & 0xFFFF < 0x20 && !for_rows.contains(&code)
}
