//! Random turns over 200 threads, 20 000 in a usual run: every remainder is accounted for, nobody
//! hears what was being said to somebody else, nothing is said in a session that is not active, and
//! the state is what the records say.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_domain::interruption_thread::{
    DecidedBy, Directive, Fate, InterruptionThreadCommand, InterruptionThreadEvent, ReasonCode,
    TakeTurn, Thread, ThreadCommand, ThreadRefusal, ThreadState, TurnInput, TurnRequest, TurnTaken,
};
use holdpoint_domain::registration::{RegistrationEvent, SessionStatus};
use holdpoint_domain::{Command, Event, Refusal};
use holdpoint_testing::part::times;
use holdpoint_testing::story::seed;

use crate::thread_accountant::Books;
use holdpoint_testing::threads::drawn::{Moment, drawn_request, drawn_row};
use holdpoint_testing::threads::planned::{committed, drafted, heard, plan_key};
use holdpoint_testing::threads::requests::{points, request};
use holdpoint_testing::threads::{Outcome, Stage, thread_command, turn};
use quickcheck::{Arbitrary as _, Gen};

const TENANT: &str = "tenant_a";
const DEVICE: &str = "device";
const USERS: [&str; 4] = ["ann", "bob", "cleo", "dan"];
const THREADS: u64 = 200;
/// `HOLDPOINT_TIMES=N` takes N times as many.
const TURNS: u64 = 20_000;
/// One thread is told of about twice a minute: what is kept for 60 s is found live and gone.
const STEP_NS: u64 = 250_000_000;

#[test]
fn no_random_turn_loses_a_remainder_or_says_it_to_somebody_else() {
    played(seed(), TURNS * times()).finish();
}

/// With one seed, so that a rare way is not missed by chance.
#[test]
fn the_random_turns_take_every_way_that_a_remainder_can_end() {
    let play = played(7, TURNS);
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

/// Words that were captured and not yet seen to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    owner: String,
    words: String,
}

/// Counts what becomes of remainders, from the events alone.
#[derive(Debug, Default)]
struct Accountant {
    /// By thread and turn.
    kept: BTreeMap<String, BTreeMap<u64, Kept>>,
    captured: u64,
    ends: BTreeMap<&'static str, u64>,
    reasons: BTreeMap<&'static str, u64>,
    sessions: Sessions,
}

/// Where every session is and in which each thread was spoken in last, from the events alone.
#[derive(Debug, Default)]
struct Sessions {
    active: BTreeSet<String>,
    spoken_in: BTreeMap<String, String>,
    disarmed: u64,
}

impl Sessions {
    fn follow(&mut self, event: &Event) {
        match event {
            Event::Registration(RegistrationEvent::SessionRegistered(body))
                if body.status == SessionStatus::Active =>
            {
                self.active.insert(body.session_id.to_string());
            }
            Event::Registration(RegistrationEvent::SessionRegistered(body)) => {
                self.active.remove(body.session_id.as_str());
            }
            Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(body)) => {
                // What was asked in no session ends with the one in which somebody waits.
                let asked_in = self.spoken_in.get(body.correlation_id.as_str());
                assert!(asked_in.is_none_or(|asked_in| *asked_in == *body.session_id), "{body:?}");
                assert!(!self.active.contains(body.session_id.as_str()));
                self.disarmed += 1;
            }
            Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(body)) => {
                let (session, decision) = (body.session_id.as_deref(), &body.decision);
                let before = self.spoken_in.get(body.correlation_id.as_str());
                if answers_what_was_asked(decision.reason_code) {
                    // What was asked in no session is answered in any.
                    let is_there = before.is_none_or(|before| Some(&**before) == session);
                    assert!(is_there, "asked in {before:?}, answered elsewhere: {body:?}");
                }
                let speaks = decision.directive != Directive::Wait
                    || decision.reason_code == ReasonCode::InterruptCancel;
                self.spoken(&body.correlation_id, session, speaks);
            }
            Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(body))
                if body.decided_by == DecidedBy::Caller =>
            {
                let speaks = body.payload.directive != Directive::Wait;
                self.spoken(&body.correlation_id, body.session_id.as_deref(), speaks);
            }
            _ => {}
        }
    }

    fn spoken(&mut self, thread: &str, session: Option<&str>, speaks: bool) {
        match session {
            Some(session) if speaks => {
                assert!(self.active.contains(session), "{thread} speaks in {session}");
                self.spoken_in.insert(thread.into(), session.into());
            }
            Some(_) => {}
            None => assert!(!self.spoken_in.contains_key(thread), "{thread} has a session"),
        }
    }
}

/// Whether this comes of the answer to a question that only its own session may answer.
fn answers_what_was_asked(reason: ReasonCode) -> bool {
    matches!(
        reason,
        ReasonCode::ConfirmYesDispatch
            | ReasonCode::ConfirmNoAbort
            | ReasonCode::MemoryPermissionYes
            | ReasonCode::MemoryPermissionNo
            | ReasonCode::ToolOk
            | ReasonCode::ToolFail
    )
}

