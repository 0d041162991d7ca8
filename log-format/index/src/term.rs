//! Terms: what records are looked up by.

use holdpoint_log_format::Record;

/// Key of the hash of terms: its name, and zeros.
const TERM_KEY: [u8; 32] = *b"holdpoint index term\0\0\0\0\0\0\0\0\0\0\0\0";

/// A term, as an index knows it: 64 bits of a hash. Two terms can have the same one, so what an
/// index gives for it are candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TermHash(pub u64);

impl TermHash {
    /// The hash of a term's canonical bytes: the first eight bytes of their keyed BLAKE3, as a
    /// little-endian number. That different terms have different bytes is the caller's concern.
    #[must_use]
    pub fn of(canonical: &[u8]) -> Self {
        let hash = blake3::keyed_hash(&TERM_KEY, canonical);
        Self(hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }
}

/// Gives the terms of a record, whose kind, version and payload these are: each by its canonical
/// bytes, and whether it is an idempotency key.
pub type TermsOfRecord = fn(u16, u8, &[u8], &mut dyn FnMut(&[u8], bool));

/// The terms and idempotency keys of one record, gathered before it is added to an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordTerms {
    terms: Vec<TermHash>,
    keys: Vec<TermHash>,
}

impl RecordTerms {
    /// The record holds what `terms_of` gives for it. What a withheld record said is not in the
    /// log: it holds nothing.
    pub fn add_record(&mut self, record: &Record<'_>, terms_of: TermsOfRecord) {
        let header = &record.header;
        if header.flags.withheld() {
            return;
        }
        terms_of(
            header.kind,
            header.version,
            record.payload,
            &mut |canonical, is_key| match is_key {
                true => self.add_key(canonical),
                false => self.add_term(canonical),
            },
        );
    }

    /// The record holds the term with these canonical bytes.
    pub fn add_term(&mut self, canonical: &[u8]) {
        self.terms.push(TermHash::of(canonical));
    }

    /// The record holds the idempotency key with these canonical bytes.
    pub fn add_key(&mut self, canonical: &[u8]) {
        self.keys.push(TermHash::of(canonical));
    }

    /// Forgets them, for the next record.
    pub fn clear(&mut self) {
        self.terms.clear();
        self.keys.clear();
    }

    /// The terms.
    #[must_use]
    pub fn terms(&self) -> &[TermHash] {
        &self.terms
    }

    /// The keys.
    #[must_use]
    pub fn keys(&self) -> &[TermHash] {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_hash_is_the_beginning_of_the_keyed_hash() {
        let mut hasher = blake3::Hasher::new_keyed(&TERM_KEY);
        hasher.update(b"term");
        assert_eq!(hasher.finalize().as_bytes()[..8], TermHash::of(b"term").0.to_le_bytes());
        assert_ne!(TermHash::of(b"term"), TermHash::of(b"ter"));
    }
}
