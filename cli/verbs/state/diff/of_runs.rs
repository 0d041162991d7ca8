//! What differs between two runs.

use crate::args::Global;
use crate::log::captured_output::read;
use crate::log::run_difference::{Difference, DifferenceDocument, View, lines};
use crate::log::run_records::tell_standing;
use crate::log::{Directory, run_id};
use crate::ui::program::program;
use crate::ui::screen::columns;
use crate::ui::{Exit, Failure, Output, TimesArgs};

/// Shows what differs between two runs.
pub(crate) fn show(
    global: &Global,
    directory: &Directory,
    ids: (&str, &str),
    times: TimesArgs,
) -> Result<Exit, Failure> {
    let mut from = read(directory, &run_id::find(directory, ids.0)?)?;
    let to = read(directory, &run_id::find(directory, ids.1)?)?;
    from.searched.join(to.searched);
    let mut out = Output::paged(global.json);
    if global.json {
        let difference = Difference::between(&from.run, &to.run);
        out.json(&DifferenceDocument::of(&from.run, &to.run, &difference));
    } else {
        let program = program(&global.log);
        let view = View { columns: columns(), clock: &times.clock(), program: &program };
        lines(&from.run, &to.run, &view).iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    if !global.json {
        tell_standing(&[&from.run, &to.run], from.searched.reach());
    }
    Ok(Exit::DONE)
}
