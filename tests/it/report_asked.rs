//! What `report` tells of decisions with which no run was begun: a page of a range has the people
//! in it, and a page of one run has its own alone.

use crate::hook::{ask, call, pre, respond, run};
use crate::machine::take_claims;
use crate::mcp_support::{Client, Era};
use crate::program::{Place, json, status, text};
use crate::report_support::{holds, page_of};
use crate::run_before::{answer, await_question, command};
use crate::terminal::at_terminal;
use serde_json::json as value;

/// What a tool printed, and nobody asked for.
const PRINTED: &str = "printed-by-the-tool";

/// The part of a page under a heading.
fn section<'p>(page: &'p str, title: &str) -> &'p str {
    let heading = format!("<h2>{title}</h2>");
    let behind = page.split_once(&heading).unwrap_or_else(|| panic!("no {title} in {page}")).1;
    behind.split_once("</section>").unwrap().0
}

/// A start that was denied. Its question.
fn denied(place: &Place) -> String {
    let waiting = ["run", "--hold", "before", "--", "sh", "-c", "echo never"];
    let child = command(place, &waiting).spawn().unwrap();
    let question = await_question(place);
    assert_eq!(answer(place, &question, "deny"), 0);
    assert_ne!(status(&child.wait_with_output().unwrap()), 0);
    question
}

#[test]
fn a_start_that_was_denied_is_told_with_the_question_and_with_who_denied_it() {
    let place = Place::with_log();
    let question = denied(&place);
    let page = page_of(&place, &["--since", "1"]);
    let asked = section(&page, "What was asked beside that");
    let by = place.holdpoint(&["decision", "show", &question, "--json"]);
    let by: serde_json::Value = serde_json::from_slice(&by.stdout).unwrap();
    let by = by["responded_by"].as_str().unwrap();
    for word in [&question, "echo never", "option deny, by ", by] {
        assert!(asked.contains(word), "{word}: {asked}");
    }
    assert!(section(&page, "Who took part").contains(&format!("{by} (person")), "{page}");
    let happened = section(&page, "What happened");
    assert!(happened.contains(&question) && happened.contains("answered by "), "{happened}");
    assert!(holds(&page, "echo never"), "the payloads of what is told are there");
}

#[test]
fn a_tool_that_was_let_through_is_told_with_its_outcome_and_without_what_it_printed() {
    let place = Place::with_log();
    let let_through = |words: &str| {
        let id = ask(&place, &[], &call("s", words));
        respond(&place, &id, "approve");
        assert_eq!(pre(&place, &[], &call("s", words)).0, "allow");
        id
    };
    let reported = let_through("make build");
    let mut ran = call("s", "make build");
    ran["hook_event_name"] = "PostToolUse".into();
    ran["tool_response"] = PRINTED.into();
    assert_eq!(status(&run(&place, &["post-tool-use"], &ran)), 0);
    let unknown = let_through("make deploy");
    let page = page_of(&place, &["--since", "1"]);
    let asked = section(&page, "What was asked beside that");
    let of = |id: &str| asked.split("<h3>").find(|part| part.contains(id)).unwrap();
    for word in [
        "make build",
        "option approve, by ",
        "its host claims, and nothing proves, that it succeeded",
    ] {
        assert!(of(&reported).contains(word), "{word}: {asked}");
    }
    assert!(of(&unknown).contains("unknown: no report"), "{asked}");
    assert!(asked.contains("claude-code:s (agent, name not proven)"), "{asked}");
    let part = section(&page, "Who took part");
    assert!(part.contains("claude-code:s (agent"), "{part}");
    let claim = "claims, and nothing proves, that the call succeeded";
    assert!(section(&page, "What happened").contains(claim), "{page}");
    assert!(holds(&page, "make build") && !holds(&page, PRINTED) && !page.contains(PRINTED));
    let with = page_of(&place, &["--since", "1", "--include-evidence"]);
    assert!(holds(&with, PRINTED), "whoever asks for it has it");
}

/// Two had to approve, and nothing proves who they were.
#[test]
fn every_vote_is_told_with_what_nothing_proves_and_without_a_code() {
    let place = Place::with_log();
    take_claims();
    let create = "decision create ship --prompt Ship? --option go:Go --option no:No --reject no \
                  --quorum 2 --approvers alice,bob --authentication claimed";
    let asked = place.holdpoint(&create.split_whitespace().collect::<Vec<_>>());
    let id = text(&asked.stdout).trim().to_string();
    for name in ["alice", "bob"] {
        let vote = ["decision", "respond", &id, "--option", "go", "--as", name, "--reason", "ok"];
        let output = place.holdpoint(&vote);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    }
    let page = page_of(&place, &["--since", "1"]);
    assert!(page.contains("<title>Holdpoint report: records 1 to "), "{page}");
    let asked = section(&page, "What was asked beside that");
    for name in ["alice", "bob"] {
        let said = format!("<td>option go, by {name} (person and name not proven), ");
        assert!(asked.contains(&said), "{asked}");
        let said = format!("{name} (person and name not proven) says option go, and beside it ");
        assert!(section(&page, "What happened").contains(&said), "{page}");
    }
    assert!(asked.contains("2 who say the same"), "{asked}");
    for code in ["(none)", "(os-user)", "by bob at "] {
        assert!(!page.contains(code), "{code}: {page}");
    }
}

