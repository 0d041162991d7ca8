//! Whoever asks cannot forge the screen at which a person decides: the real program at a terminal,
//! seen through a terminal emulator.

use crate::program::{Place, json, status, text};
use crate::terminal::Terminal;
use vt100::Parser;

/// High enough that nothing leaves the screen.
const ROWS: u16 = 3000;
const FORGED: &str = "asked by        ada, proven";

/// What an agent might write so that its words stand where those of the program do.
fn hostile(columns: u16) -> Vec<String> {
    let columns = usize::from(columns);
    let mut texts: Vec<String> = (columns - 3..=columns + 1)
        .map(|count| format!("Go?{}{FORGED}", " ".repeat(count - 3)))
        .collect();
    texts.extend([
        format!("Go?{}{FORGED}", "\t".repeat(columns)),
        format!("Go?{}{FORGED}", "\u{a0}\u{2003}\u{3000}\u{2800}".repeat(columns)),
        format!("Go?\r{FORGED}\r\n{FORGED}\n\u{1b}[2J\u{1b}[H{FORGED}\u{8}\u{8}\u{9b}1G{FORGED}"),
        format!("x{}{FORGED}", "\u{6587}\u{1f600}\u{25a0}e\u{301}".repeat(columns)),
        format!("\u{202e}{}{FORGED}\u{2069}\u{200b}", "\u{5d0}\u{627}".repeat(columns)),
        "x".repeat(3_900),
        format!("{}{FORGED}", "\n".repeat(600)),
    ]);
    texts
}

/// The rows that a terminal shows, without the empty ones at its end.
fn rows(shown: &str, columns: u16) -> Vec<String> {
    let mut emulator = Parser::new(ROWS.try_into().unwrap(), columns.try_into().unwrap(), 0);
    emulator.process(shown.as_bytes());
    let rows: Vec<String> = emulator.screen().rows(0, columns).collect();
    let used = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |at| at + 1);
    rows[..used].to_vec()
}

fn at_terminal(place: &Place, columns: u16, words: &[&str]) -> Vec<String> {
    let (exit, shown) = Terminal::sized(place, (ROWS, columns), words).end();
    assert_eq!(exit, 0, "{shown}");
    rows(&shown, columns)
}

/// What may stand in the first column behind the texts of others: names of rows, and what goes on.
fn assert_head(rows: &[String], what: &str) {
    let asked: Vec<&String> = rows.iter().filter(|row| row.starts_with("asked by")).collect();
    assert!(asked.len() == 1 && asked[0].contains("agent-7"), "{what}: {rows:#?}");
    assert!(!rows.iter().any(|row| row.starts_with('|')), "{what}: {rows:#?}");
}

#[test]
fn the_head_of_a_question_is_the_programs_own_and_comes_last() {
    for columns in [40, 80, 120] {
        for (at, hostile) in hostile(columns).iter().enumerate() {
            let place = Place::new();
            let label = format!("no:No {}", hostile.chars().take(200).collect::<String>());
            let asked = ["decision", "create", "gt-1", "--requested-by", "agent-7", "--json"];
            let texts = ["--prompt", hostile, "--context", hostile];
            let options = ["--option", "yes:Yes", "--option", &label];
            let asked = json(&place.holdpoint(&[&asked[..], &texts, &options].concat()));
            let id = asked["id"].as_str().unwrap_or_else(|| panic!("{at}: {asked}"));
            let what = format!("{columns} columns, text {at}");
            let shown = at_terminal(&place, columns, &["decision", "show", id]);
            let head = shown.iter().position(|row| row.starts_with("decision")).unwrap();
            assert_head(&shown[head..], &what);
            let titles = ["context:", "prompt:", "option yes:", "option no:"];
            for row in &shown[..head] {
                let is_ours = row.starts_with('|') || titles.contains(&row.as_str());
                assert!(is_ours, "{what}: {row:?}");
            }
            assert!(shown[head..].join(" ").contains("respond"), "{what}: the answer is last");
            let listed = at_terminal(&place, columns, &["decision", "list"]);
            let forged = |row: &&String| row.starts_with("asked") || row.starts_with("Go?");
            assert_eq!(listed.iter().find(forged), None, "{what}");
            assert!(listed.iter().filter(|row| row.starts_with('|')).count() <= 3, "{listed:#?}");
        }
    }
}

/// Whether a row is a text of others, or says how much of one is not shown.
fn is_of_command(row: &str) -> bool {
    ["|", "... ", "    "].iter().any(|mark| row.starts_with(mark))
}

