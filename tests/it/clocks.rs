//! A writer had a clock that was two hours ahead, and is gone: the newest record is ahead of every
//! clock. Limits end all the same, it is told, and a person puts on record that the clock is right.

use crate::decision_support::created;
use crate::program::{Place, by_person, json, status, text};
use crate::terminal::Terminal;
use crate::thread_support::{accepted, chat, interruption_at, setting, turn};
use holdpoint_domain::Command;
use holdpoint_domain::application::RecordEvent;
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{Clock, EngineOptions, Origin, Reading, SystemClock};
use holdpoint_log_files::DirectoryStorage;
use serde_json::Value;

const TWO_HOURS_NS: u64 = 7_200_000_000_000;

/// The machine's clock, ahead.
struct Ahead;

impl Clock for Ahead {
    fn now(&self) -> Reading {
        let now = SystemClock.now();
        Reading { wall_ns: now.wall_ns + TWO_HOURS_NS, ..now }
    }
}

/// The machine's clock, an hour ago.
struct Past;

impl Clock for Past {
    fn now(&self) -> Reading {
        let now = SystemClock.now();
        Reading { wall_ns: now.wall_ns - TWO_HOURS_NS / 2, ..now }
    }
}

/// Somebody with that clock writes one record.
fn write_ahead(place: &Place) {
    let options = EngineOptions::default().clock(Box::new(Ahead));
    let engine = Engine::open_with(DirectoryStorage::new(&place.log), options).unwrap();
    let event = RecordEvent::new("s", "t", "x");
    engine.record(&Origin::automation("fast"), (), event).unwrap().accepted().unwrap();
    engine.close().unwrap();
}

fn ahead() -> Place {
    let place = Place::with_log();
    write_ahead(&place);
    place
}

/// The words of a thread are kept for a minute: by the log's time they would be for two hours more.
#[test]
fn what_a_thread_keeps_ends_by_its_own_time_where_the_log_is_ahead() {
    let place = Place::with_log();
    accepted(&place, &setting("acme", "call"));
    write_ahead(&place);
    let options = EngineOptions::default().clock(Box::new(Past));
    let engine = Engine::open_with(DirectoryStorage::new(&place.log), options).unwrap();
    let mut origin = Origin::automation("selene-os");
    // An interruption is of just now by the time of its record.
    let newest = engine.query(|world| world.totals().last_at.nanoseconds()).unwrap();
    let at = interruption_at(newest, "One. Two. Three.", 1);
    let turns = [turn("acme", "call", 1, chat("One. Two. Three.")), turn("acme", "call", 2, at)];
    for line in turns {
        let command: Command = serde_json::from_value(line["submit"].clone()).unwrap();
        origin.correlation = "call".into();
        engine.submit(&origin, (), &command).unwrap().accepted().unwrap();
    }
    // A minute of it is not over there.
    assert!(engine.expire().unwrap().is_empty());
    engine.close().unwrap();
    let expired = place.holdpoint(&["decision", "expire"]);
    let told = text(&expired.stdout);
    assert_eq!(status(&expired), 0, "{}", text(&expired.stderr));
    assert!(told.contains("buffer_expired") && told.contains("thread acme/call"), "{told}");
    assert_eq!(text(&place.holdpoint(&["decision", "expire"]).stdout), "");
    place.verified();
}

const SAID: &str = "the newest record is 1h 59m ahead of this clock";

#[test]
fn a_question_ends_by_its_own_time_where_the_log_is_ahead() {
    let place = ahead();
    let id = created(&place, &["i1", "--prompt", "P", "--option", "a:A", "--expires", "1s"]);
    let waited = place.holdpoint(&["decision", "wait", &id, "--timeout", "60s"]);
    assert_eq!(status(&waited), 12, "{}", text(&waited.stderr));
    let records = text(&place.holdpoint(&["log", "--json"]).stdout);
    let ended: serde_json::Value = records
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .find(|record: &serde_json::Value| record["kind"] == "decision_point.aborted")
        .unwrap();
    assert!(ended.to_string().contains("OWN_CLOCK"), "{ended}");
    place.verified();
}

/// Two commands that nobody waits between: the question is made with the end that the second finds.
#[test]
fn a_default_is_not_taken_where_only_the_own_clock_says_that_the_time_is_over() {
    let place = ahead();
    let words = ["i1", "--prompt", "P", "--option", "a:A", "--default", "a"];
    let words = [&words[..], &["--on-timeout", "default", "--expires", "1s"]].concat();
    let id = created(&place, &words);
    let waited = place.holdpoint(&["decision", "wait", &id, "--timeout", "60s"]);
    assert_eq!(status(&waited), 12, "{}", text(&waited.stderr));
    place.verified();
}

