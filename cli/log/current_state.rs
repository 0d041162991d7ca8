//! The state at the end of a log, for verbs that show what lives: from the newest snapshot that the
//! chain vouches for, or from reading the whole log; and how what is shown of it is known.

use crate::args::Global;
use crate::log::archives::FITS_NONE;
use crate::log::coverage::{as_carried, no_witness};
use crate::log::open::read_end;
use crate::log::question::resolve;
use crate::log::verdict::{exit_of, lost_before, warn_unproven};
use crate::log::{Directory, Question, not_found, refuse_damaged, warn};
use crate::ui::{Exit, Failure, complain};
use holdpoint_domain::World;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_replay::{Head, NewestState, Rebuilt, Report, Tells, Unproven, rebuild_live, stated};
use serde::Serialize;

/// The option that lets a verb read the whole log.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct WholeArg {
    /// Read and verify the whole log instead of starting at the newest verified snapshot.
    #[arg(long)]
    pub(crate) whole: bool,
}

/// The state at the end of a log.
pub(crate) enum LiveState {
    /// What a record of the log states, and what was read behind it.
    Stated(Box<NewestState>),
    /// What reading the whole log gave.
    Whole(Box<Rebuilt>),
}

impl LiveState {
    /// What lives. With `whole`, and where no snapshot is believed, the whole log is read.
    pub(crate) fn read(directory: &Directory, whole: bool, tells: Tells) -> Result<Self, Failure> {
        let stated = if whole { None } else { Self::stated(directory, tells)? };
        stated.map_or_else(|| Self::whole(directory), Ok)
    }

    /// What lives, as [`LiveState::read`] has it, with no bar that shows how far it is: for screens
    /// that are full.
    pub(crate) fn read_quietly(directory: &Directory, tells: Tells) -> Result<Self, Failure> {
        if let Some(state) = Self::stated(directory, tells)? {
            return Ok(state);
        }
        let read = directory
            .read(|storage, options| rebuild_live(storage, options, &mut |_| {}, &mut |_| {}))?;
        Ok(Self::Whole(Box::new(read)))
    }

    /// What lives, where a snapshot is believed, and nothing of what is told of it began twice.
    pub(crate) fn stated(directory: &Directory, tells: Tells) -> Result<Option<Self>, Failure> {
        let found = directory.read(|log, options| stated(log, tells, options))?;
        Ok(found.map(|found| Self::Stated(Box::new(found))))
    }

    /// What lives, from reading and verifying the whole log.
    pub(crate) fn whole(directory: &Directory) -> Result<Self, Failure> {
        Ok(Self::Whole(Box::new(read_end(directory)?)))
    }

    /// The state.
    pub(crate) fn world(&self) -> &World {
        match self {
            Self::Stated(stated) => &stated.world,
            Self::Whole(rebuilt) => &rebuilt.world,
        }
    }

    /// The record by which the state is known, where not all of the log was read.
    pub(crate) fn stated_by(&self) -> Option<u64> {
        match self {
            Self::Stated(stated) => Some(stated.stated_by),
            Self::Whole(_) => None,
        }
    }

    /// The record that carries the state from which a log goes on that was read whole, and the
    /// first record of that log; `None` where it begins with nothing.
    fn carried(&self) -> Option<(u64, u64)> {
        let reach = &self.report()?.reach;
        reach.carried_by.map(|by| (by, reach.begins))
    }

    /// The record that says what is known of all that began with a record or behind it.
    fn known_by(&self, first: u64) -> Option<u64> {
        let carried = self.carried().filter(|(_, begins)| first < *begins);
        self.stated_by().or(carried.map(|(by, _)| by))
    }

    /// The record that says what is known of something that may have begun at any time.
    pub(crate) fn all_known_by(&self) -> Option<u64> {
        self.known_by(0)
    }

    /// That what is shown is what that record says; `None` where all of the log was read.
    pub(crate) fn as_known(&self) -> Option<String> {
        match self {
            Self::Stated(stated) => Some(as_stated(stated)),
            Self::Whole(rebuilt) => as_carried(&rebuilt.report),
        }
    }

