//! The list of what waits, in lines of so many columns.

use super::item::{Item, Stands};
use crate::screen::marked;
use crate::table::{Column, Fit, NOTHING, lines};
use holdpoint_domain::Time;

/// From here on a question is one line; narrower, what is asked stands below it.
const ROOMY_COLUMNS: usize = 60;
/// How much of an id is shown: enough to answer by, and little where there is little room.
const ID_CHARACTERS: usize = 16;
pub(super) const SHORT_ID_CHARACTERS: usize = 10;

/// So wide the time that is left is in a narrow list, at most: no longer than `overdue`.
const LEFT_COLUMNS: usize = 7;

const COLUMNS: [Column; 7] = [
    column("left", 9, false),
    column("urgency", 3, false),
    column("question", 8, false),
    column("log", 4, false),
    column("answers", 2, false),
    column("asked", 7, true),
    column("note", 5, false),
];

const NARROW: [Column; 4] = [
    column("left", 9, false),
    column("question", 8, false),
    column("urgency", 3, false),
    column("note", 2, true),
];

const fn column(title: &'static str, weight: u8, is_cut: bool) -> Column {
    let fit = if is_cut { Fit::Rest(12) } else { Fit::Whole };
    Column { title, weight, fit, is_number: false }
}

/// The list: its titles, and for each question its lines.
pub(super) struct Rows {
    pub(super) titles: String,
    pub(super) rows: Vec<Vec<String>>,
}

/// The questions, at a moment and in so many columns.
pub(super) fn rows(items: &[&Item], now: Time, columns: usize) -> Rows {
    let is_roomy = columns >= ROOMY_COLUMNS;
    let cells: Vec<Vec<String>> = items.iter().map(|item| cells(item, now, is_roomy)).collect();
    let table = if is_roomy { &COLUMNS[..] } else { &NARROW[..] };
    let mut lines = lines(table, &cells, columns).into_iter();
    let titles = lines.next().unwrap_or_default();
    let below = |item: &Item| (!is_roomy).then(|| marked(&item.asked, columns));
    let rows = lines.zip(items).map(|(line, item)| std::iter::once(line).chain(below(item)));
    Rows { titles, rows: rows.map(Iterator::collect).collect() }
}

/// How many lines a question takes.
pub(super) const fn lines_each(columns: usize) -> usize {
    if columns >= ROOMY_COLUMNS { 1 } else { 2 }
}

fn cells(item: &Item, now: Time, is_roomy: bool) -> Vec<String> {
    let nothing = || NOTHING.to_string();
    let left = item.left(now).map(|left| if is_roomy { left } else { briefly(&left) });
    let left = left.unwrap_or_else(nothing);
    let urgency = item.urgency.map_or_else(nothing, |urgency| urgency.name().to_string());
    let note = item.note(now).unwrap_or_else(nothing);
    let characters = if is_roomy { ID_CHARACTERS } else { SHORT_ID_CHARACTERS };
    let id = item.id.get(..characters).unwrap_or(&item.id).to_string();
    let is_open = !item.is_shut(now) && !matches!(item.stands, Stands::Over(_));
    let answers = if is_open { answers(item) } else { nothing() };
    match is_roomy {
        true => {
            vec![left, urgency, id, item.label.clone(), answers, item.asked.clone(), note]
        }
        false => vec![left, id, urgency, note],
    }
}

/// A length of time for a narrow list: its largest unit alone where both would take a name's place.
fn briefly(left: &str) -> String {
    match left.split_once(' ') {
        Some((largest, _)) if left.len() > LEFT_COLUMNS => largest.to_string(),
        _ => left.to_string(),
    }
}

/// The words that answer a question; where it has none, the options that do.
fn answers(item: &Item) -> String {
    let options = [(item.allows_text, "--text"), (item.allows_guidance, "--guidance")];
    match item.words.is_empty() {
        false => item.words.join(", "),
        true => options.iter().filter(|it| it.0).map(|it| it.1).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::sample;
    use super::*;
    use crate::golden;

    #[test]
    fn a_question_without_words_says_how_it_is_answered() {
        let item = Item { words: Vec::new(), allows_text: true, ..sample::decision() };
        assert_eq!(answers(&item), "--text, --guidance");
    }

    #[test]
    fn the_list_of_what_waits_keeps_its_columns_at_every_width() {
        let waiting = vec![sample::overdue(), sample::decision(), sample::hold()];
        let items = [waiting, sample::others()].concat();
        let items: Vec<&Item> = items.iter().collect();
        let now = Time::from_nanoseconds(sample::ASKED.nanoseconds() + 48_000_000_000);
        for columns in golden::COLUMNS {
            let Rows { titles, rows } = rows(&items, now, columns);
            let lines: Vec<String> =
                std::iter::once(titles).chain(rows.into_iter().flatten()).collect();
            golden::compare("inbox", columns, &lines);
        }
    }
}
