//! An offline analysis: somebody's log, read and not written to, folded into a table.
//!
//! `cargo run -p holdpoint --example analysis -- DIRECTORY`

use holdpoint::domain::execution_loop::ExecutionLoopEvent;
use holdpoint::{Content, Event, Until, state_at};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).ok_or("name the directory of a log")?;
    println!("{}", table(Path::new(&directory))?);
    Ok(())
}

/// Commands in the order of their first run: how often each ran, and how its runs ended.
fn table(directory: &Path) -> Result<String, Box<dyn Error>> {
    let mut commands = BTreeMap::<String, Runs>::new();
    let mut lines = BTreeMap::<String, String>::new();
    // Every record is checked on the way, and none behind damage is shown.
    let rebuilt = state_at(directory, Until::End, &mut |record| {
        let Content::Event(envelope) = &record.content else { return };
        match &envelope.event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(begun)) => {
                let line = begun.command_line.to_string();
                lines.insert(begun.loop_id.to_string(), line.clone());
                let first = record.header.sequence;
                commands.entry(line).or_insert_with(|| Runs::new(first)).begun += 1;
            }
            Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(halted)) => {
                let line = lines.get(&*halted.loop_id).cloned().unwrap_or_default();
                let ended = commands.entry(line).or_insert_with(|| Runs::new(0));
                *ended.ends.entry(halted.reason.to_string()).or_default() += 1;
            }
            _ => {}
        }
    })?;
    let mut rows: Vec<_> = commands.into_iter().collect();
    rows.sort_by_key(|(_, runs)| runs.first);
    let width = rows.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).max(7);
    let mut text = format!("{:<width$}  runs  ends\n", "command");
    for (line, runs) in rows {
        let ends: Vec<_> = runs.ends.iter().map(|(end, count)| format!("{count} {end}")).collect();
        text.push_str(&format!("{line:<width$}  {:>4}  {}\n", runs.begun, ends.join(", ")));
    }
    // What the table rests on.
    text.push_str(&format!("{} records, {}", rebuilt.report.records, rebuilt.report.verdict));
    Ok(text)
}

struct Runs {
    first: u64,
    begun: u64,
    ends: BTreeMap<String, u64>,
}

impl Runs {
    const fn new(first: u64) -> Self {
        Self { first, begun: 0, ends: BTreeMap::new() }
    }
}
