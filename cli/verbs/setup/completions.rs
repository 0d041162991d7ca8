//! `holdpoint completions`: what a shell completes, and the manual, generated from the command line
//! itself.

mod man;

use crate::args::{Global, command_line, settle};
use crate::ui::{Exit, Failure, Output};
use clap_complete::{Shell, generate};
use std::path::PathBuf;

/// What is said below the options.
const MORE: &str = "\
For bash: holdpoint completions bash > ~/.local/share/bash-completion/completions/holdpoint
For zsh: holdpoint completions zsh > DIR/_holdpoint, with DIR in $fpath
For fish: holdpoint completions fish > ~/.config/fish/completions/holdpoint.fish
To read the manual: holdpoint completions man | man -l -
To install it: holdpoint completions man --output ~/.local/share/man/man1
It needs no log, and writes the same with --json.";

/// Options of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(crate) struct Args {
    /// Shell, or `man` for the manual.
    #[arg(value_name = "SHELL", value_parser = FORMS)]
    form: String,
    /// With `man`: write a page for each command into this directory, replacing existing ones
    /// [default: the program's page to stdout].
    #[arg(long = "output", value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Names of the texts that may be written.
const FORMS: [&str; 6] = ["bash", "elvish", "fish", "powershell", "zsh", "man"];

/// Writes it.
pub(crate) fn main(global: &Global, args: &Args) -> Exit {
    settle(
        global,
        match args.form.parse() {
            Ok(shell) => write(args, shell),
            Err(_) => man::write(args.dir.as_deref()),
        },
    )
}

fn write(args: &Args, shell: Shell) -> Result<Exit, Failure> {
    if args.dir.is_some() {
        let message =
            "--output is for the pages of the manual: `holdpoint completions man --output DIR`";
        return Err(Failure::new(Exit::USAGE, "no_directory", message));
    }
    let mut script = Vec::new();
    generate(shell, &mut command_line::declared(), "holdpoint", &mut script);
    let mut out = Output::stdout();
    out.line(String::from_utf8_lossy(&script).trim_end());
    out.finish()?;
    Ok(Exit::DONE)
}
