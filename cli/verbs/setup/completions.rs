//! `holdpoint completions`: what a shell completes, generated from the command line itself.

use crate::args::{Global, command_line, settle};
use crate::ui::{Exit, Failure, Output};
use clap_complete::{Shell, generate};

/// What is said below the options.
const MORE: &str = "\
For bash: holdpoint completions bash > ~/.local/share/bash-completion/completions/holdpoint
For zsh: holdpoint completions zsh > DIR/_holdpoint, with DIR in $fpath
For fish: holdpoint completions fish > ~/.config/fish/completions/holdpoint.fish
It needs no log, and writes the same with --json.";

/// Options of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Writes the completions of a shell to stdout.
pub(crate) fn main(global: &Global, args: &Args) -> Exit {
    settle(global, write(args.shell))
}

fn write(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(shell, &mut command_line::declared(), "holdpoint", &mut script);
    let mut out = Output::stdout();
    out.line(String::from_utf8_lossy(&script).trim_end());
    out.finish()?;
    Ok(Exit::DONE)
}
