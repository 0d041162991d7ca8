//! Who is governed cannot loosen: what the files of the machine and of its user demand, and what a
//! person recorded in the log, holds against options, projects, variables, names and namespaces.

use crate::apply_support::{answers, apply, initialize};
use crate::filler::fill;
use crate::machine::{ALICE, BOB, Machine, assert_refused, told};
use crate::program::{Place, json, status, text, with_hold};
use crate::terminal::Terminal;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::decision_point::{ApprovalPolicy, CreateDecisionPoint, DecisionPointCommand};
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, InitializeLoop};
use holdpoint_domain::human_decision::{HoldPolicy, HoldTerms};
use holdpoint_domain::log::PolicyRefusal;
use holdpoint_domain::log::{GatePolicy, RELAX_TOOL, relax_binding, relax_proposal};
use holdpoint_domain::{ActorId, Command as Act, Refusal};
use holdpoint_engine::Engine;
use holdpoint_engine::floors::FloorFiles;
use holdpoint_engine::log::Options;
use holdpoint_engine::shell::{EngineOptions, Origin, Submitted};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::shell::trusted_directory;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use DecisionPointCommand::CreateDecisionPoint as Create;
use ExecutionLoopCommand::InitializeLoop as Initialize;

/// So many fill more than a segment.
const FILLERS: u64 = 40;

/// As the program names the system's floor.
const SYSTEM: &str = "/etc/holdpoint/config.toml";

#[test]
fn with_approvers_in_a_floor_nothing_but_their_own_process_passes() {
    let Some(machine) = Machine::new() else { return };
    let floor = "[hold]\ndefault = \"on-failure\"\nauthentication = \"os-user\"\n\
                 approvers = [\"alice\"]\n";
    machine.floor(&machine.system(), 0, floor);
    let request = hold(&machine, &["run", "--no-wait", "--", "false"]);
    let answer = ["decision", "respond", &request, "--yes", "CONTINUE"];
    assert_refused(&machine.call(0, &answer), 5, &[]);

    // A line that says that it is alice.
    let line = json!({
        "actor": { "kind": "HUMAN", "id": "alice" },
        "submit": {
            "command": "human_decision.answer", "request_id": request, "actor": "HUMAN",
            "human_id": "alice", "decision": "CONTINUE",
            "means": { "channel": "API", "detail": "forged" },
        },
    });
    fs::write(machine.place.directory.path().join("lines"), format!("{line}\n")).unwrap();
    let applied = machine.call(0, &["apply", "lines"]);
    assert_refused(&applied, 5, &["CLAIM_NOT_TAKEN"]);

    // A namespace in which this process is alice's number.
    let as_alice = format!("--map-user={ALICE}");
    let mapped = machine.command(0, &["unshare", &as_alice], &answer).output().unwrap();
    assert_ne!(status(&mapped), 0, "{}", told(&mapped));
    assert_eq!(holds(&machine).as_array().unwrap().len(), 1);

    machine.give_log(ALICE);
    let answered = machine.call(ALICE, &answer);
    assert_eq!(status(&answered), 0, "{}", told(&answered));
    assert_eq!(holds(&machine), json!([]));
}

