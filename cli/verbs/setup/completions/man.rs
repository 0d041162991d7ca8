//! The manual, generated from the command line itself: the same for the same
//! program, without a date and without the settings of whoever generates it.

mod exit_status;

use crate::args::command_line;
use crate::ui::{Exit, Failure, Output, path};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the manual: every page into a directory, or the program's to stdout.
pub(super) fn write(directory: Option<&Path>) -> Result<Exit, Failure> {
    let mut program = command_line::declared().disable_help_subcommand(true);
    program.build();
    let mut out = Output::stdout();
    match directory {
        Some(directory) => {
            for file in write_pages(&program, directory)? {
                out.line(path(&file));
            }
        }
        None => out.line(page(&program).trim_end()),
    }
    out.finish()?;
    Ok(Exit::DONE)
}

/// Writes every page, and gives their files in the order of the verbs.
fn write_pages(program: &Command, directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    let mut files = Vec::new();
    for command in with_all_below(program) {
        let file = directory.join(Man::new(command.clone()).get_filename());
        fs::write(&file, page(command)).map_err(|error| failed(&file, &error))?;
        files.push(file);
    }
    Ok(files)
}

fn failed(place: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::FAILED, "output", format!("cannot write {}: {error}", path(place)))
}

/// A command, then each of its verbs and what is below it.
fn with_all_below(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().flat_map(with_all_below);
    std::iter::once(command).chain(below).collect()
}

/// One page, as roff.
fn page(command: &Command) -> String {
    let source = format!("holdpoint {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(with_other_names(command)).source(source).manual("Holdpoint");
    let mut text = Vec::new();
    let written = man.render(&mut text).and_then(|()| more(command).to_writer(&mut text));
    written.expect("memory takes every write");
    without_empty_values(&String::from_utf8_lossy(&text))
}

/// A page whose synopsis has no blank behind an option of one letter: it looks like the room for a
/// value that has no name.
fn without_empty_values(page: &str) -> String {
    page.replace(" \\fR]", "\\fR]")
}

/// The command, where each option that has other names tells them.
fn with_other_names(command: &Command) -> Command {
    command.clone().mut_args(|argument| {
        let names = argument.get_visible_aliases().unwrap_or_default();
        let names: Vec<String> = names.iter().map(|name| format!("--{name}")).collect();
        if names.is_empty() {
            return argument;
        }
        let help = argument.get_help().cloned().unwrap_or_default();
        argument.help(format!("{help}; also {}", names.join(", ")))
    })
}

/// The sections that are not generated: the environment, and of the program the exit codes.
fn more(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["ENVIRONMENT"]);
    for argument in command.get_arguments() {
        if let (Some(variable), Some(long)) = (argument.get_env(), argument.get_long()) {
            roff.control("TP", []);
            roff.text([bold(variable.to_string_lossy())]);
            roff.text([roman(format!("What holds where --{long} is not given."))]);
        }
    }
    if command.get_name() == "holdpoint" {
        exit_status::write(&mut roff);
    }
    roff
}
