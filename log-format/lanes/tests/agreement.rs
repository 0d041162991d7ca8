//! Whatever way hashes the messages, the digests are those of `sha2` and of FIPS 180-4.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test tells its story by its names")]

use holdpoint_sha256_lanes::{digest_each, digest_in_lanes};
use quickcheck::{Arbitrary, Gen};
use sha2::{Digest, Sha256};
use std::iter;

/// Longest message of the tests over every length, in bytes.
const LENGTH_MAX: usize = 4_096;

/// Bytes that differ from place to place.
fn bytes(count: usize) -> Vec<u8> {
    (0..count as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Asserts that every way, and the one that is chosen, agrees with `sha2` on these messages.
fn assert_agree(messages: &[&[u8]], context: &str) {
    let expected: Vec<[u8; 32]> = messages.iter().map(|m| Sha256::digest(m).into()).collect();
    let lengths = || messages.iter().map(|message| message.len()).collect::<Vec<_>>();
    let mut digests = vec![[0xee; 32]; messages.len()];
    if digest_in_lanes(messages, &mut digests) {
        assert_eq!(digests, expected, "in lanes, lengths {:?}, {context}", lengths());
    }
    let mut digests = vec![[0xee; 32]; messages.len()];
    digest_each(messages, &mut digests);
    assert_eq!(digests, expected, "chosen, lengths {:?}, {context}", lengths());
}

#[test]
fn every_length_alone_and_among_its_neighbours() {
    let bytes = bytes(LENGTH_MAX);
    let of = |length: usize| &bytes[..length];
    for length in 0..=LENGTH_MAX {
        assert_agree(&[of(length)], "alone");
        let next = (length + 1).min(LENGTH_MAX);
        assert_agree(&[of(length), of(next)], "a pair");
        // So many that four lanes are full, all of one length.
        assert_agree(&[of(length); 17], "equal");
    }
}

#[test]
fn lanes_of_sixteen_lengths_for_every_length() {
    let bytes = bytes(LENGTH_MAX);
    for first in (0..=LENGTH_MAX - 16).step_by(8) {
        let messages: Vec<&[u8]> = (0..16).map(|more| &bytes[..first + more]).collect();
        assert_agree(&messages, "neighbours");
    }
}

#[test]
fn every_number_of_messages_of_a_batch() {
    let bytes = bytes(LENGTH_MAX);
    for count in 0..=40 {
        for length in [0, 1, 55, 56, 63, 64, 65, 116, 119, 120, 128, 1_000] {
            let messages = vec![&bytes[..length]; count];
            assert_agree(&messages, "a batch of one length");
        }
        // The last ones are by far the longest: lanes run empty one by one.
        let messages: Vec<&[u8]> = (0..count).map(|at| &bytes[..at * at * 2]).collect();
        assert_agree(&messages, "growing");
        let messages: Vec<&[u8]> = (0..count).rev().map(|at| &bytes[..at * at * 2]).collect();
        assert_agree(&messages, "shrinking");
    }
}

#[test]
fn every_alignment_of_a_message() {
    let bytes = bytes(64 + 300);
    for length in [0, 3, 64, 116, 129, 300] {
        let messages: Vec<&[u8]> = (0..64).map(|at| &bytes[at..at + length]).collect();
        assert_agree(&messages, "every alignment");
    }
}

#[test]
fn mixed_lengths_at_random() {
    let seed = std::env::var("HOLDPOINT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::arbitrary(&mut Gen::new(8)));
    let mut gen_ = Gen::from_size_and_seed(256, seed);
    let bytes = bytes(LENGTH_MAX);
    for round in 0..300 {
        let count = usize::from(u8::arbitrary(&mut gen_)) % 60;
        let range = 1 << (u8::arbitrary(&mut gen_) % 13);
        let mut slice = || {
            let length = usize::from(u16::arbitrary(&mut gen_)) % range;
            let from = usize::from(u16::arbitrary(&mut gen_)) % (LENGTH_MAX - length);
            &bytes[from..from + length]
        };
        let messages: Vec<&[u8]> = iter::repeat_with(&mut slice).take(count).collect();
        assert_agree(&messages, &format!("round {round} of HOLDPOINT_SEED={seed}"));
    }
}

#[test]
fn the_shorter_of_messages_and_digests_counts() {
    let bytes = bytes(200);
    let messages = [&bytes[..]; 20];
    let expected: [u8; 32] = Sha256::digest(&bytes).into();
    let (mut few, mut many) = ([[0; 32]; 18], [[0xee; 32]; 22]);
    digest_each(&messages, &mut few);
    digest_each(&messages, &mut many);
    assert_eq!(few, [expected; 18]);
    assert_eq!(many[..20], [expected; 20]);
    assert_eq!(many[20..], [[0xee; 32]; 2], "what has no message is left alone");
}

#[test]
fn the_short_messages_of_the_standard() {
    // FIPS 180-4's examples, and from the short and long messages of NIST's validation (CAVP).
    let two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let million = vec![b'a'; 1_000_000];
    let cases: [(&[u8], &str); 8] = [
        (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (two_blocks.as_bytes(), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (&million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        (&[0xd3], "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"),
        (&[0x11, 0xaf], "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98"),
        (&[0xb4, 0x19, 0x0e], "dff2e73091f6c05e528896c4c831b9448653dc2ff043528f6769437bc7b975c2"),
        (
            &[0x74, 0xba, 0x25, 0x21],
            "b16aa56be3880d18cd41e68384cf1ec8c17680c45a02b1575dc1518923ae8b0e",
        ),
    ];
    let messages: Vec<&[u8]> = cases.iter().map(|(message, _)| *message).collect();
    // Three times over, so that the lanes are refilled.
    let messages = messages.repeat(3);
    let mut digests = vec![[0; 32]; messages.len()];
    digest_each(&messages, &mut digests);
    for (digest, (_, expected)) in digests.iter().zip(cases.iter().cycle()) {
        let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, *expected);
    }
}