#[test]
fn what_is_asked_for_is_no_looser_than_the_floor_whoever_says_it() {
    let Some(machine) = Machine::new() else { return };
    let floor = "[hold]\ndefault = \"after\"\napprovers = [\"alice\"]\ndecision_timeout = \"2m\"\n";
    machine.floor(&machine.system(), 0, floor);
    let file = machine.place.directory.path().join("made");
    let made = file.to_str().unwrap();
    let run =
        |options: &[&str]| machine.call(0, &[&["run"], options, &["--", "touch", made]].concat());
    for (options, field) in [
        (vec!["--hold", "never"], "after"),
        (vec!["--hold", "on-failure"], "after"),
        (vec!["--expires", "after=1h"], "decision_timeout"),
        (vec!["--to", "bob"], "escalation_approvers"),
    ] {
        assert_refused(&run(&options), 125, &[SYSTEM, field, "not started"]);
        assert!(!file.exists(), "{options:?}");
    }
    for (project, field) in [
        ("default = \"never\"", "after"),
        ("approval_timeout = \"1m\"\ndefault = \"never\"", "after"),
        ("approvers = [\"alice\", \"bob\"]", "approvers"),
        ("decision_timeout = \"1h\"", "decision_timeout"),
        ("[[hold.escalation_targets]]\ntarget = \"bob\"\ntimeout = \"1m\"", "escalation"),
        ("[[hold.escalation_targets]]\ntarget = \"alice\"\ntimeout = \"1h\"", "targets.timeout"),
    ] {
        let path = machine.place.directory.path().join("holdpoint.toml");
        fs::write(&path, format!("[hold]\n{project}\n")).unwrap();
        let line = 1 + project.lines().position(|it| it.contains("never")).unwrap_or(0) + 1;
        let place = format!("holdpoint.toml:{line}:");
        assert_refused(&run(&[]), 125, &[SYSTEM, field, &place]);
        assert_refused(&machine.call(0, &["doctor", "config"]), 5, &[SYSTEM, field, &place]);
        fs::rename(&path, path.with_file_name("other.toml")).unwrap();
        let mut named = machine.command(0, &[], &["run", "--", "touch", made]);
        assert_refused(
            &named.env("HOLDPOINT_CONFIG", "other.toml").output().unwrap(),
            125,
            &[SYSTEM, "other.toml:"],
        );
        assert!(!file.exists(), "{project}");
    }
    for options in [
        vec!["--approvers", "root"],
        vec!["--authentication", "none", "--approvers", "alice"],
        vec!["--approvers", "alice", "--allow", "agents"],
    ] {
        let created = machine.call(
            0,
            &[&["decision", "create", "--prompt", "May it?", "--option", "a:A"], &*options]
                .concat(),
        );
        let said = if options.len() == 2 { "the policy of" } else { "less than the defaults" };
        assert_refused(&created, 5, &[said]);
    }
    // What is not said is as tight as it has to be.
    let options = ["decision", "create", "--prompt", "May it?", "--blocks", "x", "--json"];
    let created = json(&machine.call(0, &options));
    assert_eq!(created["approvers"], json!(["alice"]), "{created:#}");
    assert_refused(&run(&["--no-wait"]), 122, &[]);
    let checked = json(&machine.call(0, &["doctor", "config", "--json"]));
    assert_eq!(checked["hold"]["policy"], "AFTER");
    assert_eq!(checked["hold"]["decision_timeout_ms"], 120_000);
    assert!(checked["gate"]["sources"][0].as_str().unwrap().starts_with(SYSTEM), "{checked:#}");
    let shown = machine.call(0, &["policy", "show", "--json"]);
    assert_eq!(json(&shown)["layers"][0]["floor"], SYSTEM);
}

