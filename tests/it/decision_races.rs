//! Two at the same moment: one wins, the other is told who did, and both are on record.
//!
//! Most rounds are between two `apply` processes that live as long as the test: two starts of a
//! process in each of a thousand rounds would take minutes. The verbs themselves race in the rest.

use crate::apply_support::Session;
use crate::program::{Place, json, status};
use crate::waiting_support::{
    about, accepted, ask, decision, events, id_of, in_memory, line, option, question, records, tell,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Output, Stdio};
use std::sync::Barrier;

/// Rounds between processes that live, and between verbs.
const ROUNDS: u64 = 950;
const VERB_ROUNDS: u64 = 50;

/// Every kind of event that ends a round.
const ENDINGS: [&str; 6] = [
    "decision_point.resolved",
    "decision_point.guidance_given",
    "decision_point.default_taken",
    "decision_point.aborted",
    "decision_point.cancelled",
    "decision_point.superseded",
];

/// What a process says about a decision.
type Says<'a> = &'a (dyn Fn(&str) -> Value + Sync);

/// Two processes say something about each decision at the same moment; what each was answered.
fn race(place: &Place, ids: &[String], one: Says<'_>, other: Says<'_>) -> Vec<[Value; 2]> {
    race_after(place, ids, None, one, other)
}

/// As [`race`]; the first of the two says `before` in each round.
fn race_after(
    place: &Place,
    ids: &[String],
    before: Option<Says<'_>>,
    one: Says<'_>,
    other: Says<'_>,
) -> Vec<[Value; 2]> {
    let barrier = Barrier::new(2);
    let run = |before: Option<Says<'_>>, says: Says<'_>| {
        let mut session = Session::begin(place);
        let mut answers = Vec::new();
        for id in ids {
            if let Some(before) = before {
                assert!(tell(&mut session, &before(id))["receipt"].is_object());
            }
            let line = says(id);
            barrier.wait();
            answers.push(tell(&mut session, &line));
        }
        session.end();
        answers
    };
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| run(before, one));
        let second = scope.spawn(|| run(None, other));
        (first.join().unwrap(), second.join().unwrap())
    });
    first.into_iter().zip(second).map(|(one, other)| [one, other]).collect()
}

/// Asks so many questions; their ids.
fn asked(place: &Place, rounds: u64, terms: &Value) -> Vec<String> {
    let lines: Vec<Value> = (1..=rounds).map(|round| question(round, terms.clone())).collect();
    accepted(place, &lines);
    (1..=rounds).map(id_of).collect()
}

