//! What silence comes to where a question names a default, and once a proposal dropped it.

use crate::decision_support::{asked, done, refused, shown};
use crate::program::Place;
use serde_json::json;

/// As the seed has it, where nobody has to approve.
#[test]
fn a_default_is_taken_when_the_time_to_answer_is_over_unless_something_else_was_asked_for() {
    let place = Place::new();
    let given = ["--timeout", "1ms", "--default", "a"];
    for (more, state, chosen) in [
        (&[][..], "expired", json!("a")),
        (&["--on-timeout", "abort"], "aborted", json!(null)),
        (&["--blocks", "deploy"], "aborted", json!(null)),
        (&["--quorum", "1", "--reject", "b"], "aborted", json!(null)),
        (&["--on-timeout", "hold"], "pending", json!(null)),
    ] {
        let id = asked(&place, &[&given[..], more].concat());
        done(&place, &["expire"]);
        let found = shown(&place, &id);
        assert_eq!(
            (&found["state"], &found["selected_option"]),
            (&json!(state), &chosen),
            "{more:?}"
        );
        assert_eq!(found["approved"], false, "{more:?}");
    }
    place.verified();
}

#[test]
fn a_refinement_drops_the_default_and_silence_then_decides_nothing() {
    let place = Place::new();
    let first = asked(&place, &["--timeout", "1h", "--default", "a"]);
    done(&place, &["respond", &first, "--guidance", "Neither."]);
    let next = shown(&place, &first)["next_id"].as_str().unwrap().to_string();
    let (exit, _) = refused(&place, &["refine", &next, "--no-default", "--default", "a"]);
    assert_eq!(exit, 2);
    done(&place, &["refine", &next, "--no-default"]);
    let found = shown(&place, &next);
    let expected = (&json!(null), &json!("abort"), &json!("pending"));
    assert_eq!((&found["default_option"], &found["on_timeout"], &found["state"]), expected);
    place.verified();
}
