//! Our part alone, on a user's own disk, in a few seconds: each figure beside what the same disk
//! and the same processor cannot do faster.

use crate::error::MeasureError;
use crate::figure::{Figure, Kind, Line, Outcome, Role, Scope};
use crate::figures::{Others, figures};
use crate::floor;
use crate::plan::{Effort, Plan};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Room that a run needs, in bytes.
pub const ROOM_BYTES: u64 = 1 << 30;
/// Bytes that a run writes, about. Everything is removed again.
pub const WRITES_ABOUT_BYTES: u64 = 2 << 30;
/// A sync that returns sooner than this reached no disk, in seconds.
const SYNC_MIN: f64 = 20e-6;

/// The figures of a run, in order.
const KINDS: [Kind; 8] = [
    Kind::AppendStaged,
    Kind::AppendOs,
    Kind::DurableOne,
    Kind::DurableEight,
    Kind::CommitOfMany,
    Kind::VerifyOne,
    Kind::VerifyTwo,
    Kind::OpenClean,
];
/// Payload bytes of each record.
const PAYLOAD: usize = 256;

/// Result of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct Gauge {
    /// Its name.
    pub figure: &'static str,
    /// Title of the figure.
    pub title: &'static str,
    /// At which size.
    pub scope: String,
    /// Unit of its values.
    pub unit: &'static str,
    /// Median of ours; `None` where it could not be measured.
    pub ours: Option<f64>,
    /// Interquartile range in percent of it.
    pub noise_percent: Option<f64>,
    /// Why there is no value.
    pub absent: Option<String>,
    /// Floors that cannot be beaten, the closest first.
    pub floors: Vec<FloorGauge>,
    /// Floors that have no value, and why.
    pub floors_absent: Vec<String>,
}

/// Floor that cannot be beaten.
#[derive(Clone, Debug, Serialize)]
pub struct FloorGauge {
    /// Work that is done.
    pub name: String,
    /// Its median.
    pub median: f64,
    /// Interquartile range in percent of it.
    pub noise_percent: f64,
    /// Ours over this, round by round: the median.
    pub ours_over_floor: Option<f64>,
    /// Interquartile range in percent of that.
    pub ours_over_floor_noise_percent: Option<f64>,
}

