//! Who answers is asked of the kernel and of the user database, and another user number is not yet
//! another person: on a machine with users of its own, where a policy lets another user answer
//! without a terminal.

use crate::machine::{ALICE, BOB, Machine, assert_refused, told};
use crate::program::{json, skip, status, text};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A person without a terminal counts under it.
const OS_USER: &str = "[hold]\nauthentication = \"os-user\"\n";

/// Answers for whoever asks the C library who the user is.
const LIAR: &str =
    "unsigned int getuid(void){return 4002;} unsigned int geteuid(void){return 4002;}\n";

/// Runs a command under a tracer that does nothing but go on.
const TRACER: &str = r#"
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>
int main(int count, char **words) {
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execvp(words[1], words + 1);
        _exit(99);
    }
    int status;
    while (waitpid(child, &status, 0) == child && !WIFEXITED(status)) {
        if (WIFSIGNALED(status)) return 98;
        int signal = WSTOPSIG(status);
        ptrace(PTRACE_CONT, child, 0, signal == SIGTRAP ? 0 : signal);
    }
    return WEXITSTATUS(status);
}
"#;

impl Machine {
    /// One where another user may answer without a terminal.
    fn where_users_answer() -> Option<Self> {
        let machine = Self::new()?;
        machine.floor(&machine.system(), 0, OS_USER);
        Some(machine)
    }

    /// A question of this user after an attempt, handed to the other one with the whole log.
    fn asked(&self, asker: u32, answerer: u32, more: &[&str]) -> String {
        if self.place.log.exists() {
            self.give_log(asker);
        }
        let run = [&["run", "--hold", "after", "--no-wait"], more, &["--", "true"]].concat();
        let ran = self.call(asker, &run);
        assert_eq!(status(&ran), 122, "{}", told(&ran));
        let listed = json(&self.call(asker, &["decision", "list", "--kind", "hold", "--json"]));
        self.give_log(answerer);
        listed.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_string()
    }

    fn answer(&self, user: u32, id: &str) -> Output {
        self.answering(user, &[], id).output().unwrap()
    }

    fn answering(&self, user: u32, below: &[&str], id: &str) -> Command {
        self.command(user, below, &["decision", "respond", id, "--yes", "CONTINUE"])
    }

    /// What a C compiler makes of a program; `None`, said visibly, where there is none.
    fn compiled(&self, name: &str, source: &str, options: &[&str]) -> Option<PathBuf> {
        let directory = self.place.directory.path();
        let (from, to) = (directory.join(format!("{name}.c")), directory.join(name));
        fs::write(&from, source).unwrap();
        let made = Command::new("cc").args(options).arg("-o").arg(&to).arg(&from).output();
        if made.is_ok_and(|output| output.status.success()) {
            return Some(to);
        }
        skip("a C compiler is needed");
        None
    }

