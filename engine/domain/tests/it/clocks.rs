//! By which clock a limit is over: the log's time, the own clock of whoever records, and the
//! monotonic one of a wait.

use holdpoint_domain::core::actor::{Actor, Authentication, Principal, Proof};
use holdpoint_domain::core::clocks::EndedBy;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::decision_point::{
    DecisionPointCommand, DecisionPointEvent, ExpireDecisionPoint, OnTimeout,
};
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecision, HumanDecisionEvent};
use holdpoint_domain::log::ClockStepAccepted;
use holdpoint_domain::{ActorId, Command, Envelope, Event, Refusal, Time, World, WriterCommand};
use holdpoint_testing::story::held::{TIMEOUT_MS, terms};
use holdpoint_testing::story::points::{binding, option, person};
use holdpoint_testing::story::{Story, envelope, names, rebuilt};

const HOUR_MS: u64 = 3_600_000;

/// How far the log is ahead of the own clock where the limits begin.
const AHEAD_MS: u64 = 2 * HOUR_MS;

fn moved(time: Time, by_ms: i64) -> Time {
    let by_ns = by_ms.unsigned_abs() * 1_000_000;
    let at = time.nanoseconds();
    Time::from_nanoseconds(if by_ms < 0 { at - by_ns } else { at + by_ns })
}

/// A story whose log is ahead of the clock of whoever records.
fn ahead() -> Story {
    let mut story = Story::adopted();
    story.clock = Some(moved(story.now, -(AHEAD_MS as i64)));
    story
}

/// A limit that begins at a time, by this story's own clock too.
struct Limit {
    story: Story,
    began: Time,
    clock: Time,
    span_ms: i64,
    id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Default,
    Abort,
    Approval,
    Request,
}

impl Limit {
    fn of(kind: Kind) -> Self {
        let mut story = ahead();
        let (began, clock) = (story.now, story.clock.unwrap());
        let (span_ms, id) = match kind {
            Kind::Default => (60_000, story.asks_with(|c| c.on_timeout = Some(OnTimeout::Default))),
            Kind::Abort => (60_000, story.asks_with(|c| c.on_timeout = Some(OnTimeout::Abort))),
            Kind::Approval => {
                let id = story.asks_with(|c| {
                    c.binding = Some(binding());
                    c.valid_for_ms = Some(1_000);
                });
                story.now = began;
                story.given(story.responds(&id, person("alice"), option("go")));
                (1_000, id)
            }
            Kind::Request => {
                let mut command = story.initialize();
                command.hold = terms(HoldPolicy::After);
                story.loop_id = command.loop_id();
                story.given(Command::ExecutionLoop(
                    holdpoint_domain::execution_loop::ExecutionLoopCommand::InitializeLoop(command),
                ));
                story.advance_to(holdpoint_domain::execution_loop::ExecutionLoopState::Evaluated);
                let began = story.now;
                story.given(story.ask());
                let id = story.held().request_id().to_owned();
                return Self { story, began, clock, span_ms: TIMEOUT_MS as i64, id };
            }
        };
        Self { story, began, clock, span_ms, id }
    }

    /// The same at a moment.
    fn at(&self, log: bool, own: Option<bool>, steady: Option<bool>) -> Story {
        let over = |from: Time, is: bool| moved(from, self.span_ms - i64::from(!is));
        let mut story = self.story.clone();
        story.now = over(self.began, log);
        story.clock = Some(match own {
            Some(is) => over(self.clock, is),
            None => moved(self.clock, -(HOUR_MS as i64)),
        });
        story.steady = steady.map(|is| over(self.clock, is));
        story
    }

    fn expires(&self, story: &Story, kind: Kind) -> Command {
        match kind {
            Kind::Request => story.expire(&self.id),
            Kind::Default | Kind::Abort | Kind::Approval => {
                Command::DecisionPoint(DecisionPointCommand::ExpireDecisionPoint(
                    ExpireDecisionPoint { decision_id: self.id.clone() },
                ))
            }
        }
    }
}

fn ended_by(events: &[Event]) -> Option<EndedBy> {
    events.iter().find_map(|event| match event {
        Event::DecisionPoint(DecisionPointEvent::DefaultTaken(_)) => Some(EndedBy::Both),
        Event::DecisionPoint(DecisionPointEvent::DecisionPointAborted(body)) => body.ended_by,
        Event::DecisionPoint(DecisionPointEvent::ApprovalLapsed(body)) => body.ended_by,
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) => body.ended_by,
        _ => None,
    })
}

