//! The table `hold`, as policies and projects write it. Every key may be left away.

use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::limits::MAX_LIST_ITEMS;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::core::text::{check_identifier, is_reserved_name};
use holdpoint_domain::human_decision::{
    EscalationTarget, HoldPolicy, HoldTerms, HumanDecisionTimeout,
};
use holdpoint_domain::log::GatePolicy;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::str::FromStr;
use std::time::Duration;

/// Statements of when a person is asked, who may answer, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HoldTable {
    /// Moments at which a person is asked.
    #[serde(rename = "default")]
    pub moments: Option<Moments>,
    /// Time that a person has after an attempt.
    #[serde(deserialize_with = "timeout")]
    pub decision_timeout: Option<HumanDecisionTimeout>,
    /// Time that people have before a start.
    #[serde(deserialize_with = "timeout")]
    pub approval_timeout: Option<HumanDecisionTimeout>,
    /// True if a retry that Phase-21 permits needs a person too.
    pub retry_needs_person: Option<bool>,
    /// People who may answer; empty: anybody.
    #[serde(deserialize_with = "names")]
    pub approvers: Option<List<Text>>,
    /// Number of people that have to approve a start.
    pub quorum: Option<u8>,
    /// Weakest proof of who answers that counts.
    #[serde(deserialize_with = "proof")]
    pub authentication: Option<Authentication>,
    /// True if only another user than the one who asks may answer.
    pub separation: Option<bool>,
    /// People who may allow a hidden field to be shown.
    #[serde(deserialize_with = "names")]
    pub override_approvers: Option<List<Text>>,
    /// To whom a question may be passed on.
    #[serde(deserialize_with = "targets")]
    pub escalation_targets: Option<List<EscalationTarget>>,
    /// True if what a command printed may be shown while a question about it is open.
    pub show_output: Option<bool>,
}

/// Moments at which a person is asked: `never`, or any of `before` and `on-failure` or `after`,
/// with commas between them; `always` is `before,after`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Before the first attempt.
    pub before: bool,
    /// After an attempt.
    pub after: Option<HoldPolicy>,
}

impl FromStr for Moments {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut moments = Self::default();
        for word in text.split(',').map(str::trim) {
            let (before, after) = match word {
                "never" if text.trim() == word => (false, Some(HoldPolicy::Never)),
                "before" => (true, None),
                "on-failure" => (false, Some(HoldPolicy::OnFailure)),
                "after" => (false, Some(HoldPolicy::After)),
                "always" => (true, Some(HoldPolicy::After)),
                _ => {
                    let known = "never, before, on-failure, after, before,on-failure or always";
                    return Err(format!("{text:?} is no moment: write {known}"));
                }
            };
            moments.before |= before;
            moments.after = moments.after.max(after);
        }
        Ok(moments)
    }
}

impl Moments {
    /// Before the first attempt and after an attempt, stated over a policy: what is stated is added
    /// to its moments, but for `never`.
    #[must_use]
    pub fn over(self, policy: &GatePolicy) -> (bool, HoldPolicy) {
        match self {
            Self { before: false, after: Some(HoldPolicy::Never) } => (false, HoldPolicy::Never),
            Self { before, after } => (policy.before || before, after.unwrap_or(policy.after)),
        }
    }
}

impl<'de> Deserialize<'de> for Moments {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl HoldTable {
    /// Returns what it demands.
    #[must_use]
    pub fn policy(&self) -> GatePolicy {
        let moments = self.moments.unwrap_or_default();
        GatePolicy {
            before: moments.before,
            after: moments.after.unwrap_or(HoldPolicy::Never),
            approvers: self.approvers.clone().unwrap_or_default(),
            quorum: self.quorum.unwrap_or(1),
            authentication: self.authentication,
            separation: self.separation.unwrap_or(false),
            retry_needs_person: self.retry_needs_person.unwrap_or(false),
            decision_timeout_ms: self.decision_timeout,
            approval_timeout_ms: self.approval_timeout,
            escalation_approvers: self.escalation_targets.as_deref().map(names_of),
            override_approvers: self.override_approvers.clone(),
        }
    }
}

/// Parts of an environment that go on record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvidenceTable {
    /// Variables to record besides the usual ones; a `*` at the end stands for any rest.
    #[serde(deserialize_with = "variables")]
    pub record_env: Vec<String>,
    /// Parts of the names of variables whose values are kept secret besides the usual ones.
    #[serde(deserialize_with = "variables")]
    pub redact: Vec<String>,
}

