//! Figures that are measured: the closed list of figures, and what a run of one gives.

use crate::error::MeasureError;
use crate::rounds::{Measured, Samples, Work, take_turns};
use std::fmt;

/// Unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds for each record, command or event.
    SecondsEach,
    /// Seconds for the whole.
    Seconds,
    /// Bytes for each record.
    BytesEach,
}

impl Unit {
    /// Returns it as it stands in the results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SecondsEach => "seconds per record",
            Self::Seconds => "seconds",
            Self::BytesEach => "bytes per record",
        }
    }
}

macro_rules! kinds {
    ($($kind:ident $name:literal $unit:ident $title:literal;)+) => {
        /// A figure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $(#[doc = $title] $kind,)+
        }

        impl Kind {
            /// Every figure, in the order of the report.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];

            /// Returns what `--figure` takes.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// Returns what a reader sees.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$kind => $title,)+ }
            }

            /// Returns what its values are.
            #[must_use]
            pub fn unit(self) -> Unit {
                match self { $(Self::$kind => Unit::$unit,)+ }
            }
        }
    };
}

kinds! {
    AppendStaged "append-staged" SecondsEach "Append, no promise, each record's link asked for";
    AppendBatch "append-batch" SecondsEach "Append in batches of 64, no promise";
    AppendOs "append-os" SecondsEach "Append, each record written to the file";
    DurableOne "durable-1" SecondsEach "One durable writer, each record synced";
    DurableEight "durable-8" SecondsEach "Eight durable writers, each acknowledged after its sync";
    DurableSixtyFour "durable-64" SecondsEach "64 durable writers, acknowledged after the sync";
    CommitOfMany "commit-64" SecondsEach "64 records in each durable commit";
    Scan "scan" SecondsEach "Scan of all records, checksums checked";
    VerifyOne "verify-1" SecondsEach "Full verify of the chain, one thread";
    VerifyTwo "verify-2" SecondsEach "Full verify of the chain, two threads";
    OpenClean "open-clean" Seconds "Open after a clean close";
    OpenCrashed "open-crashed" Seconds "Open after a crash";
    TypedOs "typed-os" SecondsEach "Typed submit, each event written to the file";
    TypedDurable "typed-durable" SecondsEach "Typed submit, each event synced";
    Rebuild "rebuild" SecondsEach "State rebuilt from all events";
    VerifyRules "verify-rules" SecondsEach "Full verify of the chain, and of events by the rules";
    TimeTravel "time-travel" SecondsEach "State as it was after half of the events";
    Lookup "lookup" Seconds "Every record of one entity of long ago";
    Latency "latency" SecondsEach "Median time of one append, by the length of the log";
    DiskBytes "disk-bytes" BytesEach "Bytes on the disk";
    DeviceBytes "device-bytes" BytesEach "Bytes sent to the device, each record synced";
}

impl Kind {
    /// Returns whether a writer that gives the lock back is measured beside one that keeps it.
    pub(crate) fn takes_turns_at_the_lock(self) -> bool {
        matches!(
            self,
            Self::AppendBatch
                | Self::AppendOs
                | Self::DurableOne
                | Self::DurableEight
                | Self::DurableSixtyFour
                | Self::CommitOfMany
                | Self::TypedOs
                | Self::TypedDurable
        )
    }
}

/// At which size a figure is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Bytes of each payload.
    Payload(usize),
    /// Records of the log.
    Records(u64),
}

impl fmt::Display for Scope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Payload(bytes) => write!(out, "{bytes} B"),
            Self::Records(records) => write!(out, "{records} records"),
        }
    }
}

/// Role of who is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// Holdpoint.
    Ours,
    /// Floor: the bare work that the disk and the hash need.
    Floor,
    /// Another that a user could take.
    Peer(PeerFacts),
}

/// Facts that have to be known of a peer to compare with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeerFacts {
    /// Each of its records is tied to the one before it by a cryptographic hash.
    pub is_chained: bool,
    /// It does what the figure measures. Else it is shown, and why, and no bar counts it.
    pub not_counted: Option<String>,
    /// Syncs for each acknowledged record or commit, counted from outside by one writer.
    pub syncs_each: Option<f64>,
}

/// One of those who take turns.
pub struct Contender {
    /// Its name.
    pub name: String,
    /// Role of the contender.
    pub role: Role,
    /// Configuration of it.
    pub remark: String,
    /// Does one round.
    pub work: Work,
}

/// A figure at one size, with everyone who takes part.
pub struct Figure {
    /// Kind of the figure.
    pub kind: Kind,
    /// At which size.
    pub scope: Scope,
    /// The first one of ours is what ratios are taken of.
    pub contenders: Vec<Contender>,
}

/// Result of a contender.
#[derive(Debug)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Role of the contender.
    pub role: Role,
    /// Configuration of it.
    pub remark: String,
    /// Its values, or why there are none.
    pub measured: Result<Measured, MeasureError>,
}

impl Line {
    /// Its values, where it has any.
    #[must_use]
    pub fn values(&self) -> Option<&Samples> {
        self.measured.as_ref().ok().map(|measured| &measured.values)
    }
}

/// Outcome of a figure.
#[derive(Debug)]
pub struct Outcome {
    /// Kind of the figure.
    pub kind: Kind,
    /// At which size.
    pub scope: Scope,
    /// Everyone who took part.
    pub lines: Vec<Line>,
}

