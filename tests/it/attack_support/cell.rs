//! What a reading of an attacked log is worth.

use super::facts::{Difference, FOUND_FALSE, Fact, Known};
use super::reading::Reading;
use super::verbs::{Shows, Verb};
use serde_json::Value;
use std::collections::BTreeSet;

/// One attack under one verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cell {
    Same,
    Refused,
    Standing,
    Stated,
    Judged,
    Undetectable,
    Hole,
}

/// Every kind of cell with its letter and what it means.
pub(crate) const LEGEND: [(Cell, char, &str); 7] = [
    (Cell::Same, '.', "same: the facts are those of the log that nobody attacked"),
    (Cell::Refused, 'r', "refused: the exit code is not 0, and a message says why"),
    (
        Cell::Standing,
        's',
        "standing: what is not genuine is shown as `unproven` or `withheld`, and what is not shown \
         is said to be lost, or in an archive that was not read",
    ),
    (
        Cell::Stated,
        'f',
        "stated: shown by or as a record that is named, and `verify` finds it false",
    ),
    (
        Cell::Judged,
        'j',
        "judged: chained anew under a HEAD of its own, so that every link up to HEAD holds and no \
         reading of records tells; whole `verify` finds it by meaning, or by LOCK",
    ),
    (Cell::Undetectable, 'u', "undetectable: `verify` without an outside head finds nothing"),
    (
        Cell::Hole,
        'H',
        "hole: forged facts proven or genuine ones hidden, though `verify` finds it; or the log is \
         said to have been changed while it was read, and nobody did",
    ),
];

impl Cell {
    pub(crate) fn letter(self) -> char {
        LEGEND.iter().find(|(cell, ..)| *cell == self).unwrap().1
    }
}

/// The records of which `verify` finds that what they say cannot be so.
pub(crate) fn found_false(verified: &Reading) -> BTreeSet<u64> {
    let findings = reports_in(verified).into_iter().flat_map(findings_of);
    let is_false = |one: &&Value| match one["problem"].as_str() {
        // At the record that states the state there; what else does not fit is found at HEAD.
        Some("archive_differs") => one["segment"].as_str().is_some_and(|it| it.ends_with(".seg")),
        Some(problem) => JUDGED.contains(&problem) || problem == "carried_state",
        None => false,
    };
    findings.filter(is_false).filter_map(|one| one["sequence"].as_u64()).collect()
}

/// The report on the log; of a log with its archive those on both, and what is found of the two.
fn reports_in(verified: &Reading) -> Vec<&Value> {
    let report = verified.values.first();
    let both = report.into_iter().flat_map(|report| [report.get("archive"), report.get("log")]);
    let both: Vec<_> = both.flatten().filter(|report| report.is_object()).collect();
    report.into_iter().chain(both).collect()
}

fn findings_of(report: &Value) -> &[Value] {
    report["findings"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What the whole `verify` without an outside head says of the attacked log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    FindsNothing,
    /// All links hold, nothing is missing, and events are such as the rules forbid.
    ForbiddenEvents,
    /// The same, and how the log begins is one of them.
    FalseBeginning,
    /// All links hold, and LOCK tells of durable records behind the newest one.
    MissesNewest,
    Finds,
}

impl Verdict {
    pub(crate) fn of(verified: &Reading) -> Self {
        let reports = reports_in(verified);
        let findings = reports.iter().copied().flat_map(findings_of);
        let problems: Vec<&str> = findings.filter_map(|one| one["problem"].as_str()).collect();
        let are_all = |of: &[&str]| problems.iter().all(|problem| of.contains(problem));
        let mut axes = reports.iter().filter_map(|report| report.get("axes")).peekable();
        let is_chained =
            axes.peek().is_some() && axes.all(|axes| axes["integrity"]["state"] == "proven");
        let is_judged = |problem: &&str| MISSED.contains(problem) || JUDGED.contains(problem);
        match verified.code {
            0 => Self::FindsNothing,
            _ if problems.is_empty() => Self::Finds,
            _ if !is_chained && problems.iter().all(is_judged) => Self::MissesNewest,
            _ if !is_chained => Self::Finds,
            _ if are_all(&JUDGED) => Self::ForbiddenEvents,
            _ if are_all(&BEGINNING) => Self::FalseBeginning,
            _ => Self::Finds,
        }
    }

    /// A reading that shows what is not so, or leaves out what is so.
    fn of_wrong_facts(self, hides: bool) -> Cell {
        match self {
            Self::FindsNothing => Cell::Undetectable,
            Self::FalseBeginning if !hides => Cell::Judged,
            Self::ForbiddenEvents => Cell::Judged,
            Self::FalseBeginning | Self::MissesNewest | Self::Finds => Cell::Hole,
        }
    }
}

/// What only he finds who judges events.
const JUDGED: [&str; 4] =
    ["forbidden_event", "false_index_statement", "false_archive_statement", "undecodable_payload"];

/// What is found where LOCK tells of durable records behind the newest one.
const MISSED: [&str; 2] = ["below_mark", "short_of_head"];

/// What is found where records are not there and no event says rightly why.
const BEGINNING: [&str; 2] = ["beginning_unstated", "carried_state"];

/// Two readings of the same words, and what has to be known to compare them.
pub(crate) struct Pair<'a> {
    pub(crate) verb: Verb,
    pub(crate) genuine: &'a Reading,
    /// What the genuine log shows up to the record at which the attacked one ends.
    pub(crate) up_to: &'a Reading,
    pub(crate) attacked: &'a Reading,
    pub(crate) known: &'a Known,
    /// Whether facts were attacked that the verb vouches for.
    pub(crate) vouches: bool,
    pub(crate) verdict: Verdict,
    pub(crate) found_false: &'a BTreeSet<u64>,
}