/// Names of variables, or parts of them.
fn variables<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<VariableName>::deserialize(from)?;
    Ok(names.into_iter().map(|name| name.0).collect())
}

/// The name of a variable, checked where it stands.
struct VariableName(String);

impl<'de> Deserialize<'de> for VariableName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let checked = check_identifier("name", &text);
        checked.map_err(|fault| D::Error::custom(format!("{text:?}: {fault}")))?;
        Ok(Self(text))
    }
}

/// Everybody to whom a question may be passed on.
#[must_use]
pub(crate) fn names_of(targets: &[EscalationTarget]) -> List<Text> {
    let names = targets.iter().flat_map(|entry| match entry.approvers.is_empty() {
        true => vec![entry.target.clone()],
        false => entry.approvers.to_vec(),
    });
    each_once(names).into_iter().collect()
}

/// Each name once, where it stands first.
#[must_use]
pub fn each_once(names: impl IntoIterator<Item = Text>) -> Vec<Text> {
    let mut once: Vec<Text> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// One of `[[hold.escalation_targets]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetTable {
    target: Name,
    #[serde(default, deserialize_with = "names")]
    approvers: Option<List<Text>>,
    timeout: Time,
}

fn targets<'de, D: Deserializer<'de>>(from: D) -> Result<Option<List<EscalationTarget>>, D::Error> {
    let read = Vec::<TargetTable>::deserialize(from)?;
    check_count::<D>(read.len())?;
    let targets = read.into_iter().map(|entry| EscalationTarget {
        target: entry.target.0,
        approvers: entry.approvers.unwrap_or_default(),
        timeout_ms: entry.timeout.0,
    });
    let escalation_targets: List<EscalationTarget> = targets.collect();
    let terms = HoldTerms { escalation_targets, ..HoldTerms::never() };
    terms.check().map_err(D::Error::custom)?;
    Ok(Some(terms.escalation_targets))
}

/// A length of time, as `90s`.
struct Time(HumanDecisionTimeout);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let advice = "write \"90s\", \"5m\" or \"2h 30m\"";
        let duration = humantime::parse_duration(&text).map_err(|error| {
            D::Error::custom(format!("{text:?} is no duration ({error}); {advice}"))
        })?;
        milliseconds(duration).map(Self).map_err(D::Error::custom)
    }
}

fn milliseconds(duration: Duration) -> Result<HumanDecisionTimeout, String> {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    HumanDecisionTimeout::from_milliseconds(milliseconds).map_err(|fault| fault.to_string())
}

fn timeout<'de, D: Deserializer<'de>>(from: D) -> Result<Option<HumanDecisionTimeout>, D::Error> {
    Time::deserialize(from).map(|time| Some(time.0))
}

/// Proof of who answers, as options have it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Proof {
    #[serde(alias = "claimed")]
    None,
    OsUser,
    Terminal,
}

fn proof<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Authentication>, D::Error> {
    Ok(Some(match Proof::deserialize(from)? {
        Proof::None => Authentication::None,
        Proof::OsUser => Authentication::OsUser,
        Proof::Terminal => Authentication::Terminal,
    }))
}

fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Option<List<Text>>, D::Error> {
    let names = Vec::<Name>::deserialize(from)?;
    check_count::<D>(names.len())?;
    Ok(Some(each_once(names.into_iter().map(|Name(name)| name)).into_iter().collect()))
}

fn check_count<'de, D: Deserializer<'de>>(found: usize) -> Result<(), D::Error> {
    match found > MAX_LIST_ITEMS {
        true => Err(D::Error::custom(format!("{found} entries; the limit is {MAX_LIST_ITEMS}"))),
        false => Ok(()),
    }
}

/// The name of a person or target, checked where it stands.
struct Name(Text);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let checked = check_identifier("name", &text);
        checked.map_err(|fault| D::Error::custom(format!("{text:?}: {fault}")))?;
        if is_reserved_name(&text) {
            return Err(D::Error::custom(format!("{text} is reserved for timeouts")));
        }
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_with_commas_between_them() {
        use HoldPolicy::{After, Never, OnFailure};
        for (text, before, after) in [
            ("never", false, Some(Never)),
            ("before", true, None),
            ("on-failure", false, Some(OnFailure)),
            ("before, on-failure", true, Some(OnFailure)),
            ("after,on-failure", false, Some(After)),
            ("always", true, Some(After)),
        ] {
            assert_eq!(text.parse(), Ok(Moments { before, after }), "{text}");
        }
        for text in ["", ",", "never,after", "Always", "before after"] {
            assert!(text.parse::<Moments>().is_err(), "{text:?}");
        }
    }
}
