//! Each of the seven questions is answered by the command that the document names for it: over one
//! story, with answers that are kept.

use crate::program::{Place, command_in, json, status, terminal, text};
use crate::run_before::{answer, await_question, command};
use crate::runs::listed;
use crate::terminal::Terminal;
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, ExecutorResponseType};
use holdpoint_domain::human_decision::{
    HoldPolicy, HoldTerms, HumanDecisionTimeout, RequestOutcome,
};
use holdpoint_domain::{Command, Refusal};
use holdpoint_engine::Engine;
use holdpoint_engine::executor::{CommandSpec, Discard, NoSignals};
use holdpoint_engine::shell::{
    Conditions, DecisionPointRecord, EngineOptions, GovernedRun, HeldRun, KeyedRun, Origin,
    PersonInput, Prompter, Question, SubmitError, Submitted, WaitPolicy, Wake, user_name,
    user_number,
};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::hand_made::HandMadeLog;
use holdpoint_testing::shell::commands::{
    await_response, complete, dispatch, initialize, output, report,
};
use holdpoint_testing::shell::{SECOND_NS, START_NS, SetClock};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{SystemTime, UNIX_EPOCH};

const MINUTE_NS: u64 = 60 * SECOND_NS;
const DAY_NS: u64 = 24 * 60 * MINUTE_NS;

/// The questions of the document, each with its command.
const DOCUMENT: &str = "docs/investigate.md";

/// Nobody is at hand: a question stays open.
struct Leave;

impl Prompter for Leave {
    fn asked(&mut self, _question: &Question) -> WaitPolicy {
        WaitPolicy::Leave
    }

    fn wait(&mut self, _question: &Question, _wake: &Wake<'_>) -> Option<PersonInput> {
        None
    }

    fn show_output(&mut self, _question: &Question, _recorded: Result<(), &SubmitError>) {}

    fn warned(&mut self, _question: &Question) {}

    fn refused(&mut self, _question: &Question, refusal: &Refusal) {
        panic!("{refusal}");
    }

    fn settled(&mut self, _question: &Question, _outcome: &RequestOutcome) {}
}

/// What happened yesterday and today, and the runs in it by the names that the answers have.
struct Story {
    place: Place,
    runs: BTreeMap<&'static str, String>,
    /// The first instant of yesterday, in UTC.
    yesterday: u64,
}

/// What is done yesterday, at a clock that is set.
struct Yesterday {
    engine: Engine,
    clock: SetClock,
    directory: PathBuf,
}

impl Yesterday {
    fn new(place: &Place, begin: u64) -> Self {
        let clock = SetClock::new();
        clock.step(begin.cast_signed() - START_NS.cast_signed());
        let options = EngineOptions::default().clock(Box::new(clock.clone()));
        let engine = Engine::open_with(DirectoryStorage::new(&place.log), options).unwrap();
        Self { engine, clock, directory: place.directory.path().to_path_buf() }
    }

    /// `test -e ready` in a directory, which fails until that file is there.
    fn check(&self, by: &Origin, under: &str, language: &str, commit: &str) -> String {
        let spec = CommandSpec::new("test").args(["-e", "ready"]);
        let spec = spec.directory(self.directory.join(under)).env("LANG", language);
        let labels = [("commit".to_string(), commit.to_string())].into();
        let mut conditions = Conditions::default();
        conditions.labels = labels;
        self.run(by, conditions, spec)
    }

    /// A run that ends, and its id.
    fn run(&self, by: &Origin, conditions: impl Into<Conditions>, spec: CommandSpec) -> String {
        let run = GovernedRun::of(spec);
        let (sink, signals) = (&mut Discard, &mut NoSignals);
        let ran = self.engine.run(by, conditions, &run, sink, signals).unwrap();
        ran.ended().unwrap().summary.loop_id
    }

    /// A command that fails, about which a person is asked and nobody answers yet.
    fn hold(&self, by: &Origin) {
        let run = GovernedRun::of(CommandSpec::new("false").directory(&self.directory));
        let timeout = HumanDecisionTimeout::from_milliseconds(3_600_000).unwrap();
        let terms = HoldTerms::of(HoldPolicy::OnFailure);
        let terms = HoldTerms { decision_timeout_ms: timeout, ..terms };
        let (sink, signals) = (&mut Discard, &mut NoSignals);
        let ran = self.engine.run_held(by, (), &run, &terms, &mut Leave, sink, signals).unwrap();
        assert!(matches!(ran, KeyedRun::Now(HeldRun::LeftOpen(_))), "{ran:?}");
    }

