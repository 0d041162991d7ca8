//! What a session asked for permits nothing where a salvage left it in doubt: no hook advises to
//! act on it, and a person is asked anew.

use crate::decision_support::newest_record;
use crate::hook::{ask, call, decisions, denied, id_in, pre, respond, run, stop, stopping};
use crate::machine::trust;
use crate::program::{Place, by_person, json, status, text};
use crate::unproven::{set_back, unprove};
use serde_json::json;

/// What a session is told when it starts.
fn told(place: &Place) -> String {
    let start = json!({ "session_id": "s", "hook_event_name": "SessionStart" });
    let told = json(&run(place, &["session-start"], &start));
    told["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_string()
}

/// The reason for which a session may not stop.
fn held_back(place: &Place, options: &[&str]) -> String {
    let told = stop(place, options, &stopping("s", false));
    assert_eq!(told["decision"], "block", "{told}");
    told["reason"].as_str().unwrap().to_string()
}

/// Where the policy may be lost too, nothing is asked before a person sets one.
fn set_policy(place: &Place) {
    let output = by_person(&place.command(&["policy", "set", "default=before"]));
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
}

/// Neither text advises to act on a decision that permits nothing, and each says so.
fn assert_no_advice(place: &Place, id: &str, options: &[&str]) {
    for told in [told(place), held_back(place, options)] {
        assert!(told.contains(id) && told.contains("permits nothing"), "{told}");
        assert!(!told.contains("retry") && !told.contains("decision wait"), "{told}");
        assert!(told.contains("the same call"), "{told}");
    }
}

/// The call asks anew, once, and is let through by the new answer.
fn assert_asked_anew(place: &Place, id: &str) {
    let reason =
        denied(place, &[], &call("s", "make deploy"), "permits nothing; pending, decision");
    let anew = id_in(&reason);
    assert!(reason.contains(id) && anew != id, "{reason}");
    assert_eq!(ask(place, &[], &call("s", "make deploy")), anew);
    assert_eq!(decisions(place).len(), 2);
    assert_eq!(stop(place, &[], &stopping("s", false)), json!({}), "it was asked anew");
    respond(place, &anew, "approve");
    let told = told(place);
    let is_advised = |line: &&str| line.contains("retry the action");
    let advised: Vec<&str> = told.lines().filter(is_advised).collect();
    assert!(advised.len() == 1 && advised[0].contains(&anew), "{told}");
    assert_eq!(pre(place, &[], &call("s", "make deploy")).0, "allow");
    assert_eq!(stop(place, &[], &stopping("s", false)), json!({}));
}

#[test]
fn an_approval_that_may_rest_on_unproven_records_is_asked_for_anew_and_advised_by_no_hook() {
    let mut place = Place::new();
    let id = ask(&place, &[], &call("s", "make deploy"));
    respond(&place, &id, "approve");
    unprove(&mut place);
    assert_no_advice(&place, &id, &[]);
    assert_asked_anew(&place, &id);
}

#[test]
fn a_question_whose_answer_would_permit_nothing_is_asked_anew_and_waited_for_by_no_hook() {
    let mut place = Place::new();
    let id = ask(&place, &[], &call("s", "make deploy"));
    unprove(&mut place);
    assert_eq!(stop(&place, &[], &stopping("s", false)), json!({}));
    assert_no_advice(&place, &id, &["--require-answer"]);
    assert_asked_anew(&place, &id);
}

/// A denial permits nothing in any case.
#[test]
fn a_denial_that_may_rest_on_unproven_records_stands() {
    let mut place = Place::new();
    let id = ask(&place, &[], &call("s", "make deploy"));
    respond(&place, &id, "deny");
    unprove(&mut place);
    let reason = denied(&place, &[], &call("s", "make deploy"), "rejected by ");
    assert!(reason.contains(&id), "{reason}");
    assert_eq!(decisions(&place).len(), 1);
}

/// A log that was salvaged from one which lost its newest records, the spending of an approval
/// among them, and the id of that.
fn without_newest_records() -> (Place, String) {
    let mut place = Place::new();
    let id = ask(&place, &[], &call("s", "make deploy"));
    respond(&place, &id, "approve");
    let head = std::fs::read(place.log.join("HEAD")).unwrap();
    assert_eq!(status(&place.shell("true")), 0);
    let before = newest_record(&place);
    assert_eq!(pre(&place, &[], &call("s", "make deploy")).0, "allow");
    set_back(&place.log, before);
    // What follows the record that HEAD names tells that it is older than the log.
    std::fs::write(place.log.join("HEAD"), head).unwrap();
    let output = place.holdpoint(&["copy", "--salvage", "log", "new", "--json"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    place.log = place.directory.path().join("new");
    trust(&[&place.log]);
    (place, id)
}

/// Whether it was spent is not known any more: the record of that may be lost.
#[test]
fn an_approval_that_may_be_spent_in_a_lost_record_is_asked_for_anew() {
    let (place, id) = without_newest_records();
    set_policy(&place);
    assert_no_advice(&place, &id, &[]);
    assert_asked_anew(&place, &id);
}

#[test]
fn a_command_that_a_hook_advises_names_the_log_wherever_it_is_typed() {
    let (place, _) = without_newest_records();
    let command = format!("`holdpoint --log {} policy set`", place.log.display());
    denied(&place, &[], &call("s", "make deploy"), &command);
}

#[test]
fn a_hook_tells_the_code_of_a_refusal_and_that_the_lost_policy_is_to_be_repeated() {
    let (place, _) = without_newest_records();
    let reason = denied(&place, &[], &call("s", "make deploy"), "(POLICY_LOST)");
    assert!(reason.contains("with all that the lost one demanded"), "{reason}");
}
