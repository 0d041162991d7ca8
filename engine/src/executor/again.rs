//! A single system call that failed is no fact about what was asked: it is made again.

use std::io::{self, ErrorKind};

/// Number of times a call that fails is made again.
const TRIES_MORE: u32 = 3;

/// Makes a call again that was interrupted, and a few times more where it fails otherwise. The end
/// of the other side is an answer.
///
/// Takes nothing from the heap: a child asks as well that may not.
pub(super) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut left = TRIES_MORE;
    loop {
        let error = match call() {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        match error.kind() {
            ErrorKind::Interrupted => {}
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => return Err(error),
            _ if left == 0 => return Err(error),
            _ => left = left.saturating_sub(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_of_a_call_is_no_answer_and_four_are() {
        let mut answers = vec![Ok(1), Err(ErrorKind::Interrupted), Err(ErrorKind::OutOfMemory)];
        let next = |answers: &mut Vec<Result<i32, ErrorKind>>| {
            answers.pop().unwrap_or(Err(ErrorKind::NotFound)).map_err(io::Error::from)
        };
        assert_eq!(again(|| next(&mut answers)).unwrap(), 1);
        let mut made = 0;
        let failed: io::Result<()> = again(|| {
            made += 1;
            Err(ErrorKind::NotFound.into())
        });
        assert_eq!((failed.unwrap_err().kind(), made), (ErrorKind::NotFound, 4));
    }
}