    /// Somebody is asked.
    fn ask(&self) {
        let options = r#"[{"id":"yes","label":"Ship it"},{"id":"no","label":"Wait"}]"#;
        let record = DecisionPointRecord {
            issue_id: "gt-41".into(),
            prompt: "Ship the release?".into(),
            options: DecisionPointRecord::parse_options(options).unwrap(),
            requested_by: "agent-7".into(),
            ..DecisionPointRecord::default()
        };
        let asked =
            self.engine.create_decision_point(&Origin::agent("agent-7"), (), &record).unwrap();
        assert!(matches!(asked, Submitted::Accepted(_)), "{asked:?}");
    }

    /// A loop of a program, which waits for its response for ever, and its id.
    fn begin(&self, by: &Origin) -> String {
        let begun = initialize(1);
        let loop_id = begun.loop_id();
        let initialize = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begun));
        self.submit(by, &[initialize, dispatch(&loop_id), await_response(&loop_id)]);
        loop_id
    }

    fn submit(&self, by: &Origin, commands: &[Command]) {
        for command in commands {
            let submitted = self.engine.submit(by, (), command).unwrap();
            assert!(matches!(submitted, Submitted::Accepted(_)), "{submitted:?}");
        }
    }

    fn pass(&self, minutes: u64) {
        self.clock.pass(minutes * MINUTE_NS);
    }
}

impl Story {
    /// Yesterday at 1 a.m. the check is good, and from 2 a.m. on it fails; at half past two an
    /// agent asks two things. Today a person approves a deploy, and something runs on.
    fn new() -> Self {
        let place = Place::new();
        for under in ["app", "other"] {
            fs::create_dir(place.directory.path().join(under)).unwrap();
        }
        let ready = |under: &str| place.directory.path().join(under).join("ready");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let yesterday = u64::try_from(now).unwrap() / DAY_NS * DAY_NS - DAY_NS;
        let mut runs = BTreeMap::new();
        let then = Yesterday::new(&place, yesterday + 60 * MINUTE_NS);
        let (ci, agent) = (Origin::automation("ci"), Origin::agent("agent-7"));
        fs::write(ready("app"), "").unwrap();
        runs.insert("GOOD", then.check(&ci, "app", "C", "aaa111"));
        then.pass(60);
        fs::remove_file(ready("app")).unwrap();
        runs.insert("FIRST", then.check(&agent, "app", "de_DE.UTF-8", "bbb222"));
        then.pass(10);
        fs::write(ready("other"), "").unwrap();
        runs.insert("OTHER", then.check(&ci, "other", "C", "bbb222"));
        then.pass(10);
        runs.insert("FAILED", then.check(&agent, "app", "C", "ccc333"));
        then.pass(10);
        then.ask();
        then.hold(&agent);
        then.begin(&ci);
        drop(then);
        let mut story = Self { place, runs, yesterday };
        story.today();
        story
    }

    /// A person approves a deploy, and answers what waited.
    fn today(&mut self) {
        let place = &self.place;
        assert_eq!(answer(place, &await_question(place), "yes"), 0);
        let words = ["run", "--hold", "before", "--label", "env=production", "--"];
        let words = [&words[..], &["sh", "-c", "echo deployed; echo done >&2"]].concat();
        let waiting = command(place, &words).spawn().unwrap();
        assert_eq!(answer(place, &await_question(place), "approve"), 0);
        assert_eq!(status(&waiting.wait_with_output().unwrap()), 0);
        self.runs.insert("DEPLOY", listed(place, &[]).remove(0));
    }

    fn run(&self, name: &str) -> &str {
        &self.runs[name]
    }

    /// A command of the document, with what it names for what is meant in this story.
    fn words(&self, command: &str) -> Vec<String> {
        let runs = match command {
            "holdpoint diff RUN" => ["FAILED", ""],
            "holdpoint diff RUN RUN" => ["GOOD", "OTHER"],
            _ => ["DEPLOY", ""],
        };
        let mut runs = runs.into_iter();
        let word = |word: &str| match word {
            "RUN" => self.run(runs.next().unwrap()).to_string(),
            "NAME" => "agent-7".to_string(),
            "by=NAME" => "by=agent-7".to_string(),
            "2026-01-25T03:00" => format!("{}T03:00", self.day()),
            word => word.to_string(),
        };
        command.split(' ').skip(1).map(word).collect()
    }