#[test]
fn of_a_damaged_log_no_question_is_said_to_be_open_or_without_a_report() {
    let place = Place::with_log();
    ask(&place, &[], &call("s", "ls"));
    let used = ask(&place, &[], &call("s", "make"));
    respond(&place, &used, "approve");
    assert_eq!(pre(&place, &[], &call("s", "make")).0, "allow");
    place.shell("echo damaged-output");
    let segment = place.log.join("segments/00000000000000000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let printed = bytes.windows(14).rposition(|it| it == b"damaged-output").unwrap();
    bytes[printed] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let output =
        place.holdpoint(&["export", "--format", "html", "--since", "1", "--output", "page.html"]);
    assert_eq!(status(&output), 6, "{}", text(&output.stderr));
    let page = std::fs::read_to_string(place.directory.path().join("page.html")).unwrap();
    assert!(page.contains("nobody knows whether it was answered"), "{page}");
    assert!(page.contains("nobody knows whether that was reported"), "{page}");
    assert!(!page.contains("no answer yet") && !page.contains("no report"));
}

#[test]
fn a_page_of_one_run_tells_no_decision_but_its_own() {
    let place = Place::with_log();
    let question = denied(&place);
    let waiting = ["run", "--hold", "before", "--", "sh", "-c", "true own"];
    let child = command(&place, &waiting).spawn().unwrap();
    let own = await_question(&place);
    assert_eq!(answer(&place, &own, "approve"), 0);
    assert_eq!(status(&child.wait_with_output().unwrap()), 0);
    let output = place.holdpoint(&["runs", "-q", "-n", "1"]);
    let id = text(&output.stdout).trim().to_string();
    let page = page_of(&place, &[&id]);
    assert!(page.contains(&own) && !page.contains(&question));
    assert!(!page.contains("What was asked beside that") && !holds(&page, "echo never"));
    let range = page_of(&place, &["--since", "1"]);
    let asked = section(&range, "What was asked beside that");
    assert!(
        asked.contains(&question) && !asked.contains(&own),
        "an approval is its run's: {asked}"
    );
}

/// What a person said and what the command printed is in what shows the run; a view of the question
/// about it, in whatever form, has no line of output.
#[test]
fn the_reason_and_the_last_lines_stand_with_the_run_and_no_output_with_its_question() {
    let place = Place::with_log();
    let script = "for n in 1 2 3 4 5 6 7 8 9; do echo line-$n; done; exit 3";
    let held = ["run", "--hold", "on-failure", "--no-wait", "--", "sh", "-c", script];
    assert_eq!(status(&place.holdpoint(&held)), 122);
    let list = json(&place.holdpoint(&["decision", "list", "--json"]));
    let question = list[0]["id"].as_str().unwrap();
    let mut client = Client::start(&place, Era::Stateless, &[]);
    let mut views = || {
        let wanted = value!({ "decision_id": question });
        let mut views = vec![client.done("decision_show", &wanted).to_string()];
        for words in [
            &["decision", "show", question][..],
            &["decision", "show", question, "--verbose"],
            &["decision", "show", question, "--json"],
            &["decision", "list", "state=all"],
            &["decision", "list", "state=all", "--json"],
            &["decision", "wait", question, "--timeout", "0s", "--json"],
            &["inbox", "--json"],
        ] {
            views.push(text(&place.holdpoint(words).stdout));
        }
        views
    };
    let before = views();
    let answer = ["decision", "respond", question, "ABORT", "--reason", "not on a Friday"];
    assert_eq!(status(&at_terminal(&place, &answer)), 0);
    for view in before.into_iter().chain(views()) {
        assert!(!view.contains("line-9"), "{view}");
    }
    client.end();
    let run = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    let shown = text(&place.holdpoint(&["show", &run]).stdout);
    let page = page_of(&place, &[&run, "--include-evidence"]);
    for text in [&shown[..], section(&page, "What ran")] {
        assert!(text.contains("not on a Friday"), "{text}");
        assert!(text.contains("line-9") && text.contains("line-5"), "{text}");
    }
    assert!(!section(&page, "What ran").contains("line-4\n"));
    let without = page_of(&place, &[&run]);
    assert!(
        without.contains("not on a Friday") && !section(&without, "What ran").contains("line-9\n")
    );
}

#[test]
fn of_a_run_that_began_before_a_page_does_what_it_printed_on_the_page_is_told() {
    let place = Place::with_log();
    let script = "head -c 70000 /dev/zero | tr '\\0' a; echo; echo its end; exit 3";
    assert_eq!(status(&place.shell(script)), 3);
    let records = place.records();
    let pieces = records.iter().filter(|it| it["kind"] == "evidence_capture.output_recorded");
    let pieces: Vec<u64> = pieces.map(|piece| piece["sequence"].as_u64().unwrap()).collect();
    let newest = pieces.iter().max().unwrap();
    assert!(pieces.len() > 1, "{pieces:?}");
    let page = page_of(&place, &["--since", &newest.to_string(), "--include-evidence"]);
    for named in ["What ran", "Evidence"] {
        assert!(section(&page, named).contains("its end"), "{named}: {page}");
    }
}
