//! Exact command that was asked to be run, as one value with one hash.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use holdpoint_log_format::instruction::{ENVELOPE_TAG, InstructionParts};
use sha2::{Digest, Sha256};

use super::command::CommandSpec;
use super::environment::{EnvironmentPolicy, ShownValue};

/// The exact command, working directory and recorded part of the environment of one execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionEnvelope {
    /// The program as it was named.
    pub program: OsString,
    /// The arguments after the program's name.
    pub arguments: Vec<OsString>,
    /// The working directory.
    pub directory: PathBuf,
    /// The recorded variables, by name.
    pub environment: BTreeMap<OsString, ShownValue>,
}

impl InstructionEnvelope {
    /// The envelope of a command, with that part of its environment that the policy records.
    pub fn of(spec: &CommandSpec, policy: &EnvironmentPolicy) -> Self {
        Self {
            program: spec.program.clone(),
            arguments: spec.arguments.clone(),
            directory: spec.directory.clone(),
            environment: policy.record(&spec.environment),
        }
    }

    /// The canonical encoding: equal for equal envelopes, and different for different ones.
    ///
    /// Tag and version; then the program, the number of arguments, each argument, the directory,
    /// the number of variables, and for each in the order of names: the name, one byte for
    /// redacted (0) or shown (1), and the value if shown. Every text is its length and its bytes;
    /// every number and length has eight bytes, little-endian.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = ENVELOPE_TAG.to_vec();
        push_text(&mut bytes, &self.program);
        push_number(&mut bytes, self.arguments.len());
        self.arguments.iter().for_each(|argument| push_text(&mut bytes, argument));
        push_text(&mut bytes, self.directory.as_os_str());
        push_number(&mut bytes, self.environment.len());
        for (name, value) in &self.environment {
            push_text(&mut bytes, name);
            match value {
                ShownValue::Redacted => bytes.push(0),
                ShownValue::Shown(value) => {
                    bytes.push(1);
                    push_text(&mut bytes, value);
                }
            }
        }
        bytes
    }

    /// The envelope that an encoding is of. `None`: it is none of this version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let parts = InstructionParts::decode(bytes)?;
        let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_os_string();
        let mut words = parts.words.into_iter().map(text);
        let value = |value: Option<&[u8]>| {
            value.map_or(ShownValue::Redacted, |value| ShownValue::Shown(text(value)))
        };
        let environment = parts.environment.into_iter();
        Some(Self {
            program: words.next()?,
            arguments: words.collect(),
            directory: text(parts.directory).into(),
            environment: environment.map(|(name, it)| (text(name), value(it))).collect(),
        })
    }

    /// SHA-256 of the canonical encoding.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.encode()).into()
    }

    /// The hash as 64 lower-case hexadecimal digits.
    pub fn hex(&self) -> String {
        base16ct::lower::encode_string(&self.hash())
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &OsStr) {
    push_number(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

fn push_number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&(number as u64).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;
    use crate::executor::Variable;

    fn envelope(program: &str, arguments: &[&str]) -> InstructionEnvelope {
        InstructionEnvelope {
            program: program.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            directory: "/".into(),
            environment: BTreeMap::new(),
        }
    }

    #[test]
    fn an_envelope_hash_tells_every_boundary() {
        let mut hashes = BTreeMap::new();
        let cases: [(&str, &[&str]); 8] = [
            ("a", &["b", "c"]),
            ("a", &["bc"]),
            ("a", &["b c"]),
            ("a", &["b", "c", ""]),
            ("a", &["", "b", "c"]),
            ("ab", &["c"]),
            ("a b", &["c"]),
            ("a", &[]),
        ];
        for (program, arguments) in cases {
            let previous = hashes.insert(envelope(program, arguments).hex(), (program, arguments));
            assert_eq!(previous, None, "{program:?} {arguments:?}");
        }
        let mut elsewhere = envelope("a", &["b", "c"]);
        elsewhere.directory = "/tmp".into();
        assert!(!hashes.contains_key(&elsewhere.hex()));
    }

    #[test]
    fn an_envelope_keeps_bytes_that_are_not_text() {
        let mut one = envelope("a", &[]);
        let mut other = one.clone();
        one.arguments.push(OsString::from_vec(vec![0xff]));
        other.arguments.push(OsString::from_vec(vec![0xfe]));
        assert_ne!(one.hash(), other.hash());
    }

    #[test]
    fn an_envelope_hash_depends_on_no_secret_and_on_no_order() {
        let variables = [("API_TOKEN", "one"), ("LANG", "C"), ("OTHER", "1")];
        let of = |variables: &[(&str, &str)]| {
            let pairs = variables.iter().copied().map(Variable::from);
            let policy = EnvironmentPolicy::default().allow("API_*");
            let environment = policy.record(&pairs.collect::<Vec<_>>());
            InstructionEnvelope { environment, ..envelope("a", &[]) }
        };
        let first = of(&variables);
        assert_eq!(first.environment[OsStr::new("API_TOKEN")], ShownValue::Redacted);
        assert!(!first.encode().windows(3).any(|window| window == b"one"));
        let shuffled = [("OTHER", "2"), ("LANG", "C"), ("API_TOKEN", "two")];
        assert_eq!(first.hash(), of(&shuffled).hash());
        let changed = [("API_TOKEN", "one"), ("LANG", "D")];
        assert_ne!(first.hash(), of(&changed).hash());
        let without = [("LANG", "C")];
        assert_ne!(first.hash(), of(&without).hash());
    }

    #[test]
    fn an_envelope_encoding_is_pinned() {
        let mut envelope = envelope("p", &["x", ""]);
        envelope.environment = BTreeMap::from([
            ("A".into(), ShownValue::Shown("v".into())),
            ("B_KEY".into(), ShownValue::Redacted),
        ]);
        let number = |number: u8| [number, 0, 0, 0, 0, 0, 0, 0];
        let mut expected = b"holdpoint/e1\x01".to_vec();
        for (length, text) in [(1, "p"), (2, ""), (1, "x"), (0, ""), (1, "/"), (2, ""), (1, "A")] {
            expected.extend(number(length));
            expected.extend(text.bytes());
        }
        expected.push(1);
        expected.extend([&number(1)[..], b"v", &number(5), b"B_KEY", &[0]].concat());
        assert_eq!(envelope.encode(), expected);
        assert_eq!(envelope.hex(), base16ct::lower::encode_string(&Sha256::digest(&expected)));
        assert_eq!(InstructionEnvelope::decode(&expected), Some(envelope));
        for length in 0..expected.len() {
            assert_eq!(InstructionEnvelope::decode(&expected[..length]), None, "{length}");
        }
    }
}
