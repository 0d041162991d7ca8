//! The built-in defaults are a floor too. Only the machine's file and the user's own may say less;
//! whatever else is asked for, by a project's file, the environment, input or a program that embeds
//! the engine, may only demand more. A person at a terminal may ask for less for one command.

use super::settings::{FileFault, fault_at};
use super::table::{EvidenceTable, HoldTable};
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{ApprovalPolicy, DecisionPointCommand};
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::human_decision::HoldPolicy;
use holdpoint_domain::log::Loosened;
use holdpoint_domain::{Command, World};
use toml::de::DeTable;

/// A key of a configuration, and in which direction it tightens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The key, with its table.
    pub name: &'static str,
    /// Value where nobody says anything.
    pub default: &'static str,
    /// Change that demands more.
    pub tightens: &'static str,
    /// Change that demands less than the default, and so is not for a project; empty: nothing does.
    pub loosens: &'static str,
}

/// Every key that a project's file knows.
pub const KEYS: [Key; 16] = [
    key("hold.default", "never", "more moments", ""),
    key("hold.decision_timeout", "5m", "less time", ""),
    key("hold.approval_timeout", "none", "less time", ""),
    key("hold.retry_needs_person", "true", "true", "false"),
    key("hold.approvers", "any person", "fewer names", ""),
    key("hold.quorum", "1", "more people", ""),
    key("hold.authentication", "terminal", "nothing", "os-user, none"),
    key("hold.separation", "false", "true", ""),
    key("hold.override_approvers", "nobody", "fewer names", "any name"),
    key("hold.escalation_targets", "none", "fewer targets, less time", ""),
    key("hold.show_output", "true", "false", ""),
    key("evidence.record_env", "the usual names", "fewer names", "any name"),
    key("evidence.redact", "the usual words", "more words", ""),
    key("questions.per_session", "20", "fewer", "more"),
    key("questions.per_user", "500", "fewer", "more"),
    key("questions.per_log", "1000", "fewer", "more"),
];

const fn key(
    name: &'static str,
    default: &'static str,
    tightens: &'static str,
    loosens: &'static str,
) -> Key {
    Key { name, default, tightens, loosens }
}

/// Values that hold where nobody but the machine's file and the user's own says anything.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defaults {
    /// Weakest proof of who answers that counts.
    pub authentication: Authentication,
    /// True if a retry that Phase-21 permits needs a person too.
    pub retry_needs_person: bool,
    /// People who may allow a hidden field to be shown.
    pub override_approvers: Vec<Text>,
    /// Variables that are recorded besides the usual ones.
    pub record_env: Vec<String>,
    /// Parts of the names of variables that are kept secret besides the usual ones.
    pub redact: Vec<String>,
    /// True if what a command printed may be shown while a question about it is open.
    pub show_output: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            authentication: Authentication::Terminal,
            retry_needs_person: true,
            override_approvers: Vec::new(),
            record_env: Vec::new(),
            redact: Vec::new(),
            show_output: true,
        }
    }
}

impl Defaults {
    /// The built-in ones, with what files that may say less state in their place.
    pub(super) fn over<'a>(
        files: impl Iterator<Item = (&'a HoldTable, &'a EvidenceTable)>,
    ) -> Self {
        let mut defaults = Self::default();
        let (mut proofs, mut retries) = (Vec::new(), Vec::new());
        for (hold, evidence) in files {
            proofs.extend(hold.authentication);
            retries.extend(hold.retry_needs_person);
            let named = hold.override_approvers.iter().flat_map(|names| names.iter());
            defaults.override_approvers.extend(named.cloned());
            defaults.record_env.extend(evidence.record_env.iter().cloned());
            defaults.redact.extend(evidence.redact.iter().cloned());
            defaults.show_output &= hold.show_output != Some(false);
        }
        defaults.authentication = proofs.into_iter().max().unwrap_or(defaults.authentication);
        defaults.retry_needs_person = retries.is_empty() || retries.contains(&true);
        defaults
    }

    /// The keys of a table that ask for less, with what they ask for.
    #[must_use]
    pub fn loosened_by(&self, hold: &HoldTable, evidence: &EvidenceTable) -> Vec<Loosened> {
        let mut found = Vec::new();
        let mut note = |field, expected: String, stated: String| {
            found.push(Loosened { field, expected, found: stated });
        };
        if let Some(proof) = hold.authentication.filter(|proof| *proof < self.authentication) {
            note("authentication", self.authentication.to_string(), proof.to_string());
        }
        if hold.retry_needs_person == Some(false) && self.retry_needs_person {
            note("retry_needs_person", "true".to_string(), "false".to_string());
        }
        let overriding = hold.override_approvers.as_deref().unwrap_or_default();
        if let Err(loosened) = self.check_overriding(overriding, &[]) {
            note(loosened.field, loosened.expected, loosened.found);
        }
        if hold.show_output == Some(true) && !self.show_output {
            note("show_output", "false".to_string(), "true".to_string());
        }
        let mut recorded = evidence.record_env.iter();
        if let Some(name) = recorded.find(|name| !self.record_env.contains(name)) {
            note("record_env", "the usual names".to_string(), name.clone());
        }
        found
    }

    /// Checks whether a command asks for no less.
    pub(super) fn check(&self, world: &World, command: &Command) -> Result<(), Loosened> {
        match command {
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(asked)) => {
                asked.policy.as_ref().map_or(Ok(()), |policy| self.check_approval(policy))
            }
            Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(spent)) => {
                self.check_spent(world, &spent.decision_id)
            }
            Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begun)) => {
                let (hold, gate) = (&begun.hold, &begun.gate);
                self.check_proof(gate.authentication)?;
                let is_held = hold.policy != HoldPolicy::Never;
                if is_held && self.retry_needs_person && !hold.retry_needs_person {
                    let (expected, found) = ("true".to_string(), "false".to_string());
                    return Err(Loosened { field: "retry_needs_person", expected, found });
                }
                let of_log = world.policy().override_approvers.unwrap_or_default();
                self.check_overriding(&hold.override_approvers, &of_log)?;
                let approval = begun.approval.as_ref();
                approval.map_or(Ok(()), |spent| self.check_spent(world, &spent.decision_id))
            }
            _ => Ok(()),
        }
    }

    /// Checks whether each of these may override: one whom the owners of the files name, or the
    /// policy that a person gave the log.
    fn check_overriding(&self, named: &[Text], of_log: &[Text]) -> Result<(), Loosened> {
        let may =
            |name: &Text| [&self.override_approvers, of_log].iter().any(|it| it.contains(name));
        let Some(name) = named.iter().find(|name| !may(name)) else { return Ok(()) };
        let known: Vec<&str> =
            self.override_approvers.iter().chain(of_log).map(|name| &**name).collect();
        let expected = if known.is_empty() { "nobody".to_string() } else { known.join(", ") };
        Err(Loosened { field: "override_approvers", expected, found: name.to_string() })
    }

    fn check_spent(&self, world: &World, decision_id: &str) -> Result<(), Loosened> {
        let policy = world.decision_point(decision_id).and_then(|it| it.terms.policy.as_ref());
        policy.map_or(Ok(()), |policy| self.check_approval(policy))
    }

    fn check_approval(&self, policy: &ApprovalPolicy) -> Result<(), Loosened> {
        self.check_proof(policy.authentication)?;
        if policy.allow_agents && self.authentication > Authentication::None {
            let (expected, found) = ("people".to_string(), "agents too".to_string());
            return Err(Loosened { field: "agents", expected, found });
        }
        Ok(())
    }

    fn check_proof(&self, found: Authentication) -> Result<(), Loosened> {
        if found >= self.authentication {
            return Ok(());
        }
        let expected = self.authentication.to_string();
        Err(Loosened { field: "authentication", expected, found: found.to_string() })
    }
}

