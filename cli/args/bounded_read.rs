//! Reading no more than a bound, whatever there is to be read.

use std::io::{self, Read};

/// All that a reader gives; `None` where that is more than so many bytes.
pub(crate) fn all_within(reader: impl Read, most_bytes: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // One byte more than is allowed is enough to know.
    let limit = u64::try_from(most_bytes).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= most_bytes).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_as_the_bound_is_read_and_one_byte_more_is_too_much() {
        assert_eq!(all_within(&b"abc"[..], 3).unwrap().as_deref(), Some(&b"abc"[..]));
        assert_eq!(all_within(&b"abcd"[..], 3).unwrap(), None);
        assert_eq!(all_within(io::repeat(0), 9).unwrap(), None);
    }
}
