//! `doctor config`: what is in force, and where it comes from.

use crate::args::Global;
use crate::log::configuration::Demands;
use crate::log::configuration::{Configuration, floors};
use crate::log::configuration::{HoldOptions, InForce};
use crate::log::open::read_end;
use crate::log::{Directory, refuse_damaged};
use crate::ui::{Exit, Failure, Output, path};
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::human_decision::HoldTerms;
use holdpoint_domain::log::{GatePolicy, GateTerms};
use holdpoint_engine::floors::EvidenceTable;
use serde::Serialize;
use std::time::Duration;

/// Shows what is in force. Exit 2 when the file says something that it may not, with line and
/// column; 3 when there is no such file; 5 when it asks for less than is demanded; 6 where the log
/// does not verify. A log that is not there yet demands nothing.
pub(super) fn check(global: &Global) -> Result<Exit, Failure> {
    let configuration = Configuration::load(global)?;
    let floors = floors()?;
    let rebuilt = read_end(&Directory::open(global)?)?;
    refuse_damaged(&rebuilt.report)?;
    let demands = Demands::read(&floors, Some(&rebuilt.world))?;
    let in_force = demands.in_force(&configuration, &HoldOptions::default())?;
    let evidence = configuration.evidence_over(floors.defaults());
    let show_output = configuration.shows_output()?;
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&ConfigurationDocument::of(&configuration, &in_force, (&evidence, show_output)));
    } else {
        show(&mut out, &configuration, &in_force, (&evidence, show_output));
    }
    out.finish()?;
    Ok(Exit::DONE)
}

/// What a program is told.
#[derive(Serialize)]
struct ConfigurationDocument<'a> {
    file: Option<String>,
    sha256: Option<String>,
    hold: &'a HoldTerms,
    gate: &'a GateTerms,
    policy: &'a GatePolicy,
    evidence: &'a EvidenceTable,
    /// True if what a command printed may be shown while a question about it is open.
    show_output: bool,
}

impl<'a> ConfigurationDocument<'a> {
    fn of(
        configuration: &'a Configuration,
        in_force: &'a InForce,
        (evidence, show_output): (&'a EvidenceTable, bool),
    ) -> Self {
        Self {
            file: configuration.file.as_deref().map(|file| file.to_string_lossy().into_owned()),
            sha256: configuration.digest.map(|digest| digest.to_string()),
            hold: &in_force.hold,
            gate: &in_force.gate,
            policy: &in_force.policy,
            evidence,
            show_output,
        }
    }
}

fn show(
    out: &mut Output,
    configuration: &Configuration,
    in_force: &InForce,
    (evidence, show_output): (&EvidenceTable, bool),
) {
    let file = configuration.file.as_deref().map_or("none".into(), path);
    row(out, "file", file);
    if let Some(digest) = configuration.digest {
        row(out, "sha256", digest);
    }
    for (name, value) in in_force.policy.rows() {
        row(out, name, value);
    }
    for entry in in_force.hold.escalation_targets.iter() {
        let approvers = names(&entry.approvers, &entry.target);
        let timeout = duration(entry.timeout_ms.milliseconds());
        let target = visible(&entry.target);
        row(out, "escalation target", format!("{target}: {approvers}, {timeout}"));
    }
    row(out, "show output", show_output);
    row(out, "record env", listed(&evidence.record_env, "the usual names"));
    row(out, "redact", listed(&evidence.redact, "the usual words"));
    for source in in_force.gate.sources.iter() {
        row(out, "from", visible(source));
    }
}

fn row(out: &mut Output, name: &str, value: impl std::fmt::Display) {
    out.line(format_args!("{name:<22}{value}"));
}

fn names(names: &List<Text>, nobody: &str) -> String {
    let shown: Vec<String> = names.iter().map(|name| visible(name).to_string()).collect();
    if shown.is_empty() { visible(nobody).to_string() } else { shown.join(", ") }
}

/// The usual ones are always among them.
fn listed(names: &[String], usual: &str) -> String {
    let more: Vec<String> = names.iter().map(|name| visible(name).to_string()).collect();
    std::iter::once(usual.to_string()).chain(more).collect::<Vec<_>>().join(", ")
}

fn duration(milliseconds: u64) -> String {
    humantime::format_duration(Duration::from_millis(milliseconds)).to_string()
}
