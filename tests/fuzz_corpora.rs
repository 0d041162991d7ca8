//! The corpora of the fuzz targets, replayed without a fuzzer: what once was interesting stays
//! harmless.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails where it cannot read")]

#[allow(unreachable_pub, reason = "it is public in the fuzz crate, which shares the file")]
#[path = "../fuzz/src/segment.rs"]
mod segment;

use std::path::Path;

fn replay(target: &str, read: fn(&[u8])) -> usize {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&corpus).expect("the corpus is part of the repository");
    entries.map(|entry| read(&std::fs::read(entry.unwrap().path()).unwrap())).count()
}

#[test]
fn every_segment_of_the_corpus_is_read_without_a_panic() {
    assert!(replay("segment", segment::read) >= 4);
}
