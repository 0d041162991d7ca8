//! Commands that judge a state.

use crate::ui::{Exit, Failure};
use holdpoint_replay::Answer;
use serde_json::Value;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

/// It holds.
const HOLDS: i32 = 0;
/// It does not.
const DOES_NOT: i32 = 1;
/// This state cannot be judged, as `git bisect run` has it.
const SKIP: i32 = 125;

/// Asks a command of `sh`, which gets the state as JSON on stdin. What it prints goes to stderr.
pub(super) fn ask_command(command: &str, state: &Value) -> Result<Answer, Failure> {
    let status = run(command, state).map_err(|error| {
        let message = format!("--exec: the command cannot be run: {error}; check that there is sh");
        Failure::new(Exit::FAILED, "exec", message)
    })?;
    match status.code() {
        Some(HOLDS) => Ok(Answer::Holds),
        Some(DOES_NOT) => Ok(Answer::DoesNot),
        Some(SKIP) => Ok(Answer::Skip),
        _ => Err(abort(status)),
    }
}

fn abort(status: ExitStatus) -> Failure {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "did not end".to_string(),
    };
    let message = format!(
        "--exec: the command {how}: 0 says that it holds, 1 that it does not, 125 passes over this \
         state"
    );
    Failure::new(Exit::FAILED, "exec", message)
}

fn run(command: &str, state: &Value) -> io::Result<ExitStatus> {
    let stderr = io::stderr().as_fd().try_clone_to_owned().map_or(Stdio::null(), Stdio::from);
    let mut child =
        Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).stdout(stderr).spawn()?;
    let written = write_state(&mut child, state);
    let status = child.wait()?;
    written.map(|()| status)
}

/// A command that has seen enough need not read to the end.
fn write_state(child: &mut Child, state: &Value) -> io::Result<()> {
    let Some(mut stdin) = child.stdin.take() else { return Ok(()) };
    let mut text = state.to_string();
    text.push('\n');
    match stdin.write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}
