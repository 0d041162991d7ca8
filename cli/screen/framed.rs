//! Texts of others in frames, folded so that two texts never look alike: a line that goes on inside
//! a word stands in another frame than one before which a blank was, and no blank is lost but that
//! one.

use super::{columns_of_character, is_mark, width};

/// What stands before a line that others wrote.
pub(super) const FRAME: &str = "| ";
/// What stands before one that goes on where the line above it ends, with no blank between. What
/// others wrote begins behind it, so that none of them can write it.
const GOES_ON: &str = "|+";
/// How wide the frames are.
pub(super) const FRAME_COLUMNS: usize = 2;

/// One line of a text in its frame.
pub(super) fn behind(frame: &str, line: &str) -> String {
    format!("{frame}{line}").trim_end().to_string()
}

/// A text of visible characters in framed lines of at most so many columns. It is folded at a blank
/// where one stands behind the first third, which the line's end stands for; else wherever the line
/// is full.
pub(super) fn framed(text: &str, columns: usize) -> Vec<String> {
    let room = columns.saturating_sub(FRAME_COLUMNS).max(2);
    let (mut lines, mut frame) = (Vec::new(), FRAME);
    let (mut line, mut used) = (String::new(), 0_usize);
    for c in text.chars() {
        let needed = columns_of_character(c);
        if used.saturating_add(needed) > room {
            let end = end_of_full(&line, room, c);
            let rest = line.split_off(end);
            lines.push(behind(frame, &line));
            // The line's end stands for one blank, be it the next one.
            let after_blank = rest.strip_prefix(' ').filter(|_| !ends_blank(&line));
            let is_next_blank = rest.is_empty() && c == ' ';
            frame = if after_blank.is_some() || is_next_blank { FRAME } else { GOES_ON };
            line = after_blank.unwrap_or(&rest).to_string();
            used = width(&line);
            if is_next_blank {
                continue;
            }
        }
        line.push(c);
        used = used.saturating_add(needed);
    }
    lines.push(behind(frame, &line));
    lines
}

fn ends_blank(line: &str) -> bool {
    line.ends_with(' ')
}

/// Where a full line ends, in bytes, when this character does not fit on it any more: before the
/// blanks at its end, before its last ones, or else where it is full. A line of blanks alone is
/// always full, so that they can be counted.
fn end_of_full(line: &str, room: usize, next: char) -> usize {
    // A mark stays with its letter.
    let letter = if is_mark(next) { line.rfind(|c| !is_mark(c)) } else { None };
    let full = letter.filter(|at| *at > 0).unwrap_or(line.len());
    let Some(kept) = line.get(..full) else { return line.len() };
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
    use crate::screen::Page;
    use quickcheck::{Arbitrary, Gen};

    fn shown(text: &str, columns: usize) -> Vec<String> {
        let mut page = Page::new(columns);
        page.recorded("command", text);
        page.lines()
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
        assert_eq!(last(" etc").as_deref(), Some("| etc"));
        assert_eq!(last("  etc").as_deref(), Some("|  etc"));
    }

    /// Words and blanks that are about as long as a line.
    fn text(random: &mut Gen, columns: usize) -> String {
        let mut text = String::new();
        for _ in 0..1 + usize::arbitrary(random) % 5 {
            let most = *random.choose(&[3, columns / 2, columns * 2]).unwrap();
            let piece = random.choose(&["d", "/", "d/", " ", "ab "]).unwrap();
            text += &piece.repeat(usize::arbitrary(random) % most);
        }
        text
    }

    /// What somebody would write who wants the one text to pass for the other.
    fn similar(random: &mut Gen, text: &str) -> String {
        let mut similar: Vec<char> = text.chars().collect();
        for _ in 0..1 + usize::arbitrary(random) % 3 {
            let place = usize::arbitrary(random) % (similar.len() + 1);
            match *random.choose(&[0, 1, 2]).unwrap() {
                0 => similar.insert(place, *random.choose(&[' ', ' ', '/', '+', 'd']).unwrap()),
                1 => drop((place < similar.len()).then(|| similar.remove(place))),
                _ => drop(similar.get_mut(place).map(|c| *c = ' ')),
            }
        }
        similar.into_iter().collect()
    }

    /// Blanks at the end of a text are none that anybody could see.
    #[test]
    fn texts_that_are_shown_alike_are_alike_at_any_width() {
        let clock = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
        let given = std::env::var("HOLDPOINT_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(u64::from(clock));
        eprintln!("HOLDPOINT_SEED={seed}");
        let mut random = Gen::from_size_and_seed(100, seed);
        for round in 0..10_000 {
            let columns = 20 + round % 101;
            let one = text(&mut random, columns);
            let other = similar(&mut random, &one);
            let lines = shown(&one, columns);
            assert!(lines.iter().all(|line| width(line) <= columns), "{one:?}: {lines:?}");
            if one.trim_end() != other.trim_end() {
                assert_ne!(lines, shown(&other, columns), "{one:?} and {other:?}");
            }
        }
    }
}
