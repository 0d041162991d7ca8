//! What a run is called: labels that whoever starts it gives, the machine that it is started on,
//! and those of a continuous integration that starts it. They are claims.

use crate::ui::{Exit, Failure, complain, counted};
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::log::{MAX_LABELS, RecordsLabelled};
use rustix::system::uname;
use std::collections::BTreeMap;

/// The label that names the machine.
pub(crate) const HOST: &str = "host";

/// Bytes of a refused label that are shown.
const SHOWN: usize = 64;

/// Which labels say what is built, and by which variables the usual services tell it: the first one
/// that is there is taken.
const OF_INTEGRATION: [(&str, &[&str]); 2] = [
    (
        "commit",
        &[
            "GITHUB_SHA",
            "CI_COMMIT_SHA",
            "GIT_COMMIT",
            "BUILDKITE_COMMIT",
            "CIRCLE_SHA1",
            "TRAVIS_COMMIT",
            "BITBUCKET_COMMIT",
            "DRONE_COMMIT_SHA",
            "BUILD_SOURCEVERSION",
        ],
    ),
    (
        "branch",
        &[
            "GITHUB_REF_NAME",
            "CI_COMMIT_REF_NAME",
            "GIT_BRANCH",
            "BUILDKITE_BRANCH",
            "CIRCLE_BRANCH",
            "TRAVIS_BRANCH",
            "BITBUCKET_BRANCH",
            "DRONE_BRANCH",
            "BUILD_SOURCEBRANCHNAME",
        ],
    ),
];

/// Options that say what a run is called.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LabelArgs {
    /// Label the run: `env=prod`; at most 32, each name and value up to 256 bytes. Labels are
    /// unverified. `host` is added, and under continuous integration `commit` and `branch`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse, conflicts_with = "resume")]
    label: Vec<(String, String)>,
}

/// A label as it is given on the command line.
pub(crate) fn parse(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE, such as env=prod")?;
    check(name, value)?;
    Ok((name.to_string(), value.to_string()))
}

fn check(name: &str, value: &str) -> Result<(), String> {
    RecordsLabelled::of(0, [(name, value)]).check().map_err(|wrong| wrong.to_string())
}

impl LabelArgs {
    /// All labels of the run: those that are given, and where they say nothing of it, what this
    /// machine calls itself and what the environment tells of a continuous integration.
    pub(crate) fn all(&self) -> Result<BTreeMap<String, String>, Failure> {
        let mut labels = BTreeMap::new();
        for (name, value) in &self.label {
            if labels.insert(name.clone(), value.clone()).is_some() {
                let name = visible(name).to_string();
                return Err(bad(format!("--label {name} is given twice: give each name once")));
            }
        }
        if labels.len() > MAX_LABELS {
            let found = counted(labels.len() as u64, "label");
            return Err(bad(format!("{found}; a run has at most {MAX_LABELS}: leave some away")));
        }
        let machine = uname().nodename().to_str().map(str::to_string).ok();
        add(&mut labels, HOST, "the name of this machine", machine);
        add_integration(&mut labels, &|variable| {
            Some(std::env::var_os(variable)?.into_string().ok())
        });
        Ok(labels)
    }
}

/// As what the command line is told with that is not understood, of which this is a part.
fn bad(message: String) -> Failure {
    let message = format!("{message}; the command was not started");
    Failure::new(Exit::USAGE, "bad_label", message)
}

/// Adds what a continuous integration says, by its variables: `None` is no such variable, the inner
/// one a value that is no text.
fn add_integration(
    labels: &mut BTreeMap<String, String>,
    of: &dyn Fn(&str) -> Option<Option<String>>,
) {
    for (name, variables) in OF_INTEGRATION {
        let found = variables.iter().find_map(|variable| Some((variable, of(variable)?)));
        if let Some((variable, value)) = found {
            add(labels, name, variable, value);
        }
    }
}

/// Adds a label that nobody gave; `None` is a value that is no text. What cannot be one is told and
/// left away: it must not keep a command from starting.
fn add(labels: &mut BTreeMap<String, String>, name: &str, whence: &str, value: Option<String>) {
    if labels.contains_key(name) {
        return;
    }
    let value = value.unwrap_or_default();
    if labels.len() >= MAX_LABELS || check(name, &value).is_err() {
        let shown = visible(bounded(&value, SHOWN));
        return complain(&format!(
            "{whence} is not recorded as a label: {shown} cannot be one more"
        ));
    }
    labels.insert(name.to_string(), value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_name_and_a_value_within_their_bounds() {
        assert_eq!(parse("env=a=b"), Ok(("env".to_string(), "a=b".to_string())));
        let long = format!("env={}", "x".repeat(10 << 10));
        for wrong in ["env", "=prod", "env=", "env=a\nb", "e\u{202e}nv=a", &long] {
            assert!(parse(wrong).is_err(), "{wrong:.20}");
        }
    }

    #[test]
    fn a_continuous_integration_names_what_is_built_where_nobody_else_does() {
        let of = |variable: &str| match variable {
            "CI_COMMIT_SHA" => Some(Some("c0ffee".to_string())),
            "GIT_BRANCH" => Some(Some("ma\tin".to_string())),
            _ => None,
        };
        let mut labels = BTreeMap::new();
        add_integration(&mut labels, &of);
        assert_eq!(labels, [("commit".to_string(), "c0ffee".to_string())].into());
        let mut given: BTreeMap<_, _> = [("commit".to_string(), "mine".to_string())].into();
        add_integration(&mut given, &of);
        assert_eq!(given["commit"], "mine");
    }
}
