//! Header blocks and HEAD: what is wrong with one, where the checksum or its neighbours tell.

use super::cause::{Explained, one_bit, patched};
use super::region::{Cause, Certainty};
use super::syndrome::{Flip, single_flip};
use holdpoint_log_format::limits::HEAD_LENGTH;
use holdpoint_log_format::{Fault, Head, SegmentHeader};

/// Place where the checksum lies in a header block and in HEAD, in bits.
const CHECKSUM_AT: u64 = 12 * 8;

/// Returns what is wrong with a header block, where everything that it should say is known.
pub(super) fn compared(due: &SegmentHeader, found: &[u8]) -> Explained {
    let encoded = due.encode();
    let differs: Vec<u8> = encoded.iter().zip(found).map(|(due, found)| due ^ found).collect();
    let at = |place: Option<usize>| place.map_or(0, |place| place as u64);
    let first = at(differs.iter().position(|byte| *byte != 0));
    let last = at(differs.iter().rposition(|byte| *byte != 0)).saturating_add(1);
    if let Some((at, bit)) = one_bit(&differs) {
        return Explained::proven(Cause::FlippedBit { at, bit });
    }
    // Only with its checksum made anew does a block come to a field that no header has.
    if let Some(Err(Fault::Field { field, .. })) = found.first_chunk().map(SegmentHeader::decode) {
        return Explained::proven(Cause::Forged { field: field.to_string() });
    }
    let is_zero = differs.iter().zip(found).all(|(differs, found)| *differs == 0 || *found == 0);
    match is_zero {
        true => {
            let sectors = last.div_ceil(super::cause::SECTOR) - first / super::cause::SECTOR;
            Explained::proven(Cause::Zeroed { from: first, to: last, sectors })
        }
        false => {
            let found = format!("bytes {first} to {last} of the header differ from what is due");
            Explained::new(Cause::Unknown { found }, Certainty::Open)
        }
    }
}

/// Returns what is wrong with a block that has its checksum at byte 12, by that checksum alone;
/// `holds` says whether a block is good.
pub(super) fn by_checksum(
    block: &[u8],
    fault: &Fault,
    holds: &dyn Fn(&[u8]) -> bool,
) -> Option<Explained> {
    let Fault::Checksum { expected, found } = *fault else { return None };
    let covered = (block.len() as u64).saturating_sub(4);
    let place = match single_flip(expected ^ found, covered)? {
        Flip::Covered(byte @ 0..12, bit) => byte * 8 + u64::from(bit),
        Flip::Covered(byte, bit) => (byte + 4) * 8 + u64::from(bit),
        Flip::Checksum(bit) => CHECKSUM_AT + u64::from(bit),
    };
    let at = usize::try_from(place / 8).ok()?;
    let byte = *block.get(at)? ^ 1 << (place % 8);
    let bit = u8::try_from(place % 8).unwrap_or_default();
    holds(&patched(block, at, &[byte]))
        .then(|| Explained::proven(Cause::FlippedBit { at: at as u64, bit }))
}

/// Returns what is wrong with a HEAD that does not decode.
pub(super) fn head(bytes: &[u8], fault: &Fault) -> Explained {
    let length = bytes.len() as u64;
    let explained = by_checksum(bytes, fault, &|bytes| Head::decode(bytes).is_ok());
    explained.unwrap_or_else(|| match (length, bytes.iter().all(|byte| *byte == 0)) {
        (0..HEAD, _) => Explained::proven(Cause::Truncated),
        (_, true) => {
            let cause = Cause::Zeroed { from: 0, to: length, sectors: 0 };
            Explained::proven(cause)
        }
        _ => unknown(fault),
    })
}

const HEAD: u64 = HEAD_LENGTH as u64;

/// Returns what is wrong, in words.
pub(super) fn unknown(found: &dyn std::fmt::Display) -> Explained {
    Explained::new(Cause::Unknown { found: found.to_string() }, Certainty::Open)
}
