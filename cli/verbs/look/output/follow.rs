//! `output -f`: what a run prints, while another process records it.

use super::{Args, Waiting, chosen, put_unproven, write_bytes};
use crate::args::Global;
use crate::log::captured_output::{expect_not_hidden, expect_run, expect_verified};
use crate::log::run_id::{self, expect_sound};
use crate::log::unfinished_output::{open_end, tell_doubt};
use crate::log::{Directory, recorders};
use crate::ui::{Exit, Failure, Output};
use holdpoint_engine::shell::Watch;
use holdpoint_replay::machine::recorder_of;
use holdpoint_replay::merged_output::{MergedOutput, TimedLines};
use holdpoint_replay::{CapturedOutput, run_of};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// After so long a run is looked at though nothing was written: its recorder may be gone.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Writes what is recorded of a run until it is over on record, or its recorder is gone: then also
/// what waits in the run's file, as unproven.
pub(super) fn follow(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let watch = Watch::of_log(&directory.path);
    let loop_id = run_id::find(&directory, &args.run)?;
    let mut shown = OutputFollower::new(args);
    // Since when its recorder is seen to be gone, without a look in between that saw another.
    let mut was_lost = false;
    loop {
        let directory = Directory::open_with_archives(global, &args.archives)?;
        let recorder = recorder_of(&directory.storage, &loop_id);
        let (found, searched) = directory.read(|log, options| run_of(log, &loop_id, options))?;
        expect_sound(&searched)?;
        let run = expect_run(&directory, &loop_id, found)?;
        expect_not_hidden(global, &run)?;
        // Nothing is recorded of it yet: that is no failure while it runs.
        let outputs = chosen(&run, args).unwrap_or_default();
        outputs.iter().try_for_each(|output| expect_verified(&run, output, searched.reach()))?;
        shown.put(&outputs, args);
        let is_over = run.entity.halt.is_some();
        let is_lost =
            !is_over && !recorders::unfinished(&directory, std::slice::from_ref(&*run)).is_empty();
        // Its end may have been recorded since it was read: a second look says so.
        if !shown.out.has_reader() {
            let (has_hole, _) = shown.finish()?;
            return Ok(if has_hole { Exit::NOT_FOUND } else { Exit::DONE });
        }
        if is_over || (is_lost && was_lost) {
            let Waiting { pieces, in_file } = Waiting::of(&directory, &run, args);
            let merged = MergedOutput::of(&[], &pieces, shown.lines_left(args));
            let (has_hole, lines) = shown.finish()?;
            put_unproven(global, &run, &merged, args, lines)?;
            let doubt = open_end(&run, recorder, &outputs, in_file.as_ref());
            let exit = tell_doubt(doubt.as_deref(), in_file.as_ref());
            return Ok(if has_hole { Exit::NOT_FOUND } else { exit });
        }
        was_lost = is_lost;
        if is_lost {
            continue;
        }
        let _ = watch.wait(LOOK_AGAIN);
    }
}

/// What was written so far.
struct OutputFollower {
    out: Output,
    is_seen: bool,
    lines: TimedLines,
    /// The newest record of it.
    newest: u64,
    has_hole: bool,
}

impl OutputFollower {
    fn new(args: &Args) -> Self {
        let is_seen = !args.raw && io::stdout().is_terminal();
        let lines = TimedLines::default();
        Self { out: Output::stdout(), is_seen, lines, newest: 0, has_hole: false }
    }

    /// Tells whether bytes are missing in what was written.
    fn finish(self) -> Result<(bool, TimedLines), Failure> {
        self.out.finish().map(|()| (self.has_hole, self.lines))
    }

    /// The number of last lines to show of what follows.
    fn lines_left(&self, args: &Args) -> usize {
        args.tail.filter(|_| self.newest == 0).unwrap_or(usize::MAX)
    }

    fn put(&mut self, outputs: &[&CapturedOutput], args: &Args) {
        let merged = MergedOutput::of(outputs, &[], self.lines_left(args));
        let behind = self.newest;
        for chunk in merged.chunks.iter().filter(|chunk| chunk.sequence > behind) {
            self.newest = self.newest.max(chunk.sequence);
            self.has_hole |= chunk.hole.is_some();
            match args.timestamps {
                true => write_bytes(&mut self.out, &self.lines.timed(chunk), self.is_seen),
                false => write_bytes(&mut self.out, chunk.bytes, self.is_seen),
            }
        }
        self.out.flush();
    }
}
