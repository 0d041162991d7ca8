//! What is known to go wrong, by verb: it is to be mended, and then to leave this list.

/// Verbs, and the calls that they are wrong about when they fail.
pub(crate) const KNOWN: [(&[&str], &[&str]); 0] = [];