    /// The first record behind the newest witness; `None` where none can be read.
    fn first_unwitnessed(&self) -> Option<u64> {
        match self {
            Self::Stated(stated) => Some(stated.reached.witnessed.saturating_add(1)),
            Self::Whole(rebuilt) => rebuilt.report.reach.first_unwitnessed(),
        }
    }

    /// The newest record that is known to be durable; 0: none.
    fn durable(&self) -> u64 {
        match self {
            Self::Stated(stated) => stated.reached.durable,
            Self::Whole(rebuilt) => rebuilt.report.reach.durable_to.unwrap_or(0),
        }
    }

    /// The record that the state is the one behind; none before the first.
    pub(crate) fn head(&self) -> Option<&Head> {
        match self {
            Self::Stated(stated) => stated.head.as_ref(),
            Self::Whole(rebuilt) => rebuilt.head.as_ref(),
        }
    }

    /// What the whole log proves, where it was read.
    pub(crate) fn report(&self) -> Option<&Report> {
        match self {
            Self::Stated(_) => None,
            Self::Whole(rebuilt) => Some(&rebuilt.report),
        }
    }

    /// The question that is meant. What is not found in a damaged log may lie behind the damage.
    pub(crate) fn find(&self, wanted: &str) -> Result<Question<'_>, Failure> {
        resolve(self.world(), wanted).map_err(|failure| match self.report() {
            Some(report) => not_found(report, "the question", || failure),
            None => failure,
        })
    }

    /// Whether the log was read and does not verify.
    pub(crate) fn failed(&self) -> bool {
        self.report().is_some_and(Report::failed)
    }

    /// That there is a log; of an archive it is said that what waits there may have ended since.
    pub(crate) fn expect_log(&self, from: &Directory) -> Result<(), Failure> {
        if from.is_archive() {
            complain(AN_ARCHIVE);
        }
        self.report().map_or(Ok(()), |report| from.expect_log(report))
    }

    /// That something is known: where a log does not verify, a list for programs with nothing in it
    /// would pass for all that there is.
    pub(crate) fn expect_known<T>(&self, global: &Global, found: &[T]) -> Result<(), Failure> {
        let report = self.report().filter(|_| global.json && found.is_empty());
        report.map_or(Ok(()), refuse_damaged)
    }

    /// How something is known whose first and newest records are these: as the weakest of all in
    /// between.
    pub(crate) fn standing(&self, (first, version): (u64, u64)) -> Standing {
        let stated_by = self.known_by(first);
        let no_witness_from = self.first_unwitnessed().filter(|first| version >= *first);
        let is_corrupt = self.report().is_some_and(|report| report.verdict.is_of_damage());
        let is_taken_over = match self {
            Self::Stated(stated) => stated.world.unproven_records().among(first, version).is_some(),
            Self::Whole(rebuilt) => rebuilt.report.reach.says_unproven(first, version),
        };
        let lost_before = self.world().lost_before().filter(|record| first < *record);
        Standing {
            standing: match stated_by {
                _ if is_corrupt || no_witness_from.is_some() || is_taken_over => "unproven",
                Some(_) => "stated",
                None => "proven",
            },
            stated_by,
            no_witness_from,
            lost_before,
            durable: version <= self.durable(),
        }
    }

    /// Something that is shown to a program, and how it is known.
    pub(crate) fn with_standing<T>(&self, shown: T, records: (u64, u64)) -> WithStanding<T> {
        WithStanding { shown, standing: self.standing(records) }
    }

    /// Tells a person, or a program that was shown nothing which says so itself, how what was shown
    /// is known; and anybody that the log does not verify. The first and the newest records of what
    /// was shown are these.
    pub(crate) fn conclude(&self, global: &Global, records: &[(u64, u64)]) -> Exit {
        if !global.json || records.is_empty() {
            self.tell(records);
        }
        let Some(report) = self.report() else {
            tell_unproven(self.world());
            return Exit::DONE;
        };
        warn(report);
        exit_of(report)
    }

    fn tell(&self, records: &[(u64, u64)]) {
        // That there is nothing is known of all that may have begun.
        let first = records.iter().map(|(first, _)| *first).min().unwrap_or(0);
        if self.known_by(first).is_some() {
            self.as_known().iter().for_each(|sentence| complain(sentence));
        }
        let newest = records.iter().map(|(_, newest)| *newest).max().unwrap_or(0);
        no_witness(self.first_unwitnessed(), newest);
        tell_lost(self.world());
        let durable = self.durable();
        if newest > durable {
            complain(&format!("not proven durable from record {}", durable.saturating_add(1)));
        }
    }
}

