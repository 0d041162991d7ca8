//! Looking at questions: read from the log, verified on the way, and nothing is written.

use crate::args::Global;
use crate::log::at_point::seen_at;
use crate::log::captured_output::read as read_run;
use crate::log::current_state::WithStanding;
use crate::log::decision_id::known;
use crate::log::question::QuestionView;
use crate::log::run_id::{self, NEWEST};
use crate::log::{Directory, IdOf, LiveState, Question};
use crate::ui::{Bar, Exit, Failure, now};
use holdpoint_domain::decision_point::DecisionPointView;
use holdpoint_domain::{Time, World};
use holdpoint_replay::question::time_of;
use holdpoint_replay::{Committed, Content, Rebuilt, Tells, Until, links_of, rebuild};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Display;

/// The state at a record, and the links of the newest records of decision points.
pub(crate) struct Look {
    pub(crate) state: LiveState,
    /// In the state at an earlier record than the newest, that one.
    pub(crate) inside_batch_until: Option<u64>,
    links: Links,
    /// The time as of which it is told whether something is overdue: of the last record where an
    /// earlier state is asked for, so that replaying gives the same text.
    now: Time,
}

/// The id of the newest question about a run where a text names one, else the text. Exit 3 where
/// there is no such run, or nothing was asked about it.
pub(crate) fn of_run(directory: &Directory, wanted: &str) -> Result<String, Failure> {
    if wanted != NEWEST && IdOf::of(wanted) != Some(IdOf::Run) {
        return Ok(wanted.to_string());
    }
    let run = read_run(directory, &run_id::find(directory, wanted)?)?.run;
    let held = run.entity.decisions.requests.last().map(|held| held.request_id().to_string());
    let approval = || run.approval.as_ref().map(|point| point.decision_id.to_string());
    held.or_else(approval).ok_or_else(|| {
        let message = format!("{}: nothing was asked about this run", run.entity.loop_id());
        Failure::new(Exit::NOT_FOUND, "not_found", message)
    })
}

/// The failure with the question that was meant and how that stands, where it says nothing of that
/// and one is called so.
pub(crate) fn about(global: &Global, wanted: &str, failure: Failure) -> Failure {
    if failure.tells("current") {
        return failure;
    }
    let directory = Directory::open(global);
    let look = directory.and_then(|directory| {
        Look::newest(&directory, &|world, _| Some(vec![known(world, wanted)?]))
    });
    match look.as_ref().map(|look| (look, look.state.find(wanted))) {
        Ok((look, Ok(question))) => failure
            .with("decision_id", json!(question.id()))
            .with("current", json!(look.view(question))),
        _ => failure,
    }
}

