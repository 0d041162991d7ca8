//! `holdpoint config check`: what is in force.

use super::Configuration;
use crate::arguments::Global;
use crate::exit::{Exit, Failure, settle};
use crate::output::Output;
use crate::text::path;
use holdpoint_domain::event::{List, Text};
use holdpoint_domain::text::visible;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `config check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to check, instead of the one that would be used.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Shows what is in force. Exit 2 when the file says something that it may not, with line and
/// column; 3 when there is no such file.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, check(global, args))
}

fn check(global: &Global, args: Args) -> Result<Exit, Failure> {
    let configuration = match args.file {
        Some(file) => Configuration::read(&file)?,
        None => Configuration::load(global)?,
    };
    let mut out = Output::stdout();
    if global.json {
        out.json(&Shown::of(&configuration));
    } else {
        show(&mut out, &configuration);
    }
    out.finish()?;
    Ok(Exit::DONE)
}

/// What a program is told.
#[derive(Serialize)]
struct Shown<'a> {
    file: Option<String>,
    sha256: Option<String>,
    #[serde(flatten)]
    settings: &'a super::file::Settings,
}

impl<'a> Shown<'a> {
    fn of(configuration: &'a Configuration) -> Self {
        Self {
            file: configuration.file.as_deref().map(|file| file.to_string_lossy().into_owned()),
            sha256: configuration.digest.map(|digest| digest.to_string()),
            settings: &configuration.settings,
        }
    }
}

fn show(out: &mut Output, configuration: &Configuration) {
    let file = configuration.file.as_deref().map_or("none: these are the defaults".into(), path);
    row(out, "file", file);
    if let Some(digest) = configuration.digest {
        row(out, "sha256", digest);
    }
    let hold = configuration.terms();
    row(out, "hold", hold.policy.name().to_lowercase().replace('_', "-"));
    row(out, "decision timeout", duration(hold.decision_timeout_ms.milliseconds()));
    row(out, "retry needs person", hold.retry_needs_person);
    row(out, "approvers", names(&hold.approvers, "any person"));
    row(out, "override approvers", names(&hold.override_approvers, "nobody"));
    for entry in hold.escalation_targets.iter() {
        let approvers = names(&entry.approvers, &entry.target);
        let timeout = duration(entry.timeout_ms.milliseconds());
        row(
            out,
            "escalation target",
            format!("{}: {approvers}, {timeout}", visible(&entry.target)),
        );
    }
    let evidence = configuration.evidence();
    row(out, "record env", listed(&evidence.record_env, "the usual names"));
    row(out, "redact", listed(&evidence.redact, "the usual words"));
}

fn row(out: &mut Output, name: &str, value: impl std::fmt::Display) {
    out.line(format_args!("{name:<20}{value}"));
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
