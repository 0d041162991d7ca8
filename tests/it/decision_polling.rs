//! Those who do not wait: loops that poll, and readers that follow every event.

use crate::apply_support::Session;
use crate::filler::fill;
use crate::program::{Place, contents, error_of, json, skip, status, text};
use crate::waiting_support::{
    about, accepted, answer, ask, decision, id_of, in_memory, option, question, records, tell,
};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// The polling loop of the seed, corrected: it ends where the seed's goes on for ever, it says how
/// many wait instead of calling a desktop, and it stops where the list cannot be read. There, the
/// seed's loop compares nothing with a number.
const LOOP: &str = r#"
set -eu
rounds=0
while [ "$rounds" -lt 200 ]; do
  pending=$("$HOLDPOINT" decision list --json | $LENGTH)
  if [ "$pending" -gt 0 ]; then
    echo "HP: $pending decisions pending"
    exit 0
  fi
  echo "none"
  rounds=$((rounds + 1))
  "$HOLDPOINT" decision create bd-abc123 --prompt "Which approach?" \
    --option "a:Use approach A" --option "b:Use approach B" --default a --json > created
done
exit 1
"#;

/// What counts the values of a JSON array: the seed's `jq`, or the next best.
fn length() -> Option<&'static str> {
    let python = "python3 -c 'import json,sys;print(len(json.load(sys.stdin)))'";
    let counts = |counter: &str| {
        let script = format!("test \"$(echo '[1, 2]' | {counter})\" = 2");
        let status = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    ["jq length", python].into_iter().find(|counter| counts(counter))
}

fn script(place: &Place, script: &str, length: &str) -> Output {
    let script = script.replace("$LENGTH", length);
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(place.directory.path());
    command.env_remove("HOLDPOINT_CONFIG").env_remove("HOLDPOINT_LOCK_WAIT");
    command.env("HOLDPOINT", env!("CARGO_BIN_EXE_holdpoint")).env("HOLDPOINT_LOG", &place.log);
    command.output().unwrap()
}

#[test]
fn the_polling_loop_runs_as_it_stands_in_the_document() {
    let Some(length) = length() else { return skip("the polling loop: neither jq nor python3") };
    let place = in_memory();
    place.init();
    let output = script(&place, LOOP, length);
    assert_eq!(text(&output.stdout), "none\nHP: 1 decisions pending\n", "{output:?}");
    assert_eq!(status(&output), 0);
    let created = std::fs::read(place.directory.path().join("created")).unwrap();
    let created: Value = serde_json::from_slice(&created).unwrap();
    let listed = json(&decision(&place, &["list"]));
    assert_eq!(listed[0]["id"], created["id"]);
    for (field, value) in [("issue_id", "bd-abc123"), ("prompt", "Which approach?")] {
        assert_eq!(listed[0][field], value);
    }
    assert_eq!(listed[0]["options"].as_array().unwrap().len(), 2);
}

/// Bug 26: an empty list was `null`, which counts as nothing in some languages and fails in others.
#[test]
fn bug_26_the_empty_list_is_an_empty_array_and_without_a_log_there_is_none() {
    let place = in_memory();
    let output = decision(&place, &["list"]);
    assert_eq!((status(&output), output.stdout.len()), (3, 0));
    assert_eq!(error_of(&output)["code"], "nothing_here");
    assert!(!place.log.exists(), "a list makes no log");
    place.init();
    let output = decision(&place, &["list"]);
    assert_eq!((status(&output), text(&output.stdout)), (0, "[]\n".to_string()));
    let id = ask(&place, 1, json!({}));
    accepted(&place, &[option("ann", &id, "yes")]);
    let output = decision(&place, &["list"]);
    assert_eq!((status(&output), text(&output.stdout)), (0, "[]\n".to_string()));
}

/// The seed's hook and its polling loop, to the letter: `bd` is this program, a desktop is told on
/// standard output, and the loop ends after two rounds.
const SEED_HOOK: &str = r#"
pending=$(bd decision list --json 2>/dev/null)
if [ -n "$pending" ]; then
  echo "Pending decisions require attention"
  exit 1  # Block tool execution
fi
"#;
const SEED_LOOP: &str = r#"
while true; do
  pending=$(bd decision list --json 2>/dev/null | jq length)
  if [ "$pending" -gt 0 ]; then
    # Notify user or trigger handler
    notify-send "BD: $pending decisions pending"
  fi
  sleep 30
done
"#;
const SEED_WORLD: &str = r#"
bd() { "$HOLDPOINT" "$@"; }
jq() { command $LENGTH; }
notify-send() { echo "$1"; }
rounds=0
sleep() { rounds=$((rounds + 1)); test "$rounds" -lt 2 || exit 0; }
"#;

/// A log in one of four situations, and who looks at it.
struct Situation {
    name: &'static str,
    place: Place,
    as_other: &'static [&'static str],
    /// How many wait; `None`: that cannot be known.
    waiting: Option<usize>,
}

