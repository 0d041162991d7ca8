//! Records that only a newer program knows: of a kind or a version of one that this program does
//! not know, or a statement of newer rules. From such a record on nothing is judged, every reading
//! says so, and nothing is spent.

use crate::decision_support::{asked, decision};
use crate::hook::{ask, call, pre, respond};
use crate::program::{Place, by_person, json, status, text};
use crate::rules_numbers::stated;
use holdpoint_domain::core::actor::Actor;
use holdpoint_forger::{Fact, Log, Record, layout};

/// What a newer program might record.
#[derive(Clone, Copy, Debug)]
enum Newer {
    Rules,
    Kind,
    Version,
}

impl Newer {
    const ALL: [Self; 3] = [Self::Rules, Self::Kind, Self::Version];

    fn fact(self) -> Fact {
        match self {
            Self::Rules => {
                let stated = stated(10, Actor::System);
                Fact { kind: stated.kind, version: stated.version, payload: stated.payload }
            }
            Self::Kind => Fact { kind: 300, version: 1, payload: vec![1, 2, 3] },
            Self::Version => Fact { kind: 14, version: 99, payload: vec![1, 2, 3] },
        }
    }
}

/// A log of this program.
struct Sample {
    place: Place,
    run: String,
    /// A start that a person approved.
    start: String,
    /// A question that a person approved, and one that waits.
    answered: String,
    waiting: String,
    /// The first record that is not judged.
    first: u64,
}

impl Sample {
    /// Behind whose newest record a newer program recorded something, and went on: with a run of
    /// its own, and with a yes to what waits.
    fn of(newer: Newer) -> Self {
        let place = Place::with_log();
        place.shell("true");
        let run = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
        let held = place.holdpoint(&["run", "--hold", "before", "--no-wait", "--", "touch", "f"]);
        let start = text(&held.stdout).lines().next().unwrap().trim().to_string();
        let yes = by_person(&place.command(&["approve", &start]));
        assert_eq!(status(&yes), 0, "{}", text(&yes.stderr));
        let answered = ask(&place, &[], &call("s", "make deploy"));
        respond(&place, &answered, "approve");
        let waiting = ask(&place, &[], &call("t", "make test"));
        let mut sample = Self { place, run, start, answered, waiting, first: 0 };
        sample.append(newer);
        sample
    }

    fn append(&mut self, newer: Newer) {
        let mut log = Log::read(&self.place.log).unwrap();
        let records: Vec<Record> =
            log.records().into_iter().map(|at| log.record(at).clone()).collect();
        self.first = records.last().unwrap().sequence() + 1;
        let copies = |id: &str, other: &str| {
            let about = records.iter().filter(|it| holds(&it.payload, id));
            let copies = about.map(|it| Fact {
                kind: it.kind(),
                version: it.header.bytes(layout::record::VERSION)[0],
                payload: replaced(&it.payload, id, other),
            });
            copies.collect::<Vec<_>>()
        };
        let run = copies(&self.run, &self.later_run());
        let answer = copies(&self.answered, &self.waiting).split_off(1);
        log.append(&[newer.fact()]);
        run.chunks(1).for_each(|one| log.append(one));
        answer.chunks(1).for_each(|one| log.append(one));
        log.head_follows();
        log.lock_follows();
        log.write(&self.place.log).unwrap();
    }

    /// The run behind that record.
    fn later_run(&self) -> String {
        format!("LOOP-{}", "9".repeat(self.run.len() - "LOOP-".len()))
    }
}

fn holds(payload: &[u8], id: &str) -> bool {
    payload.windows(id.len()).any(|part| part == id.as_bytes())
}

fn replaced(payload: &[u8], id: &str, other: &str) -> Vec<u8> {
    let mut payload = payload.to_vec();
    for at in 0..=payload.len() - id.len() {
        if payload[at..].starts_with(id.as_bytes()) {
            payload[at..at + id.len()].copy_from_slice(other.as_bytes());
        }
    }
    payload
}

