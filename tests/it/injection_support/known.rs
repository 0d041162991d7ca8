//! What is known to go wrong, by verb: it is to be mended, and then to leave this list.

/// Verbs, and the calls that they are wrong about when they fail: what cannot be read of a cache is
/// told as damaged or not checked, with exit 0.
pub(crate) const KNOWN: [(&[&str], &[&str]); 1] = [(
    &["verify --caches", "verify --caches --json"],
    &[
        "List .",
        "List snapshots",
        "Open *.idx",
        "Open *.seg",
        "Open *.snapshot",
        "Open .",
        "Open snapshots",
    ],
)];