impl Pair<'_> {
    pub(crate) fn cell(&self) -> Cell {
        let found = Difference::between((self.genuine, self.up_to), self.known, self.attacked);
        match self.attacked.code {
            0 => self.of_success(&found),
            // Nobody changes the log while it is read: it is damaged.
            1 if self.attacked.says_changed => Cell::Hole,
            // What was named as the archive is none.
            2 if self.verb.line.contains("ARCHIVE") && self.attacked.says_why => Cell::Refused,
            1 | 3 | 5 | 6 if self.attacked.says_why => self.of_refusal(&found),
            _ => Cell::Hole,
        }
    }

    /// Whether the fact is a record of which `verify` finds that it states what is false.
    fn is_found_false(&self, fact: &Fact) -> bool {
        fact.sequence().is_some_and(|sequence| self.found_false.contains(&sequence))
    }

    /// A refusal does not make up for forged records that are said to be proven before it.
    fn of_refusal(&self, found: &Difference) -> Cell {
        let is_proven = |fact: &Fact| fact.stands("proven") && !self.is_found_false(fact);
        let is_proven = found.forged.iter().any(is_proven);
        // Where all was chained anew, the refusal tells that records behind the newest one are
        // gone.
        let is_hole = is_proven && self.verdict.of_wrong_facts(false) == Cell::Hole;
        if is_hole && self.verdict != Verdict::MissesNewest { Cell::Hole } else { Cell::Refused }
    }

    fn of_success(&self, found: &Difference) -> Cell {
        match self.verb.shows {
            // A file that was doctored is said to be right.
            Shows::Caches if !found.forged.is_empty() => Cell::Hole,
            Shows::Verdict | Shows::Caches => self.of_verdict(),
            Shows::Kept => self.of_kept(found),
            _ => self.of_facts(found, found.hidden > 0),
        }
    }

    fn of_verdict(&self) -> Cell {
        match self.verdict {
            _ if !self.vouches => Cell::Same,
            // A range does not reach to the end, where alone something is missing.
            Verdict::MissesNewest => Cell::Judged,
            verdict => verdict.of_wrong_facts(true),
        }
    }

    /// A salvage says how many records it lost; in the place of others stand unproven ones.
    fn of_kept(&self, found: &Difference) -> Cell {
        let told = self.attacked.says_lost() + found.forged.len() as u64;
        let hides = found.hidden as u64 > told;
        let is_told =
            |fact: &Fact| ["unproven", "withheld", FOUND_FALSE].iter().any(|it| fact.stands(it));
        let has_false = found.forged.iter().any(|fact| fact.stands(FOUND_FALSE));
        if !hides && has_false && found.forged.iter().all(is_told) {
            return Cell::Stated;
        }
        match self.of_facts(found, hides) {
            Cell::Same if found.hidden > 0 => Cell::Standing,
            cell => cell,
        }
    }

    fn of_facts(&self, found: &Difference, hides: bool) -> Cell {
        let is_told = |fact: &Fact| fact.stands("unproven") || fact.stands("withheld");
        if hides || !found.forged.iter().all(is_told) {
            let is_false_by = !self.attacked.stated_by.is_disjoint(self.found_false);
            let are_statements =
                !hides && found.forged.iter().all(|fact| self.is_found_false(fact));
            if are_statements || is_false_by {
                return Cell::Stated;
            }
            return self.verdict.of_wrong_facts(hides);
        }
        let is_unproven = self.attacked.facts.iter().any(|fact| fact.stands("unproven"));
        let is_same = found.forged.is_empty() && !is_unproven && !self.attacked.leaves_archive;
        if is_same { Cell::Same } else { Cell::Standing }
    }
}
