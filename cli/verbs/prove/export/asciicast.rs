//! `holdpoint export RUN --format asciicast`.

use super::{Args, Format, check};
use crate::args::Global;
use crate::log::Directory;
use crate::log::cast::Cast;
use crate::log::export_target::Target;
use crate::ui::{Exit, Failure, Output, complain, counted};
use serde_json::json;
use std::io::{BufWriter, Write};

/// The run that is to be played, if one is.
pub(super) fn wanted(args: &Args) -> Result<Option<&str>, Failure> {
    match (args.format, &args.run) {
        (Format::Asciicast, Some(run)) => Ok(Some(run)),
        (Format::Asciicast, None) => Err(Failure::new(
            Exit::USAGE,
            "run_missing",
            "a recording is of one run: name it, as in `holdpoint export RUN --format asciicast`",
        )),
        (_, None) => Ok(None),
        (_, Some(_)) => Err(Failure::new(
            Exit::USAGE,
            "whole_log",
            "this format holds the whole log, of no one run: leave RUN away, or use \
             `--format html` or `asciicast`",
        )),
    }
}

/// Makes the recording. Exit 3 where there is no such run, or bytes of it are missing.
pub(super) fn export(global: &Global, args: &Args, run: &str) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, &args.archives)?;
    check(global, args)?;
    let cast = Cast::read(global, &directory, run)?;
    complain(
        "the recording holds what the command printed, secrets included; keep it as you keep the \
         log",
    );
    let Some(out) = args.file() else {
        let mut out = Output::stdout();
        let played = cast.play(&mut |line| {
            out.json_line(line);
            Ok(())
        });
        let (_, exit) = played.map_err(|error| super::failure(args, &error.into()))?;
        return out.finish().map(|()| exit);
    };
    let target = Target::new(out, args.force, Some(&directory))?;
    let written = write(&target, &cast).map_err(|error| super::failure(args, &error.into()));
    let (events, exit) = written?;
    let path = target.finish()?;
    let mut out = Output::stdout();
    match global.json {
        true => out.json(&json!({
            "format": args.format,
            "out": path,
            "run": cast.run(),
            "events": events,
        })),
        false => out.line(format_args!("{path}: {}", counted(events, "event"))),
    }
    out.finish().map(|()| exit)
}

fn write(target: &Target, cast: &Cast) -> std::io::Result<(u64, Exit)> {
    let mut file = BufWriter::new(target.file());
    let played = cast.play(&mut |line| {
        target.heed_signals();
        serde_json::to_writer(&mut file, line)?;
        file.write_all(b"\n")
    })?;
    file.flush().map(|()| played)
}
