//! What lists say of what is behind the last row, and what their rows say.

use crate::decision_support::{asked, done};
use crate::program::{Place, json, status, text};
use crate::run_before::{answer, await_listed, await_question, command};
use crate::runs::listed;
use crate::terminal::at_terminal;
use serde_json::{Value, json as value};

/// The lines of stderr that speak of more than what is shown.
fn said_of_more(place: &Place, words: &[&str]) -> Vec<String> {
    let output = place.holdpoint(words);
    let said = text(&output.stderr);
    assert_eq!(status(&output), 0, "{said}");
    said.lines().filter(|line| line.contains(" shown: `")).map(String::from).collect()
}

#[test]
fn where_there_are_more_runs_than_are_shown_one_line_says_so_with_what_shows_them() {
    let place = Place::with_log();
    (0..21).for_each(|_| assert_eq!(status(&place.run(&["true"])), 0));
    let all = listed(&place, &["-n", "99"]);
    for form in [&[][..], &["--json"], &["-q"]] {
        let said = |options: &[&str]| said_of_more(&place, &[&["runs"], form, options].concat());
        let more = said(&[]);
        assert_eq!(more.len(), 1, "{more:?}");
        let behind = format!("--after {}", &all[19][..15]);
        assert!(more[0].contains("than the 20 shown: `-n N`"), "{more:?}");
        assert!(more[0].contains(&format!("`{behind}`")), "{more:?}");
        assert_eq!(said(&["-n", "20", "status=ok"]), more);
        for whole in [&["-n", "21"][..], &["--after", &all[0]], &["status=3"]] {
            assert!(said(whole).is_empty(), "{whole:?}: {:?}", said(whole));
        }
        let after: Vec<&str> = behind.split(' ').collect();
        assert!(said(&after).is_empty());
        assert_eq!(listed(&place, &after), all[20..]);
    }
}

#[test]
fn where_there_are_more_decisions_than_are_shown_one_line_says_so_with_what_shows_them() {
    let place = Place::new();
    let ids = [(); 3].map(|()| asked(&place, &[]));
    for form in [&[][..], &["--json"]] {
        let list = |options| [&["decision", "list"], form, options].concat();
        let said = |options| said_of_more(&place, &list(options));
        let more = said(&["--limit", "2"]);
        assert_eq!(more.len(), 1, "{more:?}");
        assert!(more[0].contains("1 question behind the 2 shown: `--limit N`"), "{more:?}");
        assert!(more[0].contains(&format!("`--after {}`", ids[1])), "{more:?}");
        let whole = [said(&["--limit", "3"]), said(&["--limit", "2", "--after", &ids[0]])];
        assert_eq!(whole, [[]; 2] as [[&str; 0]; 2]);
    }
}

#[test]
fn commands_are_whole_where_no_terminal_shows_them_and_no_width_is_stated() {
    let place = Place::with_log();
    let long = format!("echo {} last-word", "a-long-word ".repeat(40));
    assert_eq!(status(&place.shell(&long)), 0);
    assert_eq!(status(&place.shell("exit 3")), 3);
    let shown = |columns: Option<&str>| {
        let mut command = place.command(&["runs"]);
        command.env_remove("COLUMNS").envs(columns.map(|columns| ("COLUMNS", columns)));
        text(&command.output().unwrap().stdout)
    };
    let whole = shown(None);
    let found: Vec<&str> = whole.lines().filter(|line| line.contains("last-word")).collect();
    assert_eq!((found.len(), whole.lines().count()), (1, 3), "{whole}");
    assert!(found[0].contains(&long), "{whole}");
    assert!(whole.lines().all(|line| !line.ends_with(' ')), "{whole}");
    assert!(!shown(Some("100")).contains("last-word"));
    let (_, seen) = crate::terminal::Terminal::start(&place, &["runs"]).end();
    assert!(!seen.contains("last-word"), "{seen}");
}

