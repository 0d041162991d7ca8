//! What silence comes to where a question names a default, and once a proposal dropped it; and what
//! is answered by accepting the proposal or the guidance of a later round.

use crate::decision_support::{asked, done, refused, shown};
use crate::program::{Place, status, text};
use crate::terminal::at_terminal;
use serde_json::{Value, json};

/// As the seed has it, where nobody has to approve.
#[test]
fn a_default_is_taken_when_the_time_to_answer_is_over_unless_something_else_was_asked_for() {
    let place = Place::new();
    let given = ["--expires", "1ms", "--default", "a"];
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
    let first = asked(&place, &["--expires", "1h", "--default", "a"]);
    done(&place, &["respond", &first, "--guidance", "Neither."]);
    let next = shown(&place, &first)["next_id"].as_str().unwrap().to_string();
    let (exit, _) =
        refused(&place, &["create", "--revises", &next, "--default", "", "--default", "a"]);
    assert_eq!(exit, 2);
    done(&place, &["create", "--revises", &next, "--default", ""]);
    let found = shown(&place, &next);
    let expected = (&json!(null), &json!("abort"), &json!("pending"));
    assert_eq!((&found["default_option"], &found["on_timeout"], &found["state"]), expected);
    place.verified();
}

/// A question of the second round, with this default, before its requester proposed anew.
fn guided(place: &Place, default: Option<&str>) -> String {
    let named = default.map(|id| vec!["--default", id]).unwrap_or_default();
    let id = asked(place, &[&["gt-7"], &named[..]].concat());
    assert_eq!(refused(place, &["respond", &id, "_accept"]).1["code"], "nothing_to_accept");
    let offers = |shown: &Value, way: &str| {
        shown["options"].as_array().unwrap().iter().any(|option| option["id"] == way)
    };
    assert!(!offers(&shown(place, &id), "_accept"));
    done(place, &["respond", &id, "--guidance", "Take both"]);
    let second = shown(place, "gt-7");
    assert!(offers(&second, "_accept") && offers(&second, "_guidance"), "{second:#}");
    assert_eq!(refused(place, &["respond", "gt-7", "--option", "a"]).1["code"], "not_refined");
    second["id"].as_str().unwrap().to_string()
}

#[test]
fn in_a_later_round_the_proposal_is_accepted_with_its_default() {
    for words in [&["_accept"][..], &["--option", "_accept"]] {
        for (default, is_refined) in [(Some("b"), false), (Some("b"), true), (None, true)] {
            let place = Place::new();
            guided(&place, default);
            if is_refined {
                done(&place, &["create", "--revises", "gt-7", "--prompt", "Which, then?"]);
            }
            let told = done(&place, &[&["respond", "gt-7"], words].concat());
            let found = &told["decision"];
            assert_eq!(found["resolution_kind"], "accept");
            assert_eq!(found["response_text"], Value::Null);
            assert_eq!(found["selected_option"], json!(default));
            place.verified();
        }
    }
}

#[test]
fn in_a_later_round_the_guidance_is_an_answer_in_its_own_words() {
    for is_refined in [false, true] {
        let place = Place::new();
        guided(&place, Some("b"));
        if is_refined {
            done(&place, &["create", "--revises", "gt-7", "--prompt", "Which, then?"]);
        }
        let told = done(&place, &["respond", "gt-7", "--option", "_guidance"]);
        let found = &told["decision"];
        assert_eq!(found["resolution_kind"], "text");
        assert_eq!(found["response_text"], "Take both");
        assert_eq!(found["selected_option"], Value::Null);
        place.verified();
    }
}

/// What a person at a terminal is offered is taken, and what `decision show` names as well.
#[test]
fn where_a_person_is_needed_the_guidance_is_an_answer_as_it_is_and_approves_nothing() {
    let bound = ["--bind", "tool=t", "--bind", "input={}"];
    for terms in [&["--blocks", "w"][..], &["--quorum", "1", "--reject", "b"], &bound] {
        for is_refined in [false, true] {
            let place = Place::new();
            let id = asked(&place, &[&["gt-7"], terms].concat());
            let answer = |words: &[&str]| {
                let output = at_terminal(&place, &[&["decision", "respond"], words].concat());
                assert_eq!(status(&output), 0, "{terms:?}: {}", text(&output.stderr));
            };
            answer(&[&id, "--guidance", "Take both"]);
            let next = shown(&place, "gt-7")["id"].as_str().unwrap().to_string();
            let view = text(&place.holdpoint(&["decision", "show", &next]).stdout);
            assert!(view.contains(&format!("{next} _guidance")), "{view}");
            if is_refined {
                done(&place, &["create", "--revises", &next, "--prompt", "Which, then?"]);
            }
            answer(&[&next, "_guidance"]);
            let found = shown(&place, &next);
            assert_eq!(found["resolution_kind"], "text", "{found:#}");
            assert_eq!(
                (&found["response_text"], &found["approved"]),
                (&json!("Take both"), &json!(false))
            );
            place.verified();
        }
    }
}
