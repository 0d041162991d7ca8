//! Completions and manual pages say what the command line takes: every verb and every option, and
//! the shells and readers that they are for accept them.

use crate::program::{Place, skip, status, text};
use crate::session::table;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// A verb by its words, its verbs below it, and its long options, as `--help` lists them.
pub(crate) struct Verb {
    pub(crate) words: Vec<String>,
    pub(crate) below: BTreeSet<String>,
    pub(crate) options: BTreeSet<String>,
}

/// Every verb that `--help` leads to, the program itself first.
pub(crate) fn verbs(place: &Place) -> Vec<Verb> {
    let mut found = Vec::new();
    let mut ahead = vec![Vec::new()];
    while let Some(words) = ahead.pop() {
        let help = help_of(place, &words);
        let below = listed(&help, "Commands:");
        for word in &below {
            ahead.push(words.iter().cloned().chain([word.clone()]).collect());
        }
        found.push(Verb { words, below, options: options(&help) });
    }
    assert!(found.len() > 35, "{}", found.len());
    found
}

/// All of the help of a verb, or of the program.
fn help_of(place: &Place, words: &[String]) -> String {
    let all = if words.is_empty() { &["help", "--all"][..] } else { &["--help"] };
    let arguments = words.iter().map(String::as_str).chain(all.iter().copied());
    text(&place.holdpoint(&arguments.collect::<Vec<_>>()).stdout)
}

/// The first words of the entries below a heading of a help text.
fn listed(help: &str, heading: &str) -> BTreeSet<String> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1);
    let entries = lines.take_while(|line| line.starts_with("  "));
    let names = entries.filter(|line| !line.starts_with("   "));
    let words = names.map(|line| line.split_whitespace().next().unwrap());
    words.filter(|word| *word != "help").map(String::from).collect()
}

/// The long options of a help text, with their other names.
fn options(help: &str) -> BTreeSet<String> {
    let entries = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = entries.flat_map(|line| line.split([' ', ',', '=', '[']).take(4));
    let aliases = help.split("[aliases: ").skip(1);
    let aliases = aliases.flat_map(|rest| rest.split_once(']').unwrap().0.split(", "));
    let long = words.chain(aliases).filter(|word| word.starts_with("--") && word.len() > 2);
    long.map(String::from).collect()
}

