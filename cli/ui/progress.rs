//! A progress bar on stderr, on a terminal, for work that takes longer than a second.

use crate::ui::Output;
use holdpoint_replay::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How long work may take before a bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that may never appear.
pub(crate) struct Bar {
    begun: Instant,
    is_wanted: bool,
    shown: Option<ProgressBar>,
}

impl Bar {
    pub(crate) fn new() -> Self {
        let is_wanted = std::io::stderr().is_terminal();
        Self { begun: Instant::now(), is_wanted, shown: None }
    }

    /// The same, of work whose output is shown while it goes on: a pager keeps the terminal for
    /// itself.
    pub(crate) fn beside(out: &Output) -> Self {
        let mut bar = Self::new();
        bar.is_wanted &= !out.is_paged();
        bar
    }

    /// Shows how far the work has come.
    pub(crate) fn update(&mut self, progress: Progress) {
        if !self.is_wanted || self.begun.elapsed() < PATIENCE {
            return;
        }
        let bar = self.shown.get_or_insert_with(|| ProgressBar::new(0).with_style(style()));
        bar.set_length(progress.expected.max(progress.sequence));
        bar.set_position(progress.sequence);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_bar} record {pos} of {len}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