fn stating(event: &Event, by: Option<EndedBy>) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::DecisionPoint(DecisionPointEvent::DecisionPointAborted(body)) => body.ended_by = by,
        Event::DecisionPoint(DecisionPointEvent::ApprovalLapsed(body)) => body.ended_by = by,
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) => body.ended_by = by,
        _ => {}
    }
    event
}

type Cell = (bool, Option<bool>, Option<bool>);

/// The whole product: log's time over or not; own clock over, not over, or behind its maker's; no
/// monotonic clock, one that is over, one that is not.
fn cells() -> Vec<Cell> {
    let own = [Some(true), Some(false), None];
    let mut cells = Vec::new();
    for log in [true, false] {
        for own in own {
            cells.extend([None, Some(true), Some(false)].map(|steady| (log, own, steady)));
        }
    }
    cells
}

fn expected((log, own, steady): Cell) -> Option<EndedBy> {
    match (log, own == Some(true), steady) {
        (true, true, _) => Some(EndedBy::Both),
        (true, false, _) => Some(EndedBy::LogTime),
        (false, true, _) => Some(EndedBy::OwnClock),
        (false, false, Some(true)) => Some(EndedBy::Monotonic),
        (false, false, _) => None,
    }
}

const KINDS: [Kind; 4] = [Kind::Default, Kind::Abort, Kind::Approval, Kind::Request];

#[test]
fn table_a_limit_ends_by_whichever_clock_says_so_first_and_the_event_says_which() {
    for kind in KINDS {
        let limit = Limit::of(kind);
        for cell in cells() {
            let mut story = limit.at(cell.0, cell.1, cell.2);
            let command = limit.expires(&story, kind);
            let found = story.when(command);
            let by = expected(cell);
            let is_fitting = found.is_ok() == (by.is_some() || is_warning(&found));
            assert!(is_fitting, "{kind:?} {cell:?} {found:?}");
            let events = found.unwrap_or_default();
            assert_eq!(ended_by(&events), by, "{kind:?} {cell:?}");
            let takes_default = names(&events).contains(&"default_taken");
            let both = by == Some(EndedBy::Both);
            assert_eq!(takes_default, kind == Kind::Default && both, "{kind:?} {cell:?}");
            let due = limit.at(cell.0, cell.1, cell.2);
            let due = due.world.due_of(&limit.id, due.moment());
            assert_eq!(due.is_some_and(|due| due.timed_out), by.is_some(), "{kind:?} {cell:?}");
        }
    }
}

/// A question to a person warns at 80 % of the time.
fn is_warning(found: &Result<Vec<Event>, Refusal>) -> bool {
    found.as_ref().is_ok_and(|events| names(events) == ["warned"])
}

#[test]
fn table_an_end_that_states_another_clock_is_found_and_so_is_one_that_states_none() {
    for kind in [Kind::Abort, Kind::Approval, Kind::Request] {
        let limit = Limit::of(kind);
        for cell in cells().into_iter().filter(|cell| expected(*cell).is_some()) {
            let story = limit.at(cell.0, cell.1, cell.2);
            let mut genuine = story.clone();
            let events = genuine.when(limit.expires(&story, kind)).unwrap();
            for by in [None].into_iter().chain(EndedBy::ALL.iter().copied().map(Some)) {
                let mut forged = story.clone();
                let mut findings = Vec::new();
                events.iter().for_each(|event| findings.extend(forged.record(stating(event, by))));
                let is_its_own = by == expected(cell);
                assert_eq!(findings.is_empty(), is_its_own, "{kind:?} {cell:?} {by:?}");
                let rule = match kind {
                    Kind::Request => Rule::HumanDecisionExpiry,
                    _ => Rule::DecisionPointExpiry,
                };
                assert!(findings.iter().all(|found| found.rule == rule), "{findings:?}");
            }
        }
    }
}

