//! What a configuration file may say, and where it says something else.

use holdpoint_domain::event::{List, Text};
use holdpoint_domain::human_decision::{DecisionTimeout, EscalationTarget, HoldPolicy, HoldTerms};
use holdpoint_domain::limits::MAX_LIST_ITEMS;
use holdpoint_domain::text::{check_identifier, visible};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A whole file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Settings {
    /// When and how a person is asked.
    #[serde(deserialize_with = "hold")]
    pub(super) hold: HoldTerms,
    /// What goes on record.
    pub(super) evidence: Evidence,
}

impl Default for Settings {
    fn default() -> Self {
        Self { hold: HoldTerms::never(), evidence: Evidence::default() }
    }
}

/// What of an environment goes on record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Evidence {
    /// Variables to record besides the usual ones; a `*` at the end stands for any rest.
    #[serde(deserialize_with = "variables")]
    pub(crate) record_env: Vec<String>,
    /// Parts of the names of variables whose values are kept secret besides the usual ones.
    #[serde(deserialize_with = "variables")]
    pub(crate) redact: Vec<String>,
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileFault {
    line: usize,
    column: usize,
    message: String,
}

/// As compilers do: `line:column: what is wrong`.
impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, visible(&self.message))
    }
}

/// Reads a file.
pub(super) fn parse(bytes: &[u8]) -> Result<Settings, FileFault> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(fault(bytes, error.valid_up_to(), "this byte is not UTF-8")),
    };
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        fault(bytes, at, error.message())
    })
}

/// A fault after so many bytes. Lines and columns count from 1, columns in bytes.
fn fault(bytes: &[u8], at: usize, message: &str) -> FileFault {
    let before = bytes.get(..at).unwrap_or(bytes);
    let line = before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1);
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count().saturating_add(1);
    FileFault { line, column, message: message.to_string() }
}

/// The table `hold`, as its keys are written. A key left away is the default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hold {
    #[serde(default = "never")]
    default: Policy,
    #[serde(default = "five_minutes", deserialize_with = "timeout")]
    decision_timeout: DecisionTimeout,
    #[serde(default = "yes")]
    retry_needs_person: bool,
    #[serde(default, deserialize_with = "names")]
    approvers: List<Text>,
    #[serde(default, deserialize_with = "names")]
    override_approvers: List<Text>,
    #[serde(default)]
    escalation_targets: List<Target>,
}

/// When a person is asked, as `--hold` has it.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Policy {
    Never,
    OnFailure,
    Always,
}

/// One of `[[hold.escalation_targets]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    #[serde(deserialize_with = "name")]
    target: Text,
    #[serde(default, deserialize_with = "names")]
    approvers: List<Text>,
    #[serde(deserialize_with = "timeout")]
    timeout: DecisionTimeout,
}

fn hold<'de, D: Deserializer<'de>>(from: D) -> Result<HoldTerms, D::Error> {
    let hold = Hold::deserialize(from)?;
    let targets = hold.escalation_targets.iter().map(|entry| EscalationTarget {
        target: entry.target.clone(),
        approvers: entry.approvers.clone(),
        timeout_ms: entry.timeout,
    });
    let terms = HoldTerms {
        policy: match hold.default {
            Policy::Never => HoldPolicy::Never,
            Policy::OnFailure => HoldPolicy::OnFailure,
            Policy::Always => HoldPolicy::After,
        },
        retry_needs_person: hold.retry_needs_person,
        decision_timeout_ms: hold.decision_timeout,
        approvers: hold.approvers.clone(),
        escalation_targets: targets.collect(),
        override_approvers: hold.override_approvers.clone(),
    };
    terms.check().map_err(D::Error::custom)?;
    Ok(terms)
}

fn timeout<'de, D: Deserializer<'de>>(from: D) -> Result<DecisionTimeout, D::Error> {
    let text = String::deserialize(from)?;
    let advice = "write \"90s\", \"5m\" or \"2h 30m\"";
    let duration = humantime::parse_duration(&text).map_err(|error| {
        D::Error::custom(format!("{text:?} is no duration ({error}); {advice}"))
    })?;
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    DecisionTimeout::from_milliseconds(milliseconds).map_err(D::Error::custom)
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
    Name::deserialize(from).map(|name| name.0)
}

fn names<'de, D: Deserializer<'de>>(from: D) -> Result<List<Text>, D::Error> {
    let names = Vec::<Name>::deserialize(from)?;
    if names.len() > MAX_LIST_ITEMS {
        let found = names.len();
        return Err(D::Error::custom(format!("{found} names; the limit is {MAX_LIST_ITEMS}")));
    }
    Ok(names.into_iter().map(|name| name.0).collect())
}

/// The name of a person or target, checked where it stands.
struct Name(Text);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let checked = check_identifier("name", &text);
        checked.map_err(|fault| D::Error::custom(format!("{text:?}: {fault}")))?;
        Ok(Self(text.into()))
    }
}

/// Names of variables, or parts of them.
fn variables<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<Name>::deserialize(from)?;
    Ok(names.into_iter().map(|name| name.0.into_string()).collect())
}

const fn never() -> Policy {
    Policy::Never
}

const fn five_minutes() -> DecisionTimeout {
    DecisionTimeout::DEFAULT
}

const fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_defaults() {
        assert_eq!(parse(b""), Ok(Settings::default()));
        assert_eq!(parse(b"[hold]\n[evidence]\n"), Ok(Settings::default()));
    }

    #[test]
    fn what_a_file_may_not_say_is_told_with_line_and_column() {
        let table: [(&[u8], &str, &str); 14] = [
            (b"[hold]\nwait = 1\n", "2:1: ", "unknown field `wait`"),
            (b"x = 1", "1:1: ", "unknown field `x`"),
            (b"[hold]\ndefault = \"sometimes\"", "2:11: ", "unknown variant"),
            (b"[hold]\ndecision_timeout = \"0s\"", "2:20: ", "out of range"),
            (b"[hold]\ndecision_timeout = \"400days\"", "2:20: ", "out of range"),
            (b"[hold]\ndecision_timeout = \"-1s\"", "2:20: ", "no duration"),
            (b"[hold]\ndecision_timeout = 5", "2:20: ", "expected a string"),
            (b"[hold]\napprovers = [\"a\", \" \"]", "2:13: ", "missing or invisible"),
            (b"[hold]\napprovers = [\"SYSTEM_TIMEOUT\"]", "1:1: ", "reserved"),
            (b"[hold]\n[[hold.escalation_targets]]\ntarget = \"a\"", "2:1: ", "missing field"),
            (b"[evidence]\nredact = [\"a\\u0000b\"]", "2:10: ", "hidden character"),
            (b"[hold]\n\n[hold]\n", "3:2: ", "duplicate"),
            (b"[hold\n", "1:6: ", ""),
            (b"a = \"\xff\"", "1:6: ", "UTF-8"),
        ];
        for (file, place, message) in table {
            let found = parse(file).unwrap_err().to_string();
            assert!(found.starts_with(place), "{place}: {found}");
            assert!(found.contains(message), "{message}: {found}");
        }
    }

    #[test]
    fn more_names_than_a_record_holds_are_refused() {
        let file = format!("[hold]\napprovers = [{}]", "\"a\",".repeat(17));
        assert!(parse(file.as_bytes()).unwrap_err().to_string().contains("the limit is 16"));
    }
}