/// What readers say of a question with a default, not due for an hour and due: the end as `inbox`
/// has it, and the words of `decision show`.
fn told_of_default(place: &Place, timeout: &str) -> (Value, String, String) {
    let words = ["i1", "--prompt", "P", "--option", "a:A", "--default", "a"];
    let words = [&words[..], &["--on-timeout", "default", "--expires", timeout]].concat();
    let id = created(place, &words);
    let inbox = text(&place.holdpoint(&["inbox", "--json"]).stdout);
    let mut rows = inbox.lines().map(|row| serde_json::from_str::<Value>(row).unwrap());
    let row = rows.find(|row| row["id"] == *id).unwrap();
    let shown = text(&place.holdpoint(&["decision", "show", &id]).stdout);
    (row, shown, id)
}

#[test]
fn readers_promise_no_default_that_the_clocks_let_nobody_take() {
    let (log_ahead, usual) = (ahead(), Place::with_log());
    for timeout in ["1h", "1ms"] {
        let (row, shown, id) = told_of_default(&log_ahead, timeout);
        assert_eq!((&row["on_timeout"], &row["default_option"]), (&"abort".into(), &Value::Null));
        assert!(shown.contains("nothing is decided") && !shown.contains("default a"), "{shown}");
        if timeout == "1ms" {
            let listed = text(&log_ahead.holdpoint(&["inbox"]).stdout);
            assert!(listed.contains("ended undecided by time"), "{listed}");
            log_ahead.holdpoint(&["decision", "expire"]);
            let ended = json(&log_ahead.holdpoint(&["decision", "show", &id, "--json"]));
            assert_eq!(ended["state"], "aborted", "{ended:#}");
        }
        let (row, shown, id) = told_of_default(&usual, timeout);
        assert_eq!((&row["on_timeout"], &row["default_option"]), (&"default".into(), &"a".into()));
        assert!(shown.contains("the default a is taken"), "{shown}");
        if timeout == "1ms" {
            usual.holdpoint(&["decision", "expire"]);
            let ended = json(&usual.holdpoint(&["decision", "show", &id, "--json"]));
            assert_eq!(ended["state"], "expired", "{ended:#}");
        }
    }
}

#[test]
fn an_approval_is_over_by_its_own_time_where_the_log_is_ahead() {
    let place = ahead();
    let words = ["i2", "--requested-by", "agent-7", "--prompt", "P", "--option", "y:Y"];
    let bound = ["--quorum", "1", "--bind", "tool=t", "--bind", "input={}", "--valid-for", "1ms"];
    let no = ["--option", "n:N", "--reject", "n"];
    let id = created(&place, &[&words[..], &no, &bound].concat());
    let yes = by_person(&place.command(&["decision", "respond", &id, "--option", "y"]));
    assert_eq!(status(&yes), 0, "{}", text(&yes.stderr));
    let spend = ["decision", "consume", &id, "--bind", "tool=t", "--bind", "input={}"];
    let spent = place.holdpoint(&spend);
    assert_eq!(status(&spent), 5, "{}", text(&spent.stderr));
    assert!(text(&spent.stderr).contains(SAID), "{}", text(&spent.stderr));
    place.verified();
}

#[test]
fn a_start_that_nobody_approves_ends_by_its_own_time_where_the_log_is_ahead() {
    let place = ahead();
    let run = ["run", "--hold", "before", "--expires", "before=1s", "--", "true"];
    let ended = place.holdpoint(&run);
    assert_eq!(status(&ended), 121, "{}", text(&ended.stderr));
    assert!(text(&ended.stderr).contains(SAID), "{}", text(&ended.stderr));
    let held = ["run", "--hold", "after", "--expires", "after=1s", "--", "true"];
    let ended = place.holdpoint(&held);
    assert_eq!(status(&ended), 121, "{}", text(&ended.stderr));
    place.verified();
}

#[test]
fn a_run_took_as_long_as_it_was_measured_where_the_log_is_ahead() {
    let place = ahead();
    let run = json(&place.holdpoint(&["run", "--json", "--", "sleep", "0.2"]));
    let row: Value =
        serde_json::from_str(text(&place.holdpoint(&["runs", "--json"]).stdout).trim()).unwrap();
    assert!(row["took_ns"].as_u64().unwrap() >= 200_000_000, "{row:#}");
    let shown = text(&place.holdpoint(&["show", run["loop_id"].as_str().unwrap()]).stdout);
    assert!(shown.contains(", took ") && !shown.contains(", took 0 ms"), "{shown}");
}

#[test]
fn rows_of_lists_have_by_how_much_the_log_is_ahead_for_programs() {
    let rows = |place: &Place, list: &[&str]| -> Vec<Value> {
        let told = place.holdpoint(&[list, &["--json"]].concat());
        let values = serde_json::Deserializer::from_slice(&told.stdout).into_iter::<Value>();
        let values = values.map(Result::unwrap);
        values.flat_map(|it| it.as_array().cloned().unwrap_or_else(|| vec![it])).collect()
    };
    for is_ahead in [true, false] {
        let place = if is_ahead { ahead() } else { Place::with_log() };
        created(&place, &["i1", "--prompt", "P", "--option", "a:A", "--expires", "1h"]);
        let held = ["run", "--hold", "after", "--no-wait", "--", "true"];
        assert_eq!(status(&place.holdpoint(&held)), 122);
        for list in [
            &["runs"][..],
            &["decision", "list"],
            &["decision", "list", "--kind", "hold"],
            &["inbox"],
        ] {
            let rows = rows(&place, list);
            assert!(!rows.is_empty(), "{list:?}");
            for row in rows {
                let found = row.get("ahead_of_clock_ns").and_then(Value::as_u64);
                assert_eq!(found.is_some_and(|it| it > 7_000_000_000_000), is_ahead, "{row:#}");
                assert_eq!(row.get("ahead_of_clock_ns").is_some(), is_ahead, "{row:#}");
            }
        }
    }
}

