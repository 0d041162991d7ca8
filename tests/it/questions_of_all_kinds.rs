//! Holds and decisions are questions of one kind to whoever lists, shows, answers or awaits them.

use crate::mcp_support::{Client, Era};
use crate::program::{Place, error_of, json, json_lines, status, text};
use crate::terminal::at_terminal;
use holdpoint_testing::story::seed;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Leaves the question of a hold open about a command that failed.
fn held(place: &Place) -> String {
    let run = ["run", "--hold", "on-failure", "--no-wait", "--to", "boss"];
    let run = place.holdpoint(&[&run[..], &["--", "false"]].concat());
    assert_eq!(status(&run), 122, "{}", text(&run.stderr));
    newest(place, "hold")
}

/// Asks with these options.
fn asked(place: &Place, options: &[&str]) -> String {
    let create = ["decision", "create", "--prompt", "Deploy?"];
    let output = place.holdpoint(&[&create[..], options].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    text(&output.stdout).trim().to_string()
}

fn newest(place: &Place, kind: &str) -> String {
    let listed = json(&place.holdpoint(&["decision", "list", "--kind", kind, "--json"]));
    listed.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_string()
}

fn open(place: &Place) -> BTreeSet<String> {
    let listed = json(&place.holdpoint(&["decision", "list", "--json"]));
    let ids = listed.as_array().unwrap().iter();
    ids.map(|question| question["id"].as_str().unwrap().to_string()).collect()
}

const YES_NO: [&str; 6] = ["--option", "go:Go", "--option", "stop:Stop", "--reject", "stop"];

#[test]
fn a_hold_in_json_has_every_key_of_a_decision_with_values_of_the_same_type() {
    let place = Place::with_log();
    let (request, decision) = (held(&place), asked(&place, &YES_NO));
    let listed = json(&place.holdpoint(&["decision", "list", "--json"]));
    let of = |id: &str| {
        let listed = listed.as_array().unwrap().iter();
        listed.clone().find(|question| question["id"] == id).unwrap().as_object().unwrap()
    };
    let (hold, decision) = (of(&request), of(&decision));
    assert_eq!((&hold["kind"], &decision["kind"]), (&json!("hold"), &json!("decision")));
    let keys: BTreeSet<_> = hold.keys().filter(|key| *key != "hold").collect();
    assert_eq!(keys, decision.keys().collect());
    for (key, value) in decision.iter().filter(|(_, value)| !value.is_null()) {
        let same = std::mem::discriminant(value) == std::mem::discriminant(&hold[key]);
        assert!(same || hold[key].is_null(), "{key}: {value} and {}", hold[key]);
    }
    assert_eq!((&hold["issue_id"], &hold["default_option"]), (&Value::Null, &Value::Null));
    assert_eq!(hold["iteration"], 1);
    let ids: Vec<&Value> =
        hold["options"].as_array().unwrap().iter().map(|option| &option["id"]).collect();
    assert_eq!(ids, ["CONTINUE", "RETRY", "ABORT", "ESCALATE"]);
    assert_eq!(hold["hold"]["request_id"], *request);
}

#[test]
fn approve_and_deny_take_the_one_choice_that_they_mean_and_no_other() {
    let place = Place::with_log();
    let said = |verb: &str, id: &str| {
        let output = at_terminal(&place, &[verb, id]);
        (status(&output), text(&output.stderr))
    };
    let shown = |id: &str| json(&place.holdpoint(&["decision", "show", id, "--json"]));
    for (verb, hold, decision, exit) in
        [("approve", "CONTINUE", "go", 0), ("deny", "ABORT", "stop", 16)]
    {
        for (id, chosen) in [(held(&place), hold), (asked(&place, &YES_NO), decision)] {
            assert_eq!(said(verb, &id).0, 0, "{verb} {id}");
            assert_eq!(shown(&id)["selected_option"], chosen, "{verb} {id}");
            assert_eq!(status(&place.holdpoint(&["decision", "wait", &id])), exit, "{verb} {id}");
        }
    }
    let many = [&YES_NO[..], &["--option", "later:Later", "--option", "no:No", "--reject", "no"]];
    for (options, choices) in [
        (&many.concat()[..], "its choices are go, stop, later, no"),
        (&["--option", "a:A", "--option", "b:B"], "its choices are a, b"),
        (&[], "it has none"),
    ] {
        let id = asked(&place, options);
        for verb in ["approve", "deny"] {
            let (exit, told) = said(verb, &id);
            assert!(exit == 5 && told.contains(choices), "{verb}: {exit} {told}");
        }
        assert_eq!(shown(&id)["state"], "pending");
    }
}

#[test]
fn what_a_hold_does_not_take_is_refused_by_one_name_and_nothing_is_written() {
    let place = Place::with_log();
    let request = held(&place);
    let digits = &request["REQ-".len()..][..12];
    let records = || text(&place.holdpoint(&["log"]).stdout);
    let before = records();
    for id in [&request[..], digits] {
        for words in [
            &["respond", id, "--text", "go on"][..],
            &["respond", id, "--guidance", "a smaller one"],
            &["respond", id, "_accept"],
            &["respond", id, "CONTINUE", "--as", "ada"],
            &["respond", id, "CONTINUE", "--agent"],
            &["respond", id, "CONTINUE", "--expected-version", "1"],
            &["cancel", id],
            &["notify", id],
            &["notify", id, "--to", "boss"],
            &["create", "--revises", id, "--prompt", "Again?"],
            &["create", "--supersedes", id, "--prompt", "Again?"],
            &["consume", id, "--bind", "tool=Bash", "--bind", "input={}"],
        ] {
            let output = at_terminal(&place, &[&["decision"], words, &["--json"]].concat());
            let told = text(&output.stdout);
            assert!(status(&output) == 5 && told.contains("NOT_OF_A_HOLD"), "{words:?}: {told}");
        }
    }
    let mut client = Client::start(&place, Era::Stateless, &["--allow-respond"]);
    for (tool, arguments) in [
        ("decision_respond", json!({ "decision_id": request, "option": "CONTINUE" })),
        ("decision_respond", json!({ "decision_id": request, "text": "go" })),
        ("decision_cancel", json!({ "decision_id": request })),
        ("decision_refine", json!({ "decision_id": request, "prompt": "Again?" })),
    ] {
        client.refused("NOT_OF_A_HOLD", tool, &arguments);
    }
    drop(client);
    assert_eq!(records(), before);
    assert_eq!(open(&place), [request].into());
}

#[test]
fn no_list_says_that_nothing_waits_while_a_question_of_any_kind_does() {
    let seed = seed();
    let (place, mut waiting) = (Place::with_log(), BTreeSet::new());
    let mut random = seed;
    let mut draw = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    for step in 0..12 {
        match draw(5) {
            0 => _ = waiting.insert(held(&place)),
            1 => _ = waiting.insert(asked(&place, &YES_NO)),
            2 => _ = waiting.insert(asked(&place, &["--blocks", "deploy"])),
            _ => {
                let nth = usize::try_from(draw(1 + waiting.len() as u64)).unwrap();
                if let Some(id) = waiting.iter().nth(nth).cloned() {
                    let verb = if draw(2) == 0 { "approve" } else { "deny" };
                    if status(&at_terminal(&place, &[verb, &id])) == 0 {
                        waiting.remove(&id);
                    }
                }
            }
        }
        assert_eq!(open(&place), waiting, "step {step}, seed {seed}");
        let said = text(&place.holdpoint(&["decision", "list"]).stderr);
        let is_none = said.contains("no pending questions");
        assert_eq!(is_none, waiting.is_empty(), "step {step}, seed {seed}: {said}");
    }
}

#[test]
fn a_hold_is_found_by_what_its_view_says_and_by_the_run_that_it_is_about() {
    let place = Place::new();
    let id = held(&place);
    let run = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    for filter in ["urgency=medium", "requested_by=system:hold"] {
        let listed = json(&place.holdpoint(&["decision", "list", filter, "--json"]));
        assert_eq!(listed[0]["id"], id[..], "{filter}");
    }
    for wanted in ["@", &run, &run[..12]] {
        let shown = json(&place.holdpoint(&["decision", "show", wanted, "--json"]));
        assert_eq!(shown["id"], id[..], "{wanted}");
        let waited = place.holdpoint(&["decision", "wait", wanted, "--timeout", "0s", "--json"]);
        assert_eq!((status(&waited), &json(&waited)["decision"]["id"]), (10, &json!(id)));
    }
    let records = json_lines(&place.holdpoint(&["log", &format!("decision={id}"), "--json"]));
    assert!(records.iter().any(|it| it["kind"] == "human_decision.requested"), "{records:?}");
    let refused = place.holdpoint(&["decision", "cancel", &id, "--json"]);
    let error = error_of(&refused);
    assert_eq!((status(&refused), &error["decision_id"]), (5, &json!(id)));
    assert_eq!(error["current"]["state"], "pending");
    let refused = place.holdpoint(&["decision", "respond", &id, "NOPE", "--json"]);
    assert_eq!(error_of(&refused)["current"]["id"], id[..]);
    let answered = at_terminal(&place, &["decision", "respond", &id, "CONTINUE"]);
    assert_eq!(status(&answered), 0);
    let shown = json(&place.holdpoint(&["decision", "show", "@", "--json"]));
    assert_eq!(shown["released_at"], shown["responded_at"]);
    place.run(&["true"]);
    let none = place.holdpoint(&["decision", "show", "@"]);
    let said = text(&none.stderr);
    assert!(status(&none) == 3 && said.contains("nothing was asked about this run"), "{said}");
}
