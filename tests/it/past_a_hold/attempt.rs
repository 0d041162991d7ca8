//! One way to try: who, from where, below what, and how.

use crate::machine::{ALICE, BOB, Machine, told};
use crate::terminal::{Terminal, line};
use crate::who_may_pass::random::Random;
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

/// An ordinary user whom no policy names.
const CAROL: u32 = 4003;
/// A system account.
const DAEMON: u32 = 2;

/// Where standard input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    /// From nowhere.
    None,
    /// A terminal of the user's own.
    Own,
    /// A terminal that belongs to who asked.
    OfAsker,
}

/// What stands between the seat and the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Launch {
    Direct,
    Script,
    Recipe,
    /// Left behind by a process that has ended, in a session of its own.
    Leftover,
}

/// What is asked of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Answer,
    Respond,
    /// The same in the approver's name.
    RespondAs,
    Line,
}

#[derive(Clone, Debug)]
pub(super) struct Attempt {
    user: u32,
    /// Whether who asked is an ancestor, through a program that changes the user without a word.
    is_below_asker: bool,
    seat: Seat,
    is_typed: bool,
    launch: Launch,
    verb: Verb,
    is_preloaded: bool,
    /// Variables that are set, by name.
    variables: Vec<&'static str>,
    has_project_file: bool,
}

const LOOSER: &str = "[hold]\ndefault = \"never\"\nauthentication = \"claimed\"\napprovers = []\n";

impl Attempt {
    /// The one that passes.
    pub(super) fn of_the_approver() -> Self {
        Self {
            user: BOB,
            is_below_asker: false,
            seat: Seat::Own,
            is_typed: true,
            launch: Launch::Direct,
            verb: Verb::Answer,
            is_preloaded: false,
            variables: Vec::new(),
            has_project_file: false,
        }
    }

    /// Any, near to the one that passes: each part is as likely as not the approver's.
    pub(super) fn any(random: &mut Random) -> Self {
        let mut attempt = Self::of_the_approver();
        if random.one_in(3) {
            attempt.user = *random.choose(&[ALICE, CAROL, DAEMON]);
        }
        attempt.is_below_asker = random.one_in(5);
        if random.one_in(3) {
            attempt.seat = *random.choose(&[Seat::None, Seat::OfAsker]);
        }
        attempt.is_typed = !random.one_in(4);
        attempt.launch = *random.choose(&[
            Launch::Direct,
            Launch::Direct,
            Launch::Script,
            Launch::Recipe,
            Launch::Leftover,
        ]);
        attempt.verb = *random.choose(&[Verb::Answer, Verb::Respond, Verb::RespondAs, Verb::Line]);
        attempt.is_preloaded = random.one_in(6);
        let names = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOLDPOINT_CONFIG", "SUDO_UID"];
        attempt.variables = random.some(&names, 4);
        attempt.has_project_file = random.one_in(4);
        attempt
    }

    /// The model: the approver, by a process of their own that nobody else's stands behind, at a
    /// terminal of their own, who types.
    pub(super) fn may_pass(&self) -> bool {
        let is_approver = self.user == BOB && !self.is_below_asker && !self.is_preloaded;
        let is_behind = self.variables.contains(&"SUDO_UID");
        let is_seated = self.seat == Seat::Own && self.launch != Launch::Leftover;
        let types = self.is_typed && self.verb != Verb::Line;
        is_approver && !is_behind && is_seated && types
    }

    /// Whether nothing beside asks for less than the policy, which a program refuses that reads it.
    pub(super) fn has_to_pass(&self) -> bool {
        let loosens = |name: &&str| ["HOME", "XDG_CONFIG_HOME", "HOLDPOINT_CONFIG"].contains(name);
        self.may_pass() && !self.has_project_file && !self.variables.iter().any(loosens)
    }

    /// Tries, and gives what was said.
    pub(super) fn answer(&self, machine: &Machine, question: &str) -> String {
        machine.give_log(self.user);
        let project = machine.place.directory.path().join("holdpoint.toml");
        if self.has_project_file {
            fs::write(&project, LOOSER).unwrap();
        }
        let mut program = self.program(machine, question);
        let said = match self.seat {
            Seat::None => told(&program.output().unwrap()),
            Seat::Own => self.seated(machine, self.user, &program),
            Seat::OfAsker => self.seated(machine, ALICE, &program),
        };
        let _ = fs::remove_file(project);
        said
    }