#[test]
fn a_default_that_is_taken_by_one_clock_alone_is_found() {
    let limit = Limit::of(Kind::Default);
    let mut both = limit.at(true, Some(true), None);
    let taken = both.when(limit.expires(&both, Kind::Default)).unwrap().remove(0);
    for cell in cells().into_iter().filter(|cell| expected(*cell) != Some(EndedBy::Both)) {
        let mut story = limit.at(cell.0, cell.1, cell.2);
        let found = story.record(taken.clone());
        let rules: Vec<Rule> = found.iter().map(|found| found.rule).collect();
        assert_eq!(rules, [Rule::DecisionPointExpiry], "{cell:?}");
        assert!(story.point(&limit.id).is_open(), "{cell:?}");
    }
}

/// Nothing that any clock says is over takes an answer or is spent, whether or not its end is on
/// record: and a reader sees the same.
#[test]
fn table_what_any_clock_says_is_over_takes_no_answer_and_is_not_spent() {
    for cell in cells().into_iter().filter(|cell| cell.2.is_none()) {
        let is_over = expected(cell).is_some();
        let asked = Limit::of(Kind::Abort);
        let mut story = asked.at(cell.0, cell.1, None);
        let events = story.when(story.responds(&asked.id, person("alice"), option("go"))).unwrap();
        let counts = names(&events).contains(&"resolved");
        assert_eq!(counts, !is_over, "{cell:?}");
        let reader = asked.at(cell.0, cell.1, None);
        let seen = reader.world.times_of(&asked.id, reader.moment()).latest();
        assert_eq!(reader.point(&asked.id).is_overdue(seen), is_over, "{cell:?}");

        let approved = Limit::of(Kind::Approval);
        let mut story = approved.at(cell.0, cell.1, None);
        let spent = story.when(story.consumes(&approved.id));
        assert_eq!(spent.is_ok(), !is_over, "{cell:?}");

        let held = Limit::of(Kind::Request);
        let mut story = held.at(cell.0, cell.1, None);
        let events = story.when(story.decides(HumanDecision::Continue)).unwrap();
        let counts = names(&events).contains(&"answered");
        assert_eq!(counts, !is_over, "{cell:?}");
    }
}

/// An answer or an expense on record that the own clock of its record says was too late counts for
/// nothing.
#[test]
fn an_answer_and_an_expense_too_late_by_their_own_clock_are_found() {
    let late = (false, Some(true));
    for kind in [Kind::Abort, Kind::Approval, Kind::Request] {
        let limit = Limit::of(kind);
        let mut intime = limit.at(false, Some(false), None);
        let command = match kind {
            Kind::Approval => intime.consumes(&limit.id),
            Kind::Request => intime.decides(HumanDecision::Continue),
            _ => intime.responds(&limit.id, person("alice"), option("go")),
        };
        let event = intime.when(command).unwrap().remove(0);
        let mut forged = limit.at(late.0, late.1, None);
        let before = forged.world.clone();
        assert_ne!(forged.record(event), [], "{kind:?}");
        if kind == Kind::Request {
            assert!(forged.held().is_open());
        } else {
            let states = |world: &World| {
                let point = world.decision_point(&limit.id).unwrap();
                (point.state, point.consumed.clone())
            };
            assert_eq!(states(&forged.world), states(&before), "{kind:?}");
        }
    }
}

/// Replay is a function of the log alone: the clocks are in its records, and the state that is
/// carried knows them.
#[test]
fn replay_and_a_carried_state_end_by_the_recorded_clocks() {
    for kind in KINDS {
        let limit = Limit::of(kind);
        let world = rebuilt(&limit.story.records, World::default().keeping_settled());
        assert_eq!(world.fingerprint(), limit.story.world.fingerprint(), "{kind:?}");
        let carried = World::from_carried(&limit.story.world.carry()).unwrap();
        let mut story = limit.at(false, Some(true), None);
        story.world = carried;
        let events = story.when(limit.expires(&story, kind)).unwrap();
        assert_eq!(ended_by(&events), Some(EndedBy::OwnClock), "{kind:?}");
    }
}

/// A round has the end of the one before, unless each has a time of its own.
#[test]
fn the_next_round_ends_by_the_clock_of_whoever_began_its_time() {
    for per_round in [false, true] {
        let mut story = ahead();
        let (began, clock) = (story.now, story.clock.unwrap());
        let first = story.asks_with(|c| c.timeout_per_round = per_round);
        story.now = began;
        story.clock = Some(moved(clock, 30_000));
        let next = story.guides(&first);
        let is_over = |story: &Story, clock| {
            let moment = holdpoint_domain::core::clocks::Moment::new(began, clock);
            story.world.due_of(&next, moment).is_some_and(|due| due.timed_out)
        };
        let end = if per_round { 90_000 } else { 60_000 };
        assert!(!is_over(&story, moved(clock, end - 1)), "{per_round}");
        assert!(is_over(&story, moved(clock, end)), "{per_round}");
    }
}