impl Accountant {
    fn follow(&mut self, event: &Event, words: &str) {
        self.sessions.follow(event);
        match event {
            Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(turn)) => {
                self.turn(turn, words)
            }
            Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(gone)) => {
                self.end(&gone.correlation_id, gone.captured_turn, "expired");
            }
            Event::InterruptionThread(InterruptionThreadEvent::RemaindersDiscarded(gone)) => {
                for remainder in gone.remainders.iter() {
                    assert_eq!(remainder.fate, Fate::Discarded);
                    self.end(&gone.correlation_id, remainder.captured_turn, "discarded at an end");
                }
            }
            _ => {}
        }
    }

    fn turn(&mut self, turn: &TurnTaken, words: &str) {
        let decision = &turn.decision;
        *self.reasons.entry(decision.reason_code.name()).or_default() += 1;
        let said = decision.response_text.as_deref().unwrap_or_default();
        let mut named_now = false;
        for remainder in decision.remainders.iter() {
            let of = remainder.captured_turn;
            named_now |= of == turn.turn_id;
            let is_kept = self.of(&turn.correlation_id).contains_key(&of);
            match remainder.fate {
                Fate::Captured => {
                    assert!(!is_kept && of == turn.turn_id, "captured twice: {turn:?}");
                    let owner = remainder.speaker_user_id.as_str().to_owned();
                    let kept = Kept { owner, words: words.to_owned() };
                    self.of(&turn.correlation_id).insert(of, kept);
                    self.captured += 1;
                }
                Fate::Resumed => {
                    let kept = self.end(&turn.correlation_id, of, "resumed");
                    assert_eq!(kept.owner, turn.request.active_speaker_user_id.as_str());
                    assert!(said.contains(&kept.words), "said {said:?}, not {kept:?}");
                }
                Fate::Discarded if is_kept => {
                    self.end(&turn.correlation_id, of, "discarded");
                }
                Fate::Discarded => {
                    assert_eq!(of, turn.turn_id, "words that were not kept are given up");
                    assert_eq!(turn.session_status, SessionStatus::Closed);
                    self.captured += 1;
                    *self.ends.entry("discarded when captured").or_default() += 1;
                }
                Fate::KeptForLater => assert!(is_kept, "words that are gone are kept: {turn:?}"),
            }
        }
        assert_eq!(named_now, turn.request.tts_resume_snapshot.is_some(), "{turn:?}");
        assert_own_words(turn);
    }

    fn of(&mut self, thread: &str) -> &mut BTreeMap<u64, Kept> {
        self.kept.entry(thread.to_owned()).or_default()
    }

    /// Words come to an end, once.
    fn end(&mut self, thread: &str, turn: u64, how: &'static str) -> Kept {
        *self.ends.entry(how).or_default() += 1;
        let kept = self.of(thread).remove(&turn);
        kept.unwrap_or_else(|| panic!("words of turn {turn} of {thread} are {how}, but not kept"))
    }

    /// What is kept is what the thread keeps, for the same people.
    fn assert_kept(&mut self, thread: &str, state: &ThreadState) {
        let kept = self.of(thread);
        assert_eq!(kept.len(), state.resume_buffers.len(), "{thread}: {kept:?}, {state:?}");
        for buffer in &state.resume_buffers {
            let known = &kept[&buffer.captured_turn];
            assert_eq!(known.owner, buffer.speaker_user_id.as_str());
            assert_eq!(known.words, buffer.unsaid_remainder.as_str());
        }
    }
}

/// Every text here says in brackets whose it is: `[ann 7]` was being said to ann.
fn assert_own_words(turn: &TurnTaken) {
    let speaker = turn.request.active_speaker_user_id.as_str();
    let decision = &turn.decision;
    let question = decision.clarify.as_ref().map(|clarify| clarify.question.as_str());
    let said = [decision.response_text.as_deref(), question];
    for text in said.into_iter().flatten() {
        for marked in text.split('[').skip(1) {
            assert!(marked.starts_with(speaker), "{speaker} hears {text:?}");
        }
    }
}

/// A thread as the test knows it.
#[derive(Debug, Clone)]
struct Told {
    name: String,
    newest_turn: u64,
    /// Who speaks, by the turns that were taken.
    speaker: Option<&'static str>,
}

