//! The same by exit code: runs of the real program, with every value of `--hold`, and whoever
//! answers: a person at a terminal, programs, agents, claimed names.

use crate::program::{Place, json, status, text, with_hold};
use crate::terminal::{Terminal, at_terminal};
use crate::who_may_pass::random::Random;
use holdpoint_engine::shell::user_name;
use holdpoint_testing::story::seed;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Every value, and none.
const HOLDS: [Option<&str>; 6] =
    [None, Some("never"), Some("before"), Some("on-failure"), Some("after"), Some("always")];

/// How often each is tried.
const ROUNDS: usize = 5;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Person,
    Program,
    Agent,
    Claim,
    /// A line of `apply` that says that it is this user.
    Line,
}

const EVERYBODY: [Who; 6] =
    [Who::Person, Who::Person, Who::Program, Who::Agent, Who::Claim, Who::Line];

/// A place in memory, where there is one: every answer waits for its syncs.
fn in_memory() -> Place {
    let place = Place::new();
    match TempDir::new_in("/dev/shm") {
        Ok(directory) => Place { log: directory.path().join("log"), directory },
        Err(_) => place,
    }
}

/// A run, and what the model says of it.
struct Round<'a> {
    place: Place,
    random: &'a mut Random,
    hold: Option<&'static str>,
    /// How the command ends.
    ends: i32,
    approver: Option<String>,
    /// How often the command was started, as the model has it.
    starts: usize,
}

impl Round<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, options: &[&str]) -> Output {
        let mut words = vec!["run", "--no-wait"];
        words.extend(options);
        if let Some(hold) = self.hold.filter(|_| !options.contains(&"--resume")) {
            words.extend(["--hold", hold]);
        }
        if let Some(name) = self.approver.as_deref().filter(|_| !options.contains(&"--resume")) {
            words.extend(["--approvers", name]);
        }
        let script = format!("echo x >> starts; exit {}", self.ends);
        words.extend(["--", "sh", "-c", &script]);
        self.command(&words).output().unwrap()
    }

    /// What the command has to exit with, and how often it has to have been started.
    fn expect(&self, output: &Output, exit: i32) {
        assert_eq!(status(output), exit, "{}", text(&output.stderr));
        let starts = std::fs::read_to_string(self.place.directory.path().join("starts"));
        assert_eq!(starts.unwrap_or_default().lines().count(), self.starts, "starts");
    }

    fn is_asked_before(&self) -> bool {
        matches!(self.hold, Some("before" | "always"))
    }

    fn is_asked_after(&self) -> bool {
        match self.hold {
            Some("after" | "always") => true,
            Some("on-failure") => self.ends != 0,
            _ => false,
        }
    }

    /// What a run exits with that may start.
    fn after_a_start(&self) -> i32 {
        if self.is_asked_after() { 122 } else { self.ends }
    }

    fn is_named(&self) -> bool {
        self.approver.as_ref().is_none_or(|name| *name == user_name())
    }

    /// Answers in one of the ways that there are. `words`: as a person would type it.
    fn answer(&self, who: Who, words: &[&str], line: &Value) -> i32 {
        let own = user_name();
        let (name, kind) = match who {
            Who::Claim => ("ada", "HUMAN"),
            Who::Agent => (&*own, "AGENT"),
            _ => (&*own, "HUMAN"),
        };
        match who {
            Who::Person => {
                // A person at a terminal types the word, and has no use for `--yes`.
                let words: Vec<&str> =
                    words.iter().copied().filter(|word| *word != "--yes").collect();
                status(&at_terminal(&self.place, &words))
            }
            Who::Program => status(&self.command(words).output().unwrap()),
            Who::Agent | Who::Claim | Who::Line => {
                let mut line = json!({ "actor": { "kind": kind, "id": name }, "submit": line });
                let submit = line["submit"].as_object_mut().unwrap();
                if submit.contains_key("human_id") {
                    submit["human_id"] = name.into();
                    submit["actor"] = kind.into();
                } else {
                    let by = json!({ "kind": kind, "id": name, "authenticated_by": "terminal",
                        "means": "" });
                    submit.insert("by".to_string(), by);
                }
                let mut apply = self.command(&["apply"]);
                let mut apply = apply.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
                apply.stdin.take().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
                apply.wait().unwrap().code().unwrap()
            }
        }
    }

    /// The question before the start: whether it was approved.
    fn before(&mut self, id: &str) -> bool {
        let mut decided = None;
        for _ in 0..1 + self.random.below(3) {
            let who = *self.random.choose(&EVERYBODY);
            let option = if self.random.one_in(4) { "deny" } else { "approve" };
            let line = json!({ "command": "decision_point.respond", "decision_id": id,
                "response": { "option": option } });
            let exit = self.answer(who, &["decision", "respond", id, "--option", option], &line);
            let counts = who == Who::Person && self.is_named();
            match (counts, decided) {
                (true, None) => {
                    assert_eq!(exit, 0, "{who:?} {option}");
                    decided = Some(option);
                }
                // Nothing is typed for what is over, so that nothing is proven by it.
                (true, Some(first)) if first == option => assert!([0, 4].contains(&exit)),
                // What comes too late in a person's name is kept, and decides nothing: see below.
                (false, Some(_)) if matches!(who, Who::Claim | Who::Line) => {
                    assert!([0, 4, 5].contains(&exit), "{who:?} {option} ended with {exit}");
                }
                _ => assert!([4, 5].contains(&exit), "{who:?} {option} ended with {exit}"),
            }
        }
        let waited = self.command(&["decision", "wait", id, "--timeout", "0s"]).output().unwrap();
        let expected = match decided {
            None => 10,
            Some("approve") => 0,
            Some(_) => 16,
        };
        assert_eq!(status(&waited), expected, "{}", text(&waited.stdout));
        decided == Some("approve")
    }

    /// The question after an attempt: what was decided, if anything.
    fn after(&mut self, request: &str) -> Option<&'static str> {
        let mut decided = None;
        for _ in 0..1 + self.random.below(3) {
            let who = *self.random.choose(&EVERYBODY);
            let decision = *self.random.choose(&["CONTINUE", "RETRY", "RETRY", "ABORT"]);
            let words = ["decision", "respond", request, "--yes", decision, "--reason", "so"];
            let line = json!({ "command": "human_decision.answer", "request_id": request,
                "actor": "", "human_id": "", "decision": decision, "reason": "so",
                "means": { "channel": "API", "detail": "" } });
            let exit = self.answer(who, &words, &line);
            let may = self.is_named() || decision == "ABORT";
            match (who == Who::Person && may, decided) {
                (true, None) => {
                    assert_eq!(exit, 0, "{who:?} {decision}");
                    decided = Some(decision);
                }
                (true, Some(first)) if first == decision => assert_eq!(exit, 0, "again"),
                // What was decided in this name before is told of again: it decides nothing.
                (false, Some(first)) if first == decision => {
                    assert!([0, 4, 5].contains(&exit), "{who:?} {decision} ended with {exit}");
                }
                _ => assert!([4, 5].contains(&exit), "{who:?} {decision} ended with {exit}"),
            }
        }
        let waited =
            self.command(&["decision", "wait", request, "--timeout", "0s"]).output().unwrap();
        let expected = match decided {
            None => 10,
            Some("CONTINUE") => 0,
            Some("RETRY") => 17,
            Some(_) => 16,
        };
        assert_eq!(status(&waited), expected, "{}", text(&waited.stdout));
        decided
    }

    fn open_request(&self) -> String {
        let listed = with_hold(json(
            &self.place.holdpoint(&["decision", "list", "--kind", "hold", "--json"]),
        ));
        listed[0]["request_id"].as_str().unwrap().to_string()
    }

    /// From the run to its end, or to where nobody lets it go on.
    fn play(&mut self) {
        let ran = self.run(&[]);
        if self.is_asked_before() {
            self.expect(&ran, 122);
            let id = text(&ran.stdout).trim().to_string();
            let is_approved = self.before(&id);
            let spent = self.run(&["--approval", &id]);
            if !is_approved {
                return self.expect(&spent, 125);
            }
            self.starts += 1;
            self.expect(&spent, self.after_a_start());
            self.expect(&self.run(&["--approval", &id]), 125);
        } else {
            self.starts += 1;
            self.expect(&ran, self.after_a_start());
        }
        // Three attempts are the most.
        while self.is_asked_after() && self.starts < 3 {
            let request = self.open_request();
            let decided = self.after(&request);
            let resumed = self.run(&["--resume", &request]);
            if decided != Some("RETRY") {
                return self.expect(&resumed, 125);
            }
            self.starts += 1;
            self.expect(&resumed, 122);
            self.expect(&self.run(&["--resume", &request]), 125);
        }
    }
}