fn ada() -> Principal {
    let authenticated_by = Authentication::Terminal;
    Principal { authenticated_by, ..person("ada") }
}

fn accepted(story: &Story) -> WriterCommand {
    let body = ClockStepAccepted {
        by: ada(),
        log_time: story.now,
        clock: story.clock.unwrap_or(story.now),
    };
    let due = story.world.due(story.moment()).into_iter();
    let due = due.map(|due| due.command.with_entropy(story.entropy())).collect();
    WriterCommand::AcceptClockStep { body: Box::new(body), due }
}

/// Records what a person at a terminal accepted.
fn step(story: &mut Story) -> Vec<Event> {
    let command = accepted(story);
    let events =
        holdpoint_domain::decide_for_writer(&story.world, &command, story.moment()).unwrap();
    for event in &events {
        let said = by_ada(story, event.clone());
        assert_eq!(story.record_envelope(said), []);
    }
    events
}

fn by_ada(story: &Story, event: Event) -> Envelope {
    let proof = Some(Proof { user: 1000, by: Authentication::Terminal });
    let actor = ActorId { kind: Actor::Human, id: "ada".into() };
    let clock = story.moment().stated_clock();
    match event {
        Event::Log(_) => Envelope { proof, actor, clock, ..envelope(event) },
        _ => Envelope { clock, ..envelope(event) },
    }
}

#[test]
fn an_accepted_step_ends_all_that_is_due_by_the_old_time_in_its_batch_and_revives_nothing() {
    let mut story = Story::adopted();
    let right = story.now;
    let soon = story.asks_with(|c| c.on_timeout = Some(OnTimeout::Default));
    let later = story.asks_with(|c| {
        c.entropy = holdpoint_domain::core::ids::Entropy::from_bytes([7; 16]);
        c.timeout_ms = Some(5 * HOUR_MS);
    });
    // Somebody with a fast clock wrote, and did not look.
    story.now = moved(right, AHEAD_MS as i64);
    let stray =
        story.record(holdpoint_domain::log::ClockStepped { step_ns: 7_200_000_000_000 }.into());
    assert_eq!(stray, []);
    story.clock = Some(moved(right, 1_000));
    let events = step(&mut story);
    assert_eq!(names(&events), ["aborted", "clock_step_accepted"], "the default needs both clocks");
    assert!(!story.point(&soon).is_open());
    assert!(story.point(&later).is_open());
    let revived = story.when(story.responds(&soon, person("alice"), option("go"))).unwrap();
    assert_eq!(names(&revived), ["late_response"]);
    // What was asked before keeps its times: by the own clock it has its five hours.
    let at = |hours: u64| {
        let clock = moved(right, (hours * HOUR_MS) as i64 + 10);
        holdpoint_domain::core::clocks::Moment::new(story.now.max(clock), clock)
    };
    let is_over = |hours| story.world.due_of(&later, at(hours)).map(|due| due.timed_out);
    assert_eq!([3, 4, 5].map(is_over), [None, Some(false), Some(true)], "a warning, and the end");
}

#[test]
fn behind_an_accepted_step_limits_end_and_take_their_defaults_when_they_should() {
    let mut story = ahead();
    let (began, clock) = (story.now, story.clock.unwrap());
    step(&mut story);
    story.now = began;
    let id = story.asks_with(|c| c.on_timeout = Some(OnTimeout::Default));
    story.now = began;
    let long = story.asks_with(|c| {
        c.entropy = holdpoint_domain::core::ids::Entropy::from_bytes([7; 16]);
        c.on_timeout = Some(OnTimeout::Default);
        c.timeout_ms = Some(3 * HOUR_MS);
    });
    let expire = |id: &str| {
        let decision_id = id.to_owned();
        Command::DecisionPoint(DecisionPointCommand::ExpireDecisionPoint(ExpireDecisionPoint {
            decision_id,
        }))
    };
    story.now = began;
    story.clock = Some(moved(clock, 59_999));
    assert_eq!(names(&story.clone().when(expire(&id)).unwrap()), ["warned"]);
    story.clock = Some(moved(clock, 60_000));
    assert_eq!(names(&story.when(expire(&id)).unwrap()), ["default_taken"]);
    // The clock has passed the time at which the records stood still.
    let end = moved(clock, 3 * HOUR_MS as i64);
    (story.now, story.clock) = (moved(end, -1), Some(moved(end, -1)));
    assert_eq!(names(&story.clone().when(expire(&long)).unwrap()), ["warned"]);
    (story.now, story.clock) = (end, Some(end));
    assert_eq!(names(&story.when(expire(&long)).unwrap()), ["default_taken"]);
}

