//! The damage map, as a person sees it: a bar, the damaged places, what holds, what would be kept.

use crate::ui::text::bytes;
use crate::ui::{Output, counted};
use anstyle::AnsiColor;
use holdpoint_domain::core::text::visible;
use holdpoint_replay::damage::{Certainty, Picture, Records, Region, SalvageYield, Stretch};
use holdpoint_replay::{DamageMap, records_named};

/// Regions and stretches shown to a person.
const SHOWN_MAX: usize = 20;

/// Shows a map.
pub(super) fn show(out: &mut Output, map: &DamageMap) {
    let total = map.regions.len() as u64 + map.regions_left_out;
    out.line(format_args!("damage map      {}", counted(total, "damaged place")));
    show_bar(out, &map.picture);
    for (region, number) in map.regions.iter().zip(1_u64..).take(SHOWN_MAX) {
        show_region(out, number, region);
    }
    show_more(out, total, map.regions_left_out);
    let stretches = map.stretches.len() as u64 + map.stretches_left_out;
    for (stretch, name) in map.stretches.iter().zip(names("holds")).take(SHOWN_MAX) {
        out.line(format_args!("{name:<16}{}", held(stretch)));
    }
    show_more(out, stretches, map.stretches_left_out);
    show_salvage(out, &map.salvage);
}

fn show_salvage(out: &mut Output, salvage: &SalvageYield) {
    out.line(format_args!(
        "salvage keeps   {}; {} known to be lost, {} not kept",
        counted(salvage.records_kept, "record"),
        counted(salvage.records_lost, "record"),
        bytes(salvage.bytes_not_kept)
    ));
    if let Some(sequence) = salvage.unknown {
        out.line(format_args!(
            "{:<16}by a newer program alone: record {sequence} is of an unknown kind",
            ""
        ));
    }
    if salvage.records_unproven > 0 {
        let unproven = counted(salvage.records_unproven, "record");
        out.line(format_args!("{:<16}without proof, and says so: {unproven}", ""));
    }
}

fn show_region(out: &mut Output, number: u64, region: &Region) {
    let records = region.records.map(|records| format!(", {}", named(records)));
    out.line(format_args!(
        "  {number}. {}, bytes {} to {}{}: {}",
        visible(&region.file),
        region.offset,
        region.end(),
        records.unwrap_or_default(),
        region.cause.name()
    ));
    let certainty = match region.certainty {
        Certainty::Open => String::new(),
        certainty => format!(" ({certainty})"),
    };
    out.line(format_args!("     {}{certainty}", visible(&region.cause.to_string())));
}

fn named(records: Records) -> String {
    records_named(records.first, records.last)
}

fn held(stretch: &Stretch) -> String {
    let records = named(Records { first: stretch.first, last: stretch.last });
    let before = match stretch.from_beginning {
        true => "the chain leads to them from the beginning",
        false => "cut off from what is before",
    };
    let witness = match (stretch.witness, stretch.witnessed_to) {
        (Some(witness), Some(to)) => format!("{witness} names record {to}"),
        _ => "no witness names one of them".to_string(),
    };
    format!("{records}: {before}; {witness}")
}

/// The name on the first line alone.
fn names(first: &'static str) -> impl Iterator<Item = &'static str> {
    std::iter::once(first).chain(std::iter::repeat(""))
}

/// Says how many more there are than the few of `total` that are shown, and how many of those
/// `--json` lists: what is `left_out` is only counted.
fn show_more(out: &mut Output, total: u64, left_out: u64) {
    let more = total.saturating_sub(SHOWN_MAX as u64);
    match (more, left_out) {
        (0, _) => {}
        (_, 0) => out.line(format_args!("  ... and {more} more, which --json shows")),
        _ => out.line(format_args!(
            "  ... and {more} more: {} of them with --json, the other {left_out} only counted",
            more.saturating_sub(left_out)
        )),
    }
}

/// One cell for each part of what was written: `=` holds, `X` is damaged, `|` begins a segment.
fn show_bar(out: &mut Output, picture: &Picture) {
    let elsewhere = match picture.elsewhere {
        0 => String::new(),
        places => format!(" and {} outside of the segments", counted(places, "damaged place")),
    };
    if !picture.bar.is_empty() {
        let bar: String = picture.bar.chars().map(|cell| painted(out, cell)).collect();
        out.line(format_args!("  [{bar}]{elsewhere}"));
    }
}

fn painted(out: &Output, cell: char) -> String {
    match cell {
        Picture::DAMAGED => out.paint(AnsiColor::Red.on_default().bold(), cell),
        _ => out.paint(AnsiColor::Green.on_default(), cell),
    }
}
