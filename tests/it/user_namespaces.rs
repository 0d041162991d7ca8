//! Who runs the program in a user namespace, and who asks from one: what is not known counts for
//! nobody, and is said in words.

use crate::machine::{ALICE, BOB, Machine, assert_refused, told};
use crate::program::{json, status};
use std::fs;

/// As the program names the system's floor.
const SYSTEM: &str = "/etc/holdpoint/config.toml";

#[test]
fn where_a_user_namespace_does_not_say_who_its_user_is_nothing_begins() {
    let Some(machine) = Machine::new() else { return };
    machine.floor(&machine.in_home("alice"), ALICE, "[hold]\ndefault = \"before\"\n");
    assert_eq!(status(&machine.call(BOB, &["run", "--", "true"])), 0);
    let file = machine.place.directory.path().join("made");
    let made = file.to_str().unwrap();
    machine.give_log(ALICE);
    let unmapped = |arguments: &[&str]| {
        machine.command(ALICE, &["unshare", "--user"], arguments).output().unwrap()
    };
    let why = ["in a user namespace", "which user outside of it user 65534 is"];
    let ran = unmapped(&["run", "--no-wait", "--", "touch", made]);
    assert_refused(&ran, 125, &[why[0], why[1], "not started"]);
    assert!(!file.exists());
    let asked = ["decision", "create", "--prompt", "May it?", "--approvers", "alice"];
    assert_refused(&unmapped(&asked), 5, &why);
    assert_refused(&unmapped(&["doctor"]), 1, &why);
    for reading in [&["log", "--stat"][..], &["verify"], &["decision", "list"], &["replay"]] {
        let read = unmapped(reading);
        assert_eq!(status(&read), 0, "{reading:?}: {}", told(&read));
    }
    // Mapped, the user is known, and so is the floor of its home.
    let mapped = ["unshare", "--user", "--map-current-user"];
    let ran = machine.command(ALICE, &mapped, &["run", "--hold", "never", "--", "true"]);
    let home = "/etc/homes/alice/.config/holdpoint/config.toml";
    assert_refused(&{ ran }.output().unwrap(), 125, &[home]);
    // What is root's is not root's in there, and that is said to be the cause.
    machine.floor(&machine.system(), 0, "[hold]\n");
    let as_root = ["unshare", "--user", "--map-root-user"];
    let ran = machine.command(ALICE, &as_root, &["run", "--", "true"]).output().unwrap();
    assert_refused(&ran, 125, &[SYSTEM, "belongs to user 65534", "this process is in a user name"]);
}

#[test]
fn who_asks_from_a_user_namespace_is_said_to_be_unknown() {
    let Some(machine) = Machine::new() else { return };
    let project = machine.place.directory.path().join("holdpoint.toml");
    let namespace = ["unshare", "--user", "--map-current-user"];
    let unknown = ["another user has to answer", "it is not known which user asks"];
    let without_terminal = ["terminal is asked for", "answer at a terminal"];
    for (separation, why) in [(true, unknown), (false, without_terminal)] {
        let says = format!("[hold]\ndefault = \"after\"\nseparation = {separation}\n");
        fs::write(&project, says).unwrap();
        if machine.place.log.exists() {
            machine.give_log(ALICE);
        }
        let run = machine.command(ALICE, &namespace, &["run", "--no-wait", "--", "true"]).output();
        assert_refused(&run.unwrap(), 122, &[]);
        let listed = json(&machine.call(ALICE, &["decision", "list", "--kind", "hold", "--json"]));
        let asked = listed.as_array().unwrap().last().unwrap()["id"].clone();
        machine.give_log(BOB);
        let words = ["decision", "respond", asked.as_str().unwrap(), "--yes", "CONTINUE"];
        let answered = machine.call(BOB, &words);
        assert_refused(&answered, 5, &why);
        assert!(!told(&answered).contains("4294967295"), "{}", told(&answered));
    }
}

/// Whoever may take numbers in a user namespace can make a program there that has one of them
/// outside of it as well.
#[test]
fn a_number_that_a_user_may_take_is_nobody() {
    let Some(machine) = Machine::new() else { return };
    const OF_ALICE: u32 = 100_007;
    // Such a number has no home in which its logs could be listed.
    let trusted = format!("[logs]\ntrusted = [{:?}]\n", machine.place.log);
    let floor = format!("[hold]\nauthentication = \"os-user\"\n{trusted}");
    machine.floor(&machine.system(), 0, &floor);
    fs::write(machine.etc.path().join("subuid"), "# none\nbob:7:1\nalice:100000:65536\n").unwrap();
    let hold = |asker: u32| {
        if machine.place.log.exists() {
            machine.give_log(asker);
        }
        let run = ["run", "--hold", "after", "--no-wait", "--", "true"];
        assert_refused(&machine.call(asker, &run), 122, &[]);
        let listed = json(&machine.call(asker, &["decision", "list", "--kind", "hold", "--json"]));
        let asked = listed.as_array().unwrap().last().unwrap()["id"].clone();
        asked.as_str().unwrap().to_string()
    };
    for (asker, answerer, exit, why) in [
        (ALICE, OF_ALICE, 5, "the name is not proven"),
        (OF_ALICE, ALICE, 5, "it is not known which user asks"),
        (ALICE, OF_ALICE + 65_536, 5, "is a system account"),
        (ALICE, BOB, 0, ""),
    ] {
        let asked = hold(asker);
        machine.give_log(answerer);
        let answer = ["decision", "respond", &asked, "--yes", "CONTINUE"];
        assert_refused(&machine.call(answerer, &answer), exit, &[why]);
    }
}