#[test]
fn the_environment_hides_no_floor_and_adds_one() {
    let Some(machine) = Machine::new() else { return };
    machine.floor(&machine.in_home("alice"), ALICE, "[hold]\ndefault = \"after\"\n");
    let never = ["run", "--hold", "never", "--", "true"];
    for (name, value) in [("HOME", "/nonexistent"), ("XDG_CONFIG_HOME", "/etc/homes/bob/.config")] {
        let output = machine.command(ALICE, &[], &never).env(name, value).output().unwrap();
        assert_refused(&output, 125, &["/etc/homes/alice/.config/holdpoint/config.toml"]);
    }
    let own = ["run", "--log", "own", "--hold", "never", "--", "true"];
    assert_eq!(status(&machine.call(BOB, &own)), 0, "bob's home demands nothing");
    let more = machine.etc.path().join("more/holdpoint");
    fs::create_dir_all(&more).unwrap();
    machine.floor(&more.join("config.toml"), 0, "[hold]\ndefault = \"on-failure\"\n");
    let mut added = machine.command(BOB, &[], &own);
    let added = added.env("XDG_CONFIG_HOME", "/etc/more").output().unwrap();
    assert_refused(&added, 125, &["/etc/more/holdpoint/config.toml"]);
    // The policy is not gone because what its name leads to is.
    fs::remove_file(more.join("config.toml")).unwrap();
    symlink("/etc/more/gone", more.join("config.toml")).unwrap();
    let dangling = machine.command(BOB, &[], &own).env("XDG_CONFIG_HOME", "/etc/more").output();
    assert_refused(&dangling.unwrap(), 125, &["/etc/more/holdpoint/config.toml", "is missing"]);
    fs::remove_dir_all(&more).unwrap();
    let none = machine
        .command(BOB, &[], &["run", "--log", "own", "--", "true"])
        .env("XDG_CONFIG_HOME", "/etc/more")
        .output()
        .unwrap();
    assert_eq!(status(&none), 0, "a name that does not exist is no floor: {}", told(&none));
    // Another number in a namespace of its own still has the floor of its own home.
    let as_bob = format!("--map-user={BOB}");
    let mapped = machine.command(ALICE, &["unshare", &as_bob], &never).output().unwrap();
    assert_refused(&mapped, 125, &["/etc/homes/alice/.config/holdpoint/config.toml"]);
}

/// Root asks, and the log is each answerer's in turn.
#[test]
fn separation_wants_another_user_who_needs_no_terminal_where_the_policy_says_so() {
    let Some(machine) = Machine::new() else { return };
    let floor = "[hold]\ndefault = \"on-failure\"\nseparation = true\n\
                 authentication = \"os-user\"\n";
    machine.floor(&machine.system(), 0, floor);
    let (asked, is_open) = (hold(&machine, &["run", "--no-wait", "--", "false"]), || {
        holds(&machine).as_array().unwrap().len() == 1
    });
    let answer = ["decision", "respond", &asked, "--yes", "CONTINUE"];
    let typed = ["decision", "respond", &asked, "CONTINUE"];
    let own = machine.command(0, &[], &typed);
    let (code, said) = Terminal::start_command(&machine.place, &own).end();
    // The terminal folds it.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 5 && said.contains("another user has to answer"), "{said}");
    assert!(is_open());
    machine.give_log(BOB);
    assert_refused(&machine.call(BOB, &answer), 0, &[]);
    assert!(!is_open());
}

#[test]
fn a_user_without_a_name_is_known_by_its_number_alone() {
    let Some(machine) = Machine::new() else { return };
    const NOBODY_KNOWS: u32 = 4_003;
    let floor = "[hold]\ndefault = \"on-failure\"\nauthentication = \"os-user\"\n\
                 approvers = [\"uid 4003\"]\n";
    machine.floor(&machine.system(), 0, floor);
    let asked = hold(&machine, &["run", "--no-wait", "--", "false"]);
    let answer = ["decision", "respond", &asked, "--yes", "CONTINUE"];
    for (user, code) in [(BOB, 5), (NOBODY_KNOWS, 0)] {
        machine.give_log(user);
        assert_refused(&machine.call(user, &answer), code, &[]);
    }
}

fn holds(machine: &Machine) -> Value {
    json(&machine.call(0, &["decision", "list", "--kind", "hold", "--json"]))
}

/// Leaves the question after an attempt open, as root, and gives its id.
fn hold(machine: &Machine, run: &[&str]) -> String {
    let ran = machine.call(0, run);
    assert_eq!(status(&ran), 122, "{}", told(&ran));
    let listed = holds(machine);
    listed[0]["id"].as_str().unwrap().to_string()
}

/// Makes something else of a good file.
type Spoil = fn(&Machine, &Path);