fn completions(place: &Place, shell: &str) -> String {
    let output = place.holdpoint(&["completions", shell]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn every_shell_is_told_every_verb_and_every_option() {
    let place = Place::new();
    let verbs = verbs(&place);
    for shell in SHELLS {
        let script = completions(&place, shell);
        for option in verbs.iter().flat_map(|verb| &verb.options) {
            let bare = option.trim_start_matches('-');
            let is_there = match shell {
                "fish" => script.contains(&format!("-l {bare}")),
                _ => script.contains(option),
            };
            assert!(is_there, "{shell}: {option}");
        }
        for word in verbs.iter().flat_map(|verb| &verb.words) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

/// What bash offers after these words; one line for each offer.
fn offered(script: &Path, words: &[String], begun: &str) -> String {
    const ASK: &str = r#"
        source "$1"; begun=$2; shift 2
        COMP_WORDS=("$@" "$begun"); COMP_CWORD=$#
        _holdpoint holdpoint "$begun" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", ASK, "bash"]).arg(script).args([begun, "holdpoint"]).args(words);
    let output = bash.output().unwrap();
    assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn bash_completes_every_verb_and_every_option_at_its_place() {
    if !is_there("bash") {
        return skip("completions in bash: there is no bash here");
    }
    let place = Place::new();
    let script = place.directory.path().join("holdpoint.bash");
    std::fs::write(&script, completions(&place, "bash")).unwrap();
    for Verb { words, below, options } in verbs(&place) {
        let offered: BTreeSet<String> =
            [offered(&script, &words, "-"), offered(&script, &words, "")]
                .concat()
                .lines()
                .map(String::from)
                .collect();
        for wanted in below.iter().chain(&options) {
            assert!(offered.contains(wanted), "{words:?}: {wanted} is not among {offered:?}");
        }
    }
}

#[test]
fn each_shell_that_is_here_reads_its_script() {
    let place = Place::new();
    for (shell, arguments) in [
        ("bash", &["--norc", "-n"][..]),
        ("zsh", &["--no-rcs", "-n"]),
        ("fish", &["--no-config", "--no-execute"]),
    ] {
        if !is_there(shell) {
            skip(&format!("completions read by {shell}: it is not here"));
            continue;
        }
        let script = place.directory.path().join(shell);
        std::fs::write(&script, completions(&place, shell)).unwrap();
        let output = Command::new(shell).args(arguments).arg(&script).output().unwrap();
        assert_eq!((status(&output), text(&output.stderr)), (0, String::new()), "{shell}");
    }
}

/// The pages of `man --dir`, by the names of their files.
fn pages(place: &Place, directory: &str) -> BTreeMap<String, String> {
    let output = place.holdpoint(&["completions", "man", "--output", directory]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let files = text(&output.stdout);
    let page = |file: &str| {
        let (_, name) = file.rsplit_once('/').unwrap();
        let page = std::fs::read_to_string(place.directory.path().join(file)).unwrap();
        (name.to_string(), page)
    };
    files.lines().map(page).collect()
}

#[test]
fn every_verb_has_a_page_with_each_of_its_options() {
    let place = Place::new();
    let pages = pages(&place, "new/man1");
    let verbs = verbs(&place);
    assert_eq!(pages.len(), verbs.len());
    for Verb { words, below, options } in verbs {
        let name = ["holdpoint"].into_iter().chain(words.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join("-");
        let page = pages[&format!("{name}.1")].replace('\\', "");
        for option in &options {
            assert!(page.contains(option.as_str()), "{name}: {option}");
        }
        for verb in below {
            assert!(page.contains(&format!("{name}-{verb}(1)")), "{name}: {verb}");
        }
    }
}

#[test]
fn the_program_s_page_on_stdout_is_the_one_in_the_directory() {
    let place = Place::new();
    let page = text(&place.holdpoint(&["completions", "man"]).stdout);
    assert_eq!(page, pages(&place, "man1")["holdpoint.1"]);
    for part in [".TH holdpoint 1", "SH SUBCOMMANDS", "SH ENVIRONMENT", "SH \"EXIT STATUS\""] {
        assert!(page.contains(part), "{part}:\n{page}");
    }
}

/// A text of a document as a page without markup has it: a link is its words.
fn without_links(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap().replace('[', "");
    let rest = parts.map(|part| part.split_once(')').unwrap().1.replace('[', ""));
    std::iter::once(first).chain(rest).collect()
}

#[test]
fn the_exit_status_of_the_manual_is_what_the_document_says() {
    let document = include_str!("../../docs/exit-codes.md");
    let page = text(&Place::new().holdpoint(&["completions", "man"]).stdout).replace("\\*(Aq", "'");
    let page = page.replace(['\\', '\n'], " ").replace("fB", " ").replace("fR", " ");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, status) = page.split_once("EXIT STATUS").unwrap();
    let status = words(&status.replace(" -", "-"));
    let mut rows = Vec::new();
    for header in ["| code |", "| of a wait |", "| of a hook |"] {
        rows.extend(table(document, header));
    }
    assert_eq!(status.matches(".TP").count(), rows.len(), "{status}");
    for row in rows {
        let told = words(&format!(".TP {} {}", row[0], without_links(&row[1])));
        assert!(status.contains(&told), "{told}\nin {status}");
    }
    let sentence = document.split("\n\n").find(|text| text.starts_with("A configuration that"));
    assert!(status.contains(&words(sentence.unwrap())), "{status}");
}

#[test]
fn no_option_of_a_synopsis_has_room_for_a_value_without_a_name() {
    let page = pages(&Place::new(), "man1")["holdpoint-runs.1"].clone();
    let (_, synopsis) = page.split_once(".SH SYNOPSIS").unwrap();
    let (synopsis, _) = synopsis.split_once(".SH").unwrap();
    assert!(synopsis.contains("[\\fB\\-n\\fR|\\fB\\-\\-limit\\fR]"), "{synopsis}");
}

/// The options below a heading of a help text, by the long name of each.
fn options_below(help: &str, heading: &str) -> BTreeSet<String> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1);
    let below = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    options(&below.collect::<Vec<_>>().join("\n"))
}

#[test]
fn options_of_every_verb_stand_below_those_of_the_verb_itself() {
    let place = Place::new();
    let global = ["--log", "--config", "--json", "--color", "--no-pager", "--read-only"];
    let global = global.map(String::from);
    let global = BTreeSet::from(global);
    let pages = pages(&place, "man1");
    for Verb { words, .. } in verbs(&place) {
        let help = help_of(&place, &words);
        let own = options_below(&help, "Options:");
        let mut global = global.clone();
        // The inbox is of several logs.
        if words.first().is_some_and(|word| word == "inbox") {
            global.remove("--log");
        }
        assert!(own.is_disjoint(&global), "{words:?}");
        assert_eq!(options_below(&help, "Global options:"), global, "{words:?}");
        let name = ["holdpoint"].into_iter().chain(words.iter().map(String::as_str));
        let page = &pages[&format!("{}.1", name.collect::<Vec<_>>().join("-"))];
        let (_, below) = page.split_once(".SH \"GLOBAL OPTIONS\"").unwrap();
        let (below, _) = below.split_once("\n.SH").unwrap();
        assert_eq!(below.matches("\n.TP").count(), global.len(), "{words:?}: {below}");
    }
}

#[test]
fn pages_and_completions_are_the_same_whoever_generates_them() {
    let place = Place::new();
    for arguments in
        [&["completions", "man"][..], &["completions", "bash"], &["completions", "zsh"]]
    {
        let plain = place.holdpoint(arguments).stdout;
        let mut elsewhere = place.command(arguments);
        elsewhere.envs([("HOLDPOINT_LOG", "/elsewhere"), ("HOLDPOINT_CONFIG", "/x.toml")]);
        elsewhere.envs([("COLUMNS", "40"), ("CLICOLOR_FORCE", "1"), ("LANG", "C")]);
        assert_eq!(text(&elsewhere.output().unwrap().stdout), text(&plain), "{arguments:?}");
        let with_json = place.holdpoint(&[arguments, &["--json"]].concat());
        assert_eq!(text(&with_json.stdout), text(&plain), "{arguments:?}");
    }
    assert!(!place.log.exists(), "they need no log, and make none");
}

#[test]
fn readers_of_manual_pages_find_nothing_wrong() {
    let place = Place::new();
    let pages = pages(&place, "man1");
    for (reader, arguments) in [
        ("groff", &["-man", "-Tascii", "-ww", "-z"][..]),
        ("mandoc", &["-T", "lint", "-W", "error"]),
    ] {
        if !is_there(reader) {
            skip(&format!("manual pages read by {reader}: it is not here"));
            continue;
        }
        for (name, page) in &pages {
            let output = fed(reader, arguments, page);
            let said = text(&output.stdout) + text(&output.stderr).as_str();
            assert_eq!((status(&output), said.as_str()), (0, ""), "{reader}: {name}");
        }
    }
}

#[test]
fn a_page_that_cannot_be_written_is_a_failure_with_its_place() {
    let place = Place::new();
    std::fs::write(place.directory.path().join("file"), "").unwrap();
    let output = place.holdpoint(&["completions", "man", "--output", "file/man1"]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stderr).contains("cannot write file/man1: "));
    assert_eq!(status(&place.holdpoint(&["completions", "tcsh"])), 2);
}

#[test]
fn a_reader_who_leaves_early_ends_both_quietly() {
    let place = Place::new();
    for arguments in [&["completions", "man"][..], &["completions", "zsh"]] {
        let mut command = place.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((status(&output), text(&output.stderr)), (0, String::new()));
    }
}

/// Whether a program can be started here.
fn is_there(program: &str) -> bool {
    let mut asked = Command::new("sh");
    asked.args(["-c", "command -v \"$1\" >/dev/null", "sh", program]).status().unwrap().success()
}

/// A program that reads this on its standard input.
fn fed(program: &str, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}
