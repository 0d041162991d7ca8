//! Command to run, and within which bounds.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use super::guard::Guard;
use super::resolve::{StartRefusal, resolve};
use super::signal_state::SignalState;
use super::variable::Variable;

/// Source of the command's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// `/dev/null`: the command sees the end of input at once.
    Null,
    /// The standard input of this process. A terminal is refused: no command shares one.
    Inherit,
    /// A pseudo-terminal of the command's own, on its standard output and error too: as wide and
    /// high as the terminal of this process, at which whoever sits there types for it. Where
    /// standard input is no terminal, or [`CommandSpec::guard`] names none, nobody can type, and
    /// what reads lines reads their end. What appears is one stream, that of standard output.
    Terminal,
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
    /// The whole environment of the command, entry by entry: nothing else is inherited. Two
    /// entries of one name are handed on both; [`variable`](Self::variable) is the first, as
    /// `getenv` finds it.
    pub environment: Vec<Variable>,
    /// Effect of signals on the command when it begins.
    pub signals: SignalState,
    /// Source of standard input.
    pub stdin: Stdin,
    /// Time that the command may run by the monotonic clock; `None` is without end.
    pub timeout: Option<Duration>,
    /// Number of bytes of resident memory that its processes may hold together: its process group,
    /// and with a guard everything that it started. `None` is without limit.
    pub max_memory_bytes: Option<u64>,
    /// Number of bytes of each output stream that are kept whole. The length and the digest of a
    /// stream are of the whole stream, however long it is.
    pub max_output_bytes: u64,
    /// Process between this one and the command, which ends the command with all that it started
    /// when this process is gone. `None`: the command is a child of this process, and lives on
    /// without it.
    pub guard: Option<Guard>,
}

/// Number of bytes of each output stream that [`CommandSpec::new`] keeps.
const OUTPUT_KEPT: u64 = 16 << 20;

impl CommandSpec {
    /// A program without arguments, in `/`, with no input and no bound on its time, which is found
    /// in `/usr/bin` or `/bin`: its environment is that `PATH` and nothing else. 16 MiB of each
    /// output stream is kept.
    #[must_use]
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directory: "/".into(),
            environment: vec![Variable::new("PATH", "/usr/bin:/bin")],
            signals: SignalState::default(),
            stdin: Stdin::Null,
            timeout: None,
            max_memory_bytes: None,
            max_output_bytes: OUTPUT_KEPT,
            guard: None,
        }
    }

    /// With an argument behind the others.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// With arguments behind the others.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// In this working directory.
    #[must_use]
    pub fn directory(self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), ..self }
    }

    /// With a variable in its environment, in the place of any other of that name.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.retain(|variable| variable.name() != name.as_ref());
        self.environment.push(Variable::new(name, value));
        self
    }

    /// With at most this time.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// The value that the command will see for a name in its environment.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let named = |variable: &&Variable| variable.value().is_some() && variable.name() == name;
        self.environment.iter().find(named).and_then(Variable::value)
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