/// What makes a policy unbelieved, and what is said of it.
const UNBELIEVED: [(&str, Spoil); 19] = [
    ("not a regular file", |_, path| {
        fs::remove_file(path).unwrap();
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
    ("not a regular file", |_, path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    }),
    ("", |_, path| {
        fs::remove_file(path).unwrap();
        symlink("/dev/null", path).unwrap();
    }),
    ("others can write", |_, path| {
        fs::set_permissions(path, Permissions::from_mode(0o664)).unwrap();
    }),
    ("others can write /etc/holdpoint; take that from them", |machine, _| {
        let directory = machine.etc.path().join("holdpoint");
        fs::set_permissions(directory, Permissions::from_mode(0o777)).unwrap();
    }),
    ("others can write /etc/shared; keep it below", |machine, path| {
        let shared = machine.etc.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
        fs::rename(path, shared.join("policy")).unwrap();
        symlink("/etc/shared/policy", path).unwrap();
    }),
    ("belongs to user 4001", |_, path| chown(path, Some(ALICE), None).unwrap()),
    ("belongs to user 4002", |machine, _| {
        chown(machine.etc.path().join("holdpoint"), Some(BOB), None).unwrap();
    }),
    ("not UTF-8", |_, path| fs::write(path, b"[hold]\napprovers = [\"\xff\"]").unwrap()),
    ("unknown field", |_, path| fs::write(path, "[hold]\napprover = []\n").unwrap()),
    ("missing or invisible", |_, path| fs::write(path, "[hold]\napprovers = [\" \"]").unwrap()),
    ("hidden character", |_, path| {
        fs::write(path, "[hold]\napprovers = [\"al\\u200bice\"]").unwrap();
    }),
    ("a quorum of 2", |_, path| {
        fs::write(path, "[hold]\nquorum = 2\napprovers = [\"a\", \"a\"]").unwrap();
    }),
    ("no user here is called nosuchuser or uid 4001", |_, path| {
        fs::write(path, "[hold]\napprovers = [\"nosuchuser\", \"uid 4001\"]").unwrap();
    }),
    ("is missing", |_, path| {
        fs::remove_file(path).unwrap();
        symlink("/etc/nowhere/policy", path).unwrap();
    }),
    ("is missing", |machine, path| {
        fs::remove_file(path).unwrap();
        let directory = machine.etc.path().join("holdpoint");
        fs::remove_dir(&directory).unwrap();
        symlink("/etc/nowhere", directory).unwrap();
    }),
    ("says nothing", |_, path| fs::write(path, "").unwrap()),
    ("says nothing", |_, path| fs::write(path, "# [hold]\n").unwrap()),
    ("longer than", |_, path| fs::write(path, "#".repeat(1024 * 1024 + 1)).unwrap()),
];

#[test]
fn a_policy_that_cannot_be_believed_lets_nothing_begin() {
    let Some(machine) = Machine::new() else { return };
    let path = machine.system();
    for (reason, spoil) in UNBELIEVED {
        let directory = machine.etc.path().join("holdpoint");
        let _ = fs::remove_file(&directory);
        let _ = fs::remove_dir_all(&directory);
        machine.make("holdpoint", 0);
        machine.floor(&path, 0, "[hold]\ndefault = \"on-failure\"\n");
        spoil(&machine, &path);
        let ran = machine.call(0, &["run", "--", "true"]);
        assert_refused(&ran, 125, &[SYSTEM, reason, "not started"]);
        let asked = ["decision", "create", "--prompt", "May it?", "--approvers", "alice"];
        assert_refused(&machine.call(0, &asked), 5, &[SYSTEM, reason]);
        assert_refused(&machine.call(0, &["policy", "show"]), 5, &[SYSTEM, reason]);
        assert_refused(&machine.call(0, &["doctor"]), 3, &[SYSTEM, reason]);
        assert!(!machine.place.log.exists(), "{reason}: nothing begins");
    }
    let _ = fs::remove_dir_all(machine.etc.path().join("holdpoint"));
    machine.make("holdpoint", 0);
    machine.floor(&path, 0, "[hold]\n");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert_refused(&machine.call(ALICE, &["run", "--", "true"]), 125, &[SYSTEM, "cannot be read"]);
}

#[test]
fn floors_that_contradict_each_other_are_refused_and_both_named() {
    let Some(machine) = Machine::new() else { return };
    machine.floor(&machine.system(), 0, "[hold]\napprovers = [\"alice\"]\n");
    machine.floor(&machine.in_home("bob"), BOB, "[hold]\napprovers = [\"bob\"]\n");
    let ran = machine.call(BOB, &["run", "--", "true"]);
    assert_refused(&ran, 125, &[SYSTEM, "/etc/homes/bob/", "contradict", "alice", "bob"]);
    let set = ["policy", "set", "approvers=bob"];
    let (code, said) =
        Terminal::start_command(&machine.place, &machine.command(0, &[], &set)).end();
    assert_eq!(code, 0, "{said}");
    let ran = machine.call(0, &["run", "--", "true"]);
    assert_refused(&ran, 125, &[SYSTEM, "this log", "contradict"]);
}

#[test]
fn a_policy_that_pins_a_log_lets_nothing_begin_in_another() {
    let Some(machine) = Machine::new() else { return };
    let log = machine.place.log.to_str().unwrap();
    let floor = format!("[policy]\nlog = \"{log}\"\n");
    machine.floor(&machine.system(), 0, &floor);
    assert_eq!(status(&machine.call(0, &["run", "--", "true"])), 0);
    let elsewhere = machine.call(0, &["run", "--log", "another", "--", "true"]);
    assert_refused(&elsewhere, 125, &[SYSTEM, log, "another"]);
    let asked = ["decision", "create", "--log", "another", "--prompt", "x", "--approvers", "alice"];
    assert_refused(&machine.call(0, &asked), 5, &[SYSTEM]);
    machine.floor(&machine.system(), 0, "[policy]\nlog = \"here\"\n");
    assert_refused(&machine.call(0, &["run", "--", "true"]), 125, &[SYSTEM, "absolute"]);
}

/// An engine of somebody's own program, under the floor in this file.
fn embedded(log: &Path, floor: &Path) -> Engine {
    let options =
        EngineOptions::default().log(Options::default()).floors(FloorFiles::simulated(&[floor]));
    Engine::open_with(DirectoryStorage::new(log), options).unwrap()
}

fn refusal(engine: &Engine, command: &Act) -> Refusal {
    let actor = ActorId { kind: Actor::Automation, id: engine.identity().name().to_string() };
    let origin = Origin { actor, correlation: "story".to_string(), causation: None };
    match engine.submit(&origin, (), command).unwrap() {
        Submitted::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_library_keeps_floors_for_whoever_embeds_it() {
    let directory = trusted_directory(env!("CARGO_TARGET_TMPDIR"));
    let floor = directory.path().join("floor.toml");
    let own = holdpoint_engine::shell::user_name();
    let asked = format!("[hold]\ndefault = \"always\"\napprovers = [\"{own}\"]\n");
    fs::write(&floor, asked).unwrap();
    fs::set_permissions(&floor, Permissions::from_mode(0o644)).unwrap();
    let engine = embedded(&directory.path().join("log"), &floor);
    let named = |refusal: &Refusal, of: &str| match refusal {
        Refusal::Policy(PolicyRefusal::Loosened { floor: found, loosened }) => {
            assert_eq!(*found, floor.to_string_lossy());
            assert_eq!(loosened.field, of);
        }
        other => panic!("{other}"),
    };
    let mut line = initialize(&"1".repeat(32));
    line.as_object_mut().unwrap().remove("command");
    let mut start: InitializeLoop = serde_json::from_value(line).unwrap();
    start.hold = HoldTerms::never();
    named(&refusal(&engine, &Act::ExecutionLoop(Initialize(start.clone()))), "hold");
    start.gate.before = true;
    named(&refusal(&engine, &Act::ExecutionLoop(Initialize(start.clone()))), "hold");
    let by = engine.identity().principal(Actor::Automation, engine.identity().name());
    let mut question =
        CreateDecisionPoint::asking(engine.entropy().unwrap(), by, "May it?", vec![]);
    question.blocks = vec!["x".to_string()];
    named(&refusal(&engine, &Act::DecisionPoint(Create(Box::new(question.clone())))), "approvers");
    question.policy = Some(ApprovalPolicy::people());
    named(&refusal(&engine, &Act::DecisionPoint(Create(Box::new(question)))), "approvers");
    fs::write(&floor, "[hold]\nwhat = 1\n").unwrap();
    let actor = ActorId { kind: Actor::Automation, id: "x".to_string() };
    let origin = Origin { actor, correlation: "story".to_string(), causation: None };
    assert!(engine.submit(&origin, (), &Act::ExecutionLoop(Initialize(start))).is_err());
    engine.close().unwrap();
}

/// Sets the log's policy at a terminal.
fn set(place: &Place, options: &[&str]) -> (i32, String) {
    Terminal::start(place, &[&["policy", "set"], options].concat()).end()
}

#[track_caller]
fn assert_set(place: &Place, options: &[&str]) {
    let (code, said) = set(place, options);
    assert_eq!(code, 0, "{said}");
}

fn log_policy(place: &Place) -> Value {
    let shown = json(&place.holdpoint(&["policy", "show", "--json"]));
    let layers = shown["layers"].as_array().unwrap();
    let of_log = layers.iter().find(|layer| layer["floor"] == "this log");
    of_log.map_or(Value::Null, |layer| layer["policy"].clone())
}

#[test]
fn the_policy_of_a_log_is_a_persons_at_a_terminal_and_only_tightened() {
    let place = Place::new();
    assert_refused(&place.holdpoint(&["policy", "set", "default=before"]), 5, &["terminal"]);
    assert!(!place.log.exists());
    assert_set(&place, &["default=on-failure", "decision_timeout=10m"]);
    assert_set(&place, &["default=after", "approvers=alice,bob"]);
    for (code, options, field) in [
        (10, vec!["default=never", "--no-wait"], "after"),
        (10, vec!["default=on-failure", "--no-wait"], "after"),
        (10, vec!["approvers=alice,carol", "--no-wait"], "approvers"),
        (10, vec!["approvers=", "--no-wait"], "approvers"),
        (10, vec!["decision_timeout=1h", "--no-wait"], "decision_timeout"),
        (10, vec!["decision_timeout=any", "--no-wait"], "decision_timeout"),
        (10, vec!["authentication=none", "--no-wait"], "authentication"),
        (5, vec![], "this changes nothing"),
    ] {
        let (ended, said) = set(&place, &options);
        assert_eq!(ended, code, "{options:?}: {said}");
        assert!(said.contains(field), "{field}: {said}");
    }
    let policy = log_policy(&place);
    assert_eq!(policy["after"], "AFTER");
    assert_eq!(policy["approvers"], json!(["alice", "bob"]));
    assert_eq!(policy["decision_timeout_ms"], 600_000);
    let ran = place.holdpoint(&["run", "--hold", "never", "--", "true"]);
    assert_refused(&ran, 125, &["this log", "after", " policy set`"]);
    // A line that leaves the terms away gets those that hold; one that says less is refused.
    let mut less = initialize(&"2".repeat(32));
    less["hold"] = json!({ "policy": "NEVER" });
    let mut silent = initialize(&"3".repeat(32));
    silent.as_object_mut().unwrap().remove("hold");
    let output = apply(&place, &[json!({ "submit": less }), json!({ "submit": silent })]);
    let answered = answers(&output);
    assert_eq!(answered[0]["refusal"]["code"], "POLICY_LOOSENED", "{}", text(&output.stdout));
    assert!(answered[1]["receipt"].is_object(), "{}", text(&output.stdout));
    place.verified();
}

/// The hook about a call of a tool.
fn hook(place: &Place, options: &[&str]) -> Output {
    let mut command = place.command(&[&["hook", "pre-tool-use"], options].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let call = json!({
        "session_id": "s", "cwd": "/", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "ls" },
    });
    child.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_hook_asks_whom_the_policy_names_and_denies_where_it_was_told_to_ask_others() {
    let place = Place::new();
    let limits = ["approvers=alice,bob", "quorum=2", "approval_timeout=10m"];
    assert_set(&place, &limits);
    assert_refused(&hook(&place, &["--approvers", "carol,dave"]), 2, &["this log", "approvers"]);
    assert_refused(&hook(&place, &["--timeout", "1h"]), 2, &["this log", "approval_timeout"]);
    let listed = json(&place.holdpoint(&["decision", "list", "--json"]));
    assert_eq!(listed, json!([]), "nobody is asked on other terms");
    let asked = hook(&place, &[]);
    assert!(told(&asked).contains("pending"), "{}", told(&asked));
    let listed = json(&place.holdpoint(&["decision", "list", "--json"]));
    let id = listed[0]["id"].as_str().unwrap();
    let asked = json(&place.holdpoint(&["decision", "show", id, "--json"]));
    assert_eq!((&asked["approvers"], &asked["quorum"]), (&json!(["alice", "bob"]), &json!(2)));
}

#[test]
fn a_looser_policy_is_approved_by_those_whom_the_one_before_names() {
    let place = Place::new();
    assert_set(&place, &["default=after"]);
    let left = place.holdpoint(&["run", "--no-wait", "--", "true"]);
    assert_eq!(status(&left), 122, "{}", told(&left));
    let asked = place.holdpoint(&["policy", "set", "default=never", "--no-wait", "--json"]);
    assert_eq!(status(&asked), 10, "{}", told(&asked));
    let id = json(&asked)["decision_id"].as_str().unwrap().to_string();
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    assert_eq!(shown["approvers"], json!([holdpoint_engine::shell::user_name()]));
    assert_eq!(shown["authentication"], "terminal");

    let respond = ["decision", "respond", &id, "--option", "approve"];
    let without = place.command(&respond).stdin(Stdio::null()).output().unwrap();
    assert_eq!(status(&without), 5, "nobody sits at a terminal");
    let spend = |options: &[&str]| {
        let words = [&["policy", "set", "--approval", &id], options].concat();
        Terminal::start(&place, &words).end()
    };
    let (code, said) = spend(&["default=never"]);
    assert_ne!(code, 0, "nobody approved: {said}");
    let (code, said) = Terminal::start(&place, &respond).end();
    assert_eq!(code, 0, "{said}");
    let (code, said) = spend(&["default=never", "approvers=mallory"]);
    assert_ne!(code, 0, "another change: {said}");
    let (code, said) = spend(&["default=never"]);
    assert_eq!(code, 0, "{said}");
    let (code, _) = spend(&["default=never"]);
    assert_ne!(code, 0, "an approval is spent once");

    assert_eq!(log_policy(&place)["after"], "NEVER");
    assert_eq!(status(&place.holdpoint(&["run", "--", "false"])), 1);
    let open = with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    assert_eq!(open.as_array().unwrap().len(), 1, "the question of before still waits");
    place.verified();
}

/// Whoever asks approves it at a terminal, and then another user is wanted.
#[test]
fn a_looser_policy_that_was_approved_before_another_user_was_wanted_is_refused() {
    let place = Place::new();
    assert_set(&place, &["default=after"]);
    let after = GatePolicy { after: HoldPolicy::After, ..GatePolicy::default() };
    let before = GatePolicy { separation: true, ..after.clone() };
    let digest = relax_binding(&before, &after).to_string();
    let shown = relax_proposal(&before, &after);
    let own = holdpoint_engine::shell::user_name();
    let early = json!({ "command": "decision_point.create", "entropy": "7".repeat(32),
        "by": { "kind": "AGENT", "id": "planner", "authenticated_by": "none", "means": "" },
        "prompt": shown.prompt, "context": shown.context, "options": shown.options,
        "allow_text": false, "max_iterations": 1,
        "binding": { "tool": RELAX_TOOL, "input_sha256": digest },
        "policy": { "approvers": [own], "quorum": 1, "authentication": "terminal" } });
    let line = json!({ "actor": { "kind": "AGENT", "id": "planner" }, "submit": early });
    let answered = answers(&apply(&place, &[line]));
    assert!(answered[0]["receipt"].is_object(), "{answered:#?}");
    let early = format!("DP-{}", "7".repeat(32));
    let respond = ["decision", "respond", &early, "--option", "approve"];
    assert_eq!(Terminal::start(&place, &respond).end().0, 0);
    assert_set(&place, &["separation=true"]);
    let relax = ["policy", "set", "--approval", &early, "separation=false"];
    let (code, said) = Terminal::start(&place, &relax).end();
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("separation"), "{said}");
    assert_eq!(log_policy(&place)["separation"], true);
    place.verified();
}

#[test]
fn a_policy_goes_with_its_log_into_copies_archives_and_what_is_salvaged() {
    let place = Place::new();
    assert_set(&place, &["default=after", "approvers=alice"]);
    let never =
        |log: &str| place.holdpoint(&["run", "--log", log, "--hold", "never", "--", "true"]);
    assert_eq!(status(&place.holdpoint(&["copy", "log", "copied"])), 0);
    assert_refused(&never("copied"), 125, &["this log"]);
    assert_eq!(status(&place.holdpoint(&["copy", "--salvage", "log", "salvaged"])), 0);
    assert_refused(&never("salvaged"), 125, &["this log"]);
    fill(&place.log, FILLERS);
    let archived = place.holdpoint(&["archive", "archived", "--json"]);
    assert_eq!(status(&archived), 0, "{}", told(&archived));
    assert!(json(&archived)["anchor_sequence"].is_u64(), "something was moved");
    assert_refused(&never("log"), 125, &["this log"]);
    assert_eq!(log_policy(&place)["approvers"], json!(["alice"]));
}

#[test]
fn a_salvage_that_may_have_lost_the_policy_holds_everything_until_a_person_sets_one() {
    let place = Place::new();
    assert_eq!(status(&place.run(&["true"])), 0);
    let before = place.verified()["records"].as_u64().unwrap();
    assert_set(&place, &["default=after", "approvers=alice"]);
    let segment = place.log.join("segments/00000000000000000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let mut at = 4_096;
    for _ in 0..before {
        let size = u32::from_le_bytes(*bytes[at..].first_chunk().unwrap()) as usize;
        at += size.next_multiple_of(8);
    }
    bytes[at + 70] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let output = place.holdpoint(&["copy", "--salvage", "log", "new"]);
    let said = told(&output);
    assert_eq!(status(&output), 0, "{said}");
    assert!(said.contains("policy set"), "{said}");
    let never = ["run", "--log", "new", "--hold", "never", "--", "true"];
    assert_refused(&place.holdpoint(&never), 125, &["policy set"]);
    let asked = ["decision", "create", "--log", "new", "--prompt", "x", "--blocks", "y"];
    assert_refused(&place.holdpoint(&asked), 5, &["policy set"]);
    assert_set(&place, &["--log", "new"]);
    assert_eq!(status(&place.holdpoint(&never)), 0);
}