#[test]
fn what_was_answered_by_whom_and_by_what_means_stands_in_the_list_of_decisions() {
    let place = Place::new();
    let answered = |option| {
        let id = asked(&place, &[]);
        done(&place, &["respond", &id, "--option", option]);
        id
    };
    let [first, second] = ["a", "b"].map(answered);
    let open = asked(&place, &[]);
    let user = holdpoint_engine::shell::user_name();
    let listed = |columns: &str| {
        let mut command = place.command(&["decision", "list", "state=all"]);
        text(&command.env("COLUMNS", columns).output().unwrap().stdout)
    };
    let row = |id: &str, listed: &str| -> String {
        listed.lines().find(|line| line.starts_with(&id[..11])).unwrap().to_string()
    };
    for columns in ["60", "100"] {
        let list = listed(columns);
        for (id, option) in [(&first, "a"), (&second, "b")] {
            let due = format!("  resolved  {option:<6}  {user}");
            assert!(row(id, &list).contains(&due), "{columns}: {list}");
        }
        assert!(row(&open, &list).contains("  pending   -       -"), "{columns}: {list}");
    }
    let means = json(&place.holdpoint(&["decision", "show", &first, "--json"]));
    let means = means["responded_means"].as_str().unwrap();
    assert!(row(&first, &listed("100")).contains(means), "{}", listed("100"));
}

#[test]
fn whoever_approved_a_start_and_then_a_retry_is_named_once() {
    let place = Place::new();
    let script = "echo x >> tries; test $(wc -l < tries) -ge 2";
    let words = ["run", "--hold", "always", "--", "sh", "-c", script];
    let waiting = command(&place, &words).spawn().unwrap();
    assert_eq!(answer(&place, &await_question(&place), "approve"), 0);
    let request = await_listed(&place, "hold", "id");
    let retry = ["decision", "respond", &request, "RETRY", "--reason", "flaky"];
    assert_eq!(status(&at_terminal(&place, &retry)), 0);
    let request = await_listed(&place, "hold", "id");
    let goes_on = ["decision", "respond", &request, "CONTINUE"];
    assert_eq!(status(&at_terminal(&place, &goes_on)), 0);
    let ended = waiting.wait_with_output().unwrap();
    assert_eq!(status(&ended), 0, "{}", text(&ended.stderr));
    let user = holdpoint_engine::shell::user_name();
    let row: Value = json(&place.holdpoint(&["runs", "--json"]));
    assert_eq!((&row["attempts"], &row["approved_by"]), (&2.into(), &value!([user])));
    let shown = place.command(&["runs"]).env("COLUMNS", "200").output().unwrap();
    let shown = text(&shown.stdout);
    assert!(shown.contains(&format!("  {user}  ")), "{shown}");
    assert!(!shown.contains(&format!("{user}, {user}")), "{shown}");
}

#[test]
fn of_a_record_that_is_not_there_it_is_said_which_there_are() {
    let place = Place::with_log();
    assert_eq!(status(&place.run(&["true"])), 0);
    let newest = place.verified()["head"]["sequence"].to_string();
    for verb in ["show", "output"] {
        let output = place.holdpoint(&[verb, "99999"]);
        let said = text(&output.stderr);
        assert_eq!((status(&output), output.stdout.len()), (3, 0), "{said}");
        let there = format!("there is no record 99999: the log has records 1 to {newest}\n");
        assert!(said.contains(&there), "{verb}: {said}");
    }
}

#[test]
fn of_an_id_that_is_not_there_the_closest_one_is_suggested() {
    let place = Place::with_log();
    assert_eq!(status(&place.run(&["true"])), 0);
    let run = listed(&place, &[]).remove(0);
    let decision = asked(&place, &[]);
    let slip = |id: &str, at: usize| {
        let other = if &id[at..=at] == "0" { "1" } else { "0" };
        format!("{}{other}{}", &id[..at], &id[at + 1..])
    };
    let meant = format!("did you mean {run}?");
    let out = place.directory.path().join("report.html").display().to_string();
    for wrong in [slip(&run, run.len() - 1), slip(&run, 8), slip(&run[..14], 12)] {
        for verb in [
            &["show"][..],
            &["output"],
            &["show", "--trace"],
            &["export", "--format", "html", "--output", &out],
        ] {
            let output = place.holdpoint(&[verb, &[&wrong]].concat());
            let said = text(&output.stderr);
            assert_eq!((status(&output), output.stdout.len()), (3, 0), "{verb:?}: {said}");
            assert!(said.contains(&meant), "{verb:?} {wrong}: {said}");
        }
    }
    let told = place.holdpoint(&["show", "--trace", &slip(&decision, decision.len() - 1)]);
    let said = text(&told.stderr);
    assert!(said.contains(&format!("did you mean {decision}?")), "{said}");
    let far = format!("LOOP-{}", "0".repeat(32));
    let said = text(&place.holdpoint(&["show", &far]).stderr);
    assert!(said.contains("`holdpoint") && !said.contains("did you mean"), "{said}");
}