impl Figure {
    /// Measures everyone in turns.
    #[must_use]
    pub fn measure(mut self, rounds: usize, tell: &mut dyn FnMut(usize)) -> Outcome {
        let work = self.contenders.iter_mut().map(|contender| &mut contender.work).collect();
        let measured = take_turns(work, rounds, tell);
        self.outcome(&mut measured.into_iter())
    }

    /// Measures everyone of several figures in turns: all of them take part in each round.
    #[must_use]
    pub fn measure_together(
        mut figures: Vec<Self>,
        rounds: usize,
        tell: &mut dyn FnMut(usize),
    ) -> Vec<Outcome> {
        let contenders = figures.iter_mut().flat_map(|figure| &mut figure.contenders);
        let work = contenders.map(|contender| &mut contender.work).collect();
        let mut measured = take_turns(work, rounds, tell).into_iter();
        figures.into_iter().map(|figure| figure.outcome(&mut measured)).collect()
    }

    /// Takes what its own contenders came to from what all did.
    fn outcome(
        self,
        measured: &mut dyn Iterator<Item = Result<Measured, MeasureError>>,
    ) -> Outcome {
        let line = |(contender, measured): (Contender, _)| {
            let Contender { name, role, remark, .. } = contender;
            Line { name, role, remark, measured }
        };
        let lines = self.contenders.into_iter().zip(measured).map(line).collect();
        Outcome { kind: self.kind, scope: self.scope, lines }
    }
}

impl Outcome {
    /// Ours.
    #[must_use]
    pub fn ours(&self) -> Option<&Line> {
        self.lines.iter().find(|line| line.role == Role::Ours)
    }

    /// A contender's values over ours, round by round.
    #[must_use]
    pub fn over_ours(&self, line: &Line) -> Option<Samples> {
        Some(line.values()?.over(self.ours()?.values()?))
    }

    /// The floor of a name.
    #[must_use]
    pub fn floor(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.role == Role::Floor && line.name == name)
    }

    /// The line of ours of a name.
    #[must_use]
    pub fn ours_named(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.role == Role::Ours && line.name == name)
    }

    /// The best peer that counts, of those that the caller wants.
    #[must_use]
    pub fn best_peer(&self, wants: impl Fn(&str, &PeerFacts) -> bool) -> Option<&Line> {
        let wanted = |line: &&Line| match &line.role {
            Role::Peer(facts) => facts.not_counted.is_none() && wants(&line.name, facts),
            Role::Ours | Role::Floor => false,
        };
        let measured = self.lines.iter().filter(wanted).filter_map(|line| {
            let median = line.values()?.median();
            Some((median, line)).filter(|(median, _)| median.is_finite())
        });
        measured.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, line)| line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Sample;

    fn contender(name: &str, role: Role, value: f64) -> Contender {
        let work: Work = Box::new(move || Ok(Sample::of(value)));
        Contender { name: name.into(), role, remark: String::new(), work }
    }

    #[test]
    fn the_best_peer_is_one_that_counts() {
        let not_counted = Some("acknowledges without a sync".to_string());
        let cheat = Role::Peer(PeerFacts { not_counted, ..PeerFacts::default() });
        let chained = Role::Peer(PeerFacts { is_chained: true, ..PeerFacts::default() });
        let figure = Figure {
            kind: Kind::DurableOne,
            scope: Scope::Payload(256),
            contenders: vec![
                contender("ours", Role::Ours, 2.0),
                contender("cheat", cheat, 1.0),
                contender("chained", chained, 6.0),
                contender("plain", Role::Peer(PeerFacts::default()), 3.0),
            ],
        };
        let outcome = figure.measure(3, &mut |_| {});
        let best = outcome.best_peer(|_, _| true).unwrap();
        assert_eq!(best.name, "plain");
        assert_eq!(outcome.over_ours(best).unwrap().median(), 1.5);
        assert_eq!(outcome.best_peer(|_, facts| facts.is_chained).unwrap().name, "chained");
        assert!(outcome.best_peer(|name, _| name == "nobody").is_none());
    }

    #[test]
    fn several_figures_take_turns_within_each_round() {
        let turns = std::rc::Rc::new(std::cell::RefCell::new(String::new()));
        let of = |name: char, records| {
            let turns = std::rc::Rc::clone(&turns);
            let work: Work = Box::new(move || {
                turns.borrow_mut().push(name);
                Ok(Sample::of(records as f64))
            });
            let contender =
                Contender { name: name.to_string(), role: Role::Ours, remark: String::new(), work };
            let scope = Scope::Records(records);
            Figure { kind: Kind::Latency, scope, contenders: vec![contender] }
        };
        let outcomes = Figure::measure_together(vec![of('a', 1), of('b', 2)], 1, &mut |_| {});
        assert_eq!(*turns.borrow(), "abba");
        let values = outcomes.iter().map(|outcome| outcome.ours().unwrap().values().unwrap());
        assert_eq!(values.map(Samples::median).collect::<Vec<_>>(), [1.0, 2.0]);
    }

    #[test]
    fn names_of_figures_are_unique() {
        let mut names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Kind::ALL.len());
    }
}
