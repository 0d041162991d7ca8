//! Variables of a command whose start is asked about: those that carry code stand in the question,
//! those of a session or step are not bound, and what whoever asks leaves unbound goes on record.

use crate::machine::configure;
use crate::program::{Place, json, skip, status, text};
use crate::run_before::{answer, command, refused};
use crate::terminal::Terminal;
use holdpoint_engine::shell::{CODE_VARIABLES, SESSION_VARIABLES, STEP_VARIABLES};
use std::process::Command;

const HOLDS: &str = include_str!("../../docs/approvals.md");

type Variables<'a> = &'a [(&'a str, &'a str)];

fn with(place: &Place, arguments: &[&str], variables: Variables<'_>) -> Command {
    let mut command = command(place, arguments);
    command.envs(variables.iter().copied());
    command
}

/// Asks with variables, and has it approved; the id.
fn approved(place: &Place, options: &[&str], variables: Variables<'_>) -> String {
    let before = ["run", "--hold", "before", "--no-wait"];
    let arguments = [&before, options, &["--", "true"]].concat();
    let output = with(place, &arguments, variables).output().unwrap();
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    let id = text(&output.stdout).trim().to_string();
    assert_eq!(answer(place, &id, "approve"), 0);
    id
}

fn context(place: &Place, id: &str) -> String {
    let shown = json(&place.holdpoint(&["decision", "show", id, "--json"]));
    shown["context"].as_str().unwrap().to_string()
}

#[test]
fn variables_that_carry_code_stand_in_the_question_with_their_values() {
    let place = Place::new();
    let asked = with(
        &place,
        &["run", "--hold", "before", "--", "true"],
        &[
            ("GIT_SSH_COMMAND", "/tmp/evil ssh"),
            ("NODE_OPTIONS", "--require ./x.js"),
            ("PYTHONSTARTUP", "/tmp/start.py"),
            ("GIT_TOKEN", "ghp_0123456789abcdefghijABCD"),
            ("PATH", "/tmp/bin:/usr/bin:/bin"),
        ],
    );
    let mut asking = Terminal::start_sized(&place, (300, 120), &asked);
    let shown = asking.see("approve, deny?").join("\n");
    for name in ["GIT_SSH_COMMAND", "NODE_OPTIONS", "GIT_TOKEN", "/tmp/bin, and the rest"] {
        assert!(shown.contains(name), "{name}: {shown}");
    }
    asking.type_line("details");
    let all = asking.see("decision respond").join("\n");
    for line in [
        "GIT_SSH_COMMAND = /tmp/evil ssh",
        "NODE_OPTIONS = --require ./x.js",
        "PYTHONSTARTUP = /tmp/start.py",
        "GIT_TOKEN = (kept secret",
        "PATH = /tmp/bin, and the rest as usual",
    ] {
        assert!(all.contains(line), "{line}: {all}");
    }
    assert!(!all.contains("ghp_0123"), "{all}");
    assert!(!shown.contains("ghp_0123"), "{shown}");
    asking.type_line("deny");
    assert_eq!(asking.end().0, 120);
}

#[test]
fn a_search_path_of_the_systems_own_directories_is_as_usual() {
    let place = Place::new();
    let arguments = ["run", "--hold", "before", "--", "true"];
    let asked = with(&place, &arguments, &[("PATH", "/usr/bin:/bin")]);
    let mut asking = Terminal::start_sized(&place, (300, 120), &asked);
    let shown = asking.see("approve, deny?").join("\n");
    asking.type_line("details");
    let all = asking.see("decision respond").join("\n");
    asking.type_line("deny");
    assert_eq!(asking.end().0, 120);
    let mut words = shown.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    assert!(words.all(|word| word != "PATH") && all.contains("PATH = as usual"), "{shown}{all}");
}

#[test]
fn a_variable_that_carries_code_is_bound_also_where_its_value_is_masked() {
    let place = Place::new();
    for (name, one, other) in [
        ("BASH_ENV", "/tmp/one", "/tmp/other"),
        ("GIT_TOKEN", "ghp_0123456789abcdefghijABCD", "ghp_0123456789abcdefghijABCE"),
        ("IFS", " ", "/"),
    ] {
        let id = approved(&place, &[], &[(name, one)]);
        let spend = ["--json", "run", "--approval", &id, "--", "true"];
        let (code, said) = refused(&with(&place, &spend, &[(name, other)]).output().unwrap());
        assert_eq!(code, "BINDING_MISMATCH", "{name}");
        assert!(said.contains(&format!("code {name}: ")) && !said.contains("ghp_"), "{said}");
        let spent = with(&place, &spend, &[(name, one)]).output().unwrap();
        assert_eq!(status(&spent), 0, "{name}: {}", text(&spent.stderr));
    }
}

/// Filler would push the one that matters out of the question.
#[test]
fn nobody_is_asked_where_variables_that_carry_code_have_no_room() {
    let place = Place::new();
    let filler: Vec<(String, String)> =
        (0..80).map(|number| (format!("ANSIBLE_{number:02}"), "x".repeat(600))).collect();
    let mut set: Vec<(&str, &str)> =
        filler.iter().map(|(name, value)| (&**name, &**value)).collect();
    set.push(("LESSOPEN", "|/tmp/x %s"));
    let asks = ["--json", "run", "--hold", "before", "--no-wait", "--", "true"];
    let (code, said) = refused(&with(&place, &asks, &set).output().unwrap());
    assert_eq!(code, "CODE_NOT_SHOWN", "{said}");
}