    /// At a terminal of somebody, where the word is typed once it is asked for.
    fn seated(&self, machine: &Machine, owner: u32, program: &Command) -> String {
        let terminal = Terminal::start_owned(&machine.place, owner, program);
        let typed = |word: &str| if self.is_typed { word.to_string() } else { "later".into() };
        terminal.end_typing(typed).1
    }

    fn program(&self, machine: &Machine, question: &str) -> Command {
        let changed = changed_to(self.user);
        let mut below: Vec<&str> = Vec::new();
        if self.is_below_asker {
            below.extend(PARENT);
            below.extend(changed.iter().map(String::as_str));
        }
        below.extend(match self.launch {
            Launch::Direct => &[][..],
            Launch::Script => &PARENT,
            Launch::Leftover => &["setsid", "--fork"],
            Launch::Recipe => &["make", "-s", "-f", "/etc/recipe"],
        });
        let user = if self.is_below_asker { ALICE } else { self.user };
        let words = self.words(machine, question);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = match self.launch {
            Launch::Recipe => {
                write_recipe(machine, &words);
                machine.other(user, &below)
            }
            _ => machine.command(user, &below, &words),
        };
        self.set_variables(machine, &mut command);
        command
    }

    fn set_variables(&self, machine: &Machine, command: &mut Command) {
        for name in &self.variables {
            let value = match *name {
                "SUDO_UID" => ALICE.to_string(),
                "HOLDPOINT_CONFIG" => "/etc/looser/.config/holdpoint/config.toml".to_string(),
                "XDG_CONFIG_HOME" => "/etc/looser/.config".to_string(),
                _ => "/etc/looser".to_string(),
            };
            command.env(name, value);
        }
        if self.is_preloaded {
            command.env("LD_PRELOAD", machine.place.directory.path().join("preload.so"));
        }
    }

    fn words(&self, machine: &Machine, question: &str) -> Vec<String> {
        let words = match self.verb {
            Verb::Answer => vec!["decision", "respond", question, "approve"],
            Verb::Respond => vec!["decision", "respond", question, "--option", "approve"],
            Verb::RespondAs => {
                vec!["decision", "respond", question, "--option", "approve", "--as", "bob"]
            }
            Verb::Line => {
                let by = json!({ "kind": "HUMAN", "id": "bob", "authenticated_by": "terminal",
                    "means": "" });
                let line = json!({
                    "actor": { "kind": "HUMAN", "id": "bob" },
                    "submit": { "command": "decision_point.respond", "decision_id": question,
                        "by": by, "response": { "option": "approve" } },
                });
                let lines = machine.place.directory.path().join("lines");
                fs::write(lines, format!("{line}\n")).unwrap();
                vec!["apply", "lines"]
            }
        };
        words.into_iter().map(String::from).collect()
    }
}

/// A program that stays, and starts what follows.
const PARENT: [&str; 4] = ["sh", "-c", "\"$@\"; exit $?", "sh"];

/// Prepares a machine: a program that changes its user without a word, as `sudo -n` may, a library
/// to preload, and settings that ask for less.
pub(super) fn prepare(machine: &Machine) {
    let changes = machine.etc.path().join("as");
    fs::copy("/usr/bin/setpriv", &changes).unwrap();
    fs::set_permissions(&changes, Permissions::from_mode(0o4755)).unwrap();
    let directory = machine.place.directory.path();
    let source = directory.join("preload.c");
    fs::write(&source, "int holdpoint_test_preloads(void) { return 0; }\n").unwrap();
    let library = directory.join("preload.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    assert!(compiler.status().unwrap().success());
    chown(&library, Some(CAROL), None).unwrap();
    machine.make("looser/.config/holdpoint", 0);
    let settings = machine.etc.path().join("looser/.config/holdpoint/config.toml");
    machine.floor(&settings, 0, LOOSER);
}

fn changed_to(user: u32) -> [String; 4] {
    let [user, group] = ["reuid", "regid"].map(|option| format!("--{option}={user}"));
    ["/etc/as".into(), user, group, "--clear-groups".into()]
}

fn write_recipe(machine: &Machine, words: &[&str]) {
    let recipe = format!("all:\n\t@{}\n", line(&machine.place, words));
    fs::write(machine.etc.path().join("recipe"), recipe).unwrap();
}
