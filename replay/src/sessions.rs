//! Sessions of agents whose tools are guarded: each is told by the questions that it put on record,
//! in the story that has its name.

use crate::read::{ReadError, ReadOptions};
use crate::records::{Filter, Line, OneOf, Order, Searched, search};
use crate::run::{Doer, envelope_of, weakest};
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::decision_point::{
    DecisionPoint, DecisionPointCreated, DecisionPointEvent, Terms,
};
use holdpoint_domain::{Event, World};
use holdpoint_log_files::{ReadStorage, Standing};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Event that puts a question on record.
const CREATED: &str = "decision_point.created";

/// So many questions are looked at for sessions at most: a list must not grow with the log.
pub const QUESTIONS_MAX: usize = 10_000;

/// Tells whether a question, by its asker and its terms, is one about a tool of a session.
pub type Asks<'a> = dyn Fn(&Principal, &Terms) -> bool + 'a;

/// A session, by its questions.
#[derive(Clone)]
pub struct Session {
    /// The name that it asks under, which is a claim.
    pub name: String,
    /// The record of its first question.
    pub first: u64,
    /// The last record about one of its questions.
    pub last: u64,
    /// Time when it asked for the first time.
    pub began_at: Timestamp,
    /// Its questions, the oldest first.
    pub calls: Vec<DecisionPoint>,
    /// Actors that wrote each record about them, by sequence.
    pub doers: BTreeMap<u64, Doer>,
    /// Records about them that cannot be read.
    pub unread: Vec<u64>,
}

/// Sessions, and how much was read for them.
pub struct SessionList {
    /// Those that began last first.
    pub sessions: Vec<Session>,
    /// The oldest question that was looked at, where those before it were not.
    pub looked_back_to: Option<u64>,
    /// Extent of what was read.
    pub searched: Searched,
}

/// A session that was met, as far as it is known.
#[derive(Default)]
struct Met {
    ids: BTreeSet<String>,
    began: Option<(u64, Timestamp)>,
}

/// The newest sessions that began within a range, so many at most, among the askers of so many of
/// the newest questions. Where the range names a correlation, the session of that name alone.
///
/// # Errors
/// As [`crate::verify()`].
pub fn find_sessions<S: ReadStorage>(
    storage: &S,
    range: &Filter,
    (most, questions): (usize, usize),
    asks: &Asks<'_>,
    options: ReadOptions<'_>,
) -> Result<SessionList, ReadError> {
    let mut names = BTreeSet::new();
    let mut found = newest_questions(storage, range, questions, options, &mut |line, body| {
        if is_of_session(line, body, asks) {
            names.insert(body.by.id.to_string());
        }
    })?;
    // Of one that was met, all questions are read below.
    found.looked_back_to = found.looked_back_to.filter(|_| range.correlation.is_none());
    if !names.is_empty() {
        let met = found.meet(storage, names, asks, options)?;
        let is_in = |(sequence, at): (u64, Timestamp)| {
            range.first.is_none_or(|first| sequence >= first)
                && range.last.is_none_or(|last| sequence <= last)
                && range.since.is_none_or(|since| at >= since)
                && range.until.is_none_or(|until| at <= until)
        };
        let begun = met.into_iter().filter_map(|(name, met)| Some((met.began?, name, met.ids)));
        let mut begun: Vec<_> = begun.filter(|(began, ..)| is_in(*began)).collect();
        begun.sort_by_key(|((first, _), ..)| std::cmp::Reverse(*first));
        begun.truncate(most);
        found.read(storage, begun, options)?;
    }
    Ok(found)
}

/// The name under which the session asks whose question a record puts; `None`: it puts none.
///
/// # Errors
/// As [`crate::verify()`].
pub fn session_asking<S: ReadStorage>(
    storage: &S,
    sequence: u64,
    asks: &Asks<'_>,
    options: ReadOptions<'_>,
) -> Result<(Option<String>, Searched), ReadError> {
    let wanted = Filter { first: Some(sequence), last: Some(sequence), ..Filter::default() };
    let mut name = None;
    let mut take = |line: Line, _| {
        name = asked_in(&line, asks).map(|body| body.by.id.to_string());
        ControlFlow::Continue(())
    };
    let searched = search(storage, &wanted, Order::OldestFirst, options, &mut |_| {}, &mut take)?;
    Ok((name, searched))
}

/// Returns what a session asks with a record, within the story that has its name.
fn asked_in<'l>(line: &'l Line, asks: &Asks<'_>) -> Option<&'l DecisionPointCreated> {
    created_by(line).filter(|body| is_of_session(line, body, asks))
}

fn created_by(line: &Line) -> Option<&DecisionPointCreated> {
    match &line.event {
        Some(Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body))) => Some(body),
        _ => None,
    }
}

