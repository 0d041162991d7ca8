//! The list of what waits, in lines of so many columns.

use crate::questions::waiting_item::Item;
use crate::ui::screen::{cut, marked};
use crate::ui::short_id::told_apart;
use crate::ui::table::{Column, Fit, NOTHING, column, lines};
use holdpoint_domain::Time;
use holdpoint_replay::question::Kind;

/// From here on a question is one line; narrower, what is asked stands below it.
const ROOMY_COLUMNS: usize = 60;
/// From here on more of an id is shown than what answers by it.
const WIDE_COLUMNS: usize = 90;
/// How much of an id is shown: enough to answer by, and little where there is little room.
const ID_CHARACTERS: usize = 16;
pub(super) const SHORT_ID_CHARACTERS: usize = 10;

/// So wide the time that is left is in a narrow list, at most: no longer than `overdue`.
const LEFT_COLUMNS: usize = 7;

/// So wide the question is at least, and these parts of the list a note and the answers at most.
const ASKED_COLUMNS: usize = 24;
const NOTE_PART: usize = 4;
const ANSWERS_PART: usize = 6;

/// What stands instead of the time that is left where it is over.
const ENDED: &str = "ended";

const COLUMNS: [Column; 7] = [
    column("left", 9, Fit::Whole),
    column("urgency", 3, Fit::Whole),
    column("question", 8, Fit::Id),
    column("log", 4, Fit::Name),
    column("answers", 2, Fit::Rest(12)),
    column("asked", 6, Fit::Rest(ASKED_COLUMNS)),
    column("note", 7, Fit::Rest(12)),
];

const NARROW: [Column; 5] = [
    column("left", 9, Fit::Whole),
    column("question", 8, Fit::Id),
    column("urgency", 3, Fit::Whole),
    column("log", 4, Fit::Name),
    column("note", 5, Fit::Rest(8)),
];

/// The list: its titles, and for each question its lines.
pub(super) struct Rows {
    pub(super) titles: String,
    pub(super) rows: Vec<Vec<String>>,
}

