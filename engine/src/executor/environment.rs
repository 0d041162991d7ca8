//! Part of an environment that goes on record, and what of it is kept secret.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::secrets::{is_secret_name, is_secret_value};
use super::variable::Variable;

/// The names recorded by default; a `*` at the end stands for any rest.
const ALLOWED: [&str; 18] = [
    "CI",
    "COLUMNS",
    "HOME",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LINES",
    "LOGNAME",
    "NO_COLOR",
    "PATH",
    "PWD",
    "SHELL",
    "SOURCE_DATE_EPOCH",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];

/// A recorded value of the environment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShownValue {
    /// The value itself.
    Shown(OsString),
    /// There was a value; nothing of it is kept, neither in clear nor in a hash.
    Redacted,
}

/// Chooses the variables that go on record. Every other variable leaves no trace there; the
/// command gets all of them in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    allowed: Vec<OsString>,
    /// Parts of names, in capitals, besides the usual words.
    redacted: Vec<Vec<u8>>,
    /// Names that do not go on record, whatever else is said of them.
    omitted: Vec<OsString>,
}

impl Default for EnvironmentPolicy {
    /// The usual names that change what a command does (`PATH`, `HOME`, `LANG`, `LC_*`, `TZ`,
    /// `CI`, ...). Secret are values whose names have one of the usual words among theirs (`TOKEN`,
    /// `SECRET`, `PASS`, `KEY`, `DATABASE_URL`, ...), and values that look like a secret: a URL
    /// with a password, a token of a known form, a private key.
    fn default() -> Self {
        let allowed = ALLOWED.iter().map(OsString::from).collect();
        Self { allowed, redacted: Vec::new(), omitted: Vec::new() }
    }
}

impl EnvironmentPolicy {
    /// Records the variables of this name as well; a `*` at the end stands for any rest.
    pub fn allow(mut self, name: impl Into<OsString>) -> Self {
        self.allowed.push(name.into());
        self
    }

    /// Keeps the values of variables secret whose names contain this part, in any case of ASCII
    /// letters. This goes before any name that is allowed.
    pub fn redact(mut self, part: impl AsRef<OsStr>) -> Self {
        self.redacted.push(part.as_ref().as_bytes().to_ascii_uppercase());
        self
    }

    /// Leaves the variable of this name out of the record, whatever names are allowed.
    pub fn omit(mut self, name: impl Into<OsString>) -> Self {
        self.omitted.push(name.into());
        self
    }

    /// A value as it may be shown, whether or not its name is recorded: a secret is kept out.
    pub fn reveal(&self, name: &OsStr, value: &OsStr) -> ShownValue {
        self.shown(name, value)
    }

    /// The part of an environment that goes on record. Of two values for one name the first one
    /// counts, as `getenv` finds it.
    pub fn record(&self, environment: &[Variable]) -> BTreeMap<OsString, ShownValue> {
        let pairs = environment.iter().rev().filter_map(Variable::pair);
        let allowed = pairs.filter(|(name, _)| self.allows(name));
        allowed.map(|(name, value)| (name.to_os_string(), self.shown(name, value))).collect()
    }

    fn allows(&self, name: &OsStr) -> bool {
        if self.omitted.iter().any(|omitted| omitted == name) {
            return false;
        }
        let name = name.as_bytes();
        self.allowed.iter().any(|pattern| match pattern.as_bytes().split_last() {
            Some((b'*', beginning)) => name.starts_with(beginning),
            _ => name == pattern.as_bytes(),
        })
    }

    fn shown(&self, name: &OsStr, value: &OsStr) -> ShownValue {
        if self.redacts(name)
            || is_secret_name(name.as_bytes())
            || is_secret_value(value.as_bytes())
        {
            return ShownValue::Redacted;
        }
        ShownValue::Shown(value.to_os_string())
    }

    fn redacts(&self, name: &OsStr) -> bool {
        let name = name.as_bytes().to_ascii_uppercase();
        self.redacted.iter().any(|part| {
            part.is_empty() || name.windows(part.len()).any(|window| window == part.as_slice())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(policy: &EnvironmentPolicy, name: &str) -> Option<ShownValue> {
        let environment = [Variable::new(name, "v")];
        policy.record(&environment).remove(OsStr::new(name))
    }

    #[test]
    fn names_outside_the_list_leave_no_trace() {
        let policy = EnvironmentPolicy::default();
        assert_eq!(recorded(&policy, "PATH"), Some(ShownValue::Shown("v".into())));
        assert_eq!(recorded(&policy, "LC_TIME"), Some(ShownValue::Shown("v".into())));
        assert_eq!(recorded(&policy, "PATHS"), None);
        assert_eq!(recorded(&policy, "GITHUB_TOKEN"), None);
    }

    #[test]
    fn a_secret_name_is_redacted_in_any_case_even_when_allowed() {
        let policy = EnvironmentPolicy::default().allow("*").redact("fleet");
        for name in ["GITHUB_TOKEN", "db_Password", "SSH_AUTH_SOCK", "MY_FLEET_ID"] {
            assert_eq!(recorded(&policy, name), Some(ShownValue::Redacted), "{name}");
        }
        for name in ["EDITOR", "PATH", "PWD", "OLDPWD", "COMPASS"] {
            assert_eq!(recorded(&policy, name), Some(ShownValue::Shown("v".into())), "{name}");
        }
        let strict = policy.redact("path").redact("");
        assert_eq!(recorded(&strict, "PATH"), Some(ShownValue::Redacted));
    }

    #[test]
    fn a_secret_value_is_redacted_whatever_its_name() {
        for name in ["HOME", "EDITOR", "PROXY", "PATH"] {
            let value = "http://me:hush@proxy:3128";
            let environment = [Variable::new(name, value)];
            let shown = EnvironmentPolicy::default().allow("*").record(&environment);
            assert_eq!(shown.get(OsStr::new(name)), Some(&ShownValue::Redacted), "{name}");
        }
    }
}