/// Bytes that may still be written to the disk of a directory.
///
/// # Errors
/// The system does not tell.
pub fn free_bytes(directory: &Path) -> std::io::Result<u64> {
    let about = rustix::fs::statvfs(directory)?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

/// Counts the figures there are.
#[must_use]
pub fn count() -> usize {
    KINDS.len()
}

/// Measures every figure in a directory, and tells which one begins. Once `is_stopped` says so,
/// whoever works ends its round, and no further one begins.
pub fn measure(
    directory: PathBuf,
    effort: Effort,
    is_stopped: Rc<dyn Fn() -> bool>,
    tell: &mut dyn FnMut(&'static str),
) -> Vec<Gauge> {
    let plan = Plan::new(directory, effort);
    let mut gauges = Vec::new();
    for kind in KINDS {
        // Several sizes may be offered: only the one of this run is measured.
        let figure = figures(kind, &plan, Others::default()).into_iter().find(is_wanted);
        let Some(figure) = figure.filter(|_| !is_stopped()) else { continue };
        tell(kind.title());
        let outcome = stoppable(figure, &is_stopped).measure(plan.rounds(), &mut |_| {});
        gauges.push(Gauge::of(&outcome));
    }
    gauges
}

fn is_wanted(figure: &Figure) -> bool {
    !matches!(figure.scope, Scope::Payload(bytes) if bytes != PAYLOAD)
}

fn stoppable(mut figure: Figure, is_stopped: &Rc<dyn Fn() -> bool>) -> Figure {
    for contender in &mut figure.contenders {
        let is_stopped = Rc::clone(is_stopped);
        let nothing = Box::new(|| Err(MeasureError::NotOffered("stopped")));
        let mut work = std::mem::replace(&mut contender.work, nothing);
        contender.work = Box::new(move || match is_stopped() {
            true => Err(MeasureError::NotOffered("stopped")),
            false => work(),
        });
    }
    figure
}

impl Gauge {
    fn of(outcome: &Outcome) -> Self {
        let ours = outcome.ours();
        let values = ours.and_then(Line::values);
        let absent = ours.and_then(|line| line.measured.as_ref().err()).map(ToString::to_string);
        let floors = outcome.lines.iter().filter(|line| line.role == Role::Floor);
        let why = |line: &Line| {
            let error = line.measured.as_ref().err()?;
            Some(format!("{}: {error}", line.name))
        };
        Self {
            figure: outcome.kind.name(),
            title: outcome.kind.title(),
            scope: outcome.scope.to_string(),
            unit: outcome.kind.unit().name(),
            ours: values.map(|values| values.median()),
            noise_percent: values.map(|values| values.noise_percent()),
            absent,
            floors_absent: floors.clone().filter_map(why).collect(),
            floors: floors.filter_map(|line| FloorGauge::of(outcome, line)).collect(),
        }
    }
}

impl FloorGauge {
    fn of(outcome: &Outcome, line: &Line) -> Option<Self> {
        let values = line.values()?;
        let ours = outcome.ours().and_then(Line::values);
        let ratio = ours.map(|ours| ours.over(values));
        Some(Self {
            name: line.name.clone(),
            median: values.median(),
            noise_percent: values.noise_percent(),
            ours_over_floor: ratio.as_ref().map(|ratio| ratio.median()),
            ours_over_floor_noise_percent: ratio.as_ref().map(|ratio| ratio.noise_percent()),
        })
    }
}

/// Returns what the figures mean, in a sentence or two.
#[must_use]
pub fn meaning(gauges: &[Gauge]) -> String {
    let sync = gauges
        .iter()
        .flat_map(|gauge| &gauge.floors)
        .find(|floor| floor.name == floor::WRITE_AND_SYNC);
    let Some(sync) = sync.map(|sync| sync.median) else {
        return "No sync was measured: nothing can be said of durable writing here.".to_string();
    };
    let microseconds = sync * 1e6;
    if sync < SYNC_MIN {
        return format!(
            "A sync returns after {microseconds:.1} us: no disk is as fast, so this one, or what \
             lies before it, does not flush. What is acknowledged here may not survive a power \
             failure, and the durable figures say nothing of a disk that flushes."
        );
    }
    format!(
        "A sync takes {microseconds:.0} us on this disk, so one durable writer cannot pass {:.0} \
         records in a second, whatever log it writes: several writers at once, or several records \
         in a commit, share a sync.",
        1.0 / sync
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn every_figure_of_ours_is_measured_and_nothing_is_left() {
        let place = tempfile::tempdir().expect("a directory");
        let mut told = Vec::new();
        let go_on = Rc::new(|| false);
        let at = place.path().to_path_buf();
        let gauges = measure(at, Effort::Smoke, go_on, &mut |title| told.push(title));
        assert_eq!((gauges.len(), told.len()), (count(), count()));
        for gauge in &gauges {
            assert_eq!(gauge.absent, None, "{}", gauge.figure);
            assert!(gauge.floors_absent.is_empty(), "{gauge:?}");
            assert!(gauge.ours.is_some_and(|ours| ours > 0.0), "{gauge:?}");
            let has_floor = gauge.figure != Kind::OpenClean.name();
            assert_eq!(!gauge.floors.is_empty(), has_floor, "{}", gauge.figure);
        }
        assert_eq!(place.path().read_dir().expect("it can be listed").count(), 0);
    }

    #[test]
    fn what_is_stopped_ends_with_what_it_has_and_leaves_nothing() {
        let place = tempfile::tempdir().expect("a directory");
        let asked = Cell::new(0);
        let stops = Rc::new(move || asked.replace(asked.get() + 1) > 12);
        let gauges = measure(place.path().into(), Effort::Smoke, stops, &mut |_| {});
        assert!(gauges.len() < count());
        assert_eq!(place.path().read_dir().expect("it can be listed").count(), 0);
    }

    fn synced(median: f64) -> Gauge {
        let floor = FloorGauge {
            name: floor::WRITE_AND_SYNC.to_string(),
            median,
            noise_percent: 0.0,
            ours_over_floor: None,
            ours_over_floor_noise_percent: None,
        };
        Gauge {
            figure: "f",
            title: "t",
            scope: String::new(),
            unit: "u",
            ours: None,
            noise_percent: None,
            absent: None,
            floors: vec![floor],
            floors_absent: Vec::new(),
        }
    }

    #[test]
    fn a_disk_that_does_not_flush_is_told_from_one_that_does() {
        assert!(meaning(&[synced(5e-6)]).contains("does not flush"));
        let flushes = meaning(&[synced(1e-3)]);
        assert!(flushes.contains("1000 us") && flushes.contains("1000 records"), "{flushes}");
        assert!(meaning(&[]).contains("No sync"));
    }
}
