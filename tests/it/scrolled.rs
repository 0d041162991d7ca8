//! Questions that are longer than the terminal is high.

use crate::program::{Place, text};
use crate::terminal::Terminal;

const REMINDER: &str = "holdpoint: not on this screen: the first ";

const ASKS: &str = "type yes to answer;";

/// The rows up to the answer, without the empty ones above.
fn asked(place: &Place, size: (u16, u16), id: &str) -> Vec<String> {
    let mut terminal = Terminal::sized(place, size, &["decision", "respond", id, "yes"]);
    let mut rows = terminal.see(ASKS);
    terminal.type_line("");
    terminal.end();
    let end = rows.iter().rposition(|row| row.contains(ASKS)).unwrap();
    rows.truncate(end);
    let begin = rows.iter().position(|row| !row.is_empty()).unwrap();
    rows.split_off(begin)
}

/// The one line of the command, and how many lines are said to be above.
fn reminded(rows: &[String]) -> (String, usize) {
    let said = rows.iter().rposition(|row| row.starts_with("holdpoint:")).unwrap();
    let words = rows[said..].iter().map(|row| row.trim()).collect::<Vec<_>>().join(" ");
    let rest = words.strip_prefix(REMINDER).unwrap_or_else(|| panic!("{rows:#?}"));
    assert!(rest.ends_with("of the question; scroll up, or type `details`"), "{rest}");
    (rows[said - 1].clone(), rest.split(' ').next().unwrap().parse().unwrap())
}

/// Asks on a terminal that has all of it and on one that has not: what is said to stand above does.
fn assert_counted(prompt: &str, (height, columns): (u16, u16), (command, what): (&str, &str)) {
    let place = Place::new();
    let options = ["--option", "yes:Ship", "--option", "no:Wait", "--reject", "no"];
    let create = [&["decision", "create", "--prompt", prompt, "--quorum", "1"][..], &options];
    let created = text(&place.holdpoint(&create.concat()).stdout);
    let id = created.lines().next().unwrap();
    let whole = asked(&place, (200, columns), id);
    assert!(!whole.iter().any(|row| row.starts_with("holdpoint: not on")), "{whole:#?}");
    let rows = asked(&place, (height, columns), id);
    let (shown, above) = reminded(&rows);
    assert_eq!(shown, command);
    let named = rows.iter().position(|row| *row == what).unwrap();
    assert_eq!(rows[named + 1], command);
    // The answer has rows of its own.
    let reminder = rows.len() - named;
    assert!(rows.len() < usize::from(height));
    assert_eq!(above, whole.len() + reminder - rows.len(), "{rows:#?}");
}

#[test]
fn nobody_answers_without_the_command_in_view_and_what_is_above_is_counted() {
    let long = "Ship it to every shop of the north at once, and to those of the south tomorrow?";
    let begun = "| Ship it to every shop of the north at once, and to those of the south tomorr..";
    assert_counted(long, (9, 80), (begun, "command, its beginning:"));
    assert_counted("Ship it?", (12, 40), ("| Ship it?", "command:"));
    let narrow = "| Ship it to every shop of the north a..";
    assert_counted(long, (12, 40), (narrow, "command, its beginning:"));
}
