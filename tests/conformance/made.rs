//! Cases of the categories of which the open files have none, made of recorded cases by one change.
//! What the reference answers to each is known from its document; the change has to lead into that
//! category and no other.

use std::sync::{Arc, Mutex};

use holdpoint_testing::part::part;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::fail_with;
use crate::judge;
use crate::ph1x::{self, ThreadFile, TurnCase};
use crate::ph1x_categories;
use crate::ph1x_report;
use crate::report::Report;
use crate::session_oracle::decision_hash;
use crate::vectors::{Case, VectorFile};

/// What a category's cases are made by, and what of.
struct Made {
    name: &'static str,
    category: &'static str,
    make: fn(&TurnCase) -> Vec<TurnCase>,
}

const OF_TURNS: [Made; 2] = [
    Made { name: "correlation_zero", category: "correlation zero", make: correlation_zero },
    Made {
        name: "pending_attempts",
        category: "pending attempts that no thread reaches",
        make: attempts,
    },
];

/// The tests of cases that are made of turns: of one in four, others in every run.
pub(crate) fn turns(
    file: &Arc<ThreadFile>,
    report: &Arc<Mutex<ph1x_report::Report>>,
) -> Vec<Trial> {
    let trial = |Made { name, category, make }: Made| {
        let (file, report) = (Arc::clone(file), Arc::clone(report));
        let name = format!("conformance_made_{}_{name}", file.stem());
        Trial::test(name, move || {
            let recorded = part(file.turns(), 4);
            let cases = recorded.iter().flat_map(make).filter(|case| is_of(case, category));
            let failures: Vec<String> =
                cases.filter_map(|case| judge_turn(&case, category, &report).err()).collect();
            fail_with(&failures)
        })
    };
    OF_TURNS.map(trial).into()
}

/// Whether this is what the change led into, and nothing else.
fn is_of(case: &TurnCase, category: &str) -> bool {
    matches!(ph1x_categories::of(case)[..], [only] if only.name == category)
}

/// The reference refuses; here the turn is as good as any.
fn judge_turn(
    case: &TurnCase,
    category: &'static str,
    report: &Mutex<ph1x_report::Report>,
) -> Result<(), String> {
    let (verdict, used) = ph1x::judge(case);
    let mut report = report.lock().unwrap();
    report.judged("made of recorded turns", &verdict);
    used.iter().for_each(|used| report.explained(used.name, used.reason));
    if verdict == ph1x_report::Verdict::Differs(category) {
        return Ok(());
    }
    Err(format!("{}: expected {category:?}, found {verdict:?}", case.id))
}

/// The recorded turn, refused for a field as the reference does.
fn refused(case: &TurnCase, field: &str) -> TurnCase {
    let expect = json!({
        "status": "CONTRACT_VIOLATION",
        "field": field,
        "state_after": case.before,
    });
    TurnCase { expect, basis: "impl".into(), wanted: Value::Null, ..case.clone() }
}

/// A served turn of thread 0. What comes of it is the same as in any other thread.
fn correlation_zero(case: &TurnCase) -> Vec<TurnCase> {
    let served = ph1x::judge(case).0;
    if case.expect["status"] != "OK" || served != ph1x_report::Verdict::Matches {
        return Vec::new();
    }
    let mut zero = case.clone();
    zero.request["correlation_id"] = json!(0);
    zero.id.push_str(" in thread 0");
    assert_eq!(ph1x::judge(&zero).0, served, "{}", zero.id);
    vec![refused(&zero, "correlation_id")]
}

/// A served turn after so many attempts as nothing leads to.
fn attempts(case: &TurnCase) -> Vec<TurnCase> {
    if case.expect["status"] != "OK" || case.before["pending"].is_null() {
        return Vec::new();
    }
    let made = |attempts: u8| {
        let mut made = case.clone();
        made.before["pending"]["attempts"] = json!(attempts);
        made.id = format!("{} after {attempts} attempts", case.id);
        refused(&made, "attempts")
    };
    [0, 11, u8::MAX].map(made).into()
}

/// The test of decisions of nobody.
pub(crate) fn decisions(file: &Arc<VectorFile>, report: &Arc<Mutex<Report>>) -> Trial {
    let (file, report) = (Arc::clone(file), Arc::clone(report));
    let name = format!("conformance_made_{}_record_without_a_person", file.stem);
    Trial::test(name, move || {
        let mut failures = Vec::new();
        for case in file.cases.iter().flat_map(record_without_a_person) {
            let verdict = judge::judge(&case);
            report.lock().unwrap().judged("32", "record_decision, made", &verdict);
            match verdict {
                judge::Verdict::Differs(category) if category.name == "record without a person" => {
                }
                verdict => failures.push(format!("{}: found {verdict:?}", case.id)),
            }
        }
        fail_with(&failures)
    })
}

/// The reference appends whatever record it is given.
fn record_without_a_person(case: &Case) -> Vec<Case> {
    let is_appended = case.expect.get("ok").is_some() && case.weak.is_empty();
    if case.function != "record_decision" || !is_appended {
        return Vec::new();
    }
    let made = |human_id: &str| {
        let mut made = case.clone();
        made.id = format!("{} of {human_id:?}", case.id);
        made.input["record"]["human_id"] = json!(human_id);
        let head = made.input["audit"]["head_hash"].as_str().unwrap_or_default();
        made.expect["ok"]["head_hash"] = json!(decision_hash(&made.input["record"], head));
        made
    };
    ["", " ", "\t\u{1c}"].map(made).into()
}