    /// Yesterday's date.
    fn day(&self) -> String {
        let moment = holdpoint_domain::Time::from_nanoseconds(self.yesterday).to_string();
        moment[..10].to_string()
    }

    fn ask(&self, words: &[String]) -> Output {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.place.command(&words);
        command.env("TZ", "UTC0").env("COLUMNS", "1000").output().unwrap()
    }

    /// What is the same whenever, wherever and by whomever the story is made.
    fn steady(&self, shown: &str) -> String {
        let mut shown = shown.to_string();
        for (name, id) in &self.runs {
            shown = shown.replace(id, name).replace(&id[..15], name);
        }
        let directory = self.place.directory.path().to_str().unwrap();
        let log = format!(" --log {directory}/log");
        shown = shown.replace(&log, "").replace(directory, "DIRECTORY");
        shown = shown.replace(&self.day(), "YESTERDAY");
        shown = shown.replace(&format!(", user {}", user_number()), ", user NUMBER");
        shown.lines().map(steady_line).collect::<Vec<_>>().join("\n")
    }
}

/// A line without what differs from run to run: how long ago and how long, ids, who tests.
fn steady_line(line: &str) -> String {
    let name = user_name();
    // What a short command used may be too little to be measured.
    let line = line.replace("under 1 ms", "1 ms").replace("memory not measured", "memory 1 B");
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let id = ["DP-", "LOOP-", "REQ-"].into_iter().find(|prefix| bare.starts_with(prefix));
        let steady = match id {
            Some(prefix) => word.replace(bare, &format!("{prefix}ID")),
            None if bare == name => word.replace(bare, "USER"),
            None if words.last().is_some_and(|before| before == "host") => "HOST".to_string(),
            None if bare == "now" => word.replace(bare, "SO-LONG ago"),
            None if is_moment(bare) => word.replace(bare, "TODAY"),
            None => word.to_string(),
        };
        words.push(steady);
    }
    without_lengths(&words)
}

fn is_moment(word: &str) -> bool {
    word.len() == "2026-01-25T16:00:00.000Z".len() && word.ends_with('Z') && word.contains('T')
}

/// Lengths of time and of memory are numbers before a unit.
fn without_lengths(words: &[String]) -> String {
    const UNITS: [&str; 9] = ["ms", "s", "min", "h", "d", "B", "KiB", "MiB", "GiB"];
    let is_unit = |word: &String| UNITS.contains(&word.trim_matches([',', ')', '.']));
    let is_number = |word: &String| word.trim_matches('(').parse::<f64>().is_ok();
    let mut kept: Vec<String> = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        match rest.peek() {
            Some(unit) if is_number(word) && is_unit(unit) => {
                if kept.last().is_none_or(|last| last != "SO-LONG") {
                    kept.push("SO-LONG".to_string());
                }
                rest.next();
            }
            _ => kept.push(word.clone()),
        }
    }
    kept.join(" ")
}

/// The commands that the document names, in its order.
fn documented() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
    let document = fs::read_to_string(path).unwrap();
    let rows = document.lines().filter(|line| line.contains("? | `holdpoint "));
    let commands = rows.flat_map(|row| row.split('`').skip(1).step_by(2).map(String::from));
    commands.collect()
}

