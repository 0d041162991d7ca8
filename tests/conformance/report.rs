//! What is printed after every run.

use std::collections::BTreeMap;
use std::fmt;

use crate::categories;
use crate::judge::Verdict;
use crate::session_categories::{Departure, SESSIONS};
use crate::session_random;
use crate::vectors::VectorFile;

/// Counts of everything that ran.
#[derive(Debug, Default)]
pub(crate) struct Report {
    files: Vec<String>,
    functions: BTreeMap<(String, String), FunctionCounts>,
    categories: BTreeMap<&'static str, usize>,
    /// Categories of random sessions, which nobody recorded.
    random: BTreeMap<&'static str, usize>,
    divergences: (usize, usize),
    /// By kind of alteration: caught, and not caught.
    tampered: BTreeMap<String, (usize, usize)>,
    groups: Option<GroupCounts>,
}

#[derive(Debug, Default)]
struct FunctionCounts {
    matching: usize,
    differing: usize,
    failing: usize,
}

/// Groups of different records with one reference hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupCounts {
    /// Evidence records told apart by their injective hashes.
    pub(crate) evidence: usize,
    /// Decisions told apart by theirs.
    pub(crate) decisions: usize,
}

impl Report {
    /// A file was read.
    pub(crate) fn read(&mut self, file: &VectorFile) {
        self.files.push(format!("{} ({} cases)", file.path.display(), file.cases.len()));
    }

    /// A case was judged.
    pub(crate) fn judged(&mut self, phase: &str, function: &str, verdict: &Verdict) {
        let key = (phase.to_owned(), function.to_owned());
        let counts = self.functions.entry(key).or_default();
        match verdict {
            Verdict::Matches => counts.matching += 1,
            Verdict::Fails(_) => counts.failing += 1,
            Verdict::Differs(category) => {
                counts.differing += 1;
                *self.categories.entry(category.name).or_default() += 1;
            }
            Verdict::Departs(departures) => {
                counts.differing += 1;
                let is_random = function == session_random::FUNCTION;
                let of = if is_random { &mut self.random } else { &mut self.categories };
                departures.iter().for_each(|it| *of.entry(it.name).or_default() += 1);
            }
        }
    }

    /// A case in which the reference contradicts itself was answered by a pure function, or not.
    pub(crate) fn diverged(&mut self, caught: bool) {
        if caught { self.divergences.0 += 1 } else { self.divergences.1 += 1 }
    }

    /// An altered chain or audit was caught, or not.
    pub(crate) fn tampered(&mut self, kind: &str, caught: bool) {
        let counts = self.tampered.entry(kind.to_owned()).or_default();
        if caught { counts.0 += 1 } else { counts.1 += 1 }
    }

    /// The groups were told apart.
    pub(crate) fn groups(&mut self, counts: GroupCounts) {
        self.groups = Some(counts);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            writeln!(f, "conformance: read {file}")?;
        }
        self.write_functions(f)?;
        self.write_categories(f)?;
        self.write_evidence(f)
    }
}

impl Report {
    fn write_functions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.functions.is_empty() {
            writeln!(f, "conformance: {:<5} {:<30} match category fail", "phase", "function")?;
        }
        for ((phase, function), counts) in &self.functions {
            let FunctionCounts { matching, differing, failing } = counts;
            writeln!(
                f,
                "conformance: {phase:<5} {function:<30} {matching:>5} {differing:>8} {failing:>4}"
            )?;
        }
        Ok(())
    }

    fn write_categories(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for category in categories::all() {
            if let Some(count) = self.categories.get(category.name) {
                let (name, reason) = (category.name, category.reason);
                writeln!(f, "conformance: category {name:<50} {count:>4}  {reason}")?;
            }
        }
        for Departure { name, reason } in &SESSIONS {
            let [recorded, random] =
                [&self.categories, &self.random].map(|of| of.get(name).copied().unwrap_or(0));
            let count = format!("{recorded:>4} of recorded ones, {random:>4} of random ones");
            writeln!(f, "conformance: category {name:<50} {count}  {reason}")?;
        }
        Ok(())
    }

    fn write_evidence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, (caught, missed)) in &self.tampered {
            let all = caught + missed;
            writeln!(f, "conformance: undetected tamper {kind:<33} caught {caught} of {all}")?;
        }
        if !self.tampered.is_empty() {
            let caught: usize = self.tampered.values().map(|counts| counts.0).sum();
            let missed: usize = self.tampered.values().map(|counts| counts.1).sum();
            writeln!(
                f,
                "conformance: undetected tamper, all: caught {caught} of {}",
                caught + missed
            )?;
        }
        let (caught, missed) = self.divergences;
        if caught + missed > 0 {
            let all = caught + missed;
            writeln!(f, "conformance: reference diverges from itself: caught {caught} of {all}")?;
        }
        if let Some(GroupCounts { evidence, decisions }) = self.groups {
            writeln!(
                f,
                "conformance: colliding records told apart: {evidence} of evidence, \
                 {decisions} of decisions"
            )?;
        }
        Ok(())
    }
}
