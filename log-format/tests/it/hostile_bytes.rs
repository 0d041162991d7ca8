//! Hostile input: random and mutated bytes into every decoder of the format. Nothing panics, what
//! decodes encodes to the same bytes, and the search behind damage keeps to its budget.
//!
//! Every test draws its bytes from one seed, which a failing test prints; `HOLDPOINT_SEED` sets it.
use holdpoint_log_format::limits::{
    ALIGNMENT, RECORD_HEADER_LENGTH, SEAL_LENGTH, SEGMENT_HEADER_LENGTH,
};
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::record::{encode_into, is_legal_size};
use holdpoint_log_format::tail::{Resync, Tail, TailShape};
use holdpoint_log_format::{
    BootId, ChainPosition, ChecksumSeed, Flags, Head, Item, ItemLength, Link, LinkPrefix, Lock,
    LogId, OwnerState, Record, RecordHeader, Seal, SegmentHeader, names,
};
use quickcheck::{Arbitrary, Gen};

const LOG: LogId = LogId([7; 16]);
const CAPACITY: u64 = 65_536;

fn seed() -> ChecksumSeed {
    ChecksumSeed::new(LOG, 1)
}

// ---- Every decoder -----------------------------------------------------------------------------

#[test]
fn random_bytes_panic_nowhere_and_what_decodes_is_canonical() {
    Rounds::new("random bytes").each(2_000, |random| {
        let length = random.below(5_000);
        let bytes = random.bytes(length);
        check_every_decoder(&bytes, random.u64());
    });
}

#[test]
fn mutated_segments_panic_nowhere_and_what_decodes_is_canonical() {
    Rounds::new("mutated segments").each(2_000, |random| {
        let mut bytes = random_items(random);
        random.mutate(&mut bytes);
        for position in (0..bytes.len()).step_by(ALIGNMENT) {
            check_items(&bytes[position..], position as u64);
        }
    });
}

#[test]
fn mutated_fields_under_a_repaired_checksum_decode_canonically_or_not_at_all() {
    Rounds::new("repaired checksums").each(4_000, |random| {
        let mut bytes = random_preamble_structure(random);
        random.mutate(&mut bytes);
        repair_checksum(&mut bytes);
        check_preamble_structures(&bytes);
    });
}

