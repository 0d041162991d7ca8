//! What is printed after every run of the PH1.X vectors.

use std::collections::BTreeMap;
use std::fmt;

/// What became of a turn or an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The answer is the recorded one.
    Matches,
    /// The answer is what the seed, read literally, wants, and the reference does not give.
    AsTheSeedWants,
    /// The answer differs as this category says.
    Differs(&'static str),
    /// Anything else.
    Fails(String),
}

/// Counts of everything that ran.
#[derive(Debug, Default)]
pub(crate) struct Report {
    files: Vec<String>,
    groups: BTreeMap<String, Counts>,
    categories: BTreeMap<&'static str, (usize, &'static str)>,
    replayed: BTreeMap<&'static str, usize>,
}

#[derive(Debug, Default)]
struct Counts {
    matching: usize,
    as_seed: usize,
    differing: usize,
    failing: usize,
}

impl Report {
    /// A file was read.
    pub(crate) fn read(&mut self, line: String) {
        self.files.push(line);
    }

    /// A turn or an operation was judged.
    pub(crate) fn judged(&mut self, group: &str, verdict: &Verdict) {
        let counts = self.groups.entry(group.to_owned()).or_default();
        match verdict {
            Verdict::Matches => counts.matching += 1,
            Verdict::AsTheSeedWants => counts.as_seed += 1,
            Verdict::Differs(_) => counts.differing += 1,
            Verdict::Fails(_) => counts.failing += 1,
        }
    }

    /// A category explains a difference.
    pub(crate) fn explained(&mut self, name: &'static str, reason: &'static str) {
        self.categories.entry(name).or_insert((0, reason)).0 += 1;
    }

    /// Something was replayed and found equal.
    pub(crate) fn replayed(&mut self, what: &'static str, count: usize) {
        *self.replayed.entry(what).or_default() += count;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            writeln!(f, "conformance: read {file}")?;
        }
        if !self.groups.is_empty() {
            writeln!(f, "conformance: {:<36} match as-seed category fail", "PH1.X")?;
        }
        for (group, Counts { matching, as_seed, differing, failing }) in &self.groups {
            writeln!(
                f,
                "conformance: {group:<36} {matching:>5} {as_seed:>7} {differing:>8} {failing:>4}"
            )?;
        }
        for (name, (count, reason)) in &self.categories {
            writeln!(f, "conformance: category {name:<46} {count:>4}  {reason}")?;
        }
        for (what, count) in &self.replayed {
            writeln!(f, "conformance: end to end, replay equals live: {what}: {count}")?;
        }
        Ok(())
    }
}