#[test]
fn what_was_asked_in_one_pane_or_step_is_spent_in_the_next() {
    let place = Place::new();
    configure("[evidence]\nrecord_env = [\"TMUX*\"]\n");
    let steps = STEP_VARIABLES.iter().flat_map(|(_, names)| names.iter());
    let names: Vec<&str> = SESSION_VARIABLES.iter().chain(steps).copied().collect();
    let set = |value: &'static str| -> Vec<(&str, &str)> {
        names.iter().map(|name| (*name, value)).collect()
    };
    // `--record-env` puts nothing of them into what is bound either.
    let record: &[&str] = &["--record-env", "TMUX*"];
    let id = approved(&place, record, &set("1"));
    let shown = context(&place, &id);
    let unbound = shown.split_once("where it is started, by these variables: ").unwrap().1;
    for name in &names {
        assert!(unbound.contains(name), "{name}: {shown}");
        assert!(!shown.contains(&format!("variable   {name} =")), "{name}: {shown}");
    }
    let spend = [&["run", "--approval", &id], record, &["--", "true"]].concat();
    let other = [&["--json"], &spend[..], &[]].concat();
    let mut more = set("2");
    more.push(("ANOTHER", "1"));
    assert_eq!(refused(&with(&place, &other, &more).output().unwrap()).0, "BINDING_MISMATCH");
    let mut spent = with(&place, &spend, &set("2"));
    for name in ["TMUX", "COLUMNS"] {
        spent.env_remove(name);
    }
    let spent = spent.output().unwrap();
    assert_eq!(status(&spent), 0, "{}", text(&spent.stderr));
    place.verified();
}

#[test]
fn a_variable_that_is_left_unbound_is_named_and_its_value_at_the_start_goes_on_record() {
    let place = Place::new();
    let id = approved(
        &place,
        &["--unbind", "env=GITHUB_OUTPUT", "env=GITHUB_ENV"],
        &[("GITHUB_OUTPUT", "/tmp/step-1"), ("LANG", "C")],
    );
    let shown = context(&place, &id);
    assert!(shown.contains("  unbound    GITHUB_OUTPUT = /tmp/step-1\n"), "{shown}");
    assert!(shown.contains("  unbound    GITHUB_ENV = (not set)\n"), "{shown}");
    let next = [("GITHUB_OUTPUT", "/tmp/step-2"), ("GITHUB_ENV", "/tmp/env-2"), ("LANG", "C")];
    // What else is left unbound is another question.
    let more = ["--json", "run", "--approval", &id, "--unbind", "env=LANG", "--", "true"];
    assert_eq!(refused(&with(&place, &more, &next).output().unwrap()).0, "BINDING_MISMATCH");
    let spend = ["run", "--approval", &id, "--", "true"];
    let spent = with(&place, &spend, &next).output().unwrap();
    assert_eq!(status(&spent), 0, "{}", text(&spent.stderr));
    let recorded = text(&place.holdpoint(&["log", "--json"]).stdout);
    for (name, value) in [
        ("unbound.GITHUB_OUTPUT", "/tmp/step-2"),
        ("unbound.GITHUB_OUTPUT.asked", "/tmp/step-1"),
        ("unbound.GITHUB_ENV", "/tmp/env-2"),
        ("unbound.GITHUB_ENV.asked", "(not set)"),
    ] {
        let found = recorded
            .lines()
            .any(|line| line.contains(&format!("\"{name}\"")) && line.contains(value));
        assert!(found, "{name}: {recorded}");
    }
    place.verified();
    // Without it the value is bound.
    let id = approved(&place, &[], &[("GITHUB_OUTPUT", "/tmp/step-1")]);
    let spend = ["--json", "run", "--approval", &id, "--", "true"];
    let other = with(&place, &spend, &[("GITHUB_OUTPUT", "/tmp/step-2")]).output().unwrap();
    assert_eq!(refused(&other).0, "BINDING_MISMATCH");
}

#[test]
fn a_start_that_was_asked_about_in_one_shell_is_spent_in_another_one_within_it() {
    let place = Place::new();
    if Command::new("bash").args(["-c", ":"]).output().is_err() {
        return skip("a question within a shell: there is no bash");
    }
    let program = env!("CARGO_BIN_EXE_holdpoint");
    let shell = |script: &str| {
        let mut shell = Command::new("bash");
        let usual = command(&place, &[]);
        for (name, value) in usual.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.env("HOLDPOINT_LOG", &place.log).current_dir(place.directory.path());
        shell.args(["-c", script]).output().unwrap()
    };
    let asked = shell(&format!("id=$({program} run --hold before --no-wait -- true); echo $id"));
    let id = text(&asked.stdout).trim().to_string();
    assert!(id.starts_with("DP-"), "{}", text(&asked.stderr));
    assert_eq!(answer(&place, &id, "approve"), 0);
    let spent = shell(&format!("cd /; cd -; {program} run --approval {id} -- true"));
    assert_eq!(status(&spent), 0, "{}", text(&spent.stderr));
}

/// What stands in backquotes in the lines behind a heading.
fn quoted_below(heading: &str) -> Vec<String> {
    let (_, section) = HOLDS.split_once(&format!("\n{heading}\n")).expect(heading);
    let section = section.split("\n#").next().unwrap();
    section.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

#[test]
fn the_documents_list_the_variables_that_carry_code_and_those_that_are_never_bound() {
    let code = quoted_below("#### Variables that carry code");
    assert_eq!(code, CODE_VARIABLES);
    let steps = STEP_VARIABLES.iter().flat_map(|(_, names)| names.iter());
    let never: Vec<&str> = SESSION_VARIABLES.iter().chain(steps).copied().collect();
    assert_eq!(quoted_below("#### Variables that are never bound"), never);
}