#[test]
fn mutated_headers_under_a_repaired_checksum_decode_canonically_or_not_at_all() {
    let mut accepted = 0;
    Rounds::new("repaired records").each(4_000, |random| {
        let mut bytes = random_items(random);
        let position = 8 + random.below(24);
        bytes[position] = random.u64() as u8;
        let size = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let checksum = seed().of(&[&bytes[..4], &bytes[8..size]]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        accepted += usize::from(check_record(&bytes));
    });
    assert!(accepted > 1_000, "the repaired records are not repaired: {accepted} accepted");
}

#[test]
fn a_header_of_any_fields_is_read_back() {
    Rounds::new("header fields").each(2_000, |random| {
        let header = random_header(random);
        assert_eq!(RecordHeader::decode(&header.encode()), Ok(header.clone()));
        let mark = header.mark();
        assert!(mark.is_err() || mark.unwrap().is_none_or(|mark| mark < header.sequence.max(1)));
    });
}

#[test]
fn what_parses_as_a_name_is_built_back_to_the_same_name() {
    const LETTERS: &[u8] = b"0123456789.segprd+-/HEADLOCKtmp";
    Rounds::new("names").each(4_000, |random| {
        let mut name = match random.below(3) {
            0 => names::segment(random.u64()).into_bytes(),
            1 => names::prepared(random.u64()).into_bytes(),
            _ => Vec::new(),
        };
        for _ in 0..random.below(4) {
            let at = random.below(name.len() + 1);
            name.insert(at, LETTERS[random.below(LETTERS.len())]);
            name.remove(random.below(name.len()));
            name.insert(random.below(name.len() + 1), LETTERS[random.below(LETTERS.len())]);
        }
        check_name(&String::from_utf8_lossy(&name));
        let length = random.below(40);
        check_name(&String::from_utf8_lossy(&random.bytes(length)));
    });
}

// ---- The tail ----------------------------------------------------------------------------------

#[test]
fn any_tail_at_any_place_has_a_shape_and_an_end_to_its_search() {
    Rounds::new("any tail").each(2_000, |random| {
        let mut bytes = random_items(random);
        random.mutate(&mut bytes);
        let mut tail = tail_of(&bytes, any_u64(random), any_u64(random));
        tail.after.sequence = any_u64(random);
        assert_eq!(tail.shape() == TailShape::Zero, tail.bytes.is_empty());
        let unlimited = tail.resync(u64::MAX);
        assert!(!unlimited.budget_spent);
        let limited = tail.resync(random.u64() % 10_000);
        assert!(limited.budget_spent || limited == unlimited);
    });
}

#[test]
fn a_search_spends_its_budget_exactly_when_the_candidates_cost_more() {
    Rounds::new("budget").each(2_000, |random| {
        let mut bytes = random_items(random);
        random.mutate(&mut bytes);
        let start = SEGMENT_HEADER_LENGTH as u64;
        let tail = tail_of(&bytes, start, CAPACITY);
        let cost = candidates_cost(&tail);
        assert_eq!(tail.resync(cost), tail.resync(u64::MAX));
        if let Some(less) = cost.checked_sub(1) {
            assert!(tail.resync(less).budget_spent);
        }
    });
}

/// Every eight bytes read as the size of a 4 MiB record and as its sequence at once. Hashing each
/// candidate would be 4 TiB of work, so that this test would not end.
#[test]
fn bytes_full_of_plausible_sizes_and_sequences_end_the_search_by_its_budget() {
    let size = 4 * 1_024 * 1_024_u64;
    let word = size.to_le_bytes();
    let bytes: Vec<u8> = word.iter().copied().cycle().take(8 * 1_024 * 1_024).collect();
    let capacity = 2 * size + 2 * SEGMENT_HEADER_LENGTH as u64;
    let mut tail = tail_of(&bytes, SEGMENT_HEADER_LENGTH as u64, capacity);
    tail.after.sequence = size - 1;
    let found = tail.resync(4 * capacity);
    assert_eq!(found, Resync { mark: None, budget_spent: true });
    assert_eq!(tail.shape(), TailShape::Other);
}

/// A tail of nothing but seals and records that the budget can pay for is searched to its end.
#[test]
fn a_genuine_tail_never_spends_the_budget_of_four_segment_lengths() {
    Rounds::new("genuine tails").each(200, |random| {
        let mut bytes = random_items(random);
        let hole = 64.min(bytes.len());
        bytes[..hole].fill(0);
        let tail = tail_of(&bytes, SEGMENT_HEADER_LENGTH as u64, CAPACITY);
        assert!(!tail.resync(4 * CAPACITY).budget_spent);
    });
}

// ---- What must hold of whatever decodes --------------------------------------------------------

fn check_every_decoder(bytes: &[u8], offset: u64) {
    check_items(bytes, offset);
    check_preamble_structures(bytes);
    check_name(&String::from_utf8_lossy(bytes));
    if let Some(header) = bytes.first_chunk::<RECORD_HEADER_LENGTH>()
        && let Ok(decoded) = RecordHeader::decode(header)
    {
        assert_eq!(&decoded.encode(), header);
    }
    let tail = tail_of(bytes, offset / 8 * 8 % CAPACITY, CAPACITY);
    assert_eq!(tail.shape() == TailShape::Zero, tail.bytes.is_empty());
    assert!(tail.resync(4 * CAPACITY).mark.is_none_or(|mark| mark.offset >= tail.start));
}

fn check_items(bytes: &[u8], offset: u64) {
    check_record(bytes);
    if let Ok(seal) = Seal::decode(bytes, offset, seed()) {
        assert_eq!(seal.encode(seed()), bytes[..SEAL_LENGTH]);
        assert_eq!(seal.offset, offset);
    }
    match Item::decode(bytes, offset, seed()) {
        Ok(Item::Nothing) => assert_eq!(bytes[..4], [0; 4]),
        Ok(Item::Record(record)) => assert_eq!(Record::decode(bytes, seed()), Ok(record)),
        Ok(Item::Seal(seal)) => assert_eq!(Seal::decode(bytes, offset, seed()), Ok(seal)),
        Err(fault) => assert!(!fault.name().is_empty() && !fault.to_string().is_empty()),
    }
}

fn check_record(bytes: &[u8]) -> bool {
    let Ok(record) = Record::decode(bytes, seed()) else { return false };
    let mut again = Vec::new();
    encode_into(&mut again, &record.header, record.payload, seed());
    assert_eq!(again, bytes[..again.len()]);
    assert_eq!(again.len() as u64, record.header.footprint());
    assert!(is_legal_size(record.header.size));
    let from = ChainPosition { sequence: 0, link: Link([0; 32]), time: 0 };
    let _: Result<_, _> = from.advance(LOG, &record);
    true
}

fn check_preamble_structures(bytes: &[u8]) {
    if let Some(block) = bytes.first_chunk::<SEGMENT_HEADER_LENGTH>()
        && let Ok(header) = SegmentHeader::decode(block)
    {
        assert_eq!(&header.encode(), block);
    }
    if let Ok(head) = Head::decode(bytes) {
        assert_eq!(head.encode(), bytes);
    }
    if let Ok(lock) = Lock::decode(bytes) {
        assert_eq!(lock.encode(), bytes);
    }
}

fn check_name(name: &str) {
    if let Some(sequence) = names::parse_segment(name) {
        assert_eq!(names::segment(sequence), name);
        assert!(!names::is_own(name));
    }
    if let Some(sequence) = names::parse_prepared(name) {
        assert_eq!(names::prepared(sequence), name);
    }
}

/// The cost of a search, stated anew: every legal candidate costs its own length.
fn candidates_cost(tail: &Tail<'_>) -> u64 {
    (0..tail.bytes.len()).step_by(ALIGNMENT).filter_map(|at| candidate_cost(tail, at)).sum()
}

fn candidate_cost(tail: &Tail<'_>, at: usize) -> Option<u64> {
    let rest = &tail.bytes[at..];
    let room = tail.capacity - tail.start - at as u64;
    // What is not there is zeros.
    let mut header = [0; RECORD_HEADER_LENGTH];
    header.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let item = ItemLength::of(header[..4].try_into().unwrap());
    let (length, seal_room, sequence_at) = match item {
        ItemLength::Record(length) => (length, SEAL_LENGTH as u64, 16),
        ItemLength::Seal => (SEAL_LENGTH as u64, 0, 8),
        ItemLength::Nothing | ItemLength::Illegal(_) => return None,
    };
    let sequence = u64::from_le_bytes(header[sequence_at..sequence_at + 8].try_into().unwrap());
    let distance = at as u64 + length;
    let ahead = sequence.checked_sub(tail.after.sequence)?;
    (length + seal_room <= room && (1..=distance / 64).contains(&ahead)).then_some(length)
}

// ---- Where the bytes come from -----------------------------------------------------------------

/// A tail of `bytes` up to the last one that is not zero.
fn tail_of(bytes: &[u8], start: u64, capacity: u64) -> Tail<'_> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    Tail {
        bytes: &bytes[..end],
        start,
        capacity,
        log: LOG,
        seed: seed(),
        after: ChainPosition::genesis(LOG),
    }
}