#[test]
fn each_of_the_seven_questions_is_answered_by_the_command_of_the_document() {
    let story = Story::new();
    let mut answers = String::new();
    for command in documented() {
        let output = story.ask(&story.words(&command));
        assert_eq!(status(&output), 0, "{command}: {}", text(&output.stderr));
        answers += &format!("$ {command}\n{}\n\n", story.steady(&text(&output.stdout)));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/questions.txt");
    if !golden.exists() && std::env::var_os("HOLDPOINT_WRITE_GOLDEN").is_some() {
        fs::write(&golden, &answers).unwrap();
    }
    let kept = fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(answers, kept, "HOLDPOINT_WRITE_GOLDEN=1 writes what is not there yet");
}

/// What a verb shows to a program.
fn shown(story: &Story, words: &[&str]) -> Value {
    let output = story.place.holdpoint(&[words, &["--json"]].concat());
    assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
    json(&output)
}

#[test]
fn a_run_began_to_fail_behind_the_last_good_one_of_its_own_command_and_directory() {
    let story = Story::new();
    for (from, failing) in [("FAILED", 2), ("FIRST", 1)] {
        let found = shown(&story, &["diff", story.run(from)]);
        assert_eq!(found["last_good"], story.run("GOOD"));
        assert_eq!(found["first_failing"], story.run("FIRST"));
        assert_eq!(
            (&found["failing_runs"], &found["not_comparable_runs"]),
            (&failing.into(), &0.into())
        );
        let changes = found["changes"].as_array().unwrap();
        let of = |what: &str, name: &str| {
            let is_it =
                |it: &&Value| it["what"] == what && it["name"].as_str().unwrap_or("") == name;
            let it = changes.iter().find(is_it).unwrap_or_else(|| panic!("{what}: {found:#}"));
            (it["from"].clone(), it["to"].clone())
        };
        assert_eq!(of("label", "commit"), ("aaa111".into(), "bbb222".into()));
        assert_eq!(of("environment", "LANG"), ("C".into(), "de_DE.UTF-8".into()));
        assert_eq!(of("outcome", ""), ("ok".into(), "failed".into()));
        assert!(!changes.iter().any(|it| it["what"] == "command" || it["what"] == "directory"));
    }
}

#[test]
fn a_run_is_compared_by_the_beginning_of_its_id_and_numbers_are_still_records() {
    let story = Story::new();
    let (good, other) = (story.run("GOOD"), story.run("OTHER"));
    let compared = shown(&story, &["diff", &good[..13], &other[..13]]);
    assert_eq!((&compared["from"]["run"], &compared["to"]["run"]), (&good.into(), &other.into()));
    let whats: Vec<&str> = compared["changes"].as_array().unwrap().iter().map(what_of).collect();
    assert!(whats.starts_with(&["directory", "label"]), "{whats:?}");
    let states = shown(&story, &["diff", "0", "123456"]);
    assert!(states["patch"].is_array() && states["from"].is_null(), "{states:#}");
}

fn what_of(change: &Value) -> &str {
    change["what"].as_str().unwrap()
}

#[test]
fn a_trace_names_the_run_and_who_approved_it_before_any_record() {
    let story = Story::new();
    let begun = shown(&story, &["show", story.run("DEPLOY")])["first_record"].to_string();
    let traced = shown(&story, &["show", "--trace", &begun]);
    assert_eq!(
        (&traced["runs"][0]["run"], &traced["runs"][0]["outcome"]),
        (&story.run("DEPLOY").into(), &"ok".into())
    );
    let screen = text(&story.place.holdpoint(&["show", "--trace", &begun]).stdout);
    let head: Vec<&str> = screen.lines().take(2).collect();
    let command = "sh -c 'echo deployed; echo done >&2'";
    let run = format!("run      {}: {command} (ok, exit status 0)", &story.run("DEPLOY")[..15]);
    assert_eq!(head[0], run);
    let person = format!("person   {} (person, ", user_name());
    assert!(head[1].starts_with(&person), "{screen}");
    let part = text(&story.place.holdpoint(&["show", "--trace", &begun, "--limit", "0"]).stdout);
    assert!(part.starts_with("run      LOOP-") && part.contains("(its end is not in"), "{part}");
}

#[test]
fn where_nothing_was_good_before_it_is_said_in_words() {
    let place = Place::with_log();
    place.shell("exit 3");
    place.shell("true");
    place.shell("exit 3");
    let [second, good, first] = &listed(&place, &[])[..] else { panic!("three runs") };
    let output = place.holdpoint(&["diff", second]);
    let said = text(&output.stderr);
    assert_eq!((status(&output), text(&output.stdout).as_str()), (3, ""), "{said}");
    assert!(said.contains("ended well: of 2 runs that failed") && said.contains(first), "{said}");
    let output = place.holdpoint(&["diff", good, "--json"]);
    assert_eq!((status(&output), &json(&output)["error"]["code"]), (3, &"not_failed".into()));
    let absent = format!("LOOP-{}", "0123456789abcdef".repeat(2));
    for (words, exit) in [
        (&["diff", &absent][..], 3),
        (&["diff", "LOOP-x"], 2),
        (&["diff", first, "--when", "totals.events >= 0"], 2),
        (&["diff", first, "1"], 2),
        (&["diff", first, &absent], 3),
        (&["diff", first], 3),
        (&["diff", first, "3"], 2),
        (&["diff", "3", first], 2),
        (&["diff", "LOOP-x", first], 2),
        (&["diff", first, second, "./elsewhere"], 2),
    ] {
        let output = place.holdpoint(words);
        assert_eq!((status(&output), text(&output.stdout).as_str()), (exit, ""), "{words:?}");
    }
}

#[test]
fn what_differs_keeps_the_width_of_the_terminal() {
    let story = Story::new();
    for columns in [20, 40] {
        for words in
            [&["diff", story.run("GOOD"), story.run("OTHER")][..], &["diff", story.run("FAILED")]]
        {
            let (exit, shown) = Terminal::sized(&story.place, (400, columns), words).end();
            assert_eq!(exit, 0, "{shown}");
            let widest = shown.lines().map(|line| line.trim_end().chars().count()).max();
            assert!(widest.is_some_and(|widest| widest <= usize::from(columns)), "{shown}");
        }
    }
}

#[test]
fn the_same_instruction_is_known_by_its_hash_and_its_directory_is_not_guessed() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    log.has_foreign_envelopes = true;
    let good = log.run_of("sh -c 'kill -SEGV $$'");
    let (first, second) = (log.crash(), log.crash());
    log.write(&place.log);
    let output = place.holdpoint(&["diff", &second, "--json"]);
    let found = json(&output);
    assert_eq!(status(&output), 0, "{found:#}");
    assert_eq!((&found["last_good"], &found["first_failing"]), (&good.into(), &first.into()));
    let not_known: Vec<&str> = found["not_known"].as_array().unwrap().iter().map(what_of).collect();
    assert_eq!(not_known, ["directory", "environment"]);
}