struct Play {
    random: Gen,
    stage: Stage,
    accountant: Accountant,
    books: Books,
    threads: Vec<Told>,
    /// The session of each user: its number and where it is.
    sessions: BTreeMap<&'static str, (u64, SessionStatus)>,
    at: u64,
    turns: u64,
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
            threads: Vec::new(),
            sessions: BTreeMap::from(sessions),
            at: 1_000_000_000_000,
            turns: 0,
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
        let told = Told { name, newest_turn: 0, speaker: None };
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
                "done"
            }
            Outcome::Repeated(_) => "repeated",
            Outcome::Refused(refusal) => {
                let row = refusal.audit(command);
                assert!(row.is_some() || unsaid.is_none(), "no row of {command:?}");
                let lost = unsaid.filter(|_| !is_closed_gate(refusal));
                row.iter().for_each(|row| self.books.read(row, lost));
                refusal.code()
            }
        };
        *self.outcomes.entry(known).or_default() += 1;
        let name = self.threads[place].name.clone();
        if is_plan(command) || known != "done" {
            assert_untouched(before, self.stage.world.thread(TENANT, &name), command);
        }
        let state = self.stage.state(TENANT, &name);
        self.accountant.assert_kept(&name, &state);
        assert_eq!(self.books.open(&name), state.resume_buffers.len(), "{name}: rows alone");
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
        let request = drawn_request(&mut self.random, moment);
        let command = self.turn(&told.name, user, turn_id, request);
        self.turns += 1;
        let has_snapshot = command.request.tts_resume_snapshot.is_some();
        let command = match is_planned {
            true => self.planned(place, &command),
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
        assert!(!has_snapshot || !taken.decision.remainders.is_empty());
        // Who speaks into a session that is not active is not answered, and stays a stranger.
        let is_answered = taken.session_status == SessionStatus::Active;
        let speaker = told.speaker.filter(|_| !is_answered).or(Some(user));
        self.threads[place] = Told { newest_turn: turn_id, speaker, ..told };
    }

    /// Drafts a turn, mostly, and says how it is to be committed: mostly as the gate lets it pass.
    fn planned(&mut self, place: usize, turn: &TakeTurn) -> Command {
        let said = heard(&turn.request);
        if !self.one_in(10) {
            let mut so_far = said.clone();
            so_far.transcript.is_final = false;
            self.give(place, &drafted(turn, so_far), "");
        }
        let mut said = said;
        said.transcript.is_final = !self.one_in(10);
        said.hypothesis.confidence_bp = points(self.any(&[6_999, 7_000, 9_000, 10_000]));
        match self.below(20) {
            0 => Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn.clone())),
            1 => committed(turn, "another plan", said),
            _ => committed(turn, &plan_key(turn), said),
        }
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
            // A WAIT is for nobody.
            let is_wait = matches!(
                row,
                Command::InterruptionThread(InterruptionThreadCommand::WaitCommitRow(_))
            );
            let speaker = told.speaker.filter(|_| is_wait).or(Some(user));
            self.threads[place] = Told { newest_turn: turn_id, speaker, ..told };
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
    }

    fn assert_every_way_was_taken(&self) {
        let (ends, reasons) = (&self.accountant.ends, &self.accountant.reasons);
        assert_eq!(ends.len(), 5, "a way to end was not taken: {ends:?}");
        assert!(ends.values().all(|count| *count >= 10), "{ends:?}");
        let of_rows = &self.books.ends;
        assert_eq!(of_rows.len(), 7, "a row that ends words was not reached: {of_rows:?}");
        assert!(self.accountant.sessions.disarmed >= 10, "{}", self.accountant.sessions.disarmed);
        assert!(self.outcomes["done"] > TURNS / 2, "{:?}", self.outcomes);
        // Reading rows is no part of a conversation, and that a closed thread cannot be closed is
        // told by no row.
        let told: Vec<u16> = (160..=179).filter(|kind| *kind != 173).collect();
        assert_eq!(
            self.stage.kinds.iter().copied().filter(|it| *it != 5).collect::<Vec<_>>(),
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

/// Whether the plan stays open, so that no words are lost yet.
fn is_closed_gate(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::InterruptionThread(ThreadRefusal::GateClosed { .. }))
}

/// The turn whose command leaves words unsaid.
fn interrupted_by(command: &Command) -> Option<u64> {
    let (turn_id, request) = match command {
        Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn)) => {
            (turn.turn_id, &turn.request)
        }
        Command::InterruptionThread(InterruptionThreadCommand::CommitTurn(turn)) => {
            (turn.turn_id, &turn.request)
        }
        _ => return None,
    };
    request.tts_resume_snapshot.as_ref().map(|_| turn_id)
}

fn is_plan(command: &Command) -> bool {
    matches!(command, Command::InterruptionThread(InterruptionThreadCommand::DraftPlan(_)))
}

/// A plan, and what was refused, leave the thread as it was: but for the plan, and the record that
/// tells of it. In a thread that a plan begins nothing was said.
fn assert_untouched(before: Option<Thread>, after: Option<&Thread>, command: &Command) {
    let Some(after) = after else { return assert_eq!(before, None) };
    let Some(before) = before else {
        assert_eq!((&after.state, after.turns), (&ThreadState::default(), 0), "{command:?}");
        return;
    };
    let beyond_the_plan = |thread: &Thread| {
        let mut view =
            serde_json::to_value(thread.view(holdpoint_domain::Time::default())).unwrap();
        view["open_plan"] = serde_json::Value::Null;
        view["version"] = serde_json::Value::Null;
        view
    };
    assert_eq!(beyond_the_plan(&before), beyond_the_plan(after), "{command:?}");
    if !is_plan(command) {
        assert_eq!(&before, after, "{command:?}");
    }
}

/// What stands before a turn in its batch.
fn is_end_of_words(event: &Event) -> bool {
    matches!(
        event,
        Event::InterruptionThread(InterruptionThreadEvent::RemainderDisplaced(_))
            | Event::InterruptionThread(InterruptionThreadEvent::TurnCommitted(_))
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
