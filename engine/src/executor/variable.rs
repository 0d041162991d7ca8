//! One entry of an environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use serde::{Deserialize, Serialize};

/// An entry of an environment, as a process is given it: `NAME=value` in bytes. One without a `=`
/// has a name and no value; the system takes it as any other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Variable(OsString);

impl Variable {
    /// A name and its value.
    #[must_use]
    pub fn new(name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        Self([name.as_ref(), OsStr::new("="), value.as_ref()].into_iter().collect())
    }

    /// An entry as it stands in an environment.
    #[must_use]
    pub const fn of_entry(entry: OsString) -> Self {
        Self(entry)
    }

    /// The entry as it stands in an environment.
    #[must_use]
    pub fn entry(&self) -> &OsStr {
        &self.0
    }

    /// Returns what stands before the first `=`.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        self.parts().0
    }

    /// Returns what stands behind the first `=`; `None` where there is none.
    #[must_use]
    pub fn value(&self) -> Option<&OsStr> {
        self.parts().1
    }

    /// Name and value of an entry that has both.
    pub(crate) fn pair(&self) -> Option<(&OsStr, &OsStr)> {
        let (name, value) = self.parts();
        value.map(|value| (name, value))
    }

    fn parts(&self) -> (&OsStr, Option<&OsStr>) {
        let bytes = self.0.as_bytes();
        let end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
        let (name, rest) = bytes.split_at_checked(end).unwrap_or((bytes, b""));
        (OsStr::from_bytes(name), rest.strip_prefix(b"=").map(OsStr::from_bytes))
    }
}

impl<N: AsRef<OsStr>, V: AsRef<OsStr>> From<(N, V)> for Variable {
    fn from((name, value): (N, V)) -> Self {
        Self::new(name, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_its_bytes_say_and_given_back_as_it_was() {
        for (entry, name, value) in [
            ("A=b", "A", Some("b")),
            ("A=b=c", "A", Some("b=c")),
            ("A=", "A", Some("")),
            ("A", "A", None),
            ("=A", "", Some("A")),
            ("", "", None),
        ] {
            let variable = Variable::of_entry(entry.into());
            assert_eq!(variable.name(), name, "{entry}");
            assert_eq!(variable.value(), value.map(OsStr::new), "{entry}");
            assert_eq!(variable.entry(), entry);
        }
        assert_eq!(Variable::from(("A", "b")).entry(), "A=b");
    }
}
