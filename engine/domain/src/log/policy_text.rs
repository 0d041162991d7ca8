//! A policy as people read it, and the question whether it may be relaxed. What is asked is part of
//! the rules: an approval counts only where the question showed exactly what it approves.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::core::payload::{List, Text};
use crate::core::text::visible;
use crate::decision_point::types::{DecisionOption, Proposal};
use crate::human_decision::terms::HumanDecisionTimeout;
use crate::log::policy::GatePolicy;

/// Units of time, in milliseconds, the longest first.
const UNITS: [(u64, &str); 5] =
    [(86_400_000, "day"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];

impl GatePolicy {
    /// Lists its content, a name and a value for each line.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let time = |time: Option<HumanDecisionTimeout>| {
            time.map_or_else(|| "any".to_string(), |time| duration(time.milliseconds()))
        };
        let mut rows = Vec::from([
            ("hold", self.moments()),
            ("approvers", names(&self.approvers, "any person")),
            ("quorum", self.quorum.to_string()),
            ("authentication", self.least_proof().to_string()),
            ("separation", self.separation.to_string()),
            ("retry needs person", self.retry_needs_person.to_string()),
            ("decision timeout", time(self.decision_timeout_ms)),
            ("approval timeout", time(self.approval_timeout_ms)),
        ]);
        let lists = [
            ("escalation approvers", &self.escalation_approvers),
            ("override approvers", &self.override_approvers),
        ];
        for (name, list) in lists {
            if let Some(list) = list {
                rows.push((name, names(list, "nobody")));
            }
        }
        rows
    }

    /// Returns when a person is asked, as `default` and `--hold` have it.
    fn moments(&self) -> String {
        let after = self.after.name().to_lowercase().replace('_', "-");
        match (self.before, after.as_str()) {
            (true, "never") => "before".to_string(),
            (true, "after") => "always".to_string(),
            (true, after) => format!("before,{after}"),
            (false, after) => after.to_string(),
        }
    }
}

/// Builds the question to people before a policy is relaxed: both policies, line by line.
#[must_use]
pub fn relax_proposal(before: &GatePolicy, after: &GatePolicy) -> Proposal {
    let lines = |title: &str, policy: &GatePolicy| {
        let rows = policy.rows();
        let rows = rows.iter().map(|(name, value)| format!("  {name:<22}{value}\n"));
        core::iter::once(format!("{title}\n")).chain(rows).collect::<String>()
    };
    let context = format!("{}{}", lines("before:", before), lines("after:", after));
    let labels = ["Let the log demand less from then on", "Leave the policy as it is"];
    let options = DecisionOption::approve_or_deny(["Approve", "Deny"], labels);
    Proposal {
        prompt: "May the policy of this log be relaxed?".into(),
        context: Some(context.into()),
        options: options.into_iter().collect(),
        default_option: None,
    }
}

fn names(names: &List<Text>, nobody: &str) -> String {
    let shown: Vec<String> = names.iter().map(|name| visible(name).to_string()).collect();
    if shown.is_empty() { nobody.to_string() } else { shown.join(", ") }
}

/// A time as it may be written in a policy: `1h 30m`.
fn duration(milliseconds: u64) -> String {
    let mut left = milliseconds;
    let mut parts = Vec::new();
    for (length, unit) in UNITS {
        let (count, rest) = (left / length, left % length);
        left = rest;
        match count {
            0 => {}
            count if unit == "day" && count > 1 => parts.push(format!("{count}{unit}s")),
            count => parts.push(format!("{count}{unit}")),
        }
    }
    if parts.is_empty() { "0s".to_string() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn times_are_told_in_the_units_in_which_they_are_written() {
        for (milliseconds, told) in [
            (0, "0s"),
            (1, "1ms"),
            (600_000, "10m"),
            (5_400_250, "1h 30m 250ms"),
            (86_400_000, "1day"),
            (172_801_000, "2days 1s"),
        ] {
            assert_eq!(duration(milliseconds), told);
        }
    }
}
