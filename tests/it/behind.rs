//! Another user number is no other person where anything says that the asker is behind it: each
//! sign alone, with the real kernel, `/proc`, terminals and sudo. Where root asks, the question
//! says what an answer proves.

use crate::machine::{ALICE, BOB, Machine, assert_refused, told};
use crate::program::{Place, by_person, json, skip, status, text, with_hold};
use crate::terminal::Terminal;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// A user whom no policy names.
const CAROL: u32 = 4005;
/// Lets another user answer without a terminal.
const OS_USER: &str = "[hold]\nauthentication = \"os-user\"\n";
/// What a question says where root asks.
const ROOT_IS_ALL: &str = "root is every approver";
/// Becomes Bob in a shell of root's, and runs the words behind.
const AS_BOB: &str = "exec setpriv --reuid=4002 --regid=4002 --clear-groups \"$@\"";

impl Machine {
    fn letting_users_answer() -> Option<Self> {
        let machine = Self::new()?;
        machine.floor(&machine.system(), 0, OS_USER);
        Some(machine)
    }

    /// A question of Alice's after an attempt, in a log that Bob may write to.
    fn of_alice(&self) -> String {
        if self.place.log.exists() {
            self.give_log(ALICE);
        }
        let ran = self.call(ALICE, &["run", "--hold", "after", "--no-wait", "--", "true"]);
        assert_eq!(status(&ran), 122, "{}", told(&ran));
        let listed = json(&self.call(ALICE, &["decision", "list", "--kind", "hold", "--json"]));
        self.give_log(BOB);
        listed.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_string()
    }

    /// Bob's answer, by a shell of root's that does something before it becomes Bob.
    fn bob_after(&self, script: &str, arguments: &[&str]) -> Command {
        let script = format!("{script}\n{AS_BOB}");
        self.command(0, &["sh", "-c", &script, "sh"], arguments)
    }

    fn bob(&self, id: &str) -> Output {
        self.call(BOB, &unattended(id))
    }
}

/// An answer whose word is typed.
fn typed(id: &str) -> [&str; 4] {
    ["decision", "respond", id, "CONTINUE"]
}

/// An answer without a terminal.
fn unattended(id: &str) -> [&str; 5] {
    ["decision", "respond", id, "CONTINUE", "--yes"]
}

/// Whether a script of root's ends well; else a visible skip.
fn can(script: &str, what: &str) -> bool {
    let done = Command::new("unshare").args(["-m", "sh", "-c", script]).output();
    let is_done = done.is_ok_and(|output| output.status.success());
    if !is_done {
        skip(what);
    }
    is_done
}

#[test]
fn the_login_of_the_asker_refuses_an_answer_under_another_number() {
    let Some(machine) = Machine::letting_users_answer() else { return };
    if !can("echo 4001 >/proc/self/loginuid", "the kernel lets nobody set the login here") {
        return;
    }
    let id = machine.of_alice();
    let login = |user: u32| {
        let set = format!("echo {user} >/proc/self/loginuid || exit 77");
        machine.bob_after(&set, &unattended(&id)).output().unwrap()
    };
    assert_refused(&login(ALICE), 5, &["user 4001 asks", "that user logged in to the session"]);
    assert_refused(&login(4004), 0, &[]);
    let exported = told(&machine.call(BOB, &["export", "--format", "jsonl"]));
    assert!(exported.contains("login of uid 4004"), "{exported}");
}