#[test]
fn lists_and_doctor_say_by_how_much_the_log_is_ahead() {
    let place = ahead();
    for list in
        [&["runs"][..], &["decision", "list"], &["decision", "list", "--kind", "hold"], &["inbox"]]
    {
        for json in [&[][..], &["--json"]] {
            let said = place.holdpoint(&[list, json].concat());
            assert!(text(&said.stderr).contains(SAID), "{list:?}: {}", text(&said.stderr));
        }
    }
    let told = json(&place.holdpoint(&["doctor", "--json"]));
    let check = told["checks"].as_array().unwrap().iter().find(|it| it["name"] == "clock").unwrap();
    assert_eq!(check["state"], "warn");
    assert!(check["message"].as_str().unwrap().contains(SAID), "{check}");
    let right = Place::with_log();
    for list in
        [&["runs"][..], &["decision", "list"], &["decision", "list", "--kind", "hold"], &["inbox"]]
    {
        let said = text(&right.holdpoint(list).stderr);
        assert!(!said.contains("ahead of this clock"), "{list:?}: {said}");
    }
    let told = json(&right.holdpoint(&["doctor", "--json"]));
    let check = told["checks"].as_array().unwrap().iter().find(|it| it["name"] == "clock").unwrap();
    assert_eq!(check["state"], "ok");
}

#[test]
fn a_step_of_the_clock_is_typed_at_a_terminal_and_what_follows_takes_its_default() {
    let place = Place::with_log();
    let open = created(&place, &["i1", "--prompt", "P", "--option", "a:A", "--expires", "1h"]);
    let later = created(&place, &["i2", "--prompt", "Q", "--option", "a:A", "--expires", "9h"]);
    let records_before = place.verified()["records"].as_u64().unwrap();
    write_ahead(&place);
    let nobody = place.holdpoint(&["doctor", "clock-step"]);
    assert_eq!(status(&nobody), 5, "{}", text(&nobody.stderr));

    let mut terminal = Terminal::start(&place, &["doctor", "clock-step"]);
    terminal.wait_for("newest record");
    terminal.wait_for("type clock-step");
    terminal.type_line("no");
    assert_eq!(terminal.end().0, 10);

    let mut terminal = Terminal::start(&place, &["doctor", "clock-step"]);
    terminal.wait_for("type clock-step");
    terminal.type_line("clock-step");
    let (code, said) = terminal.end();
    assert_eq!(code, 0, "{said}");
    let verified = place.verified();
    assert!(verified["records"].as_u64().unwrap() > records_before, "{verified}");
    let state = |id: &str| json(&place.holdpoint(&["decision", "show", id, "--json"]));
    assert_eq!(state(&open)["state"], "aborted");
    assert_eq!(state(&later)["state"], "pending");

    // What is made from here on ends by this clock, and takes its default.
    let words = ["i3", "--prompt", "P", "--option", "a:A", "--default", "a"];
    let words = [&words[..], &["--on-timeout", "default", "--expires", "1s"]].concat();
    let id = created(&place, &words);
    let waited = place.holdpoint(&["decision", "wait", &id, "--timeout", "60s"]);
    assert_eq!(status(&waited), 11, "{}", text(&waited.stderr));
    place.verified();
    let (row, shown, _) = told_of_default(&place, "1h");
    assert_eq!(row["default_option"], "a", "{row:#}");
    assert!(shown.contains("then the default a is taken"), "{shown}");

    // The records are ahead as before, and nothing is left to accept.
    let told = json(&place.holdpoint(&["doctor", "--json"]));
    let check = told["checks"].as_array().unwrap().iter().find(|it| it["name"] == "clock").unwrap();
    assert_eq!(check["state"], "ok", "{check}");
    assert!(check["message"].as_str().unwrap().contains("a person accepted"), "{check}");

    let mut terminal = Terminal::start(&place, &["doctor", "clock-step"]);
    terminal.wait_for("there is no step to accept");
    assert_eq!(terminal.end().0, 3);
}

#[test]
fn no_step_is_accepted_where_the_clock_is_right() {
    let place = Place::with_log();
    let before = place.verified();
    let none = place.holdpoint(&["doctor", "clock-step"]);
    assert_eq!(status(&none), 3, "{}", text(&none.stderr));
    assert_eq!(place.verified()["records"], before["records"]);
}
