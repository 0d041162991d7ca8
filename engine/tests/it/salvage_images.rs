//! Bytes that a captured output contains are never taken for records, however well they imitate
//! them and whatever is damaged around them.

use crate::damaged::{FIRST_RECORD, Forge, Forged, Salvaged, encode, event_of};
use holdpoint_log_format::{ChainPosition, ChecksumSeed, Link, LogId, Seal, names};

/// What every record of an image says.
const FORGERY: &[u8] = b"all is well, carry on";

/// How many records are there before the one that holds an image.
const BEFORE: u64 = 3;

/// What an output may contain.
#[derive(Clone, Copy, Debug)]
enum Imitation {
    /// Records of another log.
    Foreign,
    /// The very records that will be next, as somebody predicts who has read the log.
    Predicted,
    /// The same, one further: as if the record that holds them were a good one.
    Behind,
    /// The same, with a seal behind them.
    Sealed,
    /// A copy of the record that HEAD names, and records that follow it.
    Witnessed,
}

const IMITATIONS: [Imitation; 5] = [
    Imitation::Foreign,
    Imitation::Predicted,
    Imitation::Behind,
    Imitation::Sealed,
    Imitation::Witnessed,
];

/// What is done to the record that holds the image.
const DAMAGES: [&str; 5] = ["size", "payload", "link", "ends at the image", "all of the header"];

/// How far HEAD reaches.
const HEADS: [&str; 3] = ["newest", "before", "missing"];

#[test]
fn tamper_no_image_in_an_output_is_ever_salvaged_as_a_record() {
    let mut salvages = 0;
    for imitation in IMITATIONS {
        for damage in DAMAGES {
            for head in HEADS {
                for followers in [0, 2] {
                    for sealed in [false, true] {
                        check(imitation, damage, head, followers, sealed);
                        salvages += 1;
                    }
                }
            }
        }
    }
    assert_eq!(salvages, 300);
}

fn check(imitation: Imitation, damage: &str, head: &str, followers: u64, sealed: bool) {
    let what = format!("{imitation:?}, {damage}, HEAD {head}, {followers} more, {sealed}");
    let mut forge = log_with_image(imitation, followers, sealed);
    match head {
        "newest" => forge.witness(),
        "before" => forge.witness_at(BEFORE as usize),
        _ => drop(forge.files.remove(names::HEAD)),
    }
    let host = forge.record(BEFORE + 1);
    damage_host(&mut forge, &host, damage);
    let made = forge.salvaged();
    let payloads = made.payloads();
    assert!(payloads.iter().all(|payload| *payload != event_of(FORGERY)), "{what}");
    let kept = |sequence: u64| payloads.contains(&forge.record(sequence).payload);
    assert!((1..=BEFORE).all(kept), "{what}: {:?}", made.report);
    assert!(!kept(BEFORE + 1), "{what}");
    // What a mark ties is kept also behind the image; of the first one only where the link that
    // its content is proven by was left or can be computed.
    let is_tied = sealed || (head == "newest" && followers > 0);
    let first = BEFORE + 2 + u64::from(damage == "all of the header");
    let behind = (first..=BEFORE + 1 + followers).all(kept);
    assert!(behind || !is_tied, "{what}: {:?}", made.report);
    assert_host_is_copied(&made, &host, &forge);
}

/// Three records, one that holds an image, and more behind it; in a segment of its own when it is
/// sealed.
fn log_with_image(imitation: Imitation, followers: u64, sealed: bool) -> Forge {
    let payloads: Vec<Vec<u8>> = (0..BEFORE).map(|n| format!("before {n}").into_bytes()).collect();
    let mut plain = Forge::new(1);
    plain.add_segment(&payloads, false);
    let host_at = plain.record(BEFORE).end;
    let mut all = payloads;
    // Where it begins depends on its length alone.
    let length = image(imitation, &plain, 0).len();
    let before = event_of(&vec![0; length]).len() - length;
    all.push(image(imitation, &plain, host_at + 64 + before));
    all.extend((0..followers).map(|n| format!("behind {n}").into_bytes()));
    let mut forge = Forge::new(1);
    forge.add_segment(&all, sealed);
    if sealed {
        forge.add_segment(&[b"next segment".to_vec()], false);
    }
    forge
}

fn image(imitation: Imitation, log: &Forge, offset: usize) -> Vec<u8> {
    let seed = ChecksumSeed::new(log.log, 1);
    let chain = log.chain();
    let behind = ChainPosition { sequence: chain.sequence + 1, link: Link([6; 32]), ..chain };
    let mut bytes = Vec::new();
    match imitation {
        Imitation::Foreign => run(&mut bytes, LogId([2; 16]), seed, chain),
        Imitation::Predicted => run(&mut bytes, log.log, seed, chain),
        Imitation::Behind => run(&mut bytes, log.log, seed, behind),
        Imitation::Sealed => {
            let last = run(&mut bytes, log.log, seed, behind);
            let seal = Seal { last, offset: (offset + bytes.len()) as u64 };
            bytes.extend(seal.encode(seed));
            return bytes;
        }
        Imitation::Witnessed => {
            let third = log.record(BEFORE);
            let segment = &log.files[&log.names()[0]];
            bytes.extend(&segment[third.start..third.end]);
            run(&mut bytes, log.log, seed, chain)
        }
    };
    bytes
}

fn run(
    out: &mut Vec<u8>,
    log: LogId,
    seed: ChecksumSeed,
    mut chain: ChainPosition,
) -> ChainPosition {
    for _ in 0..3 {
        chain = encode(out, log, seed, chain, chain.time + 1, &event_of(FORGERY));
    }
    chain
}

fn damage_host(forge: &mut Forge, host: &Forged, damage: &str) {
    let bytes = forge.bytes(host);
    match damage {
        "size" => bytes[0] ^= 8,
        "payload" => bytes[70] ^= 1,
        "link" => bytes[40] ^= 1,
        "ends at the image" => bytes[..4].copy_from_slice(&64_u32.to_le_bytes()),
        _ => bytes[..64].fill(0),
    }
}

/// Every byte of the record that holds the image is in some copy.
fn assert_host_is_copied(made: &Salvaged, host: &Forged, forge: &Forge) {
    let covered = made.report.losses.iter().any(|loss| {
        let end = (loss.offset + loss.length) as usize;
        let last = forge.files[loss.file.as_str()][host.start..host.end]
            .iter()
            .rposition(|byte| *byte != 0);
        loss.offset as usize <= host.start && last.is_some_and(|last| host.start + last < end)
    });
    assert!(covered && host.start >= FIRST_RECORD, "{:?}", made.report.losses);
}