#[test]
fn a_run_whose_exact_command_is_not_on_record_is_counted_and_not_taken_for_the_same() {
    let place = Place::new();
    let (then, ci) = (Yesterday::new(&place, START_NS), Origin::automation("ci"));
    let good = then.begin(&ci);
    let answered = report(&good, ExecutorResponseType::Success);
    then.submit(&ci, &[output(&good, b"done"), answered, complete(&good)]);
    // Another program of the same name, which fails.
    let shell = then.directory.join("sh");
    fs::write(&shell, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&shell, Permissions::from_mode(0o755)).unwrap();
    let spec = CommandSpec::new("sh").args(["-c", "true"]).env("PATH", &then.directory);
    let failed = then.run(&ci, (), spec);
    drop(then);
    let outcomes = text(&place.holdpoint(&["runs", "--json"]).stdout);
    assert!(
        outcomes.lines().all(|run| run.contains("\"command_line\":\"sh -c true\"")),
        "{outcomes}"
    );
    let output = place.holdpoint(&["diff", &failed]);
    let said = text(&output.stderr);
    assert_eq!((status(&output), text(&output.stdout).as_str()), (3, ""), "{said}");
    assert!(said.contains("1 run with the same words may be of another command"), "{said}");
}

#[test]
fn nothing_is_compared_where_the_log_was_changed() {
    let story = Story::new();
    let segments = fs::read_dir(story.place.log.join("segments")).unwrap();
    let segments = segments.map(|it| it.unwrap().path());
    let segment = segments.filter(|path| path.extension().is_some_and(|it| it == "seg")).max();
    let segment = segment.unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let at = bytes.windows(6).position(|it| it == b"aaa111").unwrap();
    bytes[at] ^= 1;
    fs::write(&segment, bytes).unwrap();
    for words in
        [&["diff", story.run("FAILED")][..], &["diff", story.run("GOOD"), story.run("FIRST")]]
    {
        let output = story.place.holdpoint(words);
        assert_eq!((status(&output), text(&output.stdout).as_str()), (6, ""), "{words:?}");
    }
}

