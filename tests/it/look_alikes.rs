//! Characters that pass for others are written as their numbers wherever a person reads them.

use crate::program::{Place, json, text};
use crate::terminal::Terminal;

/// What is written, and what of it is shown.
const SHOWN: [(&str, &str); 7] = [
    ("d\u{435}ploy", r"d\u{435}ploy"),
    ("\u{430}\u{441}\u{435}", r"\u{430}\u{441}\u{435}"),
    ("/usr\u{2215}bin", r"/usr\u{2215}bin"),
    ("\u{ff52}\u{ff4d}", r"\u{ff52}\u{ff4d}"),
    ("e\u{5b0}x", r"e\u{5b0}x"),
    ("d\u{336}eny", r"d\u{336}eny"),
    ("caf\u{e9} \u{6771}\u{4eac}", "caf\u{e9} \u{6771}\u{4eac}"),
];

#[test]
fn what_passes_for_another_text_is_shown_by_its_numbers_in_a_question() {
    let place = Place::new();
    for (written, shown) in SHOWN {
        let ask = ["decision", "create", "--prompt", written, "--option", "y:Yes", "--json"];
        let asked = json(&place.holdpoint(&ask));
        let id = asked["id"].as_str().unwrap();
        let read = text(&place.holdpoint(&["decision", "show", id]).stdout);
        assert!(read.contains(&format!("| {shown}\n")), "{written}: {read}");
    }
}

#[test]
fn a_command_that_passes_for_another_one_is_shown_by_its_numbers_before_it_starts() {
    let place = Place::new();
    let words = ["run", "--hold", "before", "--", "echo", "d\u{435}ploy", "\u{430}\u{441}\u{435}"];
    let mut asking = Terminal::sized(&place, (60, 120), &words);
    let shown = asking.see("approve, deny?").join("\n");
    assert!(shown.contains(r"d\u{435}ploy") && shown.contains(r"\u{430}\u{441}\u{435}"), "{shown}");
    asking.type_line("deny");
    assert_eq!(asking.end().0, 120);
}
