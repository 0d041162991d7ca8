//! The results as data.

use crate::bars::Verdict;
use crate::figure::{Line, Outcome, Role};
use crate::machine::Machine;
use crate::scale::Scale;
use serde::Serialize;

/// A whole run.
#[derive(Debug, Serialize)]
pub struct Results {
    /// What was measured on.
    pub machine: Machine,
    /// How much was measured: its name.
    pub effort: String,
    /// What that means, in a sentence or two.
    pub effort_says: String,
    /// The options that the run was given, but for directories.
    pub options: String,
    /// What a user could take instead was measured too.
    pub has_peers: bool,
    /// Everything was allocated by the system's allocator.
    pub has_systems_allocator: bool,
    /// How long it took, in seconds.
    pub took_seconds: u64,
    /// The bars.
    pub bars: Vec<Verdict>,
    /// The figures.
    pub figures: Vec<FigureResult>,
    /// How cost follows the length of a log, where that was measured.
    pub scale: Option<Scale>,
}

/// A figure at one size.
#[derive(Debug, Serialize)]
pub struct FigureResult {
    /// Its name.
    pub figure: &'static str,
    /// What it measures.
    pub title: &'static str,
    /// At which size.
    pub scope: String,
    /// What its values are.
    pub unit: &'static str,
    /// Ours; the first one is what ratios are taken of.
    pub ours: Vec<LineResult>,
    /// What cannot be beaten.
    pub floor: Vec<LineResult>,
    /// What else there is.
    pub peers: Vec<LineResult>,
}

/// What one contender came to.
#[derive(Debug, Serialize)]
pub struct LineResult {
    /// Its name.
    pub name: String,
    /// Median of the rounds.
    pub median: Option<f64>,
    /// Interquartile range in percent of the median; `None` of one round.
    pub noise_percent: Option<f64>,
    /// Median of the measuring thread's CPU seconds.
    pub cpu_median: Option<f64>,
    /// Median of this over ours, round by round.
    pub over_ours: Option<f64>,
    /// Interquartile range of that in percent.
    pub over_ours_noise_percent: Option<f64>,
    /// Each of its records is tied to the one before it.
    pub is_chained: bool,
    /// Syncs for each acknowledged record or commit, as they were counted.
    pub syncs_each: Option<f64>,
    /// Why no bar counts it.
    pub not_counted: Option<String>,
    /// Why there is no value.
    pub absent: Option<String>,
    /// How it is configured.
    pub remark: String,
}

/// A figure as data.
#[must_use]
pub fn figure_result(outcome: &Outcome) -> FigureResult {
    let of = |wants: fn(&Role) -> bool| {
        let wanted = outcome.lines.iter().filter(|line| wants(&line.role));
        wanted.map(|line| line_result(outcome, line)).collect()
    };
    FigureResult {
        figure: outcome.kind.name(),
        title: outcome.kind.title(),
        scope: outcome.scope.to_string(),
        unit: outcome.kind.unit().name(),
        ours: of(|role| matches!(role, Role::Ours)),
        floor: of(|role| matches!(role, Role::Floor)),
        peers: of(|role| matches!(role, Role::Peer(_))),
    }
}

fn line_result(outcome: &Outcome, line: &Line) -> LineResult {
    let facts = match &line.role {
        Role::Peer(facts) => facts.clone(),
        Role::Ours | Role::Floor => Default::default(),
    };
    let ratio = outcome.over_ours(line);
    let measured = line.measured.as_ref().ok();
    LineResult {
        name: line.name.clone(),
        median: measured.map(|measured| measured.values.median()),
        noise_percent: measured.and_then(|measured| measured.values.noise()),
        cpu_median: measured.and_then(|measured| Some(measured.cpu.as_ref()?.median())),
        over_ours: ratio.as_ref().map(|ratio| ratio.median()),
        over_ours_noise_percent: ratio.as_ref().map(|ratio| ratio.noise_percent()),
        is_chained: facts.is_chained || line.role == Role::Ours,
        syncs_each: facts.syncs_each,
        not_counted: facts.not_counted,
        absent: line.measured.as_ref().err().map(ToString::to_string),
        remark: line.remark.clone(),
    }
}