/// Whoever may become the approver asks as the approver, or through a third user.
#[test]
fn nobody_else_is_behind_the_approver_whom_the_policy_names_whoever_asks() {
    let Some(machine) = Machine::new() else { return };
    if !can("echo 4001 >/proc/self/loginuid", "the kernel lets nobody set the login here") {
        return;
    }
    machine.users(&format!("carol:x:{CAROL}:{CAROL}::/etc/homes/carol:/bin/sh\n"));
    machine.make("homes/carol", CAROL);
    let policy = "[hold]\napprovers = [\"bob\"]\nauthentication = \"terminal\"\n";
    machine.floor(&machine.system(), 0, policy);
    let as_bob = |login: u32, words: &[&str]| {
        let own = format!(
            "chmod 666 \"$(tty)\" && chown {BOB} \"$(tty)\" || exit 77
             echo {login} >/proc/self/loginuid || exit 77"
        );
        let bob = machine.bob_after(&own, words);
        Terminal::start_command(&machine.place, &bob).end()
    };
    for asker in [BOB, CAROL] {
        // Each in a log that the asker begins.
        let _ = fs::remove_dir_all(&machine.place.log);
        let asks = ["run", "--hold", "before", "--no-wait", "--", "touch", "made"];
        let asked = machine.call(asker, &asks);
        assert_eq!(status(&asked), 122, "{}", told(&asked));
        let id = text(&asked.stdout).trim().to_string();
        machine.give_log(BOB);
        let (code, said) = as_bob(ALICE, &["decision", "respond", &id, "approve"]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == 5 && said.contains("user 4001 is behind the process"), "{code} {said}");
        let (code, said) = as_bob(BOB, &["decision", "respond", &id, "approve"]);
        assert_eq!(code, 0, "{said}");
    }
}

/// Who asks in a user namespace is not known: then nobody but root may be behind an answer.
#[test]
fn nobody_is_behind_an_answer_to_what_was_asked_in_a_user_namespace() {
    let Some(machine) = Machine::new() else { return };
    let inside = ["unshare", "-U", "--map-current-user"];
    let asks = ["decision", "create", "--prompt", "Go?", "--blocks", "x", "--json"];
    let asked = machine.command(ALICE, &inside, &asks).output().unwrap();
    if status(&asked) != 0 {
        return skip(&format!("no question can be put in a user namespace: {}", told(&asked)));
    }
    let id = json(&asked)["id"].as_str().unwrap().to_string();
    machine.give_log(BOB);
    let at = |owner: u32| {
        let own = format!("chmod 666 \"$(tty)\" && chown {owner} \"$(tty)\" || exit 77");
        let bob = machine.bob_after(&own, &["decision", "respond", &id, "--text", "yes"]);
        Terminal::start_command(&machine.place, &bob).end()
    };
    let (code, said) = at(ALICE);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 5 && said.contains("user 4001 is behind the process"), "{code} {said}");
    let (code, said) = at(BOB);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn the_terminal_of_the_asker_refuses_an_answer_under_another_number() {
    let Some(machine) = Machine::letting_users_answer() else { return };
    let id = machine.of_alice();
    let at = |owner: u32| {
        let own = format!("chmod 666 \"$(tty)\" && chown {owner} \"$(tty)\" || exit 77");
        Terminal::start_command(&machine.place, &machine.bob_after(&own, &typed(&id))).end()
    };
    let (code, said) = at(ALICE);
    assert!(code == 5 && said.contains("the terminal belongs to that user"), "{code} {said}");
    let (code, said) = at(BOB);
    assert_eq!(code, 0, "{said}");
}

/// Standard input is no terminal: that of the session is looked at all the same.
#[test]
fn the_terminal_of_the_session_is_looked_at_whatever_standard_input_is() {
    let Some(machine) = Machine::letting_users_answer() else { return };
    let id = machine.of_alice();
    let own =
        format!("chmod 666 \"$(tty)\" && chown {ALICE} \"$(tty)\" || exit 77\nexec </dev/null");
    let bob = machine.bob_after(&own, &typed(&id));
    let (code, said) = Terminal::start_command(&machine.place, &bob).end();
    assert!(code == 5 && said.contains("the terminal belongs to that user"), "{code} {said}");
}

