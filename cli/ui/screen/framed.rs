//! Texts of others in frames, folded so that two texts never look alike: each line of the text
//! begins in one frame, what goes on below stands in another one, and no blank is lost.

use super::plain::LETTER_COLUMNS_MAX;
use super::{columns_of_character, is_mark, width};

/// What stands before a line that others wrote.
pub(super) const FRAME: &str = "| ";
/// What stands before what goes on where the line above it ends, with its blanks. What others wrote
/// begins behind it, so that none of them can write it.
const GOES_ON: &str = "|+";
/// How wide the frames are.
pub(super) const FRAME_COLUMNS: usize = 2;

/// One line of a text in its frame.
pub(super) fn behind(frame: &str, line: &str) -> String {
    format!("{frame}{line}").trim_end().to_string()
}

/// A line of visible characters in framed lines of at most so many columns. It is folded before a
/// blank where one stands behind the first third, else wherever the line is full.
pub(super) fn framed(text: &str, columns: usize) -> Vec<String> {
    let room = columns.saturating_sub(FRAME_COLUMNS).max(2);
    let (mut lines, mut frame) = (Vec::new(), FRAME);
    let (mut line, mut used) = (String::new(), 0_usize);
    for c in text.chars() {
        let needed = columns_of_character(c);
        while used.saturating_add(needed) > room_for(c, &line, room) {
            let rest = line.split_off(end_of_full(&line, room, c));
            lines.push(behind(frame, &line));
            (frame, used, line) = (GOES_ON, width(&rest), rest);
        }
        line.push(c);
        used = used.saturating_add(needed);
    }
    lines.push(behind(frame, &line));
    lines
}

/// How wide a line may be with one more character. So many blanks alone are a line that any letter
/// has room behind them: a line of blanks is always as long, so that they can be counted.
fn room_for(c: char, line: &str, room: usize) -> usize {
    if c == ' ' && is_blanks(line) { blanks_in_line(room) } else { room }
}

fn blanks_in_line(room: usize) -> usize {
    room.saturating_sub(LETTER_COLUMNS_MAX).max(1)
}

fn is_blanks(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ')
}

/// Where a full line ends, in bytes, when this character does not fit on it any more: before the
/// blanks at its end, before its last ones, or else where it is full.
fn end_of_full(line: &str, room: usize, next: char) -> usize {
    // A mark stays with its letter.
    let letter = if is_mark(next) { line.rfind(|c| !is_mark(c)) } else { None };
    let full = letter.filter(|at| *at > 0).unwrap_or(line.len());
    let Some(kept) = line.get(..full) else { return line.len() };
    if is_blanks(kept) {
        return full.min(blanks_in_line(room)).max(1);
    }
    let Some(blank) = kept.rfind(' ') else { return full };
    let behind = blank.saturating_add(1);
    let before = kept.get(..behind).unwrap_or_default().trim_end_matches(' ').len();
    let is_far = kept.get(..behind).is_some_and(|kept| width(kept) > room / 3);
    match before > 0 && (is_far || behind == full) {
        true => before,
        false => full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Page;
    use quickcheck::{Arbitrary, Gen};

    fn shown(text: &str, columns: usize) -> Vec<String> {
        let mut page = Page::new(columns);
        page.recorded("command", text);
        page.lines()
    }

    fn shown_prompt(text: &str, columns: usize) -> Vec<String> {
        let mut page = Page::new(columns);
        page.foreign("prompt", text);
        page.lines()
    }

    #[test]
    fn a_line_end_inside_a_text_is_no_fold_of_this_program() {
        let (row, forged) = ("d".repeat(70), "  command    = true");
        for (between, last) in [("\n", "|   command    = true"), (" ", "|+   command    = true")] {
            let lines = shown_prompt(&format!("{row}{between}{forged}"), 78);
            assert_eq!(lines.last().map(String::as_str), Some(last), "{between:?}");
        }
    }

    #[test]
    fn a_fold_at_a_blank_is_no_fold_inside_a_word() {
        let directory = format!("/home/{}/", "d".repeat(49));
        let command = |paths: &str| format!("  command    = rm -rf {directory}{paths}");
        for columns in 20..=120 {
            let commands = ["etc", " etc", "  etc"].map(|paths| shown(&command(paths), columns));
            assert_ne!(commands[0], commands[1], "{columns}");
            assert_ne!(commands[0], commands[2], "{columns}");
            assert_ne!(commands[1], commands[2], "{columns}");
        }
        let last = |paths: &str| shown(&command(paths), 80).pop();
        assert_eq!(last("etc").as_deref(), Some("|+etc"));
        assert_eq!(last(" etc").as_deref(), Some("|+ etc"));
        assert_eq!(last("  etc").as_deref(), Some("|+  etc"));
    }

    /// Words and blanks that are about as long as a line.
    fn text(random: &mut Gen, columns: usize) -> String {
        let mut text = String::new();
        for _ in 0..1 + usize::arbitrary(random) % 5 {
            let most = *random.choose(&[3, columns / 2, columns * 2]).unwrap();
            let pieces = ["d", "/", "d/", " ", "ab ", "\u{6587}", "e\u{301}", "\n", " \n"];
            let piece = random.choose(&pieces).unwrap();
            text += &piece.repeat(usize::arbitrary(random) % most);
        }
        text
    }

    /// What somebody would write who wants the one text to pass for the other.
    fn similar(random: &mut Gen, text: &str) -> String {
        let mut similar: Vec<char> = text.chars().collect();
        for _ in 0..1 + usize::arbitrary(random) % 3 {
            let place = usize::arbitrary(random) % (similar.len() + 1);
            match *random.choose(&[0, 1, 2, 3]).unwrap() {
                0 => {
                    let added = [' ', ' ', '/', '+', 'd', '\n', '|', '\u{6587}', '\u{301}'];
                    similar.insert(place, *random.choose(&added).unwrap());
                }
                1 => drop((place < similar.len()).then(|| similar.remove(place))),
                2 => drop(similar.get_mut(place).map(|c| *c = ' ')),
                _ => drop(similar.get_mut(place).map(|c| *c = '\n')),
            }
        }
        similar.into_iter().collect()
    }

    /// Blanks at the end of a line are none that anybody could see.
    fn seen_of(text: &str) -> Vec<&str> {
        text.split('\n').map(|line| line.trim_end_matches(' ')).collect()
    }

    #[test]
    fn texts_that_are_shown_alike_are_alike_at_any_width() {
        let mut random = Gen::from_size_and_seed(100, holdpoint_testing::story::seed());
        for round in 0..10_000 {
            let columns = 20 + round % 101;
            let one = text(&mut random, columns);
            let other = similar(&mut random, &one);
            for shown in [shown, shown_prompt] {
                let lines = shown(&one, columns);
                assert!(lines.iter().all(|line| width(line) <= columns), "{one:?}: {lines:?}");
                if seen_of(&one) != seen_of(&other) {
                    assert_ne!(lines, shown(&other, columns), "{one:?} and {other:?}");
                }
            }
        }
    }
}