/// What is said of a state at the end of an archive.
const AN_ARCHIVE: &str =
    "this is an archive: the log continues elsewhere, where questions may be answered by now";

/// Says of which records a salvage left no proof.
pub(crate) fn tell_unproven(world: &World) {
    let unproven = world.unproven_records().iter().map(Unproven::from);
    warn_unproven(&unproven.collect::<Vec<_>>());
}

/// Says that records are lost or may be, where that is so, and what follows.
pub(crate) fn tell_lost(world: &World) {
    if let Some(record) = world.lost_before() {
        let lost = lost_before(record);
        complain(&format!("{lost}: what began before that permits nothing"));
    }
}

/// That what is shown is what a record says, and what reads the records before it.
fn as_stated(stated: &NewestState) -> String {
    let NewestState { stated_by, anchor, fits_no_archive, .. } = stated;
    let begins = anchor.saturating_add(1);
    let read = match fits_no_archive {
        _ if *anchor == 0 => String::new(),
        true => format!(" from record {begins} on{FITS_NONE}"),
        false => format!(" from record {begins} on, and with `--archive DIR` what is before that"),
    };
    format!(
        "as stated by record {stated_by}: what is before it was not read; `holdpoint verify` reads \
         it{read}"
    )
}

/// How something that is shown is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Standing {
    /// `proven`: the whole log was read, and is tied to HEAD. `stated`: a record says so that is
    /// tied to HEAD, and what is behind it was read, or behind what it carries. `unproven`: HEAD
    /// does not witness the newest record about it, or a salvage took over without proof one of
    /// those from its first to that.
    standing: &'static str,
    /// That record.
    stated_by: Option<u64>,
    /// The first record behind HEAD, where the newest one about this is there.
    no_witness_from: Option<u64>,
    /// The record that says that records before it are lost or may be, where this began before.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_before: Option<u64>,
    /// Whether a mark, or LOCK in the boot of its owner, says that it is durable.
    durable: bool,
}

impl Standing {
    /// Of what is proven, for tests of what is shown.
    #[cfg(test)]
    pub(crate) const fn proven() -> Self {
        let (stated_by, no_witness_from, lost_before) = (None, None, None);
        Self { standing: "proven", stated_by, no_witness_from, lost_before, durable: true }
    }

    /// Whether something else than a witness that is still to come keeps it from being proven.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.standing == "unproven" && self.no_witness_from.is_none()
    }

    /// Whether it may have ended in a record that is lost.
    pub(crate) const fn is_before_loss(&self) -> bool {
        self.lost_before.is_some()
    }

    /// The first record that has no witness yet, where the newest one about this is there.
    pub(crate) const fn no_witness_from(&self) -> Option<u64> {
        self.no_witness_from
    }
}

/// Beside something that is shown and was not looked up: that it is in doubt; nothing where it is
/// not.
#[derive(Serialize)]
pub(crate) struct InDoubt {
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<&'static str>,
    #[serde(flatten)]
    pub(crate) doubt: Option<Doubt>,
}

impl InDoubt {
    /// Of what is so much in doubt.
    pub(crate) fn of(doubt: Option<Doubt>) -> Self {
        let is_unproven = matches!(doubt, Some(Doubt::Unproven { .. }));
        Self { standing: is_unproven.then_some("unproven"), doubt }
    }
}

/// Something that is shown, and how it is known.
#[derive(Serialize)]
pub(crate) struct WithStanding<T> {
    #[serde(flatten)]
    shown: T,
    #[serde(flatten)]
    standing: Standing,
}
