//! What a person types to look at a log: the program itself, in a process of its own.

use super::memory::Memory;
use crate::error::{Doing, MeasureError};
use crate::history::SmallStory;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// The name under which this program is started to be `holdpoint`.
pub const PROGRAM: &str = "holdpoint";

/// Records that are shown at once.
const SHOWN: u64 = 100;

/// A verb that only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing but the program's own start.
    Start,
    /// What waits for a person.
    HoldList,
    /// Decisions that are open, and those that ended lately.
    DecisionList,
    /// Conversations that are open.
    ThreadList,
    /// Some records of sealed segments.
    ShowSealed,
    /// The last records up to one that lies in a sealed segment.
    LastSealed,
    /// A small story in a sealed segment.
    TraceSealed,
    /// Some records of the active segment.
    ShowActive,
    /// The newest records.
    LastActive,
    /// A small story in the active segment.
    TraceActive,
    /// The newest runs.
    Runs,
    /// Runs of which there is none: the whole log is asked.
    RunsOfNone,
    /// A run of long ago.
    ShowRunSealed,
    /// A run of now, by the first digits of its id.
    ShowRunActive,
}

/// Records of a log that are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// One that lies in a sealed segment, in the middle of the log.
    pub(super) sealed: u64,
    /// One that lies in the active segment.
    pub(super) active: u64,
    /// A small story long ago.
    pub(super) sealed_story: SmallStory,
    /// A small story of now.
    pub(super) active_story: SmallStory,
}

impl Look {
    /// Every one, in the order of the report.
    pub const ALL: [Self; 14] = [
        Self::Start,
        Self::HoldList,
        Self::DecisionList,
        Self::ThreadList,
        Self::ShowSealed,
        Self::LastSealed,
        Self::TraceSealed,
        Self::ShowActive,
        Self::LastActive,
        Self::TraceActive,
        Self::Runs,
        Self::RunsOfNone,
        Self::ShowRunSealed,
        Self::ShowRunActive,
    ];

    /// As the report names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "`holdpoint --version`",
            Self::HoldList => "`hold list`",
            Self::DecisionList => "`decision list`",
            Self::ThreadList => "`thread list state=open`",
            Self::ShowSealed => "`log --since A --until B`, sealed",
            Self::LastSealed => "`log --until B -n 100`, sealed",
            Self::TraceSealed => "`trace` of a small story, sealed",
            Self::ShowActive => "`log --since A --until B`, active",
            Self::LastActive => "`log -n 100`, active",
            Self::TraceActive => "`trace` of a small story, active",
            Self::Runs => "`runs -n 20`",
            Self::RunsOfNone => "`runs status=77`, which no run has",
            Self::ShowRunSealed => "`show` of a run, sealed",
            Self::ShowRunActive => "`show` of a run by 8 digits, active",
        }
    }

    fn arguments(self, places: &Places) -> Vec<String> {
        let show = |from: u64| {
            let to = from + SHOWN - 1;
            format!("log --since {from} --until {to}")
        };
        let line = match self {
            Self::Start => "--version".to_string(),
            Self::HoldList => "decision list".to_string(),
            Self::DecisionList => "decision list".to_string(),
            Self::ThreadList => "thread list state=open".to_string(),
            Self::ShowSealed => show(places.sealed),
            Self::LastSealed => format!("log --until {} -n {SHOWN}", places.sealed),
            Self::TraceSealed => format!("show --trace {}", places.sealed_story.first),
            Self::ShowActive => show(places.active),
            Self::LastActive => format!("log -n {SHOWN}"),
            Self::TraceActive => format!("show --trace {}", places.active_story.first),
            Self::Runs => "runs -n 20".to_string(),
            Self::RunsOfNone => "runs status=77".to_string(),
            Self::ShowRunSealed => format!("show {}", places.sealed_story.loop_id),
            Self::ShowRunActive => {
                let digits = places.active_story.loop_id.bytes().take("LOOP-".len() + 8);
                format!("show {}", digits.map(char::from).collect::<String>())
            }
        };
        line.split(' ').map(str::to_string).collect()
    }

    /// Seconds from before the process is started to its end, and what it had in memory.
    pub(super) fn run(
        self,
        program: &Path,
        log: &Path,
        places: &Places,
    ) -> Result<(f64, Memory), MeasureError> {
        let mut command = holdpoint(program, log);
        command.args(self.arguments(places));
        if self != Self::Start {
            command.arg("--log").arg(log);
        }
        timed(command, self.name(), self == Self::RunsOfNone)
    }
}

/// The program, in a directory.
pub(super) fn holdpoint(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg0(PROGRAM).current_dir(directory).stdin(Stdio::null());
    command
}

/// Runs `holdpoint`: seconds from before it is started to its end, and what it had in memory.
pub(super) fn timed(
    mut command: Command,
    name: &str,
    finds_nothing: bool,
) -> Result<(f64, Memory), MeasureError> {
    let begun = Instant::now();
    let output = command.output().doing("run `holdpoint`")?;
    let seconds = begun.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || output.stdout.is_empty() != finds_nothing {
        return Err(format!("{name}: {}: {said}", output.status)).doing("run `holdpoint`");
    }
    let memory = said.lines().last().unwrap_or_default();
    Ok((seconds, serde_json::from_str(memory).doing("read what `holdpoint` had in memory")?))
}

/// Whether this process was started to be `holdpoint`, by its first argument.
#[must_use]
pub fn is_program(first: Option<OsString>) -> bool {
    first.is_some_and(|name| name == PROGRAM)
}

/// Is `holdpoint`, and says at the end what it had in memory: the last line of standard error.
#[must_use]
pub fn as_program() -> ExitCode {
    let code = holdpoint_cli::main();
    match Memory::now().map(|memory| serde_json::to_string(&memory)) {
        Ok(Ok(line)) => eprintln!("{line}"),
        _ => eprintln!("what is in memory is not told"),
    }
    code
}