    fn script(&self, name: &str, content: &str) -> PathBuf {
        let path = self.place.directory.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub(crate) fn users(&self, more: &str) {
        let path = self.etc.path().join("passwd");
        let users = fs::read_to_string(&path).unwrap();
        fs::write(&path, users + more).unwrap();
    }

    /// The services that the machine asks for its users, in this order.
    fn looks_up_users_in(&self, services: &str) {
        fs::write(self.etc.path().join("nsswitch.conf"), format!("passwd: {services}\n")).unwrap();
    }
}

/// The same on a machine whose `getent` is another file.
fn with_getent(getent: &Path, of: &Command) -> Command {
    with_file("/usr/bin/getent", getent, of)
}

/// The same on a machine where another file stands in a place.
fn with_file(place: &str, file: &Path, of: &Command) -> Command {
    let mut command = Command::new("unshare");
    let mount = format!("mount --bind \"$0\" {place} && exec \"$@\"");
    command.args(["-m", "sh", "-c", &mount]).arg(file).arg(of.get_program()).args(of.get_args());
    command.current_dir(of.get_current_dir().unwrap());
    command
}

#[test]
fn an_answer_under_a_preloaded_library_proves_nobody() {
    let Some(machine) = Machine::where_users_answer() else { return };
    let Some(liar) = machine.compiled("liar.so", LIAR, &["-shared", "-fPIC"]) else { return };
    chown(&liar, Some(ALICE), Some(ALICE)).unwrap();
    let id = machine.asked(ALICE, ALICE, &[]);
    // Alice is not Bob because a library says so.
    let preload = format!("LD_PRELOAD={}", liar.display());
    let below = ["env", &preload];
    let answered = machine.answering(ALICE, &below, &id).output().unwrap();
    assert_refused(&answered, 5, &["LD_PRELOAD"]);
    machine.give_log(BOB);
    let answered = machine.answering(BOB, &below, &id).output().unwrap();
    assert_refused(&answered, 5, &["not proven", "LD_PRELOAD"]);
    assert_refused(&machine.answer(BOB, &id), 0, &[]);
}

#[test]
fn an_answer_under_a_tracer_proves_nobody() {
    let Some(machine) = Machine::where_users_answer() else { return };
    let Some(tracer) = machine.compiled("tracer", TRACER, &[]) else { return };
    let id = machine.asked(ALICE, BOB, &[]);
    let traced = machine.answering(BOB, &[tracer.to_str().unwrap()], &id).output().unwrap();
    assert_refused(&traced, 5, &["not proven", "debugger"]);
    assert_refused(&machine.answer(BOB, &id), 0, &[]);
}

#[test]
fn another_user_without_a_terminal_counts_only_where_the_policy_says_so() {
    let Some(machine) = Machine::new() else { return };
    let id = machine.asked(ALICE, BOB, &[]);
    assert_refused(&machine.answer(BOB, &id), 5, &["answer at a terminal"]);
    machine.floor(&machine.system(), 0, OS_USER);
    let id = machine.asked(ALICE, BOB, &[]);
    assert_refused(&machine.answer(BOB, &id), 0, &[]);
}

#[test]
fn an_asker_behind_the_answer_is_refused_by_every_sign_of_it() {
    let Some(machine) = Machine::where_users_answer() else { return };
    let id = machine.asked(ALICE, BOB, &[]);
    for name in ["SUDO_UID", "PKEXEC_UID"] {
        let answered = machine.answering(BOB, &[], &id).env(name, ALICE.to_string()).output();
        assert_refused(&answered.unwrap(), 5, &[name, "user 4001 asks"]);
    }
    // As sudo does it: a process of Alice's with root's rights becomes Bob.
    let words = format!("setpriv --ruid={ALICE} sh -p -c");
    let mut below: Vec<&str> = words.split(' ').collect();
    below.extend(["\"$@\"; exit $?", "sh", "setpriv", "--reuid=4002", "--regid=4002"]);
    below.push("--clear-groups");
    let answered = machine.answering(0, &below, &id).output().unwrap();
    assert_refused(&answered, 5, &["user 4001 asks", "a process of that user started it"]);
    // Somebody else's number says nothing.
    let answered = machine.answering(BOB, &[], &id).env("SUDO_UID", "4004").output().unwrap();
    assert_refused(&answered, 0, &[]);
}

#[test]
fn where_root_asks_nothing_says_that_root_is_behind_it() {
    let Some(machine) = Machine::where_users_answer() else { return };
    let id = machine.asked(0, BOB, &[]);
    let answered = machine.answering(BOB, &[], &id).env("SUDO_UID", "0").output().unwrap();
    assert_refused(&answered, 0, &[]);
}

#[test]
fn a_system_account_counts_only_where_a_policy_names_it() {
    let Some(machine) = Machine::where_users_answer() else { return };
    machine.users(
        "daemon:x:33:33::/:/bin/sh\nrobot:x:4005:4005::/:/usr/sbin/nologin\n\
         erin:x:4006:4006::/:/bin/bash\n",
    );
    for account in [33, 4005, 0] {
        let id = machine.asked(ALICE, account, &[]);
        assert_refused(&machine.answer(account, &id), 5, &["is a system account"]);
    }
    let id = machine.asked(ALICE, 4006, &[]);
    assert_refused(&machine.answer(4006, &id), 0, &[]);
    let floor = format!("{OS_USER}approvers = [\"robot\"]\n");
    machine.floor(&machine.system(), 0, &floor);
    let id = machine.asked(ALICE, 4005, &[]);
    assert_refused(&machine.answer(4005, &id), 0, &[]);
}

#[test]
fn an_approver_whose_name_another_number_has_by_now_is_not_the_one_who_was_asked() {
    let Some(machine) = Machine::where_users_answer() else { return };
    let id = machine.asked(ALICE, 4007, &["--approvers", "bob"]);
    let path = machine.etc.path().join("passwd");
    let users = fs::read_to_string(&path).unwrap();
    fs::write(&path, users.replace("bob:x:4002:4002:", "bob:x:4007:4007:")).unwrap();
    assert_refused(&machine.answer(4007, &id), 5, &["belonged to user 4002"]);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace(":4007:4007:", ":4002:4002:"))
        .unwrap();
    machine.give_log(BOB);
    assert_refused(&machine.answer(BOB, &id), 0, &[]);
}