/// A valid run of records from genesis on, sometimes sealed, as it lies behind a segment's header.
fn random_items(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut last = ChainPosition::genesis(LOG);
    for _ in 0..1 + random.below(12) {
        let length = random.below(200);
        let payload = random.bytes(length);
        let flags = if random.below(2) == 0 { Flags::NONE } else { Flags::MORE_FOLLOWS };
        let sequence = last.sequence + 1;
        let prefix = LinkPrefix::new(LOG, 1, 1, flags, &payload_digest(&payload));
        let unsynced = (random.u64() % sequence) as u32;
        let link = prefix.link(&last.link, unsynced, sequence, 5);
        last = ChainPosition { sequence, link, time: 5 };
        let header = RecordHeader { flags, unsynced, ..header_at(&last) };
        encode_into(&mut bytes, &header, &payload, seed());
    }
    if random.below(2) == 0 {
        let offset = (SEGMENT_HEADER_LENGTH + bytes.len()) as u64;
        bytes.extend_from_slice(&Seal { last, offset }.encode(seed()));
    }
    bytes
}

fn header_at(position: &ChainPosition) -> RecordHeader {
    RecordHeader {
        size: 0,
        checksum: 0,
        kind: 1,
        version: 1,
        flags: Flags::NONE,
        unsynced: 0,
        sequence: position.sequence,
        time: position.time,
        link: position.link,
    }
}

