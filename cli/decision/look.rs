//! Looking at decisions: read from the log, verified on the way, and nothing is written.

use super::name::resolve;
use crate::directory::Directory;
use crate::exit::{Exit, Failure};
use crate::progress::Bar;
use holdpoint_domain::Time;
use holdpoint_domain::world::{DecisionPoint, DecisionPointView};
use holdpoint_engine::shell::{Clock, SystemClock};
use holdpoint_replay::{Content, Rebuilt, Report, Until, rebuild};
use std::collections::BTreeMap;

/// The log up to a record, and the link of the newest record of each decision point.
pub(crate) struct Look {
    pub(crate) rebuilt: Rebuilt,
    links: BTreeMap<String, (u64, String)>,
    /// The time as of which it is told whether something is overdue: of the last record where an
    /// earlier state is asked for, so that replaying gives the same text.
    now: Time,
}

impl Look {
    /// Reads the log.
    pub(crate) fn at(directory: &Directory, until: Until) -> Result<Self, Failure> {
        let mut bar = Bar::new();
        let mut links = BTreeMap::new();
        let rebuilt = directory.read(|storage, options| {
            links.clear();
            let mut progress = |progress| bar.update(progress);
            rebuild(storage, until, options, &mut progress, &mut |record| {
                if let Content::Event(envelope) = &record.content
                    && let Some(id) = envelope.event.decision_point()
                {
                    let link = (record.header.sequence, record.header.link.to_string());
                    links.insert(id.to_string(), link);
                }
            })
        })?;
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
            .map_err(|failure| if report.failed() { damaged(report) } else { failure })
    }

    /// Its readable form.
    pub(crate) fn view<'a>(&'a self, point: &'a DecisionPoint) -> DecisionPointView<'a> {
        let link = self.links.get(point.decision_id.as_str());
        let link = link.filter(|(sequence, _)| *sequence == point.version);
        point.view(self.now, link.map(|(_, link)| link.as_str()))
    }

    /// The time as of which things are overdue.
    pub(crate) fn now(&self) -> Time {
        self.now
    }
}

fn damaged(report: &Report) -> Failure {
    let first = report.findings.first().map_or(String::new(), |finding| format!(": {finding}"));
    let message = format!("the log is {}{first}; the decision may lie behind that", report.verdict);
    Failure::new(Exit::VERIFICATION_FAILED, "damaged", message)
}

/// The time by the wall clock.
pub(crate) fn now() -> Time {
    Time::from_nanoseconds(SystemClock.now().wall_ns)
}
