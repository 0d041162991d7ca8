//! The instruction of an execution: the envelope that is hashed, and the line that people read.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// The beginning of every envelope of Holdpoint's own form, so that it is taken for nothing else,
/// and the version of the encoding.
pub const ENVELOPE_TAG: &[u8; 13] = b"holdpoint/e1\x01";

/// The parts of an envelope of Holdpoint's own form, as its bytes have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionParts<'e> {
    /// The program as it was named, then its arguments.
    pub words: Vec<&'e [u8]>,
    /// The working directory.
    pub directory: &'e [u8],
    /// The recorded variables, and the values of those that are shown.
    pub environment: Vec<(&'e [u8], Option<&'e [u8]>)>,
}

impl<'e> InstructionParts<'e> {
    /// Takes an encoding apart. `None`: it is none of this version.
    #[must_use]
    pub fn decode(bytes: &'e [u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(ENVELOPE_TAG)?;
        let mut words = Vec::from([take_text(&mut rest)?]);
        // Each takes eight bytes at least, so that no count asks for more memory than there is.
        for _ in 0..take_number(&mut rest)? {
            words.push(take_text(&mut rest)?);
        }
        let directory = take_text(&mut rest)?;
        let mut environment = Vec::new();
        for _ in 0..take_number(&mut rest)? {
            let name = take_text(&mut rest)?;
            if environment.last().is_some_and(|(last, _)| *last >= name) {
                return None;
            }
            let (kind, behind) = rest.split_first()?;
            rest = behind;
            let value = match *kind {
                0 => None,
                1 => Some(take_text(&mut rest)?),
                _ => return None,
            };
            environment.push((name, value));
        }
        rest.is_empty().then_some(Self { words, directory, environment })
    }

    /// The command line, in the wording of this program.
    #[must_use]
    pub fn command_line(&self) -> String {
        command_line(self.words.iter().copied())
    }

    /// The command line, in the wording of programs before this one.
    #[must_use]
    pub fn former_command_line(&self) -> String {
        line(self.words.iter().copied(), Wording::Former)
    }
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let (number, behind) = rest.split_first_chunk::<8>()?;
    *rest = behind;
    Some(u64::from_le_bytes(*number))
}

fn take_text<'e>(rest: &mut &'e [u8]) -> Option<&'e [u8]> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    let (text, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(text)
}

/// Form in which a line shows what is deceptive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wording {
    /// Byte by byte, which a shell takes in every locale.
    Present,
    /// As a code point, and less of it: so wrote programs before this one.
    Former,
}

/// Shows bytes as text with every byte in it visible: controls, blanks but the plain one, the marks
/// that turn the direction of writing, invisible characters, backslashes and bytes that are not
/// UTF-8 appear as escapes, those of what is not ASCII byte by byte: so a shell takes them whatever
/// its locale. Different bytes give different text.
#[must_use]
pub fn escaped(bytes: &[u8]) -> String {
    escaped_in(bytes, Wording::Present)
}

/// Shows a program and its arguments as one line that a shell such as bash would take apart again
/// into the same words.
#[must_use]
pub fn command_line<'w>(words: impl Iterator<Item = &'w [u8]>) -> String {
    line(words, Wording::Present)
}

fn line<'w>(words: impl Iterator<Item = &'w [u8]>, wording: Wording) -> String {
    words.map(|word| quoted(word, wording)).collect::<Vec<_>>().join(" ")
}

fn escaped_in(bytes: &[u8], wording: Wording) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|character| push_visible(&mut shown, character, wording));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

fn push_visible(shown: &mut String, character: char, wording: Wording) {
    match character {
        '\\' => shown.push_str("\\\\"),
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        '\0'..='\x1f' | '\x7f' => {
            let _ = write!(shown, "\\x{:02x}", u32::from(character));
        }
        other if wording == Wording::Former && was_deceptive(other) => {
            let _ = write!(shown, "\\U{:08x}", u32::from(other));
        }
        other if wording == Wording::Present && is_deceptive(other) => {
            for byte in other.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(shown, "\\x{byte:02x}");
            }
        }
        other => shown.push(other),
    }
}

/// Returns whether a character is no ASCII and is blank, invisible, of nobody's alphabet, or turns
/// the direction of what follows.
fn is_deceptive(character: char) -> bool {
    !character.is_ascii()
        && (character.is_whitespace()
            || was_deceptive(character)
            || matches!(
                character,
                '\u{34f}'
                    | '\u{17b4}'..='\u{17b5}'
                    | '\u{180b}'..='\u{180f}'
                    | '\u{2800}'
                    | '\u{e000}'..='\u{f8ff}'
                    | '\u{fffc}'
                    | '\u{e1000}'..
            ))
}

/// Returns whether programs of before took a character for one of those.
const fn was_deceptive(character: char) -> bool {
    matches!(
        character,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

fn quoted(word: &[u8], wording: Wording) -> String {
    let shown = escaped_in(word, wording);
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "%+,-./:=@_".contains(character);
    if !shown.is_empty() && shown.chars().all(is_plain) {
        return shown;
    }
    if shown.contains('\\') {
        return format!("$'{}'", shown.replace('\'', "\\'"));
    }
    format!("'{}'", shown.replace('\'', "'\\''"))
}