/// After a step, another clock that runs ahead still takes no default alone.
#[test]
fn behind_an_accepted_step_a_fast_writer_ends_limits_and_takes_no_default() {
    let mut story = ahead();
    let (began, clock) = (story.now, story.clock.unwrap());
    step(&mut story);
    story.now = began;
    let id = story.asks_with(|c| c.on_timeout = Some(OnTimeout::Default));
    story.now = began;
    story.clock = Some(moved(clock, 120_000));
    assert_eq!(
        story.record(holdpoint_domain::log::ClockStepped { step_ns: 1_000_000_000 }.into()),
        []
    );
    story.clock = Some(moved(clock, 1_000));
    let due = story.world.due(story.moment());
    assert_eq!(due.len(), 1);
    let events = story.when(due[0].command.clone()).unwrap();
    assert_eq!(ended_by(&events), Some(EndedBy::LogTime));
    assert_eq!(story.point(&id).ending.as_ref().unwrap().default_taken, None);
}

#[test]
fn a_step_that_nobody_at_a_terminal_accepted_is_found_and_so_is_one_that_leaves_something_due() {
    let genuine = |story: &Story| {
        let WriterCommand::AcceptClockStep { body, .. } = accepted(story) else { unreachable!() };
        by_ada(story, (*body).into())
    };
    let forbidden = |mut story: Story, said: Envelope| {
        let found = story.record_envelope(said);
        let rules: Vec<Rule> = found.iter().map(|found| found.rule).collect();
        assert!(rules.contains(&Rule::ClockStep), "{found:?}");
        // It counts for nothing: a default still needs the log's time.
        let id = story.asks_with(|c| c.on_timeout = Some(OnTimeout::Default));
        story.clock = story.clock.map(|clock| moved(clock, 60_000));
        let due = story.world.due(story.moment());
        let by: Vec<_> = due.iter().map(|due| due.command.clone()).collect();
        for command in by {
            let events = story.given(command);
            assert!(!names(&events).contains(&"default_taken"));
        }
        assert!(!story.point(&id).is_open());
    };
    let story = ahead();
    assert_eq!(story.clone().record_envelope(genuine(&story)), []);
    let unproven = Envelope { proof: None, ..genuine(&story) };
    forbidden(story.clone(), unproven);
    let os_user = Some(Proof { user: 1000, by: Authentication::OsUser });
    forbidden(story.clone(), Envelope { proof: os_user, ..genuine(&story) });
    let agent = ActorId { kind: Actor::Agent, id: "ada".into() };
    forbidden(story.clone(), Envelope { actor: agent, ..genuine(&story) });
    let lies = |change: fn(&mut ClockStepAccepted)| {
        let WriterCommand::AcceptClockStep { mut body, .. } = accepted(&story) else {
            unreachable!()
        };
        change(&mut body);
        by_ada(&story, (*body).into())
    };
    forbidden(story.clone(), lies(|body| body.clock = moved(body.clock, 1)));
    forbidden(story.clone(), lies(|body| body.log_time = moved(body.log_time, 1)));
    let mut due = ahead();
    due.asks_with(|_| {});
    due.clock = due.clock.map(|clock| moved(clock, 60_000));
    forbidden(due.clone(), genuine(&due));
    let mut near = ahead();
    near.clock = Some(moved(near.now, -60_000));
    assert_ne!(near.record_envelope(genuine(&near)), []);
    assert!(
        holdpoint_domain::decide_for_writer(&near.world, &accepted(&near), near.moment()).is_err()
    );
}