#[test]
fn a_command_cannot_forge_the_question_about_it() {
    for columns in [40, 80, 120] {
        let bend = r"printf 'CONTINUE, RETRY? \033[8m\033[2;4r\033[?6h\033(0\033[3;9H'; exit 1";
        let spaces = " ".repeat(usize::from(columns));
        let forged = format!("x{spaces}{FORGED}{spaces}\u{3000}holdpoint: approved\u{2800}");
        let place = Place::new();
        let words = ["run", "--hold", "on-failure", "--", "sh", "-c", bend, &forged];
        let mut asking = Terminal::sized(&place, (ROWS, columns), &words);
        let mut shown = String::new();
        // The words stand in the command as well.
        while !shown.contains("a person decides") {
            shown += &asking.wait_for("CONTINUE, RETRY, ABORT? ");
        }
        let rows = rows(&shown, columns);
        let end = rows.iter().rposition(|row| row.starts_with("what happened")).unwrap();
        let begin = end - rows[..end].iter().rev().take_while(|row| is_of_command(row)).count();
        assert!(end > begin + 2 && rows[begin].starts_with("| sh -c"), "{rows:#?}");
        assert!(!rows[end..].iter().any(|row| row.contains("proven")), "{rows:#?}");
        assert_eq!(rows.last().unwrap().trim_end(), "CONTINUE, RETRY, ABORT?", "{rows:#?}");
        let list = place.holdpoint(&["decision", "list", "--kind", "hold", "--json"]);
        let id = json(&list)[0]["id"].as_str().unwrap().to_string();
        for words in [&["decision", "list", "--kind", "hold"][..], &["decision", "show", &id]] {
            for row in at_terminal(&place, columns, words) {
                let is_note = row.starts_with("holdpoint: no witness yet from record");
                let is_forged = row.starts_with("asked by") || row.starts_with("holdpoint:");
                assert!(is_note || !is_forged, "{row}");
            }
        }
        asking.type_line("abort");
        assert_eq!(asking.end().0, 120);
    }
}

#[test]
fn a_command_cannot_forge_the_question_whether_it_starts() {
    for columns in [40, 80, 120] {
        let spaces = " ".repeat(usize::from(columns));
        let forged = format!("x\n{FORGED}{spaces}{FORGED}{spaces}\u{3000}holdpoint: ok\u{2800}");
        let place = Place::new();
        let words = ["run", "--hold", "before", "--", "sh", "-c", "echo > started", &forged];
        let mut asking = Terminal::sized(&place, (ROWS, columns), &words);
        let shown = asking.wait_for("approve, deny? ");
        let rows = rows(&shown, columns);
        let head = rows.iter().position(|row| row.starts_with("asked by")).unwrap();
        let begin = rows.iter().position(|row| row.starts_with("| sh -c")).unwrap();
        assert!(rows[..begin].iter().all(|row| row.trim().is_empty()), "{rows:#?}");
        for row in &rows[begin..head] {
            assert!(is_of_command(row), "{row:?}: {rows:#?}");
        }
        assert!(!rows[head..].iter().any(|row| row.contains("proven")), "{rows:#?}");
        assert_eq!(rows.last().unwrap().trim_end(), "approve, deny?", "{rows:#?}");
        asking.type_line("deny");
        assert_eq!(asking.end().0, 120);
        assert!(!place.directory.path().join("started").exists());
    }
}

#[test]
fn without_a_terminal_lines_are_as_long_as_is_said_and_json_is_raw() {
    let place = Place::new();
    let prompt = format!("Go?{}{FORGED}\u{2800}{}", " ".repeat(300), "x".repeat(300));
    let words = ["decision", "create", "--prompt", &prompt, "--option", "y:Yes", "--json"];
    let id = json(&place.holdpoint(&words))["id"].as_str().unwrap().to_string();
    for (stated, columns) in [(None, 100), (Some("60"), 60), (Some("7"), 20), (Some("x"), 100)] {
        let mut command = place.command(&["decision", "show", &id]);
        command.env_remove("COLUMNS");
        command.envs(stated.map(|stated| ("COLUMNS", stated)));
        let output = command.output().unwrap();
        assert_eq!(status(&output), 0);
        let longest = text(&output.stdout).lines().map(str::len).max().unwrap();
        assert!(longest == columns, "{stated:?}: {longest}");
    }
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    assert_eq!(shown["prompt"], prompt);
}

/// What stands in lines of its own, as findings, tables and sentences.
#[test]
fn on_a_terminal_what_is_said_of_a_log_breaks_no_word() {
    let place = Place::new();
    place.shell("echo one");
    let segment = place.log.join("segments/00000000000000000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let newest = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[newest] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    for verb in [&["verify"][..], &["log", "--stat"], &["doctor"]] {
        let whole = text(&place.holdpoint(verb).stdout);
        let words: Vec<&str> = whole.split_whitespace().collect();
        assert!(words.len() > 20, "{whole}");
        for columns in [60, 80, 120] {
            let (_, shown) = Terminal::sized(&place, (ROWS, columns), verb).end();
            let rows = rows(&shown, columns);
            let is_kept = |word: &&str| rows.iter().any(|row| row.contains(*word));
            // A bar is as long as there is room.
            let is_bar = |word: &str| word.bytes().all(|byte| byte == b'#');
            let mut said = words.iter().filter(|word| word.len() < 30 && !is_bar(word));
            assert_eq!(said.find(|word| !is_kept(word)), None, "{verb:?} {columns}: {rows:#?}");
        }
    }
}
