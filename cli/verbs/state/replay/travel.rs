//! `holdpoint replay --live` and `replay ID`: the state that a writer had, or one thing of it.

use super::Args;
use crate::args::Global;
use crate::log::at_point::{tell_place, travelled, unknown, warn_of_states};
use crate::log::position::of_value;
use crate::log::verdict::{and_permits, exit_of};
use crate::log::{Directory, coverage, not_found};
use crate::ui::{Exit, Failure, Output, excerpt, moment};
use holdpoint_domain::core::text::visible;
use holdpoint_replay::report::{Head, Verdict};
use holdpoint_replay::state::{ROOMS, doubt_of, entities_of};
use holdpoint_replay::{
    ArchivedLog, Axis, Entity, Moment, Reach, Report, Timeline, Until, find_entities, state_of,
};
use serde::Serialize;
use serde_json::{Value, json};

/// Shows the state that a writer had.
pub(super) fn live(directory: &Directory, global: &Global, args: &Args) -> Result<Exit, Failure> {
    let until = args.until.unwrap_or(Until::End);
    let (line, found) = travelled(directory, args.shortcuts, |line| line.at(until).map(Ok))?;
    let mut out = Output::stdout();
    if global.json {
        out.json(&Live { state: state_of(&found), meaning: &line.report().axes.meaning });
    } else {
        out.line(of_head(found.head().as_ref(), &line.report_on(&[&found])));
        rows(&state_of(&found)).iter().for_each(|row| out.line(row));
    }
    out.finish()?;
    if global.json {
        // The reach is no part of what a patch applies to.
        coverage::state(&line.report_on(&[&found]).reach);
    }
    Ok(end(global, until, &found, &line))
}

/// Shows what has an id, also where it had left the state.
pub(super) fn entity(
    directory: &Directory,
    global: &Global,
    args: &Args,
    wanted: &str,
) -> Result<Exit, Failure> {
    let until = args.until.unwrap_or(Until::End);
    let (line, found) =
        travelled(directory, args.shortcuts, |line| look(line, until, wanted).map(Ok))?;
    let entity = match found.1.as_slice() {
        [only] => only,
        [] => {
            let otherwise = || unknown(directory, &found.0, wanted);
            let report = line.report_on(&[&found.0]);
            return Err(not_found(&report, "what was asked for", otherwise));
        }
        several => return Err(ambiguous(several, wanted)),
    };
    let mut out = Output::stdout();
    if global.json {
        let Report { verdict, axes, reach, .. } = &line.report_on(&[&found.0]);
        let (head, meaning) = (found.0.head(), &axes.meaning);
        out.json(&StateDocument { verdict: *verdict, meaning, head, entity, reach });
    } else {
        out.line(of_head(found.0.head().as_ref(), &line.report_on(&[&found.0])));
        out.line(format_args!("{}  {}", entity.system, visible(&entity.id)));
        flat(&entity.state).iter().for_each(|row| out.line(row));
    }
    out.finish()?;
    Ok(end(global, until, &found.0, &line))
}

/// From the nearest snapshot, where the state behind it has such an entity; else it may have
/// settled before, and everything is applied.
fn look(
    line: &Timeline<'_, ArchivedLog>,
    until: Until,
    wanted: &str,
) -> Result<(Moment, Vec<Entity>), holdpoint_replay::ReadError> {
    let nearest = line.at(until)?;
    let found = find_entities(&nearest.world, wanted);
    if !found.is_empty() {
        return Ok((nearest, found));
    }
    let whole = line.at_watching(until, wanted)?;
    let found = whole.watched();
    Ok((whole, found))
}

/// What `--json` shows of a state: the state alone, to which a patch applies, and beside it what is
/// the same in all of them.
#[derive(Serialize)]
struct Live<'a> {
    #[serde(flatten)]
    state: Value,
    /// That no event was judged.
    meaning: &'a Axis,
}

/// What `--json` shows of one entity.
#[derive(Serialize)]
struct StateDocument<'a> {
    /// Of the bytes of the whole log.
    verdict: Verdict,
    /// That no event was judged.
    meaning: &'a Axis,
    /// The record that the state is the one behind.
    head: Option<Head>,
    #[serde(flatten)]
    entity: &'a Entity,
    reach: &'a Reach,
}

fn end(global: &Global, until: Until, found: &Moment, line: &Timeline<'_, ArchivedLog>) -> Exit {
    let report = line.report_on(&[found]);
    tell_place(until, found, line);
    coverage::tell_of_states(global, &report, found.sequence());
    warn_of_states(&report, &[found]);
    exit_of(&report)
}

fn of_head(head: Option<&Head>, report: &Report) -> String {
    let place = head.map_or("before the first record".to_string(), |head| {
        format!("after record {}, {}", head.sequence, moment(head.time))
    });
    format!("state {place}, chain {}, events not judged", report.verdict)
}

/// One line for each entity of a state.
fn rows(state: &Value) -> Vec<String> {
    let of_room = |room: &'static str| {
        entities_of(room, state).into_iter().map(move |(id, entity)| row(room, &id, entity))
    };
    ROOMS.into_iter().flat_map(of_room).collect()
}

fn row(room: &str, id: &str, entity: &Value) -> String {
    let text = |key: &str| entity.get(key).and_then(Value::as_str).map(String::from);
    let closed = entity.get("is_closed").and_then(Value::as_bool);
    let closed = closed.map(|is_closed| if is_closed { "ended" } else { "open" }.to_string());
    let state = text("current_state").or_else(|| text("state")).or_else(|| text("status"));
    let state = and_permits(&state.or(closed).unwrap_or_default(), doubt_of(entity));
    format!("{room:<20}  {:<44}  {}", visible(id).to_string(), visible(&state))
}

/// One line for each value, behind the way to it.
fn flat(value: &Value) -> Vec<String> {
    let mut rows = Vec::new();
    flatten("", value, &mut rows);
    rows
}

fn flatten(path: &str, value: &Value, rows: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.into() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, inner)| flatten(&below(key), inner, rows));
        }
        Value::Array(items) if !items.is_empty() => {
            let each = items.iter().enumerate();
            each.for_each(|(index, inner)| flatten(&below(&index.to_string()), inner, rows));
        }
        other => rows.push(format!("  {}  {}", visible(path), of_value(other))),
    }
}

fn ambiguous(several: &[Entity], wanted: &str) -> Failure {
    let ids: Vec<&str> = several.iter().map(|entity| entity.id.as_str()).collect();
    let shown: Vec<String> = ids.iter().map(|id| visible(id).to_string()).collect();
    let message = format!(
        "{} threads are called {}: name one of {}",
        several.len(),
        excerpt(wanted),
        shown.join(", ")
    );
    Failure::new(Exit::CONFLICT, "ambiguous", message).with("ids", json!(ids))
}
