//! Long texts are shown through a pager: on a terminal alone, without changing what is told, and
//! without being needed.

use crate::program::{Place, skip, text};
use crate::terminal::Terminal;
use std::fs;
use std::process::Command;

/// A pager that leaves what it is given, and what it is told, in files, and shows its end.
const LEAVING: &str = "cat > paged; echo \"$LESS $LV\" > told; echo PAGER ENDS";

/// A log of one run, which printed what a terminal would follow.
fn place() -> (Place, String) {
    let place = Place::with_log();
    place.shell("printf '\\033[31mred\\n'; exit 3");
    let id = text(&place.holdpoint(&["runs", "-q"]).stdout).trim().to_string();
    (place, id)
}

fn with(place: &Place, pager: &str, words: &[&str]) -> Command {
    let mut command = place.command(words);
    command.env("HOLDPOINT_PAGER", pager).env_remove("LESS").env_remove("LV");
    command
}

/// What the program shows at a terminal with this pager, its exit status, and what the pager got.
fn paged(place: &Place, command: &Command) -> (String, i32, Option<String>) {
    let file = place.directory.path().join("paged");
    let _ = fs::remove_file(&file);
    let (exit, shown) = Terminal::start_command(place, command).end();
    (shown, exit, fs::read_to_string(file).ok())
}

#[test]
fn long_texts_of_every_reader_go_through_the_pager_of_the_environment() {
    let (place, id) = place();
    let verbs: [&[&str]; 6] = [
        &["runs", "--color", "never"],
        &["show", &id, "--color", "never"],
        &["log"],
        &["show", "--trace", "2", "--color", "never"],
        &["diff", &id, &id, "--color", "never"],
        &["output", &id],
    ];
    for words in verbs {
        let (shown, exit, got) = paged(&place, &with(&place, LEAVING, words));
        assert_eq!((exit, shown.contains("PAGER ENDS")), (0, true), "{words:?}: {shown}");
        let got = got.unwrap();
        assert!(!got.is_empty() && !got.contains('\u{1b}'), "{words:?}: {got:?}");
        let first = got.lines().next().unwrap();
        assert!(!shown.contains(first), "{words:?}: {shown}");
    }
    let told = fs::read_to_string(place.directory.path().join("told")).unwrap();
    assert_eq!(told, "FRX -c\n");
    let (_, _, got) = paged(&place, &with(&place, LEAVING, &["output", &id]));
    assert_eq!(got.unwrap(), "\\u{1b}[31mred\n");
    let (_, _, got) = paged(&place, &with(&place, LEAVING, &["show", &id]));
    assert!(got.unwrap().contains("\u{1b}[1m"), "colours are those of the terminal");
    let mut usual = place.command(&["runs"]);
    usual.env_remove("HOLDPOINT_PAGER").env("PAGER", LEAVING).env("LESS", "S").env("LV", "-a");
    assert!(paged(&place, &usual).2.is_some_and(|got| got.contains(&id[..12])));
    assert_eq!(fs::read_to_string(place.directory.path().join("told")).unwrap(), "S -a\n");
}

#[test]
fn there_is_no_pager_where_nobody_reads_or_none_is_wanted() {
    let (place, id) = place();
    let quiet: [&[&str]; 4] = [
        &["show", &id, "--no-pager"],
        &["--no-pager", "log"],
        &["show", &id, "--json"],
        &["output", &id, "--raw"],
    ];
    for words in quiet {
        let (shown, exit, got) = paged(&place, &with(&place, LEAVING, words));
        assert_eq!((exit, got), (0, None), "{words:?}: {shown}");
    }
    for none in ["", "cat"] {
        let mut command = with(&place, none, &["show", &id]);
        command.env("PAGER", LEAVING);
        let (shown, exit, got) = paged(&place, &command);
        assert_eq!((exit, got), (0, None), "{none:?}");
        assert!(shown.contains(&id), "{shown}");
    }
    for redirected in ["</dev/null", "| cat", ">direct"] {
        let program = env!("CARGO_BIN_EXE_holdpoint");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{program} --log log show {id} {redirected}")]);
        let (_, exit, got) = paged(&place, shell.env("HOLDPOINT_PAGER", LEAVING));
        assert_eq!((exit, got), (0, None), "{redirected}");
    }
}

#[test]
fn a_pager_that_cannot_be_started_or_is_quit_changes_neither_text_nor_exit_code() {
    let (place, id) = place();
    for wrong in ["/no/such/pager -R", "./log", "exit 127"] {
        let (shown, exit, _) = paged(&place, &with(&place, wrong, &["log"]));
        assert_eq!(exit, 0, "{wrong}: {shown}");
        for part in ["log.rules_adopted", "evidence_capture.chain_sealed"] {
            assert_eq!(shown.matches(part).count(), 1, "{wrong}, {part}: {shown}");
        }
    }
    let (shown, exit, _) = paged(&place, &with(&place, "head -n 1", &["show", &id]));
    assert_eq!(exit, 0, "{shown}");
    assert!(shown.contains(&id) && !shown.contains("cannot write"), "{shown}");
    // What stops a verb is told, and its status is the program's own.
    let (shown, exit, got) = paged(&place, &with(&place, LEAVING, &["show", "LOOP-00000f"]));
    assert_eq!((exit, got), (3, None), "{shown}");
    assert!(shown.contains("no run's id begins with"), "{shown}");
}

#[test]
fn a_pager_that_has_read_is_not_taken_for_one_that_did_not_start_and_how_it_ended_is_told() {
    let (place, _) = place();
    for (pager, ended) in [
        ("cat; exit 127", "exit status 127"),
        ("cat; exit 3", "exit status 3"),
        ("cat; kill -KILL $$", "signal 9"),
    ] {
        let (shown, exit, _) = paged(&place, &with(&place, pager, &["log"]));
        assert_eq!(exit, 0, "{pager}: {shown}");
        assert_eq!(shown.matches("log.rules_adopted").count(), 1, "{pager}: {shown}");
        assert!(shown.contains(&format!("the pager ended with {ended}")), "{pager}: {shown}");
    }
}

#[test]
fn warnings_come_when_the_pager_has_left_the_terminal() {
    let (place, id) = place();
    let (shown, _, _) = paged(&place, &with(&place, LEAVING, &["show", &id]));
    let (over, warned) = (shown.find("PAGER ENDS"), shown.find("lines starting with `|`"));
    assert!(over.is_some() && over < warned, "{shown}");
}

#[test]
fn the_usual_pager_is_left_by_its_own_keys_and_keeps_an_interrupt_for_itself() {
    if !Command::new("less").arg("--version").output().is_ok_and(|it| it.status.success()) {
        return skip("the usual pager: there is no less");
    }
    let (place, _) = place();
    let mut command = place.command(&["log"]);
    for name in ["HOLDPOINT_PAGER", "PAGER", "LESS"] {
        command.env_remove(name);
    }
    let mut terminal = Terminal::start_command(&place, &command);
    terminal.wait_for("log.rules_adopted");
    terminal.wait_for(":\u{1b}[K");
    // An interrupt rings the pager's bell. Whether it draws its screen anew is its own affair; what
    // is pressed meanwhile is lost.
    terminal.press("\u{3}");
    terminal.wait_for("\u{7}");
    terminal.press("G");
    while terminal.wait_for_any(&["(END)", ":\u{1b}[K"]) != 0 {
        terminal.press("G");
    }
    terminal.press("q");
    let (exit, shown) = terminal.end();
    assert_eq!(exit, 0, "{shown}");
}
