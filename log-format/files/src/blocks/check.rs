//! Checking a block: frames one after another, then the digests of all payloads and the links of
//! all records in lanes, then the places in order.

use super::cut::Block;
use super::workers::{Room, Workers};
use holdpoint_log_format::link::{PREIMAGE_LENGTH, preimage};
use holdpoint_log_format::{Fault, Link, Record, RecordHeader};
use holdpoint_sha256_lanes::digest_each;

/// A block whose records are checked.
pub(super) struct Checked<T> {
    /// The block.
    pub(super) block: Block,
    /// The headers of its first records, as far as they are valid.
    pub(super) valid: Vec<RecordHeader>,
    /// Result made of each of these.
    pub(super) made: Vec<T>,
    /// Fault of the record behind them, if the block has one.
    pub(super) fault: Option<Fault>,
    /// The thread that checked it.
    pub(super) thread: usize,
}

/// Checks the records of a block, given that the one before them holds, in a room that is empty.
pub(super) fn check<T>(
    block: Block,
    thread: usize,
    room: Room<T>,
    workers: &Workers<'_, T>,
) -> Checked<T> {
    let Room { headers: mut valid, mut made, .. } = room;
    let frame_fault = block.decode_frames(&mut valid).err();
    let place_fault = block.check_places(&mut valid).err();
    let records = valid.iter().zip(&block.records);
    made.extend(records.map(|(header, cut)| {
        let payload = block.payload(cut, header);
        workers.make(&block.place(cut), &Record { header: header.clone(), payload })
    }));
    workers.complete(&mut made);
    Checked { block, valid, made, fault: place_fault.or(frame_fault), thread }
}

impl Block {
    /// Adds the headers of the records whose frames hold, up to the first one that does not.
    fn decode_frames(&self, headers: &mut Vec<RecordHeader>) -> Result<(), Fault> {
        let seed = self.header.seed();
        for cut in &self.records {
            headers.push(Record::decode(self.frame(cut), seed)?.header);
        }
        Ok(())
    }

    /// Leaves the headers of the records that follow from each other, up to the first one that
    /// does not.
    fn check_places(&self, headers: &mut Vec<RecordHeader>) -> Result<(), Fault> {
        let links = self.links_due(headers);
        let mut chain = self.before;
        for (index, (header, link)) in headers.iter().zip(links).enumerate() {
            match chain.advance_by(header, || Link(link)) {
                Ok(next) => chain = next,
                Err(fault) => {
                    headers.truncate(index);
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    /// The link that each record must carry, after the link that the one before it carries.
    fn links_due(&self, headers: &[RecordHeader]) -> Vec<[u8; 32]> {
        let digests = self.digests(headers);
        let before = std::iter::once(&self.before.link);
        let previous = before.chain(headers.iter().map(|header| &header.link));
        let preimages: Vec<[u8; PREIMAGE_LENGTH]> = headers
            .iter()
            .zip(&digests)
            .zip(previous)
            .map(|((header, digest), link)| preimage(self.header.log, header, digest, link))
            .collect();
        let messages: Vec<&[u8]> =
            preimages.iter().map(<[u8; PREIMAGE_LENGTH]>::as_slice).collect();
        let mut links = digests;
        digest_each(&messages, &mut links);
        links
    }

    /// The digest of each payload; a withheld one is its digest.
    fn digests(&self, headers: &[RecordHeader]) -> Vec<[u8; 32]> {
        let records = headers.iter().zip(&self.records);
        let payloads: Vec<&[u8]> = records.map(|(header, cut)| self.payload(cut, header)).collect();
        let mut digests = vec![[0; 32]; headers.len()];
        digest_each(&payloads, &mut digests);
        for ((header, payload), digest) in headers.iter().zip(payloads).zip(&mut digests) {
            if let (true, Ok(withheld)) = (header.flags.withheld(), payload.try_into()) {
                *digest = withheld;
            }
        }
        digests
    }
}