#[test]
fn every_reading_says_from_which_record_on_nothing_is_judged() {
    for newer in Newer::ALL {
        let sample = Sample::of(newer);
        let (place, later) = (&sample.place, sample.later_run());
        let due = format!("not judged from record {}", sample.first);
        let mut wrong = Vec::new();
        for words in [
            "runs",
            "runs --json",
            "runs -n 1",
            "runs status=ok",
            "show LATER",
            "show LATER --json",
            "show RUN",
            "show WAITING",
            "show --trace LATER",
            "output LATER",
            "diff 1 FIRST",
            "diff --when totals.events>100000",
            "log",
            "log --reverse",
            "log loop=LATER",
            "replay",
            "replay --json",
            "replay --live",
            "replay LATER",
            "decision list",
            "decision list --json",
            "decision list --whole",
            "decision show WAITING",
            "decision wait WAITING --timeout 0s",
            "thread list",
            "thread list --health",
            "policy show",
            "inbox",
            "inbox --json",
            "doctor",
            "copy LOG COPY",
            "export --format jsonl --output -",
            "export --format csv --output -",
            "export --format sqlite --output DATABASE",
            "export LATER --format html --output PAGE",
        ] {
            let directory = place.directory.path();
            let named = [
                ("LATER", later.clone()),
                ("RUN", sample.run.clone()),
                ("WAITING", sample.waiting.clone()),
                ("FIRST", sample.first.to_string()),
                ("LOG", place.log.display().to_string()),
                ("COPY", directory.join("copy").display().to_string()),
                ("DATABASE", directory.join("database").display().to_string()),
                ("PAGE", directory.join("page").display().to_string()),
            ];
            let word = |word: &str| {
                named.iter().find(|(name, _)| *name == word).map_or(word.into(), |it| it.1.clone())
            };
            let words: Vec<String> = words.split(' ').map(word).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = place.holdpoint(&words);
            let told = text(&output.stdout) + &text(&output.stderr);
            if status(&output) != 6 || !told.contains(&due) {
                wrong.push(format!("{words:?} => {}: {told}", status(&output)));
            }
        }
        assert!(wrong.is_empty(), "{newer:?}: {wrong:#?}");
    }
}

#[test]
fn nothing_is_spent_behind_a_record_that_is_not_judged() {
    for newer in Newer::ALL {
        let sample = Sample::of(newer);
        let place = &sample.place;
        let output = place.holdpoint(&["approve", &sample.waiting]);
        assert_eq!(status(&output), 1, "{newer:?}: {}", text(&output.stderr));
        // It may have been asked behind that record.
        let unknown = format!("DP-{}", "7".repeat(32));
        for verb in ["approve", "deny"] {
            let output = place.holdpoint(&[verb, &unknown]);
            let said = text(&output.stderr);
            assert!(status(&output) == 6 && said.contains("not judged"), "{newer:?}: {said}");
        }
        let words = ["run", "--hold", "before", "--approval", &sample.start, "--", "touch", "f"];
        let output = place.holdpoint(&words);
        let said = text(&output.stderr);
        let is_told = said.contains("newer") && said.contains(&sample.first.to_string());
        assert!(status(&output) == 125 && is_told, "{newer:?}: {said}");
        assert!(!place.directory.path().join("f").exists());
        for (session, command) in [("s", "make deploy"), ("t", "make test")] {
            let (verdict, reason) = pre(place, &[], &call(session, command));
            assert!(verdict == "deny" && reason.contains("newer"), "{newer:?}: {reason}");
        }
        for id in [&sample.answered, &sample.waiting, &sample.start] {
            let waited = decision(place, &["wait", id, "--timeout", "0s"]);
            assert_eq!(status(&waited), 6, "{newer:?}: {}", text(&waited.stderr));
            let spent = decision(place, &["consume", id, "--bind", "tool=Bash"]);
            assert_ne!(status(&spent), 0, "{newer:?}: {}", text(&spent.stdout));
        }
        let records = Log::read(&place.log).unwrap().records().len();
        let told = place.holdpoint(&["log", "--json"]);
        assert_eq!(text(&told.stdout).lines().count(), records, "nothing was recorded");
    }
}

#[test]
fn a_script_requires_what_has_to_be_proven() {
    let place = Place::with_log();
    place.shell("true");
    let require = |axes: &str| place.holdpoint(&["verify", "--require", axes]);
    assert_eq!(status(&require("integrity,completeness,meaning")), 0);
    let unsigned = require("integrity,authenticity");
    let said = text(&unsigned.stderr);
    assert!(status(&unsigned) == 6 && said.contains("authenticity is not checked"), "{said}");
    assert_eq!(status(&require("health")), 2);
    let sample = Sample::of(Newer::Rules);
    let verified = sample.place.holdpoint(&["verify", "--json"]);
    assert_eq!((status(&verified), &json(&verified)["not_judged_from"]), (0, &sample.first.into()));
    let output = sample.place.holdpoint(&["verify", "--require", "integrity,meaning"]);
    let said = text(&output.stderr);
    assert!(status(&output) == 6 && said.contains("meaning is not checked"), "{said}");
    assert!(text(&output.stdout).contains(&format!("not judged from record {}", sample.first)));
}

#[test]
fn a_question_that_a_newer_program_asked_is_not_said_to_be_missing() {
    let place = Place::with_log();
    let sample = Sample::of(Newer::Rules);
    let id = asked(&place, &[]);
    let output = decision(&sample.place, &["show", &id]);
    assert_eq!(status(&output), 6, "{}", text(&output.stderr));
}