/// Finds where a file says what asks for less, as a fault.
#[must_use]
pub fn fault_of(bytes: &[u8], loosened: &Loosened) -> FileFault {
    let Loosened { field, expected, found } = loosened;
    let message = format!(
        "{field}: {expected} is the least, and {found} is asked for; only \
         /etc/holdpoint/config.toml and .config/holdpoint/config.toml in the home that the user \
         database names may say less"
    );
    fault_of_key(bytes, field, &message)
}

/// A fault of what a file says under the key of this name.
#[must_use]
pub fn fault_of_key(bytes: &[u8], key: &str, message: &str) -> FileFault {
    fault_at(bytes, place_of(bytes, key), message)
}

/// Returns where the key of this name stands, whichever table it is in.
fn place_of(bytes: &[u8], field: &str) -> usize {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let Ok(root) = DeTable::parse(text) else { return 0 };
    let tables = root.get_ref().values().filter_map(|value| value.get_ref().as_table());
    let mut keys = tables.flat_map(|table| table.keys());
    let name = field.rsplit('.').next().unwrap_or(field);
    keys.find(|key| key.get_ref() == name).map_or(0, |key| key.span().start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floors::parse;

    #[derive(Debug, Default, serde::Deserialize)]
    #[serde(default)]
    struct File {
        hold: HoldTable,
        evidence: EvidenceTable,
    }

    fn read(file: &str) -> File {
        parse(file.as_bytes()).unwrap()
    }

    /// Every key of the table, with what loosens by it.
    #[test]
    fn every_key_has_a_direction_and_what_loosens_is_told_with_line_and_column() {
        let each = KEYS.iter().flat_map(|key| key.loosens.split(", ").map(move |word| (key, word)));
        for (key, word) in each {
            let (table, name) = key.name.split_once('.').unwrap();
            let value = match (word, name) {
                ("", _) | ("more", _) => continue,
                ("any name", _) => "[\"x\"]".to_string(),
                (word, "authentication") => format!("{word:?}"),
                (word, _) => word.to_string(),
            };
            let file = format!("# a file\n[{table}]\n  {name} = {value}\n");
            let read = read(&file);
            let found = Defaults::default().loosened_by(&read.hold, &read.evidence);
            assert_eq!(found.len(), 1, "{}: {found:?}", key.name);
            let fault = fault_of(file.as_bytes(), &found[0]).to_string();
            assert!(fault.starts_with(&format!("3:3: {name}: ")), "{fault}");
            // What the machine or the user says already is no less than that.
            let over = Defaults::over([(&read.hold, &read.evidence)].into_iter());
            assert_eq!(over.loosened_by(&read.hold, &read.evidence), []);
        }
        let tighter = "[hold]\ndefault = \"always\"\nauthentication = \"terminal\"\n\
                       retry_needs_person = true\noverride_approvers = []\nquorum = 1\n\
                       [evidence]\nrecord_env = []\nredact = [\"FLEET\"]\n";
        let read = read(tighter);
        assert_eq!(Defaults::default().loosened_by(&read.hold, &read.evidence), []);
    }
}
