//! Lines of at most so many bytes: a longer one is passed over and never held.

use crate::ui::{Exit, Failure, path};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// The longest line that is read, in bytes without its end (16 MiB).
pub(crate) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One line of input, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum InputLine {
    /// The line.
    Whole(Vec<u8>),
    /// It has this many bytes, more than a line may have.
    TooLong(u64),
}

/// The input of a verb: a file, or standard input where none is named, or `-`.
pub(crate) fn open_input(file: Option<&Path>) -> Result<Box<dyn BufRead>, Failure> {
    let Some(file) = file.filter(|file| *file != Path::new("-")) else {
        return Ok(Box::new(io::stdin().lock()));
    };
    let opened = File::open(file).map_err(|error| {
        let message = format!("cannot read {}: {error}; name a file that can be read", path(file));
        Failure::new(Exit::FAILED, "io", message)
    })?;
    Ok(Box::new(BufReader::new(opened)))
}

/// The next line, or `None` at the end. What follows the last newline is a line if it is not
/// empty.
pub fn next_line(input: &mut impl BufRead) -> io::Result<Option<InputLine>> {
    let mut line = Vec::new();
    let mut length = 0_u64;
    let mut is_there = false;
    loop {
        let (taken, is_end) = match piece(input)? {
            [] => return Ok(is_there.then(|| whole_or_not(line, length))),
            piece => {
                let end = piece.iter().position(|byte| *byte == b'\n');
                let content = piece.get(..end.unwrap_or(piece.len())).unwrap_or(piece);
                keep(&mut line, content);
                length = length.saturating_add(content.len() as u64);
                (content.len().saturating_add(usize::from(end.is_some())), end.is_some())
            }
        };
        is_there = true;
        input.consume(taken);
        if is_end {
            return Ok(Some(whole_or_not(line, length)));
        }
    }
}

/// What is there to read, waiting for something; empty at the end.
fn piece(input: &mut impl BufRead) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            // A terminal that is asked again would have to be told of its end again.
            Ok([]) => return Ok(&[]),
            Ok(_) => break,
        }
    }
    input.fill_buf()
}

/// At most one byte more than the bound: enough to know that the line is longer.
fn keep(line: &mut Vec<u8>, content: &[u8]) {
    let room = LINE_BYTES_MAX.saturating_add(1).saturating_sub(line.len());
    line.extend_from_slice(content.get(..room).unwrap_or(content));
}

fn whole_or_not(line: Vec<u8>, length: u64) -> InputLine {
    if line.len() > LINE_BYTES_MAX { InputLine::TooLong(length) } else { InputLine::Whole(line) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_replay::strict_json::parse;
    use quickcheck::{Arbitrary as _, Gen};
    use std::io::{BufReader, Read};

    fn lines(input: impl Read) -> Vec<InputLine> {
        let mut input = BufReader::with_capacity(7, input);
        std::iter::from_fn(|| next_line(&mut input).unwrap()).collect()
    }

    #[test]
    fn lines_end_at_newlines_and_the_last_one_need_not() {
        let whole = |text: &str| InputLine::Whole(text.as_bytes().to_vec());
        assert_eq!(lines(&b""[..]), []);
        assert_eq!(
            lines(&b"one\n\nlonger than seven\nrest"[..]),
            [whole("one"), whole(""), whole("longer than seven"), whole("rest")]
        );
        assert_eq!(lines(&b"one\n"[..]), [whole("one")]);
    }

    #[test]
    fn a_line_over_the_bound_is_counted_and_not_held() {
        let most = LINE_BYTES_MAX as u64;
        let input = io::repeat(b'x')
            .take(most)
            .chain(&b"\n"[..])
            .chain(io::repeat(b'y').take(100_000_000))
            .chain(&b"\nnext\n"[..]);
        let mut input = BufReader::new(input);
        let InputLine::Whole(first) = next_line(&mut input).unwrap().unwrap() else { panic!() };
        assert_eq!(first.len(), LINE_BYTES_MAX);
        assert_eq!(next_line(&mut input).unwrap(), Some(InputLine::TooLong(100_000_000)));
        assert_eq!(next_line(&mut input).unwrap(), Some(InputLine::Whole(b"next".to_vec())));
        assert_eq!(next_line(&mut input).unwrap(), None);
    }

    /// Whatever the bytes: no panic, and nothing is read that another reader would not read.
    #[test]
    fn changed_lines_never_panic_and_are_json_if_they_are_read() {
        let mut random = Gen::from_size_and_seed(100, holdpoint_testing::story::seed());
        let line = br#"{"a":[null,true,-1,"\u00e9\ud83d\udd52\n"],"b":{"c":[{}],"d":""}}"#;
        let alphabet = br#"{}[]":,\u0129aedntrf-+. "#;
        for _ in 0..20_000 {
            let mut changed = line.to_vec();
            for _ in 0..1 + usize::arbitrary(&mut random) % 3 {
                let place = usize::arbitrary(&mut random) % changed.len();
                changed[place] = *random.choose(alphabet).unwrap();
                if bool::arbitrary(&mut random) {
                    changed.remove(place);
                }
            }
            if parse(&changed).is_ok() {
                let read = serde_json::from_slice::<serde_json::Value>(&changed);
                assert!(read.is_ok(), "{}", String::from_utf8_lossy(&changed));
            }
        }
    }
}
