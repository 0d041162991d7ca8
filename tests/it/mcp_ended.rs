//! What an agent is told of decisions that ended long ago.

use crate::decision_named::many;
use crate::mcp_support::{Client, Era};
use crate::program::Place;
use serde_json::json;

#[test]
fn a_decision_that_ended_long_ago_is_over_and_not_unknown_to_an_agent() {
    let place = Place::new();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let asked = client.done("decision_create", &json!({ "prompt": "Old?" }));
    let id = asked["decision"]["id"].as_str().unwrap().to_string();
    let taken_back = client.done("decision_cancel", &json!({ "decision_id": id }));
    many(&place);
    let again = client.done("decision_cancel", &json!({ "decision_id": id }));
    assert_eq!((&again["replayed"], &again["decision"]), (&json!(true), &taken_back["decision"]));
    let refined = json!({ "decision_id": id, "prompt": "And now?", "options": [] });
    let refused = client.refused("already_ended", "decision_refine", &refined);
    assert_eq!(refused["current"], taken_back["decision"]);
    client.end();
}
