//! Turns that nobody recorded: the state of one recorded turn and the request of another, changed
//! at random. `ph1x_oracle.rs` says what has to come of them; it is held to every recorded turn
//! first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use holdpoint_testing::part::times;
use holdpoint_testing::story::seed;
use libtest_mimic::{Failed, Trial};
use quickcheck::{Arbitrary as _, Gen};
use serde_json::{Value, json};

use crate::fail_with;
use crate::ph1x::{ThreadFile, TurnCase};
use crate::ph1x_answer::TurnAnswer;
use crate::ph1x_oracle::{Row, Words, row};
use crate::ph1x_report::{Report, Verdict};
use crate::ph1x_world::decide;

/// How many turns one run takes.
const TURNS: u64 = 1_000;

/// The tests of a file.
pub(crate) fn trials(file: &Arc<ThreadFile>, report: &Arc<Mutex<Report>>) -> Vec<Trial> {
    let (stem, of_recorded) = (file.stem().to_owned(), Arc::clone(file));
    let (of_random, report) = (Arc::clone(file), Arc::clone(report));
    vec![
        Trial::test(format!("conformance_{stem}_the_document_tells_what_is_recorded"), move || {
            recorded(&of_recorded)
        }),
        Trial::test(
            format!("conformance_{stem}_random_turns_are_as_the_document_says"),
            move || random(&of_random, &report),
        ),
    ]
}

/// Where the document says something, it is what was recorded; and it says something of most.
fn recorded(file: &ThreadFile) -> Result<(), Failed> {
    let cases = file.turns();
    let is_plain = |case: &&TurnCase| ["seed", "impl"].contains(&case.basis.as_str());
    let (mut failures, mut told) = (Vec::new(), 0);
    for case in cases.iter().filter(is_plain) {
        let Some(row) = row(&case.before, &case.request) else { continue };
        told += 1;
        let found = &case.expect;
        let is_refused = found["status"] != "OK";
        let is_it = match &row {
            Row::Refused => is_refused,
            // The contract has more than the document's rows.
            Row::Said { .. } if is_refused => true,
            Row::Said { said, continuity, .. } => {
                let outcome = [
                    found["interrupt_continuity_outcome"].clone(),
                    found["interrupt_resume_policy"].clone(),
                ];
                found["directive"] == said[0]
                    && found["reason_code"] == said[1]
                    && continuity.as_ref().is_none_or(|told| *told == outcome)
            }
        };
        if !is_it {
            failures.push(format!("{} ({}): {row:?}, not {found}", case.id, case.basis));
        }
    }
    let enough = 2 * told >= cases.len();
    failures.extend((!enough).then(|| format!("{told} of {} turns", cases.len())));
    fail_with(&failures)
}

fn random(file: &ThreadFile, report: &Mutex<Report>) -> Result<(), Failed> {
    let seed = seed();
    let mut random = Gen::from_size_and_seed(40, seed);
    let is_served = |case: &TurnCase| case.expect["status"] == "OK";
    let cases: Vec<TurnCase> = file.turns().into_iter().filter(is_served).collect();
    let mut failures = Vec::new();
    for number in 0..TURNS * times() {
        let (before, request) = drawn(&mut random, &cases);
        let Some(row) = row(&before, &request) else {
            continue;
        };
        let decided = catch_unwind(AssertUnwindSafe(|| decide(&before, &request)));
        let found = match decided {
            Ok(decided) => decided.and_then(|answer| compare(&row, &answer, &before)),
            Err(_) => Err("panicked".into()),
        };
        let verdict = found.map_or_else(Verdict::Fails, |()| Verdict::Matches);
        if let Verdict::Fails(why) = &verdict {
            let what = format!("HOLDPOINT_SEED={seed}, turn {number}: {row:?}: {why}");
            failures.push(format!("{what}: {before} {request}"));
        }
        report.lock().unwrap().judged("random turns", &verdict);
    }
    fail_with(&failures)
}

