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

/// Gives the row of a record, whose kind, version and payload these are, where it has one.
pub type RowOfRecord = fn(u16, u8, &[u8]) -> Option<Vec<u8>>;

/// The terms, idempotency keys and row of one record, gathered before it is added to an index.
#[derive(Clone, Debug, Default)]
pub struct RecordTerms {
    terms: Vec<TermHash>,
    keys: Vec<TermHash>,
    row: Option<Vec<u8>>,
    lately: LatelyHashed,
}

impl RecordTerms {
    /// The record holds what these give for it. What a withheld record said is not in the log: it
    /// holds nothing.
    pub fn add_record(
        &mut self,
        record: &Record<'_>,
        terms_of: TermsOfRecord,
        row_of: RowOfRecord,
    ) {
        let (header, payload) = (&record.header, record.payload);
        if header.flags.withheld() {
            return;
        }
        let mut add = |canonical: &[u8], is_key| match is_key {
            true => self.add_key(canonical),
            false => self.add_term(canonical),
        };
        terms_of(header.kind, header.version, payload, &mut add);
        self.row = row_of(header.kind, header.version, payload);
    }

    /// The record holds the term with these canonical bytes.
    pub fn add_term(&mut self, canonical: &[u8]) {
        self.terms.push(self.lately.hash(canonical));
    }

    /// The record holds the idempotency key with these canonical bytes.
    pub fn add_key(&mut self, canonical: &[u8]) {
        self.keys.push(self.lately.hash(canonical));
    }

    /// The record has this row.
    pub fn set_row(&mut self, row: Option<Vec<u8>>) {
        self.row = row;
    }

    /// Forgets them, for the next record.
    pub fn clear(&mut self) {
        self.terms.clear();
        self.keys.clear();
        self.row = None;
    }

    /// The row, where it has one.
    #[must_use]
    pub fn row(&self) -> Option<&[u8]> {
        self.row.as_deref()
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

/// The terms that were hashed last: records in a row have most of theirs in common. One term has
/// one place, which the last one keeps that came there.
#[derive(Clone, Debug, Default)]
struct LatelyHashed(Vec<Hashed>);

#[derive(Clone, Debug)]
struct Hashed {
    canonical: Vec<u8>,
    hash: TermHash,
}

/// Number of terms that a story of some loops at a time has.
const LATELY_HASHED: usize = 64;

/// Longer terms are rare, and hashed each time.
const REMEMBERED_BYTES_MAX: usize = 512;

impl LatelyHashed {
    /// [`TermHash::of`] the same bytes.
    fn hash(&mut self, canonical: &[u8]) -> TermHash {
        if self.0.is_empty() {
            let empty = Hashed { canonical: Vec::new(), hash: TermHash::of(&[]) };
            self.0.resize(LATELY_HASHED, empty);
        }
        match self.0.get_mut(place_of(canonical)) {
            Some(known) if known.canonical == canonical => known.hash,
            Some(known) if canonical.len() <= REMEMBERED_BYTES_MAX => {
                known.canonical.clear();
                known.canonical.extend_from_slice(canonical);
                known.hash = TermHash::of(canonical);
                known.hash
            }
            _ => TermHash::of(canonical),
        }
    }
}

/// A term begins with what it is, and ends in what tells one id from the next; short ones are told
/// apart by their second byte.
fn place_of(canonical: &[u8]) -> usize {
    let byte = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or(0));
    let (first, second) = (byte(canonical.first()), byte(canonical.get(1)));
    (first * 5 + second * 3 + byte(canonical.last()) * 7) % LATELY_HASHED
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

    #[test]
    fn a_remembered_hash_is_that_of_its_own_term() {
        let long = vec![b'x'; REMEMBERED_BYTES_MAX + 1];
        let mut terms: Vec<Vec<u8>> = (0..=u8::MAX).map(|last| vec![7, 1, b'a', last]).collect();
        terms.extend([Vec::new(), long, vec![9], vec![9, 1, 0]]);
        let mut lately = LatelyHashed::default();
        for term in terms.iter().chain(&terms).chain(terms.iter().rev()) {
            assert_eq!(lately.hash(term), TermHash::of(term));
            assert_eq!(lately.hash(term), TermHash::of(term));
        }
    }
}