/// The leader becomes Alice once it started what becomes Bob: no process of hers is an ancestor.
#[test]
fn the_leader_of_the_session_refuses_an_answer_under_another_number() {
    let Some(machine) = Machine::letting_users_answer() else { return };
    let id = machine.of_alice();
    let leads = |user: u32, name: &str| {
        let outcome = machine.place.directory.path().join(name);
        let script = format!(
            "dir=$1; shift
             ( ( until test \"$(stat -c %u /proc/$$)\" = {user}; do :; done
                 setpriv --reuid={BOB} --regid={BOB} --clear-groups \"$@\" >$dir.out 2>&1
                 echo $? >$dir.code; mv $dir.code $dir.done ) & )
             exec setpriv --reuid={user} --regid={user} --clear-groups \
                 sh -c 'until test -e \"$0\"; do :; done' $dir.done"
        );
        let below = ["setsid", "--wait", "sh", "-c", &script, "sh", outcome.to_str().unwrap()];
        let led = machine.command(0, &below, &unattended(&id)).output();
        assert!(led.as_ref().unwrap().status.success(), "{}", told(&led.unwrap()));
        let of = |kind| fs::read_to_string(outcome.with_extension(kind)).unwrap();
        (of("done").trim().to_string(), of("out"))
    };
    let (code, said) = leads(ALICE, "alice");
    assert!(code == "5" && said.contains("leads its session"), "{code} {said}");
    let (code, said) = leads(4004, "carol");
    assert_eq!(code, "0", "{said}");
}

#[test]
fn a_process_of_the_askers_far_above_refuses_an_answer_under_another_number() {
    let Some(machine) = Machine::letting_users_answer() else { return };
    let id = machine.of_alice();
    // Alice's saved number is that of one process, and three of root's and Bob's stand below it.
    let script = format!(
        "sh -p -c 'setpriv --reuid={BOB} --regid={BOB} --clear-groups \
             sh -c '\\''\"$@\"; exit $?'\\'' sh \"$@\"; exit $?' sh \"$@\"; exit $?"
    );
    let ruid = format!("--ruid={ALICE}");
    let below = ["setpriv", &ruid, "sh", "-p", "-c", &script, "sh"];
    let arguments = unattended(&id);
    let answered = machine.command(0, &below, &arguments).output().unwrap();
    assert_refused(&answered, 5, &["user 4001 asks", "a process of that user started it"]);
    assert_refused(&machine.call(BOB, &arguments), 0, &[]);
}

#[test]
fn what_sudo_and_pkexec_say_refuses_an_answer_and_proves_none() {
    let Some(machine) = Machine::letting_users_answer() else { return };
    let id = machine.of_alice();
    for name in ["SUDO_UID", "PKEXEC_UID"] {
        let answered = machine.command(BOB, &[], &unattended(&id)).env(name, "4001").output();
        assert_refused(&answered.unwrap(), 5, &[name, "user 4001 asks"]);
        // Another number there makes nobody who asks somebody else.
        let own = machine.command(ALICE, &[], &unattended(&id)).env(name, "4002").output();
        assert_ne!(status(&own.unwrap()), 0);
    }
    assert_refused(&machine.bob(&id), 0, &[]);
}

/// What cannot be read is not nobody.
#[test]
fn processes_that_proc_hides_are_not_taken_for_nobody() {
    let Some(machine) = Machine::letting_users_answer() else { return };
    let hides = "mount -t proc -o hidepid=2 proc /proc";
    if !can(hides, "no /proc that hides processes can be mounted here") {
        return;
    }
    let id = machine.of_alice();
    for kind in ["invisible", "noaccess", "ptraceable"] {
        let hides = format!("mount -t proc -o hidepid={kind} proc /proc || exit 77");
        let answered = machine.bob_after(&hides, &unattended(&id)).output().unwrap();
        if status(&answered) == 77 {
            skip("this kernel knows no such way to hide processes");
            continue;
        }
        assert_refused(&answered, 5, &["user 4001 asks", "hidepid"]);
    }
    // Who asks answers without another's processes being looked at.
    let own = format!(
        "mount -t proc -o hidepid=2 proc /proc || exit 77
         exec setpriv --reuid={ALICE} --regid={ALICE} --clear-groups \"$@\""
    );
    machine.give_log(ALICE);
    let asked = machine.command(0, &["sh", "-c", &own, "sh"], &typed(&id));
    let (code, said) = Terminal::start_command(&machine.place, &asked).end();
    assert_eq!(code, 0, "{said}");
    let id = machine.of_alice();
    // Members of the group see them.
    let shows = format!("mount -t proc -o hidepid=2,gid={BOB} proc /proc || exit 77");
    assert_refused(&machine.bob_after(&shows, &unattended(&id)).output().unwrap(), 0, &[]);
}

