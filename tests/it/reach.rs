//! Every verb that shows what a log says tells how far it is proven: once, and without failing for
//! what has no witness yet.

use crate::attack_support::{ask, put, talk};
use crate::records_support::{holdpoint, told};
use holdpoint_domain::log::{RecordsUnproven, UnprovenReason};
use holdpoint_log_format::Head;
use holdpoint_testing::hand_made::{HandMadeLog, flip};
use holdpoint_testing::history::History;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// What a history came to, and behind it questions and a conversation.
struct Sample {
    directory: TempDir,
    log: HandMadeLog,
    /// The last record of the history.
    history: u64,
}

impl Sample {
    fn new() -> Self {
        let (mut sample, _) = Self::begun();
        sample.go_on();
        sample.log.write(sample.path());
        sample
    }

    /// HEAD witnesses the history alone.
    fn witnessed_in_part() -> Self {
        let (mut sample, head) = Self::begun();
        sample.go_on();
        sample.log.write_with_head(sample.path(), &head);
        sample
    }

    fn begun() -> (Self, Head) {
        let (history, mut log) = (History::of(90), HandMadeLog::new());
        for batch in history.entries.chunk_by(|one, next| one.at == next.at) {
            put(&mut log, &history, batch);
        }
        let (history, head) = (log.chain.sequence, log.head());
        (Self { directory: TempDir::new().unwrap(), log, history }, head)
    }