/// The questions of a state, at a time, whose links are wanted; `None` where what was asked for may
/// be one that has left it.
pub(crate) type Linked<'a> = dyn for<'w> Fn(&'w World, Time) -> Option<Vec<Question<'w>>> + 'a;

impl Look {
    /// Reads the log whole.
    pub(crate) fn at(directory: &Directory, until: Until) -> Result<Self, Failure> {
        let (rebuilt, links) = read(directory, until)?;
        let now = match until {
            Until::End => now(),
            _ => rebuilt.world.totals().last_at,
        };
        let inside_batch_until = rebuilt.inside_batch_until;
        Ok(Self { state: LiveState::Whole(Box::new(rebuilt)), inside_batch_until, links, now })
    }

    /// The same state, looked at when a point was asked for.
    pub(crate) fn seen_at(mut self, asked: Until) -> Self {
        self.now = seen_at(asked, self.world());
        self
    }

    /// The newest state, from a snapshot where one is believed and holds what is wanted, else with
    /// all that left it.
    pub(crate) fn newest(directory: &Directory, wanted: &Linked<'_>) -> Result<Self, Failure> {
        Self::stated(directory, wanted)?.map_or_else(|| Self::at(directory, Until::End), Ok)
    }

    /// The newest state, from a snapshot or by reading the log whole, of which what lives is
    /// wanted.
    pub(crate) fn live(
        directory: &Directory,
        is_whole: bool,
        wanted: &Linked<'_>,
    ) -> Result<Self, Failure> {
        let look = if is_whole { None } else { Self::stated(directory, wanted)? };
        let look = match look {
            Some(look) => Some(look),
            None => Self::with_links(directory, LiveState::whole(directory)?, wanted)?,
        };
        look.map_or_else(|| Self::at(directory, Until::End), Ok)
    }

    fn stated(directory: &Directory, wanted: &Linked<'_>) -> Result<Option<Self>, Failure> {
        let state = LiveState::stated(directory, Tells::Questions)?;
        state.map_or(Ok(None), |state| Self::with_links(directory, state, wanted))
    }

    fn with_links(
        directory: &Directory,
        state: LiveState,
        wanted: &Linked<'_>,
    ) -> Result<Option<Self>, Failure> {
        let now = now();
        let Some(points) = wanted(state.world(), now) else { return Ok(None) };
        let versions = points.iter().map(|point| point.version()).collect();
        let known = state.world().segment_indexes();
        let found = directory.read(|storage, _| links_of(storage, known, &versions))?;
        let Some(found) = found.or_else(|| state.failed().then(BTreeMap::new)) else {
            return Ok(None);
        };
        let mut links = Links::default();
        for point in points {
            if let Some(link) = found.get(&point.version()) {
                links.take(point.id(), point.version(), link);
            }
        }
        Ok(Some(Self { state, inside_batch_until: None, links, now }))
    }

    /// The state.
    pub(crate) fn world(&self) -> &World {
        self.state.world()
    }

    /// That there is a log.
    pub(crate) fn expect_log(&self, directory: &Directory) -> Result<(), Failure> {
        self.state.expect_log(directory)
    }

    /// Its readable form.
    pub(crate) fn view<'a>(&'a self, question: Question<'a>) -> QuestionView<'a> {
        QuestionView::of(question, self.world(), self.time_of(question), self.links.of(question))
    }

    /// Its readable form, and how it is known.
    pub(crate) fn shown<'a>(&'a self, question: Question<'a>) -> WithStanding<QuestionView<'a>> {
        self.state.with_standing(self.view(question), question.records(self.world()))
    }

    /// Tells how these are known that were shown, as [`LiveState::conclude`] does.
    pub(crate) fn conclude(&self, global: &Global, shown: &[Question<'_>]) -> Exit {
        let records: Vec<_> = shown.iter().map(|question| question.records(self.world())).collect();
        self.state.conclude(global, &records)
    }

    /// The time by which a question is overdue or over, by whichever clock says so first.
    pub(crate) fn time_of(&self, question: Question<'_>) -> Time {
        time_of(self.world(), question.id(), self.now)
    }

    /// The time as of which things are overdue.
    pub(crate) fn now(&self) -> Time {
        self.now
    }
}

/// The newest record of each question, and its link.
#[derive(Default)]
pub(crate) struct Links(BTreeMap<String, (u64, String)>);

impl Links {
    /// Looks at a record, which is newer than all before.
    pub(crate) fn see(&mut self, record: &Committed) {
        if let Content::Event(envelope) = &record.content
            && let Some(id) = envelope.event.question()
        {
            self.take(id, record.header.sequence, record.header.link);
        }
    }

    /// Adds the links to readable decision points.
    pub(crate) fn complete<'a>(&'a self, points: &mut [DecisionPointView<'a>]) {
        for point in points {
            point.head.hash = self.link(point.id, point.version);
        }
    }

    /// Takes in a record, which is newer than all before.
    pub(crate) fn take(&mut self, id: &str, sequence: u64, link: impl Display) {
        self.0.insert(id.to_string(), (sequence, link.to_string()));
    }

    /// The link of the newest record of a question; `None` where it is in an archive.
    pub(crate) fn of(&self, question: Question<'_>) -> Option<&str> {
        self.link(question.id(), question.version())
    }

    fn link(&self, id: &str, version: u64) -> Option<&str> {
        let newest = self.0.get(id);
        newest.filter(|(sequence, _)| *sequence == version).map(|(_, link)| link.as_str())
    }
}

/// Reads and verifies the log up to a record.
pub(crate) fn read(directory: &Directory, until: Until) -> Result<(Rebuilt, Links), Failure> {
    let mut bar = Bar::new();
    let mut links = Links::default();
    let rebuilt = directory.read(|storage, options| {
        links = Links::default();
        let mut progress = |progress| bar.update(progress);
        rebuild(storage, until, options, &mut progress, &mut |record| {
            links.see(record);
        })
    })?;
    Ok((rebuilt, links))
}
