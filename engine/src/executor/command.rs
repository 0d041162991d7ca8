//! What to run, and within which bounds.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use super::guard::Guard;
use super::resolve::{StartRefusal, resolve};

/// Where the command reads its standard input from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// `/dev/null`: the command sees the end of input at once.
    Null,
    /// The standard input of this process. When that is a terminal in whose foreground this
    /// process runs, the command's process group becomes the foreground group until it ends.
    Inherit,
}

/// One command, exactly as it is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// The program as it was named. Without a slash it is searched for in the `PATH` of
    /// [`environment`](Self::environment); it is the command's own `argv[0]` in any case.
    pub program: OsString,
    /// The arguments after the program's name. Any bytes but NUL.
    pub arguments: Vec<OsString>,
    /// The working directory of the command.
    pub directory: PathBuf,
    /// The whole environment of the command: nothing else is inherited. Of two values for one
    /// name the later one counts.
    pub environment: Vec<(OsString, OsString)>,
    /// Where standard input comes from.
    pub stdin: Stdin,
    /// How long the command may run by the monotonic clock; `None` is without end.
    pub timeout: Option<Duration>,
    /// How many bytes of resident memory its processes may hold together: its process group, and
    /// with a guard everything that it started. `None` is without limit.
    pub max_memory_bytes: Option<u64>,
    /// How many bytes of each output stream are kept. The length and the digest of a stream are
    /// of the whole stream, however long it is.
    pub max_output_bytes: u64,
    /// What stands between this process and the command, and ends the command with all that it
    /// started when this process is gone. `None`: the command is a child of this process, and lives
    /// on without it.
    pub guard: Option<Guard>,
}

impl CommandSpec {
    /// The value that the command will see for a name in its environment.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.environment.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Finds the program that this command names, as [`resolve`] does.
    ///
    /// # Errors
    ///
    /// The refusal that [`execute`](super::execute) would end with: nothing by that name, or
    /// nothing that may be executed.
    pub fn resolve(&self) -> Result<PathBuf, StartRefusal> {
        resolve(&self.program, self.variable("PATH"), &self.directory)
    }
}