#[test]
fn a_policy_that_names_a_number_twice_begins_nothing() {
    let Some(machine) = Machine::where_users_answer() else { return };
    machine.users("alias:x:4001:4001::/etc/homes/alice:/bin/sh\n");
    let made = machine.place.directory.path().join("made");
    let touch = ["run", "--hold", "after", "--no-wait", "--", "touch", made.to_str().unwrap()];
    for other in ["alias", "uid 4001"] {
        let _ = fs::remove_file(machine.system());
        let named =
            [&touch[..4], &["--approvers", "alice", "--approvers", other], &touch[4..]].concat();
        let twice = format!("alice and {other} are one user (4001)");
        assert_refused(&machine.call(BOB, &named), 125, &[&twice]);
        let floor = format!("[hold]\ndefault = \"after\"\napprovers = [\"alice\", \"{other}\"]\n");
        machine.floor(&machine.system(), 0, &floor);
        let of_file = ["/etc/holdpoint/config.toml", &*twice];
        assert_refused(&machine.call(BOB, &touch), 125, &of_file);
        assert!(!made.exists());
        assert_refused(&machine.call(BOB, &["doctor"]), 1, &of_file);
    }
}

#[test]
fn a_user_database_that_hangs_is_waited_for_two_seconds_and_begins_nothing() {
    let Some(machine) = Machine::where_users_answer() else { return };
    let made = machine.place.directory.path().join("made");
    let run = ["run", "--hold", "after", "--no-wait", "--", "touch", made.to_str().unwrap()];
    machine.looks_up_users_in("sss files");
    for hangs in [
        "sleep 600 & wait",
        // It prints without end, and without an end of the line.
        "while :; do echo alice:x:4001:4001::/etc/homes/alice:/bin/sh; done",
        "exec cat /dev/zero",
        // What it printed is no answer before it ends.
        "echo alice:x:4001:4001::/etc/homes/alice:/bin/sh; exec >&-; sleep 600",
    ] {
        let getent = machine.script("getent", &format!("#!/bin/sh\n{hangs}\n"));
        let begun = Instant::now();
        let ran = with_getent(&getent, &machine.command(ALICE, &[], &run)).output().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "{hangs}: {:?}", begun.elapsed());
        assert_refused(&ran, 125, &["the user database does not answer", "not started"]);
        assert!(!made.exists());
        let id = machine.asked(ALICE, BOB, &[]);
        let answered = with_getent(&getent, &machine.answering(BOB, &[], &id)).output().unwrap();
        assert_refused(&answered, 5, &["the user database does not answer"]);
        assert_refused(&machine.answer(BOB, &id), 0, &[]);
        machine.give_log(ALICE);
    }
}

#[test]
fn a_number_is_looked_up_in_the_file_alone_where_the_system_looks_there_first() {
    let Some(machine) = Machine::where_users_answer() else { return };
    let getent = machine.script("getent", "#!/bin/sh\nexit 1\n");
    let run = ["run", "--", "true"];
    for (services, exit) in [("files sss", 0), ("files [SUCCESS=merge] sss", 125), ("sss", 125)] {
        machine.looks_up_users_in(services);
        let ran = with_getent(&getent, &machine.command(ALICE, &[], &run)).output().unwrap();
        assert_eq!(status(&ran), exit, "{services}: {}", text(&ran.stderr));
    }
}

