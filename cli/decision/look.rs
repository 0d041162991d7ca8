//! Looking at decisions: read from the log, verified on the way, and nothing is written.

use super::name::resolve;
use crate::directory::Directory;
use crate::exit::Failure;
use crate::progress::Bar;
use crate::verify::not_found;
use holdpoint_domain::Time;
use holdpoint_domain::world::{DecisionPoint, DecisionPointView};
use holdpoint_engine::shell::{Clock, SystemClock};
use holdpoint_replay::{Content, Rebuilt, Until, rebuild};
use std::collections::BTreeMap;
use std::fmt::Display;

/// The log up to a record, and the link of the newest record of each decision point.
pub(crate) struct Look {
    pub(crate) rebuilt: Rebuilt,
    links: Links,
    /// The time as of which it is told whether something is overdue: of the last record where an
    /// earlier state is asked for, so that replaying gives the same text.
    now: Time,
}

impl Look {
    /// Reads the log.
    pub(crate) fn at(directory: &Directory, until: Until) -> Result<Self, Failure> {
        let (rebuilt, links) = read(directory, until)?;
        let now = match until {
            Until::End => now(),
            _ => rebuilt.world.totals().last_at,
        };
        Ok(Self { rebuilt, links, now })
    }

    /// The decision point that is meant. What is not found in a damaged log may lie behind the
    /// damage.
    pub(crate) fn find(&self, wanted: &str) -> Result<&DecisionPoint, Failure> {
        let report = &self.rebuilt.report;
        resolve(&self.rebuilt.world, wanted)
            .map_err(|failure| not_found(report, "the decision", || failure))
    }

    /// Its readable form.
    pub(crate) fn view<'a>(&'a self, point: &'a DecisionPoint) -> DecisionPointView<'a> {
        point.view(self.now, self.links.of(point))
    }

    /// The time as of which things are overdue.
    pub(crate) fn now(&self) -> Time {
        self.now
    }
}

/// The newest record of each decision point, and its link.
#[derive(Default)]
pub(super) struct Links(BTreeMap<String, (u64, String)>);

impl Links {
    /// Takes in a record, which is newer than all before.
    pub(super) fn take(&mut self, decision_id: &str, sequence: u64, link: impl Display) {
        self.0.insert(decision_id.to_string(), (sequence, link.to_string()));
    }

    /// The link of the newest record of a decision point; `None` where it is in an archive.
    pub(super) fn of(&self, point: &DecisionPoint) -> Option<&str> {
        let newest = self.0.get(point.decision_id.as_str());
        newest.filter(|(sequence, _)| *sequence == point.version).map(|(_, link)| link.as_str())
    }
}

/// Reads and verifies the log up to a record.
pub(super) fn read(directory: &Directory, until: Until) -> Result<(Rebuilt, Links), Failure> {
    let mut bar = Bar::new();
    let mut links = Links::default();
    let rebuilt = directory.read(|storage, options| {
        links = Links::default();
        let mut progress = |progress| bar.update(progress);
        rebuild(storage, until, options, &mut progress, &mut |record| {
            if let Content::Event(envelope) = &record.content
                && let Some(id) = envelope.event.decision_point()
            {
                links.take(id, record.header.sequence, record.header.link);
            }
        })
    })?;
    Ok((rebuilt, links))
}

/// The time by the wall clock.
pub(crate) fn now() -> Time {
    Time::from_nanoseconds(SystemClock.now().wall_ns)
}