/// The questions, at a moment and in so many columns.
pub(super) fn rows(items: &[&Item], now: Time, columns: usize) -> Rows {
    let is_roomy = columns >= ROOMY_COLUMNS;
    let apart = told_apart(items.iter().map(|item| item.id.as_str()));
    let cells = items.iter().map(|item| {
        let needed = apart.get(&item.id).copied().unwrap_or_default();
        cells(item, now, (columns, needed))
    });
    let cells: Vec<Vec<String>> = cells.collect();
    let table = if is_roomy { &COLUMNS[..] } else { &NARROW };
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

/// What stands in a row, with so many characters of its id at least.
fn cells(item: &Item, now: Time, (columns, needed): (usize, usize)) -> Vec<String> {
    let is_roomy = columns >= ROOMY_COLUMNS;
    let nothing = || NOTHING.to_string();
    let left = item.left(now).map(|left| if is_roomy { left } else { briefly(&left) });
    let is_over = item.over().is_some();
    let left = left.unwrap_or_else(|| if is_over { ENDED.to_string() } else { nothing() });
    // Every hold has the same one.
    let urgency = match item.kind {
        Kind::Hold => nothing(),
        Kind::Decision => item.urgency.to_string(),
    };
    let note = item.note(now).map_or_else(nothing, |note| cut(&note, columns / NOTE_PART));
    let characters = if columns < WIDE_COLUMNS { SHORT_ID_CHARACTERS } else { ID_CHARACTERS };
    let id = item.id.get(..characters.max(needed)).unwrap_or(&item.id).to_string();
    let answers = if item.takes_answer(now) { answers(item) } else { nothing() };
    let answers = cut(&answers, columns / ANSWERS_PART);
    match is_roomy {
        true => {
            vec![left, urgency, id, item.label.clone(), answers, item.asked.clone(), note]
        }
        false => vec![left, id, urgency, item.label.clone(), note],
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
pub(super) fn answers(item: &Item) -> String {
    let options = [(item.allows_text, "--text"), (item.allows_guidance, "--guidance")];
    match item.words.is_empty() {
        false => item.words.join(", "),
        true => options.iter().filter(|it| it.0).map(|it| it.1).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use crate::questions::waiting_item::sample;
    use crate::questions::waiting_item::{AtEnd, Stands};

    #[test]
    fn a_question_without_words_says_how_it_is_answered() {
        let item = Item { words: Vec::new(), allows_text: true, ..sample::decision() };
        assert_eq!(answers(&item), "--text, --guidance");
    }

    fn shown(name: &str, items: &[Item]) {
        let items: Vec<&Item> = items.iter().collect();
        let now = Time::from_nanoseconds(sample::ASKED.nanoseconds() + 48_000_000_000);
        for columns in golden::COLUMNS {
            let Rows { titles, rows } = rows(&items, now, columns);
            let rows = rows.into_iter().flatten();
            golden::compare(
                name,
                columns,
                &std::iter::once(titles).chain(rows).collect::<Vec<_>>(),
            );
        }
    }

    #[test]
    fn the_list_of_what_waits_keeps_its_columns_at_every_width() {
        let waiting = vec![sample::overdue(), sample::decision(), sample::hold()];
        shown("inbox", &[waiting, sample::others()].concat());
    }

    #[test]
    fn the_question_has_the_most_room_of_all_columns() {
        let items = [sample::decision(), sample::hold()];
        let items: Vec<&Item> = items.iter().collect();
        for columns in [80, 100, 120] {
            let Rows { titles, .. } = rows(&items, sample::ASKED, columns);
            let at = |title: &str| titles.find(title).unwrap();
            assert!(columns - at("asked") > at("asked") - at("answers"), "{columns}: {titles}");
            let room = columns - at("asked");
            assert!(room >= if columns == 80 { 32 } else { 36 }, "{columns}: {titles}");
        }
    }

    #[test]
    fn in_a_narrow_list_the_urgency_goes_first_then_the_log_then_the_note() {
        let items = [sample::overdue(), sample::decision(), sample::hold()];
        let items: Vec<&Item> = items.iter().collect();
        for columns in 20..ROOMY_COLUMNS {
            let Rows { titles, .. } = rows(&items, sample::ASKED, columns);
            let shown = ["urgency", "log", "note"].map(|title| titles.contains(title));
            assert!(shown.is_sorted(), "{columns}: {titles}");
            assert!(columns < 40 || shown[1], "{columns}: {titles}");
        }
    }

    #[test]
    fn questions_whose_ids_begin_alike_are_told_apart_at_every_width() {
        let of = |digits: &str| Item { id: format!("DP-{digits:0<32}"), ..sample::decision() };
        let items = ["0123456789abc1", "0123456789abc2", "0123456f"].map(of);
        let items: Vec<&Item> = items.iter().collect();
        for columns in golden::COLUMNS {
            let Rows { rows, .. } = rows(&items, sample::ASKED, columns);
            let id = |row: &Vec<String>| {
                row[0].split_whitespace().find(|word| word.starts_with("DP-")).unwrap().to_string()
            };
            let shown: Vec<String> = rows.iter().map(id).collect();
            for id in &shown {
                let of = items.iter().filter(|item| item.id.starts_with(id.as_str()));
                assert_eq!(of.count(), 1, "{columns}: {shown:?}");
            }
        }
    }

    #[test]
    fn a_question_with_many_options_or_a_long_default_takes_no_column_of_the_others() {
        let words = (1..=12).map(|at| format!("option-{at}")).collect();
        let at_end = AtEnd::Default("a-default-of-thirty-two-letters!".to_string());
        let many = Item { words, ..sample::decision() };
        let late = Item { at_end, ..sample::overdue() };
        shown("inbox-options", &[late, many, sample::hold()]);
    }

    #[test]
    fn a_long_answer_takes_no_column_and_how_it_ended_stays_before_what_was_asked() {
        let said = "A map in memory, and mind that it is \u{6587}\u{5b57} all the way. ".repeat(9);
        let ended = Stands::Over(format!("text \"{said}\" by ada"));
        let ended = Item { stands: ended, ..sample::decision() };
        shown("inbox-ended", &[sample::hold(), sample::decision(), ended]);
    }
}