    fn go_on(&mut self) {
        ask(&mut self.log);
        talk(&mut self.log);
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn newest(&self) -> u64 {
        self.log.chain.sequence
    }

    /// What the first item of a list has under a key.
    fn listed(&self, words: &[&str], key: &str) -> String {
        let (_, stdout, stderr) = told(&holdpoint(self.path(), &[words, &["--json"]].concat()));
        let items: Value = serde_json::from_str(&stdout).unwrap();
        items[0][key].as_str().unwrap_or_else(|| panic!("{words:?}: {stdout}{stderr}")).to_string()
    }

    /// The names of an open decision, which was made last, and of the conversation.
    fn names(&self) -> [String; 2] {
        [self.listed(&["decision", "list", "--kind", "decision"], "id"), "talk".to_string()]
    }
}

/// The verbs that read the whole log, or all of it that is asked for.
fn readings(names: &[String; 2], newest: u64) -> Vec<Vec<String>> {
    let [decision, thread] = names;
    let (record, range) = (newest.to_string(), format!("1..{newest}"));
    let verbs: [&[&str]; 20] = [
        &["verify"],
        &["verify", "--map"],
        &["verify", &range],
        &["log"],
        &["log", "--reverse"],
        &["log", "-n", "3"],
        &["log", "-n", "3"],
        &["log", "--stat"],
        &["show", "--trace", &record],
        &["replay"],
        &["replay", "--live"],
        &["replay", decision],
        &["export", "--format", "jsonl", "--output", "-"],
        &["diff", "0"],
        &["diff", "--when", "decision_points.length > 0"],
        &["thread", "list", "--health"],
        &["decision", "show", decision],
        &["inbox"],
        &["thread", "show", "--rows", thread],
        &["thread", "show", "--story", thread],
    ];
    verbs.iter().map(|words| words.iter().map(ToString::to_string).collect()).collect()
}

fn run(log: &Path, words: &[String], more: &[&str]) -> (i32, String, String) {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    told(&holdpoint(log, &words))
}

#[test]
fn what_has_no_witness_yet_is_said_once_by_every_verb_and_is_no_failure() {
    let sample = Sample::witnessed_in_part();
    let names = sample.names();
    let said = format!("no witness yet from record {}", sample.history + 1);
    let meant = "HEAD does not confirm the newest records yet, which is normal while a writer";
    let stated = format!("\"no_witness_from\":{}", sample.history + 1);
    for words in readings(&names, sample.newest()) {
        let (code, stdout, stderr) = run(sample.path(), &words, &[]);
        let all = format!("{stdout}{stderr}");
        assert_eq!((code, all.matches(&said).count()), (0, 1), "{words:?}: {all}");
        assert!(words[0] != "inbox" || all.contains(meant), "{all}");
        let (code, stdout, stderr) = run(sample.path(), &words, &["--json"]);
        let all = format!("{stdout}{stderr}").replace(": ", ":");
        let is_list = words[0] == "thread";
        let is_stated = all.matches(&stated).count() == 1
            || is_list && all.contains("\"standing\":\"unproven\"");
        assert!(code == 0 && is_stated, "{words:?}: {code} {all}");
    }
}

#[test]
fn a_run_is_listed_shown_and_given_with_how_far_it_is_proven() {
    let mut sample = Sample::new();
    let head = sample.log.head();
    let first = sample.newest() + 1;
    sample.log.run();
    sample.log.write_with_head(sample.path(), &head);
    let run = told(&holdpoint(sample.path(), &["runs", "-q", "-n", "1"])).1.trim().to_string();
    for words in [&["runs"][..], &["show", &run], &["output", &run]] {
        let (code, _, stderr) = told(&holdpoint(sample.path(), words));
        let said = stderr.matches(&format!("no witness yet from record {first}")).count();
        assert_eq!((code, said), (0, 1), "{words:?}: {stderr}");
        let (code, stdout, stderr) =
            told(&holdpoint(sample.path(), &[words, &["--json"]].concat()));
        let all = format!("{stdout}{stderr}").replace(": ", ":");
        let stated = all.matches(&format!("\"no_witness_from\":{first}")).count();
        assert_eq!((code, stated), (0, 1), "{words:?}: {all}");
        assert!(all.contains("\"standing\":\"unproven\""), "{words:?}: {all}");
    }
}

#[test]
fn a_range_is_tied_to_the_newest_witness_no_further_than_that_one() {
    let sample = Sample::witnessed_in_part();
    let (witnessed, newest) = (sample.history, sample.newest());
    for (range, said) in [
        (format!("1..{witnessed}"), "chain says, up to the newest witness".to_string()),
        (format!("{}..", witnessed + 1), "chain says, and no witness reaches them".to_string()),
        (
            format!("1..{newest}"),
            format!("chain says, up to the newest witness, record {witnessed}, and on behind it"),
        ),
    ] {
        let (code, stdout, _) = told(&holdpoint(sample.path(), &["verify", &range]));
        let line = stdout.lines().find(|line| line.contains("integrity")).unwrap();
        assert!(code == 0 && line.ends_with(&said), "{range}: {stdout}");
    }
}

#[test]
fn what_a_witness_ties_is_shown_without_a_word() {
    let sample = Sample::new();
    for words in readings(&sample.names(), sample.newest()) {
        let (code, stdout, stderr) = run(sample.path(), &words, &[]);
        let all = format!("{stdout}{stderr}");
        assert!(code == 0 && !all.contains("witness yet"), "{words:?}: {all}");
        let (_, stdout, _) = run(sample.path(), &words, &["--json"]);
        let (_, shown, _) = run(sample.path(), &words, &["--json"]);
        assert_eq!(stdout, shown, "{words:?}");
        assert!(!stdout.replace(": ", ":").contains("\"standing\":\"unproven\""), "{words:?}");
    }
}

#[test]
fn what_a_bit_cuts_off_from_head_is_shown_as_unproven_and_ends_with_6() {
    let mut sample = Sample::new();
    sample.log.run();
    sample.log.write(sample.path());
    let names = sample.names();
    let verbs: Vec<_> = readings(&names, sample.newest())
        .into_iter()
        .filter(|words| !["verify", "show", "decision", "inbox"].contains(&words[0].as_str()))
        .filter(|words| !words.iter().any(|word| word == "--stat" || word == "-n"))
        .collect();
    flip(&sample.path().join(sample.log.active_path()), sample.log.active_end() - 20);
    for words in verbs {
        let (code, stdout, stderr) = run(sample.path(), &words, &[]);
        let said = stderr.contains("unproven: nothing ties them to HEAD");
        assert!(code == 6 && said, "{words:?}: {code} {stdout}{stderr}");
        let (code, stdout, stderr) = run(sample.path(), &words, &["--json"]);
        let all = format!("{stdout}{stderr}").replace(": ", ":");
        let is_stated =
            all.contains("\"standing\":\"unproven\"") || all.contains("\"tied_from\":null");
        assert!(code == 6 && is_stated, "{words:?}: {code} {all}");
    }
}

#[test]
fn what_the_log_says_is_unproven_is_said_by_every_verb_that_shows_it_and_is_no_failure() {
    let mut sample = Sample::new();
    let names = sample.names();
    let (first_sequence, last_sequence) = (1, sample.newest());
    let reason = UnprovenReason::Damage;
    sample.log.events(vec![RecordsUnproven { first_sequence, last_sequence, reason }.into()]);
    sample.log.write(sample.path());
    let mut verbs = readings(&names, last_sequence);
    let copy = sample.directory.path().join("..").join(format!("copy-{}", std::process::id()));
    let (from, to) = (sample.path().to_str().unwrap(), copy.to_str().unwrap());
    verbs.push(["copy", from, to].map(String::from).to_vec());
    verbs.push(["thread", "show", &names[1]].map(String::from).to_vec());
    for words in verbs {
        for more in [&[][..], &["--json"]] {
            let (code, stdout, stderr) = run(sample.path(), &words, more);
            let is_said = stdout.contains("unproven") || stderr.contains("are unproven");
            std::fs::remove_dir_all(&copy).ok();
            assert!(code == 0 && is_said, "{words:?}: {code} {stdout}{stderr}");
        }
    }
}

#[test]
fn a_head_that_was_kept_outside_is_the_newest_witness_where_it_names_a_later_record() {
    let sample = Sample::witnessed_in_part();
    let (newest, kept) = (sample.newest(), sample.path().join("../kept"));
    let kept = kept.with_file_name(format!("kept-{}", std::process::id()));
    std::fs::write(&kept, format!("{newest} {}\n", sample.log.chain.link)).unwrap();
    let range = format!("1..{newest}");
    for words in [&["verify"][..], &["verify", &range], &["verify", "1..2"]] {
        let words = [words, &["--head", kept.to_str().unwrap()]].concat();
        let (code, stdout, stderr) = told(&holdpoint(sample.path(), &words));
        let all = format!("{stdout}{stderr}");
        assert!(code == 0 && !all.contains("no witness yet"), "{words:?}: {all}");
        assert!(all.contains(&format!("outside head    record {newest} matches")), "{all}");
        let (_, stdout, _) = told(&holdpoint(sample.path(), &[&words[..], &["--json"]].concat()));
        let report: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(report["reach"]["witnessed_to"], newest, "{words:?}: {stdout}");
        assert_eq!(report["reach"]["tied_from"], 1, "{words:?}: {stdout}");
    }
    std::fs::remove_file(kept).unwrap();
}
