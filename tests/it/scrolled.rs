//! Questions that are longer than the terminal is high.

use crate::program::Place;
use crate::terminal::Terminal;

const REMINDER: &str = "holdpoint: not on this screen: the first ";

/// The rows up to the answer, without the empty ones above.
fn asked(place: &Place, size: (u16, u16), words: &[&str], prompt: &str) -> Vec<String> {
    let mut terminal = Terminal::sized(place, size, words);
    let mut rows = terminal.see(prompt);
    terminal.type_line(if prompt.contains("deny") { "deny" } else { "ABORT" });
    terminal.end();
    let end = rows.iter().rposition(|row| row.contains(prompt)).unwrap();
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
fn assert_counted(
    words: &[&str],
    (height, columns): (u16, u16),
    prompt: &str,
    (command, what): (&str, &str),
) {
    let place = Place::new();
    let whole = asked(&place, (200, columns), words, prompt);
    assert!(!whole.iter().any(|row| row.starts_with("holdpoint: not on")), "{whole:#?}");
    let rows = asked(&place, (height, columns), words, prompt);
    let (shown, above) = reminded(&rows);
    assert_eq!(shown, command);
    let named = rows.iter().position(|row| *row == what).unwrap();
    assert_eq!(rows[named + 1], command);
    // The answer has a row of its own.
    let reminder = rows.len() - named;
    assert_eq!(rows.len() + 1, usize::from(height));
    assert_eq!(above, whole.len() + reminder - rows.len(), "{rows:#?}");
}

#[test]
fn nobody_answers_without_the_command_in_view_and_what_is_above_is_counted() {
    let names: Vec<String> = (1..=38).map(|number| format!("/srv/data/part-{number}")).collect();
    let names = names.iter().map(String::as_str);
    let before = ["run", "--hold", "before", "--", "rm", "-rf"];
    let many: Vec<&str> = before.into_iter().chain(names.clone()).collect();
    assert_counted(
        &many,
        (9, 80),
        "approve, deny?",
        (
            "| rm -rf /srv/data/part-1 /srv/data/part-2 /srv/data/part-3 /srv/data/part-4 /..",
            "command, its beginning:",
        ),
    );
    let one = [&before[..], &["/srv/data"]].concat();
    assert_counted(&one, (12, 40), "approve, deny?", ("| rm -rf /srv/data", "command:"));
    let after: Vec<&str> =
        ["run", "--hold", "after", "--", "false"].into_iter().chain(names).collect();
    assert_counted(
        &after,
        (12, 40),
        "CONTINUE, RETRY, ABORT?",
        ("| false /srv/data/part-1 /srv/data/par..", "command, its beginning:"),
    );
}
