//! `holdpoint policy show`: every layer, and what is in force.

use crate::args::Global;
use crate::log::configuration::{Configuration, Demands, HoldOptions, InForce, floors};
use crate::log::open::read_end;
use crate::log::{Directory, refuse_damaged, warn};
use crate::ui::{Exit, Failure, Output, path};
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::log::GatePolicy;
use holdpoint_engine::floors::Floors;
use serde_json::{Value, json};

/// Shows the layers, the strongest first, and what is in force. Exit 3 where there is no log, 5
/// when the layers contradict each other or the project asks for less, and 6 where the log does not
/// verify: what it demands is not known then.
pub(super) fn show(global: &Global) -> Result<Exit, Failure> {
    let floors = floors()?;
    let configuration = Configuration::load(global)?;
    let directory = Directory::open(global)?;
    let rebuilt = read_end(&directory)?;
    directory.expect_log(&rebuilt.report)?;
    refuse_damaged(&rebuilt.report)?;
    let world = &rebuilt.world;
    let demands = Demands::read(&floors, Some(world))?;
    let in_force = demands.in_force(&configuration, &HoldOptions::default())?;
    let mut out = Output::stdout().folding();
    match global.json {
        true => out.json(&value(&floors, &demands, &in_force, world)),
        false => told(&mut out, &floors, &demands, &in_force, world),
    }
    out.finish()?;
    warn(&rebuilt.report);
    Ok(Exit::DONE)
}

fn value(floors: &Floors, demands: &Demands, in_force: &InForce, world: &World) -> Value {
    let layers = demands.layers().iter().map(|layer| {
        let (floor, source) = (&layer.floor, &layer.source);
        json!({ "floor": floor, "source": source, "policy": layer.policy })
    });
    let pinned = floors.each().iter().filter_map(|floor| Some((floor.name(), floor.log.as_ref()?)));
    let pins = pinned.map(|(floor, log)| json!({ "floor": floor, "log": log.to_string_lossy() }));
    json!({
        "layers": layers.collect::<Vec<_>>(),
        "pinned": pins.collect::<Vec<_>>(),
        "lost": world.is_policy_lost(),
        "in_force": in_force.policy,
        "approval": in_force.approval,
        "approval_timeout_ms": in_force.approval_timeout,
        "sources": in_force.gate.sources,
    })
}

fn told(out: &mut Output, floors: &Floors, demands: &Demands, in_force: &InForce, world: &World) {
    for layer in demands.layers() {
        out.line(visible(&layer.source));
        show_policy(out, stated_rows(&layer.policy));
    }
    for floor in floors.each() {
        if let Some(log) = &floor.log {
            out.line(format_args!("{}: only the log {}", floor.name(), path(log)));
        }
    }
    if world.is_policy_lost() {
        out.line(
            "records of the log are unproven, or may be lost, and its policy may be among them: \
             nothing begins before a person sets one, with all that the lost one demanded \
             (`holdpoint policy set`)",
        );
    }
    out.line("in force");
    show_policy(out, in_force.policy.rows());
    for source in in_force.gate.sources.iter() {
        out.line(format_args!("  {:<22}{}", "from", visible(source)));
    }
}

/// What a layer says, a name and a value for each line. What it does not state is left to others:
/// their word counts in what is in force.
pub(super) fn stated_rows(policy: &GatePolicy) -> Vec<(&'static str, String)> {
    let takes_claims = policy.authentication.is_none() && policy.is_none();
    let is_unstated = |name: &str| match name {
        "authentication" => takes_claims,
        "retry needs person" => !policy.retry_needs_person,
        _ => false,
    };
    let told = |(name, value)| (name, if is_unstated(name) { "any".to_string() } else { value });
    policy.rows().into_iter().map(told).collect()
}

fn show_policy(out: &mut Output, rows: Vec<(&'static str, String)>) {
    for (name, value) in rows {
        out.line(format_args!("  {name:<22}{value}"));
    }
}
