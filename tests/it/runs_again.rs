//! A run that a person's RETRY about another one caused: where it stands in lists, and how the two
//! name each other.

use crate::apply_support::{answers, apply, initialize};
use crate::program::{Place, json, status, text};
use crate::records_support::{Sample, holdpoint, indexed_of, remove_indexes, values};
use crate::runs::listed;
use crate::terminal::at_terminal;
use serde_json::{Value, json as value};
use std::process::Output;

/// A run that failed and was ended after a RETRY, one in between, and one that the RETRY caused: in
/// a segment each.
fn sample() -> Sample {
    let mut retry = 0;
    indexed_of(&mut |log, at, loops| {
        loops.extend((0..30).map(|_| log.run()));
        loops.push(match at {
            0 => {
                let (halted, record) = log.retry_of_halted("make deploy");
                retry = record;
                halted
            }
            2 => log.run_caused_by("make deploy", retry),
            _ => log.run_of("make test"),
        });
    })
}

/// Each line of a list, as objects.
fn rows(output: &Output) -> Vec<Value> {
    assert_eq!(status(output), 0, "{}", text(&output.stderr));
    values(output)
}

#[test]
fn a_run_begun_again_names_the_run_before_it_and_is_named_by_it_with_indexes_and_without() {
    let sample = sample();
    let log = sample.directory.path();
    let (halted, again) = (&sample.loops[30], &sample.loops[92]);
    for is_indexed in [true, false] {
        let all = rows(&holdpoint(log, &["runs", "-n", "1000", "--json"]));
        let tied: Vec<&Value> = all.iter().filter(|row| !row["retry_of"].is_null()).collect();
        assert_eq!((all.len(), tied.len()), (sample.loops.len(), 1), "{is_indexed}");
        let retry = &tied[0]["retry_of"];
        assert_eq!((&tied[0]["run"], &retry["run"]), (&value!(again), &value!(halted)));
        assert_eq!((&retry["by"]["id"], &retry["standing"]), (&"alice".into(), &"proven".into()));
        let later = json(&holdpoint(log, &["show", again, "--json"]));
        assert_eq!((&later["retry_of"], &later["caused_runs"]), (retry, &value!([])));
        let earlier = json(&holdpoint(log, &["show", halted, "--json"]));
        assert_eq!(
            (&earlier["retry_of"], &earlier["caused_runs"]),
            (&Value::Null, &value!([again]))
        );
        // The list is the same, and the later one stands under the earlier one.
        let shown = text(&holdpoint(log, &["runs", "-n", "1000"]).stdout);
        let at = shown.lines().position(|line| line.contains(" again")).unwrap();
        let lines: Vec<&str> = shown.lines().skip(at - 1).take(2).collect();
        assert!(lines[0].contains("interrupted") && lines[1].starts_with("  "), "{lines:?}");
        assert_eq!(shown.lines().count(), sample.loops.len() + 1);
        remove_indexes(log);
    }
}

#[test]
fn where_the_run_before_it_is_not_listed_a_run_begun_again_stands_alone_and_the_other_is_named() {
    let sample = sample();
    let log = sample.directory.path();
    let (halted, again) = (&sample.loops[30], &sample.loops[92]);
    for options in [&["command=deploy", "-n", "1"][..], &["status=ok", "-n", "70"]] {
        let output = holdpoint(log, &[&["runs"], options].concat());
        let (shown, said) = (text(&output.stdout), text(&output.stderr));
        let line = shown.lines().find(|line| line.contains(" again")).unwrap();
        assert!(!line.starts_with(' ') && !shown.contains("interrupted"), "{shown}");
        assert!(said.contains(&format!("{again} was begun again after {halted}")), "{said}");
    }
    // The earlier one is listed without the later one, and a list goes on behind either.
    let only = holdpoint(log, &["runs", "status=interrupted"]);
    assert_eq!(text(&only.stdout).lines().count(), 2);
    let said = text(&only.stderr);
    assert!(said.contains("as stated by 5 records from") && said.lines().count() == 1, "{said}");
    let behind = |id: &str| rows(&holdpoint(log, &["runs", "--after", id, "-n", "1", "--json"]));
    assert_eq!(behind(again)[0]["run"], value!(sample.loops[91]));
    assert_eq!(behind(halted)[0]["run"], value!(sample.loops[29]));
}

#[test]
fn a_loop_that_a_program_begins_because_of_a_retry_is_shown_under_the_run_that_had_ended() {
    let place = Place::new();
    let held = |options: &[&str]| {
        let words = [&["--json", "run", "--no-wait"], options, &["--", "false"]].concat();
        json(&place.holdpoint(&words))["request_id"].as_str().unwrap().to_string()
    };
    let decide = |request: &str, decision: &[&str]| {
        let answer = [&["decision", "respond", request], decision].concat();
        assert_eq!(status(&at_terminal(&place, &answer)), 0);
    };
    let request = held(&["--hold", "after"]);
    decide(&request, &["RETRY", "--reason", "flaky"]);
    decide(&held(&["--resume", &request]), &["ABORT"]);
    let first = listed(&place, &[]).remove(0);
    let kind = ["log", "kind=human_decision.answered", "--json"];
    let answered = rows(&place.holdpoint(&kind));
    let record = answered[0]["sequence"].as_u64().unwrap();
    let again = value!({ "causation": record, "submit": initialize(&"6".repeat(32)) });
    let told = answers(&apply(&place, &[again]));
    assert!(told.iter().all(|answer| answer["receipt"].is_object()), "{told:#?}");
    let [later, earlier] = &listed(&place, &[])[..] else { panic!("two runs") };
    assert_eq!(*earlier, first);
    let screen = text(&place.holdpoint(&["show", later]).stdout);
    let line = screen.lines().find(|line| line.starts_with("again ")).unwrap();
    assert!(line.contains(&format!("after {first}")), "{screen}");
    assert!(screen.contains("flaky"), "{screen}");
    let screen = text(&place.holdpoint(&["show", &first]).stdout);
    let line = screen.lines().find(|line| line.starts_with("caused ")).unwrap();
    assert!(line.contains(later.as_str()), "{screen}");
    assert_eq!(listed(&place, &["status=running"]), [later.as_str()]);
    assert_eq!(listed(&place, &["failed=true"]), [first.as_str()]);
}