fn random_header(random: &mut Random) -> RecordHeader {
    let flags = [0, 1, 4, 5][random.below(4)];
    RecordHeader {
        size: random.u64() as u32,
        checksum: random.u64() as u32,
        kind: random.u64() as u16,
        version: random.u64() as u8,
        flags: Flags::from_bits(flags).unwrap(),
        unsynced: any_u64(random) as u32,
        sequence: any_u64(random),
        time: any_u64(random),
        link: Link(random.array()),
    }
}

/// A valid segment header block, HEAD or LOCK.
fn random_preamble_structure(random: &mut Random) -> Vec<u8> {
    let position =
        ChainPosition { sequence: random.u64() >> 1, link: Link(random.array()), time: 9 };
    match random.below(3) {
        0 => {
            let capacity = 4_096 * (2 + random.u64() % 1_000);
            let header = SegmentHeader {
                log: LOG,
                previous: position,
                capacity,
                previous_seal_offset: random.u64(),
            };
            header.encode().to_vec()
        }
        1 => Head::at_anchor(LOG, &position, BootId(random.array())).encode().to_vec(),
        _ => random_lock(random).encode().to_vec(),
    }
}

fn random_lock(random: &mut Random) -> Lock {
    Lock {
        pid: random.u64() as u32,
        state: OwnerState::ALL[random.below(4)],
        previous_state: OwnerState::ALL[random.below(4)],
        boot: BootId(random.array()),
        durable_sequence: any_u64(random),
        wall_minus_boot: random.u64().cast_signed(),
    }
}

fn repair_checksum(bytes: &mut [u8]) {
    if bytes.len() < 16 {
        return;
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..12]);
    hasher.update(&bytes[16..]);
    bytes[12..16].copy_from_slice(&hasher.finalize().to_le_bytes());
}

/// Small, large and extreme numbers alike.
fn any_u64(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.u64(),
        1 => u64::MAX - random.u64() % 70_000,
        _ => random.u64() % 70_000,
    }
}

/// Numbers and bytes drawn from a printed seed.
struct Random(Gen);

impl Random {
    fn u64(&mut self) -> u64 {
        u64::arbitrary(&mut self.0)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.u64() % bound.max(1) as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| u8::arbitrary(&mut self.0)).collect()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| u8::arbitrary(&mut self.0))
    }

    /// Damages `bytes` in up to three ways: a flipped bit, a zeroed, copied or cut range.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..self.below(4) {
            if bytes.is_empty() {
                return;
            }
            let (at, from) = (self.below(bytes.len()), self.below(bytes.len()));
            let length = self.below(bytes.len() - at.max(from));
            match self.below(5) {
                0 | 1 => bytes[at] ^= 1 << self.below(8),
                2 => bytes[at..at + length].fill(0),
                3 => bytes.copy_within(from..from + length, at),
                _ => bytes.truncate(at),
            }
        }
    }
}

/// The rounds of one test: each has a seed of its own, printed when it fails.
struct Rounds {
    name: &'static str,
    first: u64,
}

impl Rounds {
    /// Begins at the seed in `HOLDPOINT_SEED`, or at one drawn from the process.
    fn new(name: &'static str) -> Self {
        let given = std::env::var("HOLDPOINT_SEED").ok().and_then(|text| text.parse().ok());
        Self { name, first: given.unwrap_or_else(process_entropy) }
    }

    fn each(&self, rounds: u64, mut round: impl FnMut(&mut Random)) {
        for number in 0..rounds {
            let seed = self.first.wrapping_add(number);
            let _printed = PrintOnPanic { name: self.name, seed };
            round(&mut Random(Gen::from_size_and_seed(64, seed)));
        }
    }
}

fn process_entropy() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0_u8)
}

struct PrintOnPanic {
    name: &'static str,
    seed: u64,
}

impl Drop for PrintOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: reproduce with HOLDPOINT_SEED={}", self.name, self.seed);
        }
    }
}