fn situations() -> Vec<Situation> {
    let situation = |name, place, waiting| Situation { name, place, as_other: &[], waiting };
    let with_log = in_memory();
    with_log.init();
    let waiting = in_memory();
    ask(&waiting, 1, json!({}));
    let damaged = in_memory();
    ask(&damaged, 1, json!({}));
    for file in contents(&damaged.log).into_keys().filter(|it| it.extension().is_some()) {
        let length = std::fs::metadata(&file).unwrap().len() as usize;
        std::fs::write(&file, vec![0x55; length]).unwrap();
    }
    let mut found = vec![
        situation("a log", with_log, Some(0)),
        situation("a log in which one waits", waiting, Some(1)),
        situation("no log", in_memory(), None),
        situation("a damaged log", damaged, None),
    ];
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let is_possible = Command::new(nobody[0]).args(&nobody[1..]).arg("true").status();
    if is_possible.is_ok_and(|status| status.success()) {
        let place = in_memory();
        ask(&place, 1, json!({}));
        let as_other: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        found.push(Situation { as_other, ..situation("a log without rights", place, None) });
    } else {
        skip("a log without rights: nobody else to be");
    }
    found
}

/// A shell that runs one of the seed's snippets.
fn seed_snippet(situation: &Situation, snippet: &str, length: &str) -> Output {
    let script = format!("{SEED_WORLD}{snippet}").replace("$LENGTH", length);
    let words = [situation.as_other, &["bash", "-c", &script]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir("/");
    command.env_remove("HOLDPOINT_CONFIG").env("HOLDPOINT_LOG", &situation.place.log);
    command.env("HOLDPOINT", env!("CARGO_BIN_EXE_holdpoint"));
    command.output().unwrap()
}

#[test]
fn the_seeds_snippets_say_that_something_waits_where_that_is_known_and_nowhere_else() {
    let Some(length) = length() else { return skip("the seed's snippets: neither jq nor python3") };
    for situation in situations() {
        let Situation { name, waiting, .. } = &situation;
        let list = seed_snippet(&situation, "bd decision list --json", length);
        match waiting {
            Some(count) => {
                assert_eq!(json(&list).as_array().map(Vec::len), Some(*count), "{name}");
                assert_eq!(status(&list), 0, "{name}");
            }
            None => {
                assert_eq!(text(&list.stdout), "", "{name}");
                assert!([1, 3, 6].contains(&status(&list)), "{name}: {list:?}");
                assert!(!error_of(&list)["message"].as_str().unwrap().is_empty(), "{name}");
            }
        }
        let polled = seed_snippet(&situation, SEED_LOOP, length);
        let told = match waiting {
            Some(count) if *count > 0 => format!("BD: {count} decisions pending\n").repeat(2),
            _ => String::new(),
        };
        assert_eq!(text(&polled.stdout), told, "{name}: {polled:?}");
        // Any array is an answer to the hook, the empty one too: it holds the tool back.
        let hooked = seed_snippet(&situation, SEED_HOOK, length);
        let is_known = waiting.is_some();
        assert_eq!(status(&hooked), i32::from(is_known), "{name}");
        assert_eq!(text(&hooked.stdout).contains("require attention"), is_known, "{name}");
    }
}

/// Bug 27: `--all` did nothing.
#[test]
fn bug_27_what_is_over_is_listed_where_it_is_asked_for() {
    let place = in_memory();
    let id = ask(&place, 1, json!({}));
    accepted(&place, &[option("ann", &id, "yes"), question(2, json!({}))]);
    let ids = |arguments: &[&str]| -> Vec<String> {
        let listed = json(&decision(&place, &[&["list"], arguments].concat()));
        let listed = listed.as_array().unwrap().iter();
        let mut ids: Vec<String> =
            listed.map(|point| point["id"].as_str().unwrap().to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&[]), [id_of(2)]);
    assert_eq!(ids(&["state=resolved"]), [id_of(1)]);
    assert_eq!(ids(&["state=all"]), [id_of(1), id_of(2)]);
}

/// A `decision watch` in the background.
struct Watcher {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watcher {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command(&[&["decision", "wait", "--follow"], arguments].concat());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    fn value(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Kinds and decisions of the next lines.
    fn next(&mut self, count: usize) -> Vec<(String, String)> {
        let field = |value: &Value| value.as_str().unwrap().to_string();
        let values: Vec<Value> = (0..count).map(|_| self.value()).collect();
        values.iter().map(|value| (field(&value["kind"]), field(&value["decision_id"]))).collect()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn kinds(expected: &[(&str, u64)]) -> Vec<(String, String)> {
    let pairs = expected.iter();
    pairs.map(|(kind, number)| (format!("decision_point.{kind}"), id_of(*number))).collect()
}

#[test]
fn every_event_of_a_decision_is_a_line_at_once_and_says_the_same_as_the_log() {
    let place = in_memory();
    let id = ask(&place, 1, json!({ "blocks": ["deploy"] }));
    let mut watcher = Watcher::start(&place, &["--since", "0", "--json"]);
    assert_eq!(watcher.next(1), kinds(&[("created", 1)]));
    let mut session = Session::begin(&place);
    tell(&mut session, &about("ann", "decision_point.remind", &id));
    assert_eq!(watcher.next(1), kinds(&[("reminded", 1)]));
    tell(&mut session, &option("ann", &id, "yes"));
    assert_eq!(watcher.next(3), kinds(&[("vote", 1), ("resolved", 1), ("released", 1)]));
    tell(&mut session, &option("ben", &id, "later"));
    let late = watcher.value();
    let record = records(&place, "decision_point.late_response").pop().unwrap();
    for key in ["sequence", "time", "kind", "actor", "proof", "event"] {
        assert_eq!(late[key], record[key], "{key}");
    }
    assert_eq!((&late["decision_id"], late.as_object().unwrap().len()), (&json!(id), 7));
    session.end();
    watcher.kill();
}

#[test]
fn a_watch_follows_one_question_through_its_rounds_and_one_issue_through_its_questions() {
    let place = in_memory();
    ask(&place, 1, json!({ "issue_id": "bd-1" }));
    ask(&place, 2, json!({ "issue_id": "bd-2" }));
    let id = id_of(1);
    let mut by_id = Watcher::start(&place, &["--since", "0", &id, "--json"]);
    let mut by_issue = Watcher::start(&place, &["issue=bd-1", "--since", "0", "--json"]);
    for watcher in [&mut by_id, &mut by_issue] {
        assert_eq!(watcher.next(1), kinds(&[("created", 1)]));
    }
    let mut guidance = answer("ann", &id, json!({ "guidance": "cheaper" }));
    guidance["submit"]["entropy"] = json!(format!("{:032x}", 3));
    let lines = [
        about("ann", "decision_point.remind", &id_of(2)),
        guidance,
        question(4, json!({ "issue_id": "bd-1" })),
        answer("ann", &id_of(3), json!("accept")),
        option("ann", &id_of(4), "yes"),
    ];
    accepted(&place, &lines);
    let rounds = [("guidance_given", 1), ("round_opened", 3), ("resolved", 3)];
    assert_eq!(by_id.next(3), kinds(&rounds));
    let all = [("guidance_given", 1), ("round_opened", 3), ("created", 4), ("resolved", 3)];
    assert_eq!(by_issue.next(4), kinds(&all));
    assert_eq!(by_issue.next(1), kinds(&[("resolved", 4)]));
    by_id.kill();
    by_issue.kill();
}

/// The log moves to other segments, and its beginning to an archive.
#[test]
fn a_watch_loses_nothing_and_repeats_nothing_while_the_log_is_archived() {
    let place = in_memory();
    ask(&place, 1, json!({}));
    let mut watcher = Watcher::start(&place, &["--since", "0", "--json"]);
    assert_eq!(watcher.next(1), kinds(&[("created", 1)]));
    for round in 2..=4 {
        fill(&place.log, 60);
        ask(&place, round, json!({}));
        let archive = place.directory.path().join("archive");
        let archived = place.holdpoint(&["archive", archive.to_str().unwrap()]);
        assert_eq!(status(&archived), 0, "{}", text(&archived.stderr));
        assert_eq!(watcher.next(1), kinds(&[("created", round)]));
    }
    watcher.kill();
    let gone = place.holdpoint(&["decision", "wait", "--follow", "--since", "1", "--json"]);
    assert_eq!((status(&gone), gone.stdout.as_slice()), (3, &b""[..]));
    assert!(text(&gone.stderr).contains("the log begins at record"), "{gone:?}");
}

#[test]
fn a_watch_ends_quietly_when_nobody_reads_and_never_writes() {
    let place = in_memory();
    let id = ask(&place, 1, json!({}));
    let mut watcher = Watcher::start(&place, &["--since", "0"]);
    let line = watcher.line();
    assert!(line.contains("decision_point.created") && line.ends_with(&id), "{line}");
    let before = contents(&place.log);
    drop(watcher.lines);
    assert_eq!(contents(&place.log), before);
    accepted(&place, &[option("ann", &id, "yes")]);
    assert_eq!(watcher.child.wait().unwrap().code(), Some(0));
    for (arguments, code) in [(&["DP-none"][..], 3), (&["--since", "x"], 2)] {
        let refused = place.holdpoint(&[&["decision", "wait", "--follow"], arguments].concat());
        assert_eq!(status(&refused), code, "{refused:?}");
    }
    let nothing = in_memory().holdpoint(&["decision", "wait", "--follow"]);
    assert_eq!((status(&nothing), nothing.stdout.len()), (3, 0));
}