/// How often each decision ended in each way.
fn endings(place: &Place, kinds: &[&'static str]) -> BTreeMap<String, Vec<&'static str>> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for kind in kinds {
        for record in records(place, kind) {
            found.entry(id_in(&record)).or_default().push(kind);
        }
    }
    found
}

fn id_in(record: &Value) -> String {
    record["event"]["decision_id"].as_str().unwrap().to_string()
}

/// The ids in all records of a kind, which must be different.
fn distinct(place: &Place, kind: &str) -> BTreeSet<String> {
    let found = records(place, kind);
    let ids: BTreeSet<String> = found.iter().map(id_in).collect();
    assert_eq!(ids.len(), found.len(), "{kind}");
    ids
}

/// Bugs 1 and 3: a second answer overwrote the first, and nobody was told.
#[test]
fn two_answers_at_the_same_moment_have_one_winner_in_each_of_a_thousand_rounds() {
    let place = in_memory();
    crate::floods::let_many_be_open();
    let ids = asked(&place, ROUNDS, &json!({}));
    let later = |id: &str| option("ben", id, "later");
    let answers = race(&place, &ids, &|id| option("ann", id, "yes"), &later);
    let mut by_ann = 0;
    for (answers, id) in answers.iter().zip(&ids) {
        let mut said: Vec<Vec<&str>> = answers.iter().map(events).collect();
        by_ann += usize::from(said[0] == ["decision_point.resolved"]);
        said.sort();
        let expected = [["decision_point.late_response"], ["decision_point.resolved"]];
        assert_eq!(said, expected, "{id}: {answers:#?}");
    }
    eprintln!("ann was first in {by_ann} of {ROUNDS} rounds");
    let names: Vec<String> = (1..=VERB_ROUNDS).map(|round| race_of_verbs(&place, round)).collect();
    let all: BTreeSet<String> = ids.into_iter().chain(names).collect();
    assert_eq!(distinct(&place, "decision_point.resolved"), all);
    assert_eq!(distinct(&place, "decision_point.late_response"), all);
    let endings = endings(&place, &ENDINGS);
    assert!(endings.values().all(|kinds| kinds.len() == 1) && endings.len() == all.len());
    place.verified();
}

/// Two `decision respond` at the same moment; the id of the decision.
fn race_of_verbs(place: &Place, round: u64) -> String {
    let id = ask(place, ROUNDS + round, json!({}));
    let respond = |name: &str, option: &str| -> Child {
        let verb = ["decision", "respond", &id, "--option", option, "--as", name, "--json"];
        let mut command = place.command(&verb);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [respond("ann", "yes"), respond("ben", "later")];
    let mut both = both.map(|child| child.wait_with_output().unwrap());
    both.sort_by_key(status);
    assert_eq!(both.each_ref().map(status), [0, 4], "{both:?}");
    let [won, lost] = both.each_ref().map(json);
    let [winner, record] = [&won["decision"], &lost["error"]["current"]];
    for key in ["id", "state", "selected_option", "responded_by", "responded_at"] {
        assert_eq!(winner[key], record[key], "{key} of {id}");
    }
    assert_eq!(record["responded_by"] == "ann", record["selected_option"] == "yes");
    assert_eq!(record["late_total"], 1);
    id
}

/// Bug 3: cancelling looked first and wrote then, over an answer that came in between.
#[test]
fn an_answer_and_a_cancellation_at_the_same_moment_leave_one_ending() {
    let place = in_memory();
    let ids = asked(&place, 150, &json!({ "blocks": ["deploy"] }));
    let cancel = |id: &str| about("asker", "decision_point.cancel", id);
    let answers = race(&place, &ids, &|id| option("ann", id, "yes"), &cancel);
    let released = distinct(&place, "decision_point.released");
    for ([answered, cancelled], id) in answers.iter().zip(&ids) {
        if events(cancelled) == ["decision_point.cancelled"] {
            assert_eq!(events(answered), ["decision_point.late_response"], "{id}");
            assert!(!released.contains(id));
        } else {
            // What was answered first is revoked by the cancellation.
            assert_eq!(events(cancelled), ["decision_point.approval_revoked"], "{id}");
            assert!(events(answered).contains(&"decision_point.resolved"), "{id}");
            assert!(released.contains(id));
        }
    }
    assert_one_ending_each(&place, &ids);
}

/// Bug 3: the sweeper overwrote an answer that came in just before the deadline.
#[test]
fn an_answer_and_the_deadline_at_the_same_moment_leave_one_ending() {
    let expire = |id: &str| line("ben", "decision_point.expire", json!({ "decision_id": id }));
    for more in [json!({}), json!({ "default_option": "no", "on_timeout": "default" })] {
        let place = in_memory();
        let ids: Vec<String> = (1..=100).map(id_of).collect();
        let ask = |id: &str| {
            let round = u64::from_str_radix(id.strip_prefix("DP-").unwrap(), 16).unwrap();
            let mut terms = more.clone();
            terms["timeout_ms"] = json!(1 + round % 6);
            question(round, terms)
        };
        let yes = |id: &str| option("ann", id, "yes");
        for [answered, expired] in race_after(&place, &ids, Some(&ask), &yes, &expire) {
            assert_told(&answered, &expired);
        }
        assert_one_ending_each(&place, &ids);
    }
}

/// The answer counted, or the deadline did and the answer is kept; whoever expires, and finds
/// nothing due, is told so.
fn assert_told(answered: &Value, expired: &Value) {
    match events(answered).as_slice() {
        ["decision_point.resolved"] => assert!(expired["refusal"].is_object(), "{expired:#}"),
        [.., "decision_point.late_response"] => {}
        _ => panic!("{answered:#} {expired:#}"),
    }
}

fn assert_one_ending_each(place: &Place, ids: &[String]) {
    let endings = endings(place, &ENDINGS);
    for id in ids {
        assert_eq!(endings.get(id).map(Vec::len), Some(1), "{id}: {endings:#?}");
    }
    place.verified();
}

/// Bug 36: an approval was used for a second action.
#[test]
fn two_who_spend_one_approval_at_the_same_moment_spend_it_once() {
    let place = in_memory();
    let binding = json!({ "tool": "Bash", "input_sha256": "ab".repeat(32) });
    let ids = asked(&place, 150, &json!({ "binding": binding }));
    accepted(&place, &ids.iter().map(|id| option("ann", id, "yes")).collect::<Vec<_>>());
    let consume = |name: &'static str| {
        let binding = &binding;
        move |id: &str| {
            let fields = json!({ "decision_id": id, "binding": binding });
            line(name, "decision_point.consume", fields)
        }
    };
    for (answers, id) in race(&place, &ids, &consume("ben"), &consume("cleo")).iter().zip(&ids) {
        let spent = answers.iter().filter(|answer| events(answer) == ["decision_point.consumed"]);
        assert_eq!(spent.count(), 1, "{id}: {answers:#?}");
        let refused = answers.iter().find_map(|answer| answer["refusal"]["code"].as_str());
        assert_eq!(refused, Some("ALREADY_CONSUMED"), "{id}");
    }
    assert_eq!(distinct(&place, "decision_point.consumed").len(), ids.len());
    place.verified();
}

/// The same again is no second answer, whoever was first.
#[test]
fn the_same_answer_by_the_same_person_at_the_same_moment_is_given_once() {
    let place = in_memory();
    let ids = asked(&place, 100, &json!({}));
    let yes = |id: &str| option("ann", id, "yes");
    for (answers, id) in race(&place, &ids, &yes, &yes).iter().zip(&ids) {
        let repeated = answers.iter().map(|answer| answer["receipt"]["repeated"].as_bool());
        let mut repeated: Vec<Option<bool>> = repeated.collect();
        repeated.sort_unstable();
        assert_eq!(repeated, [Some(false), Some(true)], "{id}: {answers:#?}");
    }
    assert_eq!(distinct(&place, "decision_point.resolved").len(), ids.len());
    assert_eq!(records(&place, "decision_point.late_response").len(), 0);
    let shown: Output = decision(&place, &["wait", &ids[0], "--timeout", "0s"]);
    assert_eq!((status(&shown), &json(&shown)["decision"]["late_total"]), (0, &json!(0)));
    place.verified();
}