fn compare(row: &Row, answer: &TurnAnswer, before: &Value) -> Result<(), String> {
    let (Row::Said { said, continuity, words }, TurnAnswer::Decided { decision, after, .. }) =
        (row, answer)
    else {
        let is_refused = matches!(answer, TurnAnswer::Refused(_));
        let is_it = *row == Row::Refused && is_refused;
        return is_it.then_some(()).ok_or_else(|| format!("found {answer:?}"));
    };
    let found = json!([
        decision.directive,
        decision.reason_code,
        decision.interrupt_continuity_outcome,
        decision.interrupt_resume_policy,
    ]);
    let is_said = found[0] == said[0] && found[1] == said[1];
    let is_told = continuity
        .as_ref()
        .is_none_or(|[outcome, policy]| found[2] == *outcome && found[3] == *policy);
    let unsaid = after.resume_buffers.last().map(|buffer| buffer.unsaid_remainder.as_str());
    let is_kept = match words {
        None => true,
        Some(Words::Kept) => unsaid == before["resume_buffer"]["unsaid_remainder"].as_str(),
        Some(Words::Gone) => unsaid.is_none() && after.marks.return_check.is_none(),
    };
    let is_it = is_said && is_told && is_kept;
    is_it.then_some(()).ok_or_else(|| format!("found {found}, words left unsaid {unsaid:?}"))
}

fn below(random: &mut Gen, bound: u64) -> u64 {
    u64::arbitrary(random) % bound
}

fn one_in(random: &mut Gen, bound: u64) -> bool {
    below(random, bound) == 0
}

fn any<'a, T>(random: &mut Gen, of: &'a [T]) -> &'a T {
    random.choose(of).unwrap()
}

/// The state of one turn, and the request of another at its time.
fn drawn(random: &mut Gen, cases: &[TurnCase]) -> (Value, Value) {
    let [state, asked] = [any(random, cases), any(random, cases)];
    let (mut before, mut request) = (state.before.clone(), asked.request.clone());
    let shift = |time: &Value, from: &Value, to: &Value| {
        let parts = (time.as_u64(), from.as_u64(), to.as_u64());
        let (Some(time), Some(from), Some(to)) = parts else { return time.clone() };
        json!((time + to).saturating_sub(from).max(1))
    };
    // What the thread keeps is kept as long at the other time.
    for place in ["/resume_buffer/expires_at", "/return_check_expires_at"] {
        if let Some(time) = before.pointer_mut(place) {
            *time = shift(time, &state.request["now"], &request["now"]);
        }
    }
    if one_in(random, 2) {
        let relations = [json!("SAME"), json!("SWITCH"), json!("UNCERTAIN"), Value::Null];
        let relation = any(random, &relations).clone();
        let confidence = *any(random, &[0.0, 0.69, 0.7, 0.95, 1.0]);
        let is_none = relation.is_null();
        request["interrupt_subject_relation_confidence"] =
            if is_none { Value::Null } else { json!(confidence) };
        request["interrupt_subject_relation"] = relation;
    }
    if one_in(random, 2) {
        // Whoever spoke, about what they spoke about.
        for (mark, name) in [
            ("active_subject_ref", "subject_ref"),
            ("active_speaker_user_id", "active_speaker_user_id"),
        ] {
            if !before[mark].is_null() {
                request[name] = before[mark].clone();
            }
        }
    }
    if one_in(random, 10) {
        let states = ["ACTIVE", "SUSPENDED", "CLOSED"];
        request["session_state"] = json!(any(random, &states));
    }
    if one_in(random, 3) {
        let is_alone = request["interruption"].is_null();
        let answer = any(random, &["Yes", "No"]);
        if is_alone {
            request["input"] = json!({ "kind": "NONE" });
            request["confirm_answer"] = json!(answer);
        }
    }
    (before, request)
}
