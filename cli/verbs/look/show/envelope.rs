//! `holdpoint show RUN --envelope`: the bytes that were hashed as the instruction of a run.

use super::Args;
use crate::args::Global;
use crate::log::captured_output::read;
use crate::log::{Directory, run_id};
use crate::ui::screen::seen_lines;
use crate::ui::{Exit, Failure, Output};
use holdpoint_domain::core::hash::sha256;
use serde_json::json;
use std::io::{self, IsTerminal};

/// Writes them as they are, to a terminal with every byte visible. Exit 3 where there are none, 6
/// where they are not those whose hash the run states.
pub(super) fn show(global: &Global, args: &Args) -> Result<Exit, Failure> {
    args.times.expect_utc()?;
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let run = read(&directory, &run_id::find(&directory, &args.id)?)?.run;
    let (id, envelope) = (run.entity.loop_id(), &run.instruction);
    let (hash, stated) = (sha256(envelope), run.entity.context.instruction_envelope_hash());
    if hash.to_string() != stated {
        return Err(missing(id, envelope.is_empty(), stated));
    }
    let is_seen = io::stdout().is_terminal();
    let mut out = Output::paged(global.json);
    if global.json {
        out.json(&json!({
            "run": id,
            "sha256": hash,
            "length": envelope.len(),
            "text": std::str::from_utf8(envelope).ok(),
            "bytes_hex": base16ct::lower::encode_string(envelope),
        }));
    } else if is_seen {
        seen_lines(envelope).into_iter().for_each(|line| out.line(line));
    } else {
        out.bytes(envelope);
    }
    out.finish()?;
    Ok(Exit::DONE)
}

fn missing(id: &str, is_empty: bool, stated: &str) -> Failure {
    let records = format!("`holdpoint log loop={id}` has its records");
    if is_empty {
        let message = format!("no envelope of {id} is on record: {records}");
        return Failure::new(Exit::NOT_FOUND, "no_envelope", message);
    }
    let message = format!(
        "the envelope of {id} on record is not the one whose SHA-256 it states, {stated}: {records}"
    );
    Failure::new(Exit::VERIFICATION_FAILED, "another_envelope", message)
}