/// As a sandbox starts it: the leader of the session is outside of the process namespace.
#[test]
fn a_session_that_is_led_from_outside_of_the_process_namespace_has_no_leader_here() {
    let place = Place::new();
    if !can("unshare --pid --fork true", "no process namespace can be made here") {
        return;
    }
    let program = place.command(&["run", "--", "true"]);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]).arg(program.get_program());
    command.args(program.get_args()).current_dir(place.directory.path());
    for (name, value) in program.get_envs() {
        value.map(|value| command.env(name, value));
    }
    let ran = command.output().unwrap();
    assert_eq!(status(&ran), 0, "{}", text(&ran.stderr));
    place.verified();
}

/// The question, wherever it is shown, says what an answer proves where root asks.
#[test]
fn where_root_asks_the_question_says_that_root_is_every_approver() {
    let place = Place::new();
    let held = ["run", "--hold", "always", "--", "true"];
    let mut terminal = Terminal::start(&place, &held);
    terminal.wait_for("root is any approver");
    terminal.wait_for("approve, deny? ");
    terminal.type_line("approve");
    terminal.wait_for(ROOT_IS_ALL);
    terminal.wait_for("CONTINUE, ");
    terminal.type_line("CONTINUE");
    let (code, said) = terminal.end();
    assert_eq!(code, 0, "{said}");
    let asked = place.holdpoint(&["run", "--hold", "before", "--no-wait", "--", "true"]);
    let start = text(&asked.stdout).lines().next().unwrap().trim().to_string();
    place.holdpoint(&["run", "--hold", "after", "--no-wait", "--", "true"]);
    let listed =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let after = listed[0]["request_id"].as_str().unwrap().to_string();
    for (answer, id) in [("approve", start.as_str()), ("CONTINUE", after.as_str())] {
        let shown = text(&place.holdpoint(&["decision", "show", id]).stdout);
        assert!(shown.contains(ROOT_IS_ALL), "{shown}");
        let mut terminal = Terminal::start(&place, &["decision", "respond", id, answer]);
        terminal.wait_for_any(&[ROOT_IS_ALL, "root is any approver"]);
        assert_eq!(terminal.end().0, 0);
        let doctor = text(&place.holdpoint(&["doctor"]).stdout);
        assert!(doctor.contains(ROOT_IS_ALL), "{doctor}");
    }
    let plain = json(&place.holdpoint(&["decision", "create", "--prompt", "Which?", "--json"]));
    let plain = plain["id"].as_str().unwrap();
    let shown = text(&place.holdpoint(&["decision", "show", plain]).stdout);
    assert!(!shown.contains(ROOT_IS_ALL), "it takes no person: {shown}");
    place.verified();
}

#[test]
fn where_another_user_asks_the_question_says_nothing_of_root() {
    let Some(machine) = Machine::letting_users_answer() else { return };
    let id = machine.of_alice();
    let shown = told(&machine.call(0, &["decision", "show", &id]));
    assert!(!shown.contains(ROOT_IS_ALL) && shown.contains("asked after every attempt"));
}

