//! A run as a recording that asciinema plays.

use crate::args::Global;
use crate::log::captured_output::{Read, expect_not_hidden, expect_verified, nothing_kept, read};
use crate::log::unfinished_output::{open_end, tell_doubt};
use crate::log::{Directory, run_id};
use crate::ui::{Exit, Failure};
use holdpoint_export::asciicast::{STREAMS, outputs, play};
use holdpoint_replay::machine::recorder_of;
use holdpoint_replay::{CapturedOutput, Run};
use serde_json::Value;
use std::io;

/// A run that is played: what the last attempt that printed anything printed.
pub(crate) struct Cast {
    run: Box<Run>,
    attempt: u8,
    /// Why more may have been printed last than is played.
    doubt: Option<String>,
}

impl Cast {
    /// Reads it, once all of it has verified.
    pub(crate) fn read(
        global: &Global,
        directory: &Directory,
        wanted: &str,
    ) -> Result<Self, Failure> {
        let loop_id = run_id::find(directory, wanted)?;
        let recorder = recorder_of(&directory.storage, &loop_id);
        let Read { run, searched } = read(directory, &loop_id)?;
        expect_not_hidden(global, &run)?;
        let printed = run.outputs.iter().filter(|output| STREAMS.contains(&output.stream));
        let newest = |output: &&CapturedOutput| (output.length() > 0, output.attempt);
        let attempt = printed.max_by_key(newest).map(|output| output.attempt);
        let attempt = attempt.ok_or_else(|| nothing_kept(&run, &STREAMS, None))?;
        let played = outputs(&run, attempt);
        played.iter().try_for_each(|it| expect_verified(&run, it, searched.reach()))?;
        let doubt = open_end(&run, recorder, &played, None);
        Ok(Self { run, attempt, doubt })
    }

    /// The run.
    pub(crate) fn run(&self) -> &str {
        self.run.entity.loop_id()
    }

    /// Gives the header, then one line an event, as each is made: how many events there are, and
    /// exit 3 where bytes are missing among those that are played, or may be behind them.
    pub(crate) fn play(
        &self,
        put: &mut dyn FnMut(&Value) -> io::Result<()>,
    ) -> io::Result<(u64, Exit)> {
        let (events, has_hole) = play(&self.run, self.attempt, put)?;
        let exit = tell_doubt(self.doubt.as_deref(), None);
        Ok((events, if has_hole { Exit::NOT_FOUND } else { exit }))
    }
}
