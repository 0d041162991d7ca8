//! The real program on a log of its own, as a person or a script meets it.

use crate::machine::home;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A directory with a log in it, gone when the test is over.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) log: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        heed_signals();
        home();
        let directory = TempDir::new().unwrap();
        let log = directory.path().join("log");
        Self { directory, log }
    }

    /// Every record of the log.
    pub(crate) fn records(&self) -> Vec<Value> {
        json_lines(&self.holdpoint(&["log", "--json"]))
    }

    /// A place in which a log without records is.
    pub(crate) fn with_log() -> Self {
        let place = Self::new();
        place.init();
        place
    }

    /// Makes the log, where there is none.
    pub(crate) fn init(&self) {
        let output = self.holdpoint(&["init"]);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    }

    /// The program, in this directory, on this log.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command_in(self.directory.path(), &[]);
        command.arg("--log").arg(&self.log).args(arguments);
        command
    }

    /// What only a person may do is done by one, who types the word.
    pub(crate) fn holdpoint(&self, arguments: &[&str]) -> Output {
        if !is_answer(arguments) {
            return self.command(arguments).output().unwrap();
        }
        // Who types the word has no use for `--yes`.
        let words: Vec<&str> = arguments.iter().copied().filter(|it| *it != "--yes").collect();
        by_person(&self.command(&words))
    }

    /// `run --hold never -- WORDS`.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.run_with(&[], words)
    }

    /// `run --hold never OPTIONS -- WORDS`.
    pub(crate) fn run_with(&self, options: &[&str], words: &[&str]) -> Output {
        self.holdpoint(&[&["run", "--hold", "never"], options, &["--"], words].concat())
    }

    /// `run -- sh -c SCRIPT`.
    pub(crate) fn shell(&self, script: &str) -> Output {
        self.run(&["sh", "-c", script])
    }

    /// `verify --json`, which must find the log intact.
    pub(crate) fn verified(&self) -> Value {
        let output = self.holdpoint(&["verify", "--json"]);
        let report = json(&output);
        assert_eq!((status(&output), &report["verdict"]), (0, &"intact".into()), "{report:#}");
        report
    }

    /// Every loop that `replay --json` shows, first to last.
    pub(crate) fn loops(&self) -> Vec<Value> {
        loops(&self.holdpoint(&["replay", "--json"]))
    }

    /// The loop that began last.
    pub(crate) fn newest_loop(&self) -> Value {
        self.loops().pop().unwrap()
    }
}

/// The program in a directory, with nothing in its environment that steers it.
pub(crate) fn command_in(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    home();
    let ours = ["HOLDPOINT_LOG", "HOLDPOINT_CONFIG", "HOLDPOINT_LOCK_WAIT"];
    ours.iter().fold(&mut command, |command, name| command.env_remove(name));
    command.current_dir(directory).args(arguments);
    command
}

/// Whether only a person may do this, which takes a terminal.
fn is_answer(arguments: &[&str]) -> bool {
    let is_respond = arguments.windows(2).any(|words| words == ["decision", "respond"]);
    is_respond || arguments.first().is_some_and(|verb| ["approve", "deny"].contains(verb))
}

/// The program as a person runs it, who sits at a terminal of their own, reads what is asked, and
/// types the word that is offered; what it prints is kept apart.
pub(crate) fn by_person(program: &Command) -> Output {
    let (mut command, keyboard) = at_terminal(program);
    let child = command.spawn().unwrap();
    drop(command);
    let typist = std::thread::spawn(move || type_words(keyboard));
    let output = child.wait_with_output().unwrap();
    typist.join().unwrap();
    output
}

/// A program at a terminal of its own, whose keyboard is given, with pipes for what it prints.
pub(crate) fn at_terminal(program: &Command) -> (Command, File) {
    let (master, device) = new_terminal();
    let slave = File::options().read(true).write(true).open(device).unwrap();
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(program.get_program()).args(program.get_args());
    if let Some(folder) = program.get_current_dir() {
        command.current_dir(folder);
    }
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(slave).stdout(Stdio::piped()).stderr(Stdio::piped());
    (command, File::from(master))
}

/// Types each word that is asked for, until the terminal is gone.
pub(crate) fn type_words(mut keyboard: File) {
    let (mut shown, mut buffer) = (String::new(), [0; 4096]);
    while let Ok(length @ 1..) = keyboard.read(&mut buffer) {
        shown.push_str(&String::from_utf8_lossy(&buffer[..length]));
        while let Some((word, rest)) = offered_word(&shown) {
            let (word, rest) = (word.to_string(), rest.to_string());
            keyboard.write_all(format!("{word}\n").as_bytes()).unwrap();
            shown = rest;
        }
    }
}

/// The word that a person is asked to type, and what is shown behind that.
pub(crate) fn offered_word(shown: &str) -> Option<(&str, &str)> {
    let (before, rest) = shown.split_once(" to answer; anything else leaves it: ")?;
    Some((before.rsplit_once("type ")?.1, rest))
}

/// A new terminal: where keys are pressed, and the device's name.
pub(crate) fn new_terminal() -> (OwnedFd, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let device = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    (master, device)
}

/// A terminal at which nobody types.
pub(crate) fn terminal() -> File {
    let (master, device) = new_terminal();
    let slave = File::options().read(true).write(true).open(&device).unwrap();
    // The terminal is there as long as the tests run.
    std::mem::forget(master);
    slave
}

/// Every loop in what `replay --json` printed.
pub(crate) fn loops(output: &Output) -> Vec<Value> {
    let shown = json(output);
    find(&shown, "execution_loops").unwrap().as_array().unwrap().clone()
}

/// The value of a key, wherever it stands.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            fields.get(key).or_else(|| fields.values().find_map(|inner| find(inner, key)))
        }
        _ => None,
    }
}

/// Whoever runs the tests may ignore signals, as a shell lets what it starts in the background do,
/// and so would everything that a test starts. What is handled here is not ignored there.
fn heed_signals() {
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        let applies = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_default(signal, applies).unwrap();
    }
}

/// What a shell would see.
pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("killed: {}", text(&output.stderr)))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A question of a hold with what only holds have at its top, or each of a list of them.
pub(crate) fn with_hold(shown: Value) -> Value {
    match shown {
        Value::Array(all) => all.into_iter().map(with_hold).collect(),
        Value::Object(mut question) => {
            let Some(Value::Object(hold)) = question.remove("hold") else { return question.into() };
            question.extend(hold);
            question.into()
        }
        other => other,
    }
}

/// Standard output as exactly one JSON value.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
}

/// Standard output as one JSON value in each line.
pub(crate) fn json_lines(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a program is told of a failure: on standard output, or where that promises an array, on the
/// last line of standard error.
pub(crate) fn error_of(output: &Output) -> Value {
    let told = match output.stdout.is_empty() {
        true => text(&output.stderr).lines().last().unwrap_or_default().to_string(),
        false => text(&output.stdout),
    };
    let value: Value =
        serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
    assert!(value["error"]["code"].is_string(), "{value}");
    value["error"].clone()
}

/// Every file below a directory, with its bytes.
pub(crate) fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files(directory).into_iter();
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// What the files below a directory are long, and what they take on the disk, in bytes.
pub(crate) fn sizes(directory: &Path) -> (u64, u64) {
    let all = files(directory).into_iter().map(|path| path.metadata().unwrap());
    all.fold((0, 0), |(length, taken), file| (length + file.size(), taken + file.blocks() * 512))
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Says that a test does not apply to this machine. Written past the capture of test output, so
/// that it is seen also when all is well.
pub(crate) fn skip(what: &str) {
    let line = format!("skipped: {what}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