/// Another program that is not root's is not asked: then the file of users is, and that is said.
#[test]
fn a_getent_that_is_not_roots_is_not_asked() {
    let Some(machine) = Machine::where_users_answer() else { return };
    let getent = machine.script("getent", "#!/bin/sh\necho mallory:x:4001:4001::/:/bin/sh\n");
    chown(&getent, Some(BOB), Some(BOB)).unwrap();
    let asked = ["decision", "create", "--prompt", "May it?", "--blocks", "x", "--json"];
    let said = with_getent(&getent, &machine.command(ALICE, &[], &asked)).output().unwrap();
    assert_eq!(status(&said), 0, "{}", told(&said));
    let exported = told(&machine.call(ALICE, &["export", "--format", "jsonl"]));
    assert!(exported.contains("\"alice\"") && !exported.contains("mallory"), "{exported}");
    let is_link = fs::canonicalize("/bin").is_ok_and(|bin| bin == Path::new("/usr/bin"));
    assert!(!is_link || exported.contains("by /etc/passwd alone"), "{exported}");
}

#[test]
fn the_record_says_whether_the_login_is_known() {
    let Some(machine) = Machine::where_users_answer() else { return };
    let id = machine.asked(ALICE, BOB, &[]);
    assert_refused(&machine.answer(BOB, &id), 0, &[]);
    let exported = machine.call(BOB, &["export", "--format", "jsonl"]);
    let said = told(&exported);
    assert!(said.contains("uid 4002, no terminal, login "), "{said}");
}

#[test]
fn root_writes_in_another_users_log_as_that_user_and_in_none_with_what_is_not_that_users() {
    let Some(machine) = Machine::new() else { return };
    assert_eq!(status(&machine.call(ALICE, &["run", "--", "true"])), 0);
    assert_refused(&machine.call(0, &["run", "--", "true"]), 0, &[]);
    let log = machine.place.log.as_path();
    let segments = log.join("segments");
    for path in [log, segments.as_path()] {
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(entry.metadata().unwrap().uid(), ALICE, "{:?}", entry.path());
        }
    }
    let odd = segments.join("odd");
    symlink("/etc/shadow", &odd).unwrap();
    assert_refused(&machine.call(0, &["run", "--", "true"]), 125, &["odd is a link"]);
    fs::remove_file(&odd).unwrap();
    fs::hard_link(log.join(".gitignore"), &odd).unwrap();
    assert_refused(&machine.call(0, &["run", "--", "true"]), 125, &["is a link"]);
    fs::remove_file(&odd).unwrap();
    fs::write(&odd, "").unwrap();
    assert_refused(&machine.call(0, &["run", "--", "true"]), 125, &["odd belongs to user 0"]);
    fs::remove_file(&odd).unwrap();
    assert_refused(&machine.call(0, &["run", "--", "true"]), 0, &[]);
}

#[test]
fn doctor_says_who_may_become_an_approver() {
    let Some(machine) = Machine::new() else { return };
    let said = told(&machine.call(0, &["doctor"]));
    assert!(said.contains("this is root: root is every approver"), "{said}");
    machine.floor(&machine.system(), 0, "[hold]\napprovers = [\"bob\"]\n");
    let sudo = machine.script("sudo", "#!/bin/sh\ntest \"$1 $2\" = \"-n -l\"\n");
    let had_none = !Path::new("/usr/bin/sudo").exists();
    if had_none {
        return skip("there is no sudo to put another one in the place of");
    }
    let doctor = with_file("/usr/bin/sudo", &sudo, &machine.command(ALICE, &[], &["doctor"]));
    let said = told(&{ doctor }.output().unwrap());
    assert!(said.contains("is that approver"), "{said}");
}

/// A library that the environment names could else answer for the kernel.
#[test]
fn the_kernel_is_asked_by_raw_system_calls() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "-e", "features", "-i", "rustix", "--locked", "--offline", "--workspace"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", told(&tree));
    let said = String::from_utf8(tree.stdout).unwrap();
    assert!(said.starts_with("rustix "), "{said}");
    assert!(!said.contains("\"use-libc\"") && !said.contains("\"use-explicitly-provided-auxv\""));
}
