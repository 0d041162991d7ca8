//! A question as a prompt has it: the command first, and few enough lines to be read at one look.

use super::framed::framed;
use super::plain::plain;
use super::{LEFT_AWAY, Page, marked};

/// Lines of a question at a prompt, without the sentence and the prompt below it.
pub(crate) const PROMPT_LINES: usize = 10;
/// Lines that a command has at least: its beginning, how much is not shown, and its end.
const COMMAND_LINES: usize = 3;
/// Columns of the names of what stands below a command.
const KIND_WIDTH: usize = 10;
/// Text before a value.
const VALUE: &str = " = ";

/// Texts of others of a kind that stand below a command. The short form of one ends before its
/// last ` = `.
pub(crate) struct Beside(pub(crate) &'static str, pub(crate) Vec<String>);

impl Beside {
    /// All of them where so many lines have room for them, else as many of their short forms as do,
    /// and the number of the others.
    fn lines(&self, columns: usize, most: usize) -> Vec<String> {
        let Self(kind, texts) = self;
        let line = |text: &str| plain(&format!("  {kind:<KIND_WIDTH$} = {text}"));
        let framed = |text: &str| framed(&line(text), columns);
        let whole: Vec<String> = texts.iter().flat_map(|text| framed(text)).collect();
        let short: Vec<&str> = texts
            .iter()
            .map(|text| text.rsplit_once(VALUE).map_or(&**text, |(it, _)| it))
            .collect();
        let some = |count: usize| match texts.len().saturating_sub(count) {
            0 => short.join(", "),
            more => {
                format!("{} and {more} more", short.get(..count).unwrap_or_default().join(", "))
            }
        };
        let forms = (1..=texts.len()).rev().map(|count| framed(&some(count)));
        let fitting = std::iter::once(whole).chain(forms).find(|lines| lines.len() <= most);
        fitting.unwrap_or_else(|| vec![marked(&line(&some(1)), columns)])
    }
}

/// A question in lines of so many columns, at most so many where its own lines leave room: the
/// command, made visible already, what others wrote beside it, lines of this program, and last
/// those for which there may be no room. `all` says where all of the command is.
pub(crate) fn brief(
    (command, beside): (&str, &[Beside]),
    (own, optional): (Vec<String>, Vec<String>),
    (columns, most, all): (usize, usize, &str),
) -> Vec<String> {
    let mut page = Page::new(columns);
    let lines = framed(command, page.columns).len().min(COMMAND_LINES);
    let room = most.saturating_sub(own.len());
    let places = room.saturating_sub(lines);
    let beside: Vec<&Beside> = beside.iter().filter(|it| !it.1.is_empty()).collect();
    let (shown, left) = match beside.len() <= places {
        true => (&*beside, &[][..]),
        false => beside.split_at(places.saturating_sub(1)),
    };
    let taken = shown.len().saturating_add(usize::from(!left.is_empty()));
    page.block(
        std::iter::once(command.to_string()),
        room.saturating_sub(taken).max(lines.min(2)),
        all,
    );
    let mut spare = room.saturating_sub(page.lines.len()).saturating_sub(taken);
    for it in shown {
        let lines = it.lines(page.columns, spare.saturating_add(1));
        spare = spare.saturating_sub(lines.len().saturating_sub(1));
        page.lines.extend(lines);
    }
    if !left.is_empty() {
        let kinds: Vec<&str> = left.iter().map(|it| it.0).collect();
        page.own(&format!("{LEFT_AWAY}{} not shown here; {all}", kinds.join(", ")), 4);
    }
    page.lines.extend(own);
    if optional.len() <= spare {
        page.lines.extend(optional);
    }
    page.lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str, beside: &[Beside], columns: usize) -> Vec<String> {
        let own = vec!["asked by        ada".to_string(); 3];
        brief((command, beside), (own, Vec::new()), (columns, PROMPT_LINES, "`details` shows all"))
    }

    #[test]
    fn a_question_has_few_lines_whatever_stands_beside_its_command() {
        let names: Vec<String> = (0..300).map(|at| format!("NAME_{at}")).collect();
        for kinds in 0..8 {
            for (count, words) in [(1, 1), (4, 30), (300, 900)] {
                let beside: Vec<Beside> =
                    (0..kinds).map(|_| Beside("file", names[..count].to_vec())).collect();
                let command = "word ".repeat(words);
                for columns in [80, 120] {
                    let lines = shown(command.trim_end(), &beside, columns);
                    assert!(lines.len() <= PROMPT_LINES, "{lines:#?}");
                    assert!(lines[0].starts_with("| word"), "{lines:#?}");
                    let said = lines.iter().filter(|it| it.starts_with("|   file")).count();
                    let is_all = said >= kinds || lines.join(" ").contains("file not shown here");
                    assert!(is_all, "{kinds} {lines:#?}");
                }
            }
        }
    }

    #[test]
    fn names_for_which_there_is_no_room_are_counted() {
        let names = |count| (0..count).map(|at| format!("NAME_{at} = {at}")).collect();
        let lines = shown("true", &[Beside("code", names(30))], 80);
        assert!(lines[1].starts_with("|   code       = NAME_0, NAME_1"), "{lines:#?}");
        assert!(lines[..7].join("").contains("NAME_29"), "{lines:#?}");
        let few = [Beside("code", names(1))];
        assert_eq!(shown("true", &few, 80)[1], "|   code       = NAME_0 = 0");
        let lines = shown("true", &[Beside("code", names(300))], 80);
        let said = lines[1..7].join("");
        let count = said.matches("NAME_").count();
        assert!(count > 30 && said.ends_with(&format!(" and {} more", 300 - count)), "{lines:#?}");
    }
}
