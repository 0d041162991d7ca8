//! `thread show --rows`: the audit rows of one thread: committed, refused, and of what ended by
//! no turn.

use crate::args::{Global, lock_wait};
use crate::log::open::failed;
use crate::log::thread_reading::{Name, Reading};
use crate::log::{ArchiveArgs, Directory, coverage};
use crate::questions::open::open;
use crate::ui::text::actor;
use crate::ui::{Exit, Failure, Output, complain};
use crate::verbs::thread::view::title;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{InterruptionThreadCommand, ThreadCommand};
use holdpoint_domain::{ActorId, Command};
use holdpoint_engine::shell::{Origin, Submitted, user_name};
use holdpoint_replay::{ThreadRow, Until};

/// Options of `thread show --rows`.
#[derive(Debug, clap::Args)]
pub(crate) struct RowsArgs {
    /// Show the audit rows, committed and refused.
    #[arg(long, group = "form")]
    pub(super) rows: bool,
    /// Record this reading of the rows, which needs the capability for it.
    #[arg(long, requires = "rows")]
    diagnostic: bool,
    /// Reader, with --diagnostic [default: this user, as AUTOMATION].
    #[arg(long = "as", value_name = "KIND:ID", value_parser = parse_actor, requires = "diagnostic")]
    reader: Option<ActorId>,
    #[command(flatten)]
    turn: lock_wait::LockWaitArgs,
}

/// Shows the rows. Only the diagnostic mode writes, and first: the rows shown are then those before
/// the record that says so, and none where that cannot be recorded.
pub(super) fn rows(
    global: &Global,
    name: &Name,
    args: &RowsArgs,
    archives: &ArchiveArgs,
) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, archives)?;
    let mut reading = Reading::of(&directory, Until::End, &name.correlation)?;
    directory.expect_log(&reading.rebuilt.report)?;
    if args.diagnostic {
        let (tenant, _) = reading.thread(&directory, name)?;
        let sequence = record_reading(global, name, args, tenant)?;
        let until = Until::Sequence(sequence);
        reading = Reading::of(&directory, until, &name.correlation)?;
    }
    let (tenant, records) = reading.thread(&directory, name)?;
    let reach = &reading.rebuilt.report.reach;
    let rows = records.into_iter().flat_map(ThreadRow::of).map(|row| row.within(reach));
    let rows: Vec<ThreadRow<'_>> = rows.collect();
    let missing = reading.missing(&directory, &tenant, &name.correlation);
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&rows);
        missing.iter().for_each(|missing| complain(missing));
    } else {
        out.line(title(&tenant, &name.correlation));
        missing.iter().for_each(|missing| out.line(format_args!("not here: {missing}")));
        show(&mut out, &rows);
    }
    out.finish()?;
    let newest = rows.last().map_or(0, ThreadRow::sequence);
    Ok(coverage::conclude(global, &reading.rebuilt.report, newest))
}

/// Puts the reading on record, and says so. Gives the sequence of the record.
fn record_reading(
    global: &Global,
    name: &Name,
    args: &RowsArgs,
    tenant_id: String,
) -> Result<u64, Failure> {
    let engine = open(global, &args.turn)?;
    let correlation_id = name.correlation.clone();
    let default = || ActorId { kind: Actor::Automation, id: user_name() };
    let reader = args.reader.clone().unwrap_or_else(default);
    let shown = actor(&reader);
    let origin = Origin { actor: reader, correlation: correlation_id.clone(), causation: None };
    let command =
        Command::InterruptionThread(InterruptionThreadCommand::ReadAuditRows(ThreadCommand {
            tenant_id,
            correlation_id,
        }));
    let submitted = engine.submit(&origin, (), &command).map_err(|e| failed(global, e))?;
    engine.close().map_err(|error| failed(global, error))?;
    match submitted {
        Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => {
            let sequence = receipt.last_sequence;
            complain(&format!("record {sequence} says that {shown} reads the rows"));
            Ok(sequence)
        }
        Submitted::Refused(refusal) => {
            Err(Failure::new(Exit::REFUSED, refusal.code(), visible(&refusal.to_string())))
        }
    }
}

/// `HUMAN:ada`, `AGENT:planner`, `AUTOMATION:ci`.
fn parse_actor(text: &str) -> Result<ActorId, String> {
    let advice = "write it as HUMAN:ada, AGENT:planner or AUTOMATION:ci";
    let (kind, id) = text.split_once(':').ok_or(advice)?;
    let kind = Actor::from_name(kind).filter(|kind| *kind != Actor::System).ok_or(advice)?;
    if id.is_empty() {
        return Err(advice.into());
    }
    Ok(ActorId { kind, id: id.into() })
}

fn show(out: &mut Output, rows: &[ThreadRow<'_>]) {
    let header = [
        "row",
        "time",
        "turn",
        "directive",
        "reason",
        "kind",
        "work order",
        "pending",
        "policy",
        "user",
        "key",
    ];
    out.table(header, rows.iter().map(ThreadRow::cells));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_a_kind_and_an_id() {
        let reader = parse_actor("AGENT:a:b").unwrap();
        assert_eq!((reader.kind, reader.id.as_str()), (Actor::Agent, "a:b"));
        for text in ["", "ada", "human:ada", "SYSTEM:holdpoint", "HUMAN:"] {
            assert!(parse_actor(text).is_err(), "{text}");
        }
    }
}
