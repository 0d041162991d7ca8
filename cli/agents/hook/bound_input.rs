//! The input of a tool, parted in what an approval is bound to and what is only shown.

use crate::args::host::Host;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::decision_point::ActionBinding;
use holdpoint_engine::shell::canonical_input;
use serde_json::{Map, Value};
use std::fmt::Display;

/// An input, parted.
pub(super) struct BoundInput {
    /// What is bound, in its canonical form.
    pub(super) bound: String,
    /// SHA-256 of that.
    digest: Digest,
    /// What is not, where there is something.
    pub(super) beside: Option<Map<String, Value>>,
    /// The fields that are not bound for this tool.
    pub(super) not_bound: &'static [&'static str],
}

impl BoundInput {
    /// Parts what a host gives to a tool. The reason why nothing can be approved for it, in words.
    pub(super) fn of(host: Host, tool: &str, written: &str) -> Result<Self, String> {
        let canonical = canonical(written)?;
        let not_bound = host.not_bound(tool);
        let (mut bound, mut beside) = (canonical, Map::new());
        if let Ok(Value::Object(mut fields)) = serde_json::from_str(&bound) {
            for name in not_bound {
                if let Some((name, value)) = fields.remove_entry(*name) {
                    beside.insert(name, value);
                }
            }
            if !beside.is_empty() {
                bound = self::canonical(&Value::Object(fields).to_string())?;
            }
        }
        let beside = Some(beside).filter(|beside| !beside.is_empty());
        Ok(Self { digest: sha256(bound.as_bytes()), bound, beside, not_bound })
    }

    /// What an approval of it is bound to.
    pub(super) fn binding(&self, tool: &str) -> ActionBinding {
        ActionBinding { tool: tool.into(), input_sha256: self.digest }
    }
}

fn canonical(written: &str) -> Result<String, String> {
    let said = |error: &dyn Display| error.to_string();
    let canonical = canonical_input(written).map_err(|error| said(&error))?;
    String::from_utf8(canonical).map_err(|error| said(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_fields_of_the_hosts_own_tools_are_not_bound() {
        let of = |host, tool, written| BoundInput::of(host, tool, written).unwrap();
        let said = r#"{"timeout":9,"command":"ls","description":"look"}"#;
        let bare = of(Host::ClaudeCode, "Bash", r#"{"command":"ls"}"#);
        let parted = of(Host::ClaudeCode, "Bash", said);
        assert_eq!((parted.bound.as_str(), parted.digest), (r#"{"command":"ls"}"#, bare.digest));
        assert_eq!(parted.beside.unwrap().len(), 2);
        for (host, tool) in [
            (Host::Codex, "Bash"),
            (Host::ClaudeCode, "bash"),
            (Host::ClaudeCode, "mcp__x__Bash"),
            (Host::GeminiCli, "mcp_run_shell_command"),
        ] {
            let whole = of(host, tool, said);
            assert!(whole.digest != bare.digest && whole.beside.is_none(), "{host} {tool}");
        }
        let background = r#"{"command":"ls","run_in_background":true}"#;
        assert_ne!(of(Host::ClaudeCode, "Bash", background).digest, bare.digest);
    }
}
