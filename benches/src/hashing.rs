//! Choice of the way that hashes many messages at once on this processor, and why.

use holdpoint_sha256_lanes::{Choice, Lanes, Reason, Standing, VARIABLE, choice};
use serde::Serialize;
use std::fmt;

/// Number of messages at once are hashed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hashing {
    /// `fastest`; `asked` where the environment asks for a way; `unusable` and `unknown` where it
    /// asks for one in vain, and the fastest is used.
    pub reason: &'static str,
    /// Way that the environment asks for.
    pub asked: Option<String>,
    /// Every way there is.
    pub ways: Vec<Way>,
}

/// A way to hash, and what was found of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// Its name, by which the environment can ask for it.
    pub name: &'static str,
    /// `right`; `wrong` where its digests were; `lacking` where the processor or the system does
    /// not have it.
    pub standing: &'static str,
    /// Nanoseconds for each of many messages of 256 bytes.
    pub nanoseconds: Option<f64>,
    /// Number of messages at once it is used from; `None` where it is not used.
    pub used_from: Option<usize>,
}

impl Hashing {
    /// Returns what this process does.
    #[must_use]
    pub fn here() -> Self {
        Self::of(choice())
    }

    fn of(choice: &Choice) -> Self {
        let (reason, asked) = match choice.reason() {
            Reason::Fastest => ("fastest", None),
            Reason::Asked(lanes) => ("asked", Some(lanes.name().to_string())),
            Reason::Unusable(lanes) => ("unusable", Some(lanes.name().to_string())),
            Reason::Unknown(name) => ("unknown", Some(name.clone())),
        };
        let ways = choice.candidates().iter().map(|found| Way {
            name: found.lanes.name(),
            standing: match found.standing {
                Standing::Right => "right",
                Standing::Wrong => "wrong",
                Standing::Lacking => "lacking",
            },
            nanoseconds: found.nanoseconds,
            used_from: choice.used_from(found.lanes),
        });
        Self { reason, asked, ways: ways.collect() }
    }

    /// Returns what the environment asks for in vain, in a sentence.
    #[must_use]
    pub fn in_vain(&self) -> Option<String> {
        let asked = self.asked.as_deref()?;
        let but = match self.reason {
            "unusable" => "cannot be used here".to_string(),
            "unknown" => format!("is none of {}", Lanes::ALL.map(Lanes::name).join(", ")),
            _ => return None,
        };
        Some(format!("{VARIABLE} asks for {asked:?}, which {but}: the fastest way is used"))
    }
}

impl fmt::Display for Hashing {
    /// Returns what is used, why, and how long each way takes.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.ways.iter().rev().filter_map(|way| Some((way.name, way.used_from?)));
        let used = used.map(|(name, from)| match from {
            1 => name.to_string(),
            _ => format!("{name} for {from} messages and more"),
        });
        let why = match (self.in_vain(), &self.asked) {
            (Some(in_vain), _) => in_vain,
            (None, Some(_)) => format!("{VARIABLE} asks for it"),
            (None, None) => "the fastest".to_string(),
        };
        let times = self.ways.iter().map(|way| match way.nanoseconds {
            Some(nanoseconds) => format!("{} {nanoseconds:.0} ns", way.name),
            None => format!("{} {}", way.name, way.standing),
        });
        let (used, times) = (used.collect::<Vec<_>>(), times.collect::<Vec<_>>());
        let (used, times) = (used.join(", else "), times.join(", "));
        write!(out, "SHA-256 of many at once: {used} ({why}); for each 256 B: {times}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(name: &'static str, nanoseconds: Option<f64>, used_from: Option<usize>) -> Way {
        let standing = if nanoseconds.is_some() { "right" } else { "lacking" };
        Way { name, standing, nanoseconds, used_from }
    }

    #[test]
    fn what_is_used_is_told_with_its_reason_and_the_time_of_every_way() {
        let mut hashing = Hashing {
            reason: "fastest",
            asked: None,
            ways: vec![
                way("sha2", Some(222.4), Some(1)),
                way("sha-ni", Some(111.0), Some(3)),
                way("avx-512", Some(75.0), Some(11)),
            ],
        };
        let measured = "for each 256 B: sha2 222 ns, sha-ni 111 ns, avx-512 75 ns";
        let used =
            "avx-512 for 11 messages and more, else sha-ni for 3 messages and more, else sha2";
        assert_eq!(
            hashing.to_string(),
            format!("SHA-256 of many at once: {used} (the fastest); {measured}")
        );
        hashing.reason = "unknown";
        hashing.asked = Some("sha3\u{1b}".to_string());
        let in_vain = "HOLDPOINT_SHA256_LANES asks for \"sha3\\u{1b}\", which is none of sha2, \
                       sha-ni, avx-512: the fastest way is used";
        assert_eq!(hashing.in_vain().as_deref(), Some(in_vain));
        assert!(hashing.to_string().contains(in_vain), "{hashing}");
        let plain = Hashing {
            reason: "asked",
            asked: Some("sha2".to_string()),
            ways: vec![way("sha2", Some(900.0), Some(1)), way("sha-ni", None, None)],
        };
        assert_eq!(
            plain.to_string(),
            "SHA-256 of many at once: sha2 (HOLDPOINT_SHA256_LANES asks for it); for each 256 B: \
             sha2 900 ns, sha-ni lacking"
        );
    }

    #[test]
    fn every_way_of_this_processor_is_told() {
        let hashing = Hashing::here();
        assert_eq!(
            hashing.ways.iter().map(|way| way.name).collect::<Vec<_>>(),
            Lanes::ALL.map(Lanes::name)
        );
        assert!(hashing.ways.iter().all(|way| way.standing != "wrong"), "{hashing}");
    }
}
