//! A whole directory, as the target `directory` makes one: its damage mapped.

use super::damage::Damage;
use super::image::Image;
use super::written::Written;
use arbitrary::Unstructured;
use holdpoint_engine::log::Storage;
use holdpoint_replay::damage::{Cause, REGIONS_MAX};
use holdpoint_replay::{ReadError, ReadOptions, Report, VerifyRequest, verify, verify_asked};

/// Most bytes of a map as JSON: each region and each stretch takes less than this.
const ENTRY_BYTES_MAX: usize = 2_048;

/// Makes a directory as the input says, maps it, and asserts what must hold whatever it is.
pub fn read(bytes: &[u8]) {
    // An input that is used up says nothing more.
    let _ = try_read(&mut Unstructured::new(bytes));
}

fn try_read(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let written = Written::plan(input)?;
    let mut image = Image::of(&written, input)?;
    let is_forged = Damage::happen(&mut image, &written, input)?;
    let disk = image.disk();
    let options = ReadOptions::new(disk.boot(), &|| Ok(false));
    let asked = VerifyRequest { map: true, ..VerifyRequest::default() };
    let Ok(report) = verify_asked(&disk, options, &asked, &mut |_| {}) else {
        return Ok(());
    };
    check_report(&report, must(verify(&disk, options, &mut |_| {})));
    check_map(&report, &written, is_forged);
    let asked = VerifyRequest { fail_fast: true, ..VerifyRequest::default() };
    let first = must(verify_asked(&disk, options, &asked, &mut |_| {}));
    assert_eq!(first.verdict.is_of_damage(), report.verdict.is_of_damage());
    assert!(first.findings.len() <= 1);
    Ok(())
}

fn must(read: Result<Report, ReadError>) -> Report {
    read.unwrap_or_else(|error| unreachable!("memory was read before: {error}"))
}

/// To map is to verify, and say more.
fn check_report(mapped: &Report, mut plain: Report) {
    plain.damage.clone_from(&mapped.damage);
    assert_eq!(mapped, &plain);
}

fn check_map(report: &Report, written: &Written, is_forged: bool) {
    let map = report.damage.as_ref().expect("it was asked for");
    assert!(!report.verdict.is_of_damage() || !map.is_whole(), "{:?}", report.findings);
    assert!(map.regions.len() <= REGIONS_MAX && map.stretches.len() <= REGIONS_MAX);
    let length = serde_json::to_string(map).map_or(usize::MAX, |json| json.len());
    let entries = map.regions.len() + map.stretches.len() + map.segments.len() + 1;
    assert!(length <= entries * ENTRY_BYTES_MAX, "{length} bytes for {entries} entries");
    let newest = written.chain().sequence;
    for stretch in &map.stretches {
        assert!(stretch.first <= stretch.last, "{stretch:?}");
        assert!(is_forged || stretch.last <= newest, "{stretch:?} of {newest}");
    }
    for region in &map.regions {
        assert!(region.records.is_none_or(|records| records.first <= records.last), "{region:?}");
        let is_seam = matches!(region.cause, Cause::Rechained { .. } | Cause::ForgedOrRechained);
        assert!(!is_seam || region.records.is_none(), "{region:?}");
    }
}