#[test]
fn what_waited_at_a_point_is_listed_as_it_was_then() {
    let story = Story::new();
    let at = |noun: &str, at: &str| {
        let moment = format!("{}T{at}Z", story.day());
        let listed = shown(&story, &["decision", "list", "--kind", noun, "--at", &moment]);
        listed.as_array().unwrap().clone()
    };
    for noun in ["decision", "hold"] {
        assert!(at(noun, "02:29:59").is_empty(), "{noun}");
        let [waited] = &at(noun, "02:31:00")[..] else { panic!("{noun}: one waited") };
        if noun == "hold" {
            let hold = &waited["hold"];
            assert_eq!((&hold["state"], &hold["recorder"]), (&"WAITING".into(), &Value::Null));
        } else {
            assert_eq!(
                (&waited["state"], &waited["requested_by"]),
                (&"pending".into(), &"agent-7".into())
            );
        }
        assert!(
            shown(&story, &["decision", "list", "--kind", noun]).as_array().unwrap().is_empty(),
            "{noun}"
        );
        let both =
            story.place.holdpoint(&["decision", "list", "--kind", noun, "--at", "1h", "--whole"]);
        assert_eq!(status(&both), 2, "{noun}");
    }
    let early =
        story.place.holdpoint(&["decision", "list", "--kind", "hold", "--at", "1970-01-02"]);
    let said = text(&early.stderr);
    assert_eq!(status(&early), 0, "{said}");
    assert!(said.contains("no matching questions") && said.contains("before the first"), "{said}");
}

#[test]
fn what_waited_then_in_all_logs_is_one_list_and_answers_nothing() {
    let story = Story::new();
    let later = story.place.directory.path().join("later");
    let made = story.place.command(&["init"]).arg(&later).output().unwrap();
    assert_eq!(status(&made), 0, "{}", text(&made.stderr));
    let inbox = |words: &[&str]| {
        let mut command = command_in(story.place.directory.path(), &["inbox"]);
        command.args(words).stdin(terminal()).env("TZ", "UTC0").output().unwrap()
    };
    // What a library wrote is listed by nobody but a person.
    assert_eq!(status(&inbox(&["--add", story.place.log.to_str().unwrap()])), 0);
    let then = format!("{}T03:00", story.day());
    let waited = inbox(&["--at", &then, "--json"]);
    let (lines, said) = (text(&waited.stdout), text(&waited.stderr));
    assert_eq!(status(&waited), 0, "{said}");
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert!(kinds.len() == 2 && kinds.contains(&"hold") && kinds.contains(&"decision"), "{lines}");
    assert!(rows.iter().all(|row| row["state"] == "waiting"), "{lines}");
    let hold = rows.iter().find(|row| row["kind"] == "hold").unwrap();
    assert_eq!(hold["time_left_ms"], 30 * 60 * 1000, "an hour was given half an hour before");
    assert!(said.contains("later: no record is as old as"), "{said}");
    assert!(!said.contains("log: no record"), "{said}");
    let nothing = inbox(&["--at", &format!("{}T02:00", story.day())]);
    assert_eq!((status(&nothing), text(&nothing.stdout)), (0, String::new()));
    assert!(text(&nothing.stderr).contains("no pending questions then in 2 logs"), "{nothing:?}");
    let overdue = text(&inbox(&["--at", "5m", "--json"]).stdout);
    assert_eq!(overdue.matches("\"overdue\"").count(), 1, "nobody had recorded it: {overdue}");
    let all = text(&inbox(&["--at", "today", "--all", "--json"]).stdout);
    assert_eq!(all.matches("\"over\"").count(), 3, "{all}");
    for refused in
        [&["--at", &then, "--follow"][..], &["--at", &then, "--add", "/"], &["--at", "7"]]
    {
        assert_eq!(status(&inbox(refused)), 2, "{refused:?}");
    }
    let to_come = inbox(&["--at", "2101-01-01"]);
    assert_eq!((status(&to_come), text(&to_come.stdout)), (2, String::new()));
    assert!(text(&to_come.stderr).contains("lies in the future"), "{to_come:?}");
    for noun in ["decision", "hold"] {
        let to_come = story.place.holdpoint(&[noun, "list", "--at", "2101-01-01"]);
        assert_eq!(status(&to_come), 2, "{noun}");
    }
    let log = story.place.log.to_str().unwrap();
    assert_eq!(status(&inbox(&["--log", log, "--at", "7"])), 0);
    fs::write(story.place.directory.path().join("no-log"), "").unwrap();
    let gone = story.place.directory.path().join("no-log");
    let unreadable = inbox(&["--log", log, "--log", gone.to_str().unwrap(), "--at", &then]);
    let said = text(&unreadable.stderr);
    assert_eq!(status(&unreadable), 3, "{said}");
    assert!(said.contains("no-log is not a directory"), "{said}");
    assert!(text(&unreadable.stdout).contains("REQ-"), "what is known is listed all the same");
}