fn is_of_session(line: &Line, body: &DecisionPointCreated, asks: &Asks<'_>) -> bool {
    line.correlation.as_deref() == Some(body.by.id.as_ref()) && asks(&body.by, &body.terms)
}

/// Goes through the newest questions that were put on record within a range, so many at most, the
/// newest first. The result has no sessions yet.
pub(crate) fn newest_questions<S: ReadStorage>(
    storage: &S,
    range: &Filter,
    most: usize,
    options: ReadOptions<'_>,
    take: &mut dyn FnMut(&Line, &DecisionPointCreated),
) -> Result<SessionList, ReadError> {
    let asked = Filter { kind: Some(CREATED.to_string()), ..range.clone() };
    let (mut count, mut oldest, mut looked_back_to) = (0_usize, 0, None);
    let mut meet = |line: Line, _| {
        if count >= most {
            looked_back_to = Some(oldest);
            return ControlFlow::Break(());
        }
        (count, oldest) = (count.saturating_add(1), line.sequence);
        created_by(&line).iter().for_each(|body| take(&line, body));
        ControlFlow::Continue(())
    };
    let searched = search(storage, &asked, Order::NewestFirst, options, &mut |_| {}, &mut meet)?;
    Ok(SessionList { sessions: Vec::new(), looked_back_to, searched })
}

impl SessionList {
    /// All questions of some sessions, by the names of these.
    fn meet<S: ReadStorage>(
        &mut self,
        storage: &S,
        names: BTreeSet<String>,
        asks: &Asks<'_>,
        options: ReadOptions<'_>,
    ) -> Result<BTreeMap<String, Met>, ReadError> {
        let one_of = Some(OneOf::Correlations(names));
        let theirs = Filter { kind: Some(CREATED.to_string()), one_of, ..Filter::default() };
        let mut met: BTreeMap<String, Met> = BTreeMap::new();
        let mut take = |line: Line, _| {
            if let Some(body) = asked_in(&line, asks) {
                let met = met.entry(body.by.id.to_string()).or_default();
                met.ids.insert(body.decision_id.to_string());
                met.began.get_or_insert((line.sequence, line.time));
            }
            ControlFlow::Continue(())
        };
        self.searched.join(search(
            storage,
            &theirs,
            Order::OldestFirst,
            options,
            &mut |_| {},
            &mut take,
        )?);
        Ok(met)
    }

    /// Reads what became of the questions of sessions.
    pub(crate) fn read<S: ReadStorage>(
        &mut self,
        storage: &S,
        begun: Vec<((u64, Timestamp), String, BTreeSet<String>)>,
        options: ReadOptions<'_>,
    ) -> Result<(), ReadError> {
        let Some(first) = begun.iter().map(|((first, _), ..)| *first).min() else { return Ok(()) };
        let of: BTreeMap<&str, usize> = (0..)
            .zip(&begun)
            .flat_map(|(at, (.., ids))| ids.iter().map(move |id| (id.as_str(), at)))
            .collect();
        let ids = of.keys().map(|id| (*id).to_string()).collect();
        let about =
            Filter { first: Some(first), one_of: Some(OneOf::Decisions(ids)), ..Filter::default() };
        let mut world = World::default().keeping_settled();
        let mut read: Vec<Session> =
            begun.iter().map(|(began, name, _)| Session::of(*began, name)).collect();
        let mut take = |line: Line, standing| {
            let at = line.decision_id.as_deref().and_then(|id| of.get(id));
            if let Some(session) = at.and_then(|at| read.get_mut(*at)) {
                session.take(line, standing, &mut world);
            }
            ControlFlow::Continue(())
        };
        let searched =
            search(storage, &about, Order::OldestFirst, options, &mut |_| {}, &mut take)?;
        self.searched.join(searched);
        for (session, (.., ids)) in read.iter_mut().zip(&begun) {
            session.calls = ids.iter().filter_map(|id| world.decision_point(id).cloned()).collect();
            session.calls.sort_by_key(|point| point.created_sequence);
        }
        self.sessions = read;
        Ok(())
    }
}

impl Session {
    fn of((first, began_at): (u64, Timestamp), name: &str) -> Self {
        let (calls, doers, unread) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { name: name.to_string(), first, last: first, began_at, calls, doers, unread }
    }

    fn take(&mut self, mut line: Line, standing: Standing, world: &mut World) {
        self.last = line.sequence;
        let (Some(event), Some(actor)) = (line.event.take(), line.actor.take()) else {
            return self.unread.push(line.sequence);
        };
        self.doers.insert(line.sequence, Doer::of(&line, actor.clone(), standing));
        world.evolve(line.sequence, line.time, &envelope_of(&line, actor, event));
    }

    /// Returns what is proven of the weakest of its records.
    #[must_use]
    pub fn standing(&self) -> Standing {
        weakest(&self.doers)
    }
}
