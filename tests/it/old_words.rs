//! `tests/old_words.txt` states each form of the command line that was replaced, and the new one:
//! who types the old form is told the new one in one line.

use crate::program::{Place, status, text};

#[test]
fn an_old_form_names_the_new_one_in_one_line() {
    for line in include_str!("../old_words.txt").lines() {
        let (old, new) = line.split_once(" => ").unwrap();
        let words: Vec<&str> = old.split(' ').collect();
        let valued = words.iter().map(|word| match word.starts_with("--") {
            true => format!("{word}=x"),
            false => (*word).to_string(),
        });
        let behind_a_global = format!("--color always {old}");
        for typed in [old.to_string(), valued.collect::<Vec<_>>().join(" "), behind_a_global] {
            let output = Place::new().holdpoint(&typed.split(' ').collect::<Vec<_>>());
            let expected = format!("holdpoint: `holdpoint {old}` is now `{new}`\n");
            let shown = (status(&output), text(&output.stdout), text(&output.stderr));
            assert_eq!(shown, (2, String::new(), expected), "{typed}");
        }
    }
}

#[test]
fn help_of_an_old_verb_names_the_new_one() {
    for typed in [&["hold", "-h"][..], &["hold", "--help"], &["help", "hold"]] {
        let output = Place::new().holdpoint(typed);
        let shown = (status(&output), text(&output.stderr));
        assert_eq!(shown, (2, "holdpoint: `holdpoint hold` is now `decision`\n".to_string()));
    }
}

#[test]
fn a_verb_of_another_program_is_answered_with_the_one_that_does_that_here() {
    for (there, here) in [("ls", "runs"), ("status", "inbox"), ("logs", "log"), ("history", "runs")]
    {
        let output = Place::new().holdpoint(&[there]);
        let expected =
            format!("holdpoint: there is no `holdpoint {there}`: `holdpoint {here}` does that\n");
        assert_eq!((status(&output), text(&output.stderr)), (2, expected));
    }
}
