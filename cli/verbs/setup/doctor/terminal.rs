//! Putting back a terminal that two killed processes left: the one that asked, and the keeper that
//! would have put it back.

use crate::args::Global;
use crate::ui::screen::plain_terminal;
use crate::ui::{Exit, Failure, Output};
use holdpoint_engine::executor::{terminal_taker, usual_terminal};
use holdpoint_engine::shell::{is_in_front_of, is_of_session};
use rustix::termios::{OptionalActions, ioctl_tiocnxcl, tcgetattr, tcsetattr, ttyname};
use serde_json::json;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};

/// Lets others open the terminal again, and has it take whole lines as terminals usually do.
pub(super) fn put_back(global: &Global) -> Result<Exit, Failure> {
    let (stdin, stderr, stdout) = (io::stdin(), io::stderr(), io::stdout());
    let is_terminal = [stdin.is_terminal(), stderr.is_terminal(), stdout.is_terminal()];
    let streams = [stdin.as_fd(), stderr.as_fd(), stdout.as_fd()];
    let found = streams.into_iter().zip(is_terminal).find(|(_, is_terminal)| *is_terminal);
    let Some((terminal, _)) = found else {
        return Err(failure("no standard stream is a terminal: run it at the one to put back"));
    };
    if let Some(pid) = terminal_taker(terminal) {
        return Err(failure(&format!(
            "process {pid} asks at this terminal now, and puts it back itself"
        )));
    }
    if is_of_session(terminal) && !is_in_front_of(terminal) {
        return Err(failure("this runs in the background of the terminal: run it in front"));
    }
    restore(terminal).map_err(|error| failure(&format!("the terminal cannot be set: {error}")))?;
    let name = ttyname(terminal, Vec::new());
    let name = name.map_or_else(|_| "the terminal".into(), |it| it.to_string_lossy().into_owned());
    let mut out = Output::stdout();
    match global.json {
        true => out.json(&json!({ "terminal": name, "put_back": true })),
        false => {
            if stdout.is_terminal() {
                out.bytes(plain_terminal().as_bytes());
            }
            out.line(format_args!("{name} takes whole lines again, and others may open it"));
        }
    }
    out.finish()?;
    Ok(Exit::DONE)
}

fn restore(terminal: BorrowedFd<'_>) -> rustix::io::Result<()> {
    ioctl_tiocnxcl(terminal)?;
    tcsetattr(terminal, OptionalActions::Now, &usual_terminal(&tcgetattr(terminal)?))
}

fn failure(message: &str) -> Failure {
    Failure::new(Exit::FAILED, "terminal_not_put_back", message)
}