/// The real sudo, by which Alice becomes Bob and root.
impl Machine {
    /// `None`, said visibly, where it is not installed.
    fn with_sudo() -> Option<Self> {
        if !Path::new("/usr/bin/sudo").exists() {
            skip("sudo is not installed");
            return None;
        }
        let machine = Self::letting_users_answer()?;
        let etc = machine.etc.path();
        fs::create_dir_all(etc.join("pam.d")).unwrap();
        let lets =
            ["auth", "account", "session"].map(|what| format!("{what} required pam_permit.so"));
        for service in ["sudo", "other"] {
            fs::write(etc.join("pam.d").join(service), lets.join("\n") + "\n").unwrap();
        }
        let sudoers = etc.join("sudoers");
        fs::write(&sudoers, "root ALL=(ALL:ALL) ALL\nalice ALL=(ALL:ALL) NOPASSWD: ALL\n").unwrap();
        fs::set_permissions(&sudoers, Permissions::from_mode(0o440)).unwrap();
        let runs = machine.command(ALICE, &["sudo", "-n"], &["--version"]).output().unwrap();
        if status(&runs) != 0 {
            skip("sudo does not run in a mount namespace here");
            return None;
        }
        Some(machine)
    }
}

#[test]
fn who_becomes_the_approver_by_sudo_is_no_other_person() {
    let Some(machine) = Machine::with_sudo() else { return };
    let id = machine.of_alice();
    let arguments = unattended(&id);
    for below in [
        &["sudo", "-n", "-u", "bob"][..],
        &["sudo", "-n", "-u", "bob", "env", "-u", "SUDO_UID"],
        &["sudo", "-n", "sudo", "-n", "-u", "bob"],
    ] {
        let answered = machine.command(ALICE, below, &arguments).output().unwrap();
        assert_refused(&answered, 5, &["user 4001 asks", "behind the process"]);
    }
    assert_refused(&machine.call(BOB, &arguments), 0, &[]);
}

#[test]
fn root_by_sudo_relaxes_a_policy_of_somebody_who_is_gone_and_the_login_is_on_record() {
    let Some(machine) = Machine::with_sudo() else { return };
    assert_eq!(status(&machine.call(ALICE, &["run", "--", "true"])), 0);
    let set = machine.command(ALICE, &[], &["policy", "set", "approvers=zoe"]);
    let set = by_person(&set);
    assert_eq!(status(&set), 0, "{}", told(&set));
    let relax = ["policy", "set", "approvers=alice"];
    // Root may at a terminal alone.
    let unattended = machine.command(ALICE, &["sudo", "-n"], &relax).output().unwrap();
    assert_refused(&unattended, 5, &[]);
    let logs_in =
        can("echo 4001 >/proc/self/loginuid", "the kernel lets nobody set the login here");
    let script = "echo 4001 >/proc/self/loginuid; exec setpriv --reuid=4001 --regid=4001 \
         --clear-groups sudo -n \"$@\"";
    let relaxed = by_person(&machine.command(0, &["sh", "-c", script, "sh"], &relax));
    assert_refused(&relaxed, 0, &["zoe"]);
    let shown = text(&machine.call(ALICE, &["log", "--json"]).stdout);
    let record = shown.lines().find(|line| line.contains("log.policy_unlocked")).unwrap();
    let login = if logs_in { "\"login_user\":4001" } else { "\"login_user\":null" };
    for part in ["\"sudo_user\":4001", "\"gone\":[\"zoe\"]", login] {
        assert!(record.contains(part), "{part}: {record}");
    }
    // Root is no approver by this.
    let asked = machine.call(ALICE, &["run", "--hold", "before", "--no-wait", "--", "true"]);
    let id = text(&asked.stdout).lines().next().unwrap().trim().to_string();
    let root = by_person(&machine.command(0, &[], &["decision", "respond", &id, "approve"]));
    assert_eq!(status(&root), 5, "{}", told(&root));
    assert_eq!(status(&machine.call(0, &["verify"])), 0);
}
