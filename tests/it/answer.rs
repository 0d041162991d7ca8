//! `answer`: a hold and a decision are answered by their own words, and by no other's.

use crate::program::{Place, json, status, text, with_hold};
use crate::run_before::await_listed;
use crate::terminal::at_terminal;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionPointCommand, DecisionPointEvent,
};
use holdpoint_domain::world::envelope::encode;
use holdpoint_domain::{Command, Envelope, Event, decide};
use holdpoint_testing::hand_made::{HandMadeLog, envelope};
use holdpoint_testing::story::Story;
use holdpoint_testing::story::points::agent;
use std::fs::File;

/// Leaves the question of a hold open about a command that failed.
fn held(place: &Place) -> String {
    let run = place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"]);
    assert_eq!(status(&run), 122, "{}", text(&run.stderr));
    await_listed(place, "hold", "id")
}

/// Asks for a decision.
fn asked(place: &Place) -> String {
    let create = ["decision", "create", "gt-1", "--prompt", "Deploy?"];
    let options = ["--option", "yes:Yes", "--option", "no:No", "--reject", "no"];
    let output = place.holdpoint(&[&create[..], &options[..]].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    await_listed(place, "decision", "id")
}

fn answer(place: &Place, words: &[&str]) -> (i32, String) {
    let output = at_terminal(place, &[&["decision", "respond"], words].concat());
    (status(&output), text(&output.stderr))
}

#[test]
fn a_hold_takes_its_own_words_and_none_of_a_decision() {
    let place = Place::with_log();
    let request = held(&place);
    for word in ["approve", "deny", "yes", "C", "CONT", "ESCALATE", ""] {
        let (exit, said) = answer(&place, &[&request, word]);
        assert!(exit == 5 && said.contains("CONTINUE, RETRY, ABORT"), "{word}: {exit} {said}");
    }
    let refused = place.holdpoint(&["log", "kind=log.command_refused"]);
    assert_eq!(text(&refused.stdout), "", "a word that is not offered is no command");
    assert_eq!(answer(&place, &[&request, "RETRY"]).0, 5, "RETRY needs a reason");
    assert_eq!(answer(&place, &[&request, "CONTINUE", "--as", "ada"]).0, 5);
    assert_eq!(answer(&place, &[&request, "--text", "go on"]).0, 5);
    assert_eq!(answer(&place, &[&request, "ABORT", "--reason", "flaky"]).0, 0);
    let shown = with_hold(json(&place.holdpoint(&["decision", "show", &request, "--json"])));
    assert_eq!(shown["decision"]["decision"], "ABORT", "{shown:#}");
}

#[test]
fn a_decision_takes_its_own_options_and_no_word_of_a_hold() {
    let place = Place::with_log();
    let decision = asked(&place);
    for word in ["CONTINUE", "approve", "ye", "Yes"] {
        assert_eq!(answer(&place, &[&decision, word]).0, 5, "{word}");
    }
    assert_eq!(answer(&place, &[&decision, "yes", "--to", "ada"]).0, 2);
    assert_eq!(answer(&place, &[&decision]).0, 2);
    let told = text(&place.holdpoint(&["decision", "respond", "DP-xyz", "yes"]).stderr);
    assert!(told.contains("DP-xyz") && !told.contains("digits"), "{told}");
    assert_eq!(answer(&place, &[&decision, "no", "--reason", "not on a Friday"]).0, 0);
    let shown = json(&place.holdpoint(&["decision", "show", &decision, "--json"]));
    assert_eq!(shown["selected_option"], "no", "{shown:#}");
}

#[test]
fn a_reason_of_a_hold_with_a_line_end_is_refused_before_anything_is_recorded() {
    let place = Place::with_log();
    let request = held(&place);
    let records = || text(&place.holdpoint(&["log"]).stdout);
    let before = records();
    let hold = ["decision", "respond", &request, "RETRY", "--reason", "a\nb"];
    for words in [&["decision", "respond", &request, "ABORT", "--reason", "a\nb"][..], &hold] {
        let output = at_terminal(&place, words);
        let said = text(&output.stderr);
        assert!(status(&output) == 2 && said.contains("a reason is one line"), "{said}");
    }
    assert_eq!(records(), before);
    assert_eq!(answer(&place, &[&request, "ABORT", "--reason", r"a\u{a}b"]).0, 0);
    let shown = with_hold(json(&place.holdpoint(&["decision", "show", &request, "--json"])));
    assert_eq!(shown["decision"]["reason"], r"a\u{a}b", "{shown:#}");
}

#[test]
fn what_is_said_beside_the_answer_to_a_decision_keeps_its_lines() {
    let place = Place::with_log();
    let decision = asked(&place);
    assert_eq!(answer(&place, &[&decision, "no", "--reason", "a\nb"]).0, 0);
    let shown = json(&place.holdpoint(&["decision", "show", &decision, "--json"]));
    assert_eq!(shown["comment"], "a\nb", "{shown:#}");
}

#[test]
fn what_waits_is_named_by_its_first_digits_alone() {
    let place = Place::with_log();
    let (request, decision) = (held(&place), asked(&place));
    let digits = |id: &str| id.split_once('-').unwrap().1[..12].to_string();
    assert_eq!(answer(&place, &[&digits(&request), "CONTINUE"]).0, 0);
    assert_eq!(answer(&place, &[&digits(&decision), "yes"]).0, 0);
    assert_eq!(answer(&place, &["0123456789ab", "yes"]).0, 3);
}

#[test]
fn too_few_digits_of_an_id_answer_nothing() {
    let place = Place::with_log();
    for short in ["DP-", "DP-a", "DP-12345", "REQ-1", "REQ-12345"] {
        let output = place.holdpoint(&["decision", "respond", short, "yes"]);
        assert_eq!(status(&output), 2, "{short}");
        assert!(text(&output.stderr).contains("at least 6"), "{short}");
    }
}

#[test]
fn a_word_in_other_letters_is_refused_with_the_word_that_is_offered() {
    let place = Place::with_log();
    let (request, decision) = (held(&place), asked(&place));
    for (id, typed, word) in [
        (&request, "continue", "CONTINUE"),
        (&request, "Abort", "ABORT"),
        (&decision, "YES", "yes"),
    ] {
        let (exit, said) = answer(&place, &[id, typed]);
        assert!(exit == 5 && said.contains(&format!("did you mean {word}?")), "{exit} {said}");
    }
    let typed = ["decision", "respond", &request, "continue"];
    let output = at_terminal(&place, &typed);
    assert_eq!(status(&output), 5);
    assert!(text(&output.stderr).contains("CONTINUE"), "{}", text(&output.stderr));
}

#[test]
fn an_answer_to_a_hold_names_the_whole_command_that_shows_what_was_printed() {
    let place = Place::with_log();
    let request = held(&place);
    let run = text(&place.holdpoint(&["runs", "-q", "-n", "1"]).stdout).trim().to_string();
    let door = format!("output {run} --attempt 1` has the output");
    let one_line = |output: &[u8]| text(output).split_whitespace().collect::<Vec<_>>().join(" ");
    let refused = at_terminal(&place, &["decision", "respond", &request, "RETRY"]);
    assert_eq!(status(&refused), 5, "RETRY needs a reason");
    assert!(one_line(&refused.stderr).contains(&door), "{}", text(&refused.stderr));
    let answered = at_terminal(&place, &["decision", "respond", &request, "ABORT"]);
    assert_eq!(status(&answered), 0, "{}", text(&answered.stderr));
    assert!(one_line(&answered.stdout).contains(&door), "{}", text(&answered.stdout));
}

#[test]
fn a_question_without_options_says_how_a_text_answers_it() {
    let place = Place::with_log();
    let output = place.holdpoint(&["decision", "create", "gt-1", "--prompt", "What next?"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    for words in [
        &["decision", "respond", "gt-1", "yes"][..],
        &["decision", "respond", "gt-1", "--option", "yes"],
    ] {
        let output = at_terminal(&place, words);
        let said = text(&output.stderr);
        assert!(said.contains("answer it with a text, by `--text TEXT`"), "{words:?}: {said}");
        assert_eq!(status(&output), 5);
    }
    assert_eq!(answer(&place, &["gt-1", "--text", "yes"]).0, 0);
}

#[test]
fn the_first_digits_of_what_is_over_tell_who_answered_and_when() {
    let place = Place::with_log();
    let (request, decision) = (held(&place), asked(&place));
    assert_eq!(answer(&place, &[&request, "ABORT"]).0, 0);
    assert_eq!(answer(&place, &[&decision, "yes"]).0, 0);
    let digits = |id: &str| id.split_once('-').unwrap().1[..12].to_string();
    for (id, word) in [(&request, "CONTINUE"), (&decision, "no")] {
        let output = at_terminal(&place, &["decision", "respond", &digits(id), word]);
        let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(status(&output), 4, "{told}");
        for said in [&**id, " by ", "T", "Z"] {
            assert!(told.contains(said), "{said}: {told}");
        }
    }
}

#[test]
fn an_issue_cannot_stand_for_an_id() {
    let place = Place::new();
    // As it could be recorded before such issues were refused.
    let mut log = HandMadeLog::new();
    let decision = log.ask(Entropy::from_bytes([0xab; 16]));
    let other = asked_about(&mut log, "ababab");
    log.write(&place.log);
    let names = ["887b22", "12", "REQ-26c287", "LOOP-1", "session:2", "thread:a", "stream:a"];
    for issue in names {
        let create = ["decision", "create", issue, "--prompt", "Benign?", "--option", "yes:Yes"];
        let output = place.holdpoint(&create);
        assert_eq!(status(&output), 5, "{issue}");
        assert!(text(&output.stderr).contains("taken for an id"), "{issue}");
    }
    crate::machine::trust(&[&place.log]);
    for words in [
        &["decision", "show", "ababab"][..],
        &["decision", "wait", "ababab"],
        &["decision", "respond", "ababab", "--option", "yes"],
        &["decision", "respond", "ababab", "yes"],
    ] {
        let output = at_terminal(&place, words);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(status(&output), 4, "{words:?}: {said}");
        assert!(said.contains("is the issue of") && said.contains(&other), "{said}");
    }
    assert_eq!(status(&place.holdpoint(&["decision", "show", &other])), 0, "it stays readable");
    for id in [&decision, &other] {
        let (exit, said) = answer(&place, &[id, "--text", "no"]);
        assert_eq!(exit, 0, "{said}");
    }
}

/// A question under an issue that the rules take no more. Gives its id.
fn asked_about(log: &mut HandMadeLog, issue: &str) -> String {
    let question = CreateDecisionPoint { timeout_ms: None, ..Story::new().question() };
    let decision_id = question.decision_id();
    let create = DecisionPointCommand::CreateDecisionPoint(question.into());
    let create = Command::DecisionPoint(create);
    let records = decide(&log.world, &create, log.now).unwrap().into_iter().map(|mut event| {
        if let Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(created)) = &mut event
        {
            created.terms.issue_id = Some(issue.into());
        }
        encode(&Envelope { actor: agent().actor(), ..envelope(event) }).unwrap()
    });
    log.batch(&records.collect::<Vec<_>>());
    decision_id
}

/// What a program opens to make a terminal is none at which somebody sits.
#[test]
fn the_side_of_a_terminal_that_a_program_holds_makes_nobody_a_person() {
    let place = Place::new();
    let id = held(&place);
    let mut answer = place.command(&["decision", "respond", &id, "ABORT", "--yes"]);
    let input = File::options().read(true).write(true).open("/dev/ptmx").unwrap();
    let output = answer.stdin(input).output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(status(&output), 5, "{told}");
    assert!(told.contains("at a terminal"), "{told}");
    assert_eq!(status(&at_terminal(&place, &["decision", "respond", &id, "ABORT"])), 0);
}
