//! Records of a command while it runs.

use super::{LOOP, at, digest};
use holdpoint_domain::Event;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptured, EvidenceContent, EvidenceType, ObservationPoint, OutputEnd, OutputGap,
    OutputPieces, OutputRecorded, OutputStream, ResourceSnapshot,
};

/// A piece, another one behind a gap, and what evidence states of both, with the end of the stream
/// and without.
pub(super) fn output_pieces() -> Vec<Event> {
    let piece = |offset, raw_data: &[u8], gap| OutputRecorded {
        loop_id: LOOP.into(),
        attempt: 1,
        stream: OutputStream::Stdout,
        offset,
        first_byte_at: at(5),
        raw_data: RawData::from(raw_data.to_vec()).into(),
        gap,
    };
    let running_sha256 = sha256(b"abcdefghij");
    let gap = OutputGap { length: 7, running_sha256 };
    let stated = |end| {
        let stated = OutputPieces {
            stream: OutputStream::Stdout,
            pieces: 2,
            kept_length: 3,
            pieces_hash: digest(19),
            end,
        };
        let raw_data = RawData::from(stated.spelled_out());
        evidence(7, EvidenceType::ExecutorOutput, raw_data, EvidenceContent::OutputPieces(stated))
    };
    let end = OutputEnd { true_length: 10, whole_sha256: running_sha256 };
    let pieces = [piece(0, b"ab", None), piece(9, b"j", Some(gap))].map(Event::from);
    pieces.into_iter().chain([stated(Some(end)), stated(None)]).collect()
}

/// The processes of an attempt while it ran.
pub(super) fn resource_snapshot() -> Event {
    let snapshot = ResourceSnapshot {
        attempt: 1,
        taken_at: at(6),
        ran_ns: 2_000_000_001,
        processes: 3,
        resident_bytes: 1 << 20,
        user_cpu_ns: 1_500_000_000,
        system_cpu_ns: 20_000_000,
    };
    let raw_data = RawData::from(snapshot.spelled_out());
    evidence(8, EvidenceType::ResourceSnapshot, raw_data, EvidenceContent::Snapshot(snapshot))
}

/// Evidence of one kind before an attempt is evaluated.
pub(super) fn evidence(
    index: u64,
    evidence_type: EvidenceType,
    raw_data: RawData,
    content: EvidenceContent,
) -> Event {
    let captured = EvidenceCaptured {
        loop_id: LOOP.into(),
        chain_id: "CHAIN-1".into(),
        index,
        record_id: format!("REC-{index}").into(),
        observation_point: ObservationPoint::PreEvaluate,
        evidence_type,
        timestamp: "2026-01-25T16:00:00.000000000Z".into(),
        raw_data: raw_data.into(),
        prior_hash: digest(3).to_string().into(),
        self_hash: digest(4).to_string().into(),
        injective_hash: digest(5),
        content,
        offered: None,
    };
    captured.into()
}