#[test]
fn no_run_of_the_program_passes_without_a_person() {
    let mut random = Random::new(seed());
    for round in 0..ROUNDS * HOLDS.len() {
        let hold = HOLDS[round % HOLDS.len()];
        let (ends, approver) = (*random.choose(&[0, 3]), *random.choose(&[0, 1, 2]));
        let approver =
            [None, Some(user_name()), Some("uid 3999999999".to_string())][approver].clone();
        let approver = approver.filter(|_| !matches!(hold, None | Some("never")));
        println!("round {round}: {hold:?}, exit {ends}, {approver:?}");
        let (place, random) = (in_memory(), &mut random);
        let mut round = Round { place, random, hold, ends, approver, starts: 0 };
        round.play();
        if round.place.log.exists() {
            round.place.verified();
        }
    }
}

/// At the terminal of the run itself.
#[test]
fn no_run_at_a_terminal_passes_without_what_is_typed_there() {
    for hold in HOLDS {
        for is_let in [true, false] {
            let place = in_memory();
            let words = hold.map_or(vec!["run"], |hold| vec!["run", "--hold", hold]);
            let words = [&words[..], &["--", "sh", "-c", "echo x > starts; exit 3"]].concat();
            let mut terminal = Terminal::start(&place, &words);
            let (before, after) = match hold {
                Some("before") => (true, false),
                Some("always") => (true, true),
                Some("after" | "on-failure") => (false, true),
                _ => (false, false),
            };
            let is_started = || place.directory.path().join("starts").exists();
            if before {
                terminal.wait_for("approve, deny? ");
                assert!(!is_started());
                terminal.type_line(if is_let { "approve" } else { "deny" });
            }
            if after && (is_let || !before) {
                terminal.wait_for("CONTINUE, RETRY, ABORT? ");
                terminal.type_line(if is_let { "continue" } else { "abort" });
            }
            let (exit, said) = terminal.end();
            let expected = if is_let || !(before || after) { 3 } else { 120 };
            assert_eq!(exit, expected, "{hold:?}: {said}");
            assert_eq!(is_started(), is_let || !before, "{hold:?}");
            place.verified();
        }
    }
}
