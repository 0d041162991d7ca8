//! Each way to hash many messages, against `sha2` alone on the same messages in the same run.

#![allow(clippy::unwrap_used, reason = "a helper that fails, fails the bench")]

use criterion::{BenchmarkId, Criterion, Throughput};
use holdpoint_sha256_lanes::{digest_each, digest_in_lanes};
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::iter;
use std::time::Instant;

/// Bytes that are hashed at once: they lie in the second-level cache, as records do that were just
/// read.
const TOTAL: usize = 512 * 1_024;

/// Pairs of runs of which the median of the ratios is printed.
const PAIRS: usize = 101;

/// Way to hash many messages.
type Way = fn(&[&[u8]], &mut [[u8; 32]]);

/// Ways that are compared; lanes hash one by one where this processor has none.
const WAYS: [(&str, Way); 3] =
    [("one by one", one_by_one), ("lanes", in_lanes), ("chosen", digest_each)];

fn one_by_one(messages: &[&[u8]], digests: &mut [[u8; 32]]) {
    let work = messages.iter().zip(digests);
    work.for_each(|(message, digest)| *digest = Sha256::digest(message).into());
}

fn in_lanes(messages: &[&[u8]], digests: &mut [[u8; 32]]) {
    if !digest_in_lanes(messages, digests) {
        one_by_one(messages, digests);
    }
}

/// What the messages are called, and how long they are.
type Case = (String, Vec<usize>);

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let cases = cases();
    for (name, lengths) in &cases {
        let bytes = bytes(lengths.iter().sum());
        let messages = split(&bytes, lengths);
        let mut digests = vec![[0; 32]; messages.len()];
        let mut group = criterion.benchmark_group(format!("sha256 of {name}"));
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        for (way, hash) in WAYS {
            group.bench_function(BenchmarkId::from_parameter(way), |bencher| {
                bencher.iter(|| hash(black_box(&messages), &mut digests));
            });
        }
        group.finish();
    }
    criterion.final_summary();
    cases.iter().for_each(|(name, lengths)| print_ratios(name, lengths));
    (2..=40).for_each(|count| print_ratios(&format!("batch of {count}"), &vec![320; count]));
}

/// Messages of one length, of mixed lengths, and of very different ones.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for length in [64, 116, 256, 1_024, 4_096, 65_536] {
        cases.push((format!("{length} bytes"), vec![length; TOTAL / length]));
    }
    let mut random = random();
    let mut fill = |name: &str, length: &mut dyn FnMut(usize) -> usize| {
        let mut rest = TOTAL;
        let lengths = iter::from_fn(|| {
            let length = length(random.next().unwrap()).min(rest);
            rest -= length;
            (rest > 0).then_some(length)
        });
        cases.push((name.to_string(), lengths.collect()));
    };
    fill("64 to 512 bytes", &mut |random| 64 + random % 449);
    fill("64 to 4096 bytes", &mut |random| 64 + random % 4_033);
    fill("up to 64 KiB, most of them short", &mut |random| (random >> 8) % (1 << (random % 17)));
    cases
}

/// The same numbers in every run.
fn random() -> impl Iterator<Item = usize> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize
    })
}

fn bytes(count: usize) -> Vec<u8> {
    random().map(|random| random as u8).take(count).collect()
}

fn split<'b>(mut bytes: &'b [u8], lengths: &[usize]) -> Vec<&'b [u8]> {
    let take = |length: &usize| bytes.split_off(..*length).unwrap();
    lengths.iter().map(take).collect()
}

/// Prints how many times as fast as `sha2` alone each way is: the median over pairs of runs.
fn print_ratios(name: &str, lengths: &[usize]) {
    let bytes = bytes(lengths.iter().sum());
    let messages = split(&bytes, lengths);
    let mut digests = vec![[0; 32]; messages.len()];
    let repeats = TOTAL.div_ceil(4 * bytes.len());
    let mut seconds = |run: &mut dyn FnMut(&mut [[u8; 32]])| {
        let start = Instant::now();
        (0..repeats).for_each(|_| run(&mut digests));
        start.elapsed().as_secs_f64() / repeats as f64
    };
    let mut line = format!("{name:>34}");
    let mut alone = |digests: &mut [[u8; 32]]| one_by_one(black_box(&messages), digests);
    for (name, hash) in WAYS {
        let mut ours = |digests: &mut [[u8; 32]]| hash(black_box(&messages), digests);
        let pairs = iter::repeat_with(|| (seconds(&mut alone), seconds(&mut ours)));
        let (mut ratios, mut ours): (Vec<f64>, Vec<f64>) =
            pairs.take(PAIRS).map(|(alone, ours)| (alone / ours, ours)).unzip();
        let rate = bytes.len() as f64 / median(&mut ours) / 1e9;
        line += &format!(" | {name} {rate:.2} GB/s x{:.2}", median(&mut ratios));
    }
    println!("{line}");
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap()
}
