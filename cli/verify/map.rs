//! The damage map, as a person sees it: a bar, the damaged places, what holds, what would be kept.

use crate::output::Output;
use crate::text::{bytes, counted};
use anstyle::AnsiColor;
use holdpoint_domain::text::visible;
use holdpoint_replay::DamageMap;
use holdpoint_replay::damage::{Certainty, Records, Region, Stretch};

/// Regions and stretches shown to a person; `--json` shows all.
const SHOWN_MAX: usize = 20;

/// Columns of the bar.
const BAR_WIDTH: u64 = 64;

/// Shows a map.
pub(super) fn show(out: &mut Output, map: &DamageMap) {
    let total = map.regions.len() as u64 + map.regions_left_out;
    out.line(format_args!("damage map      {}", counted(total, "damaged place")));
    show_bar(out, map);
    for (region, number) in map.regions.iter().zip(1_u64..).take(SHOWN_MAX) {
        show_region(out, number, region);
    }
    show_more(out, total);
    let stretches = map.stretches.len() as u64 + map.stretches_left_out;
    for (stretch, name) in map.stretches.iter().zip(names("holds")).take(SHOWN_MAX) {
        out.line(format_args!("{name:<16}{}", held(stretch)));
    }
    show_more(out, stretches);
    let salvage = &map.salvage;
    out.line(format_args!(
        "salvage keeps   {}; {} known to be lost, {} not kept",
        counted(salvage.records_kept, "record"),
        counted(salvage.records_lost, "record"),
        bytes(salvage.bytes_not_kept)
    ));
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
    match records.count() {
        1 => format!("record {}", records.first),
        _ => format!("records {} to {}", records.first, records.last),
    }
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

fn show_more(out: &mut Output, total: u64) {
    if let Some(more) = total.checked_sub(SHOWN_MAX as u64).filter(|more| *more > 0) {
        out.line(format_args!("  ... and {more} more, which --json shows"));
    }
}

/// One cell for each part of what was written: `=` holds, `X` is damaged, `|` begins a segment.
fn show_bar(out: &mut Output, map: &DamageMap) {
    let used: u64 = map.segments.iter().map(|segment| segment.used).sum();
    if used == 0 {
        return;
    }
    let width = BAR_WIDTH.min(used);
    let cells: Vec<Cell> = (0..width)
        .map(|cell| {
            let at =
                |cell: u64| u64::try_from(u128::from(used) * u128::from(cell) / u128::from(width));
            cell_of(map, at(cell).unwrap_or(used), at(cell + 1).unwrap_or(used))
        })
        .collect();
    let bar: String = cells.iter().map(|cell| cell.painted(out)).collect();
    out.line(format_args!("  [{bar}]"));
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Held,
    Border,
    Damaged,
}

impl Cell {
    fn painted(self, out: &Output) -> String {
        match self {
            Self::Held => out.paint(AnsiColor::Green.on_default(), '='),
            Self::Border => out.paint(AnsiColor::Green.on_default(), '|'),
            Self::Damaged => out.paint(AnsiColor::Red.on_default().bold(), 'X'),
        }
    }
}

/// What the bytes `from..to` show, counted through all segments as far as they are written.
fn cell_of(map: &DamageMap, from: u64, to: u64) -> Cell {
    let mut begins = 0;
    let mut cell = Cell::Held;
    for segment in &map.segments {
        let (start, end) = (begins, begins + segment.used);
        begins = end;
        if end <= from || start >= to {
            continue;
        }
        if start >= from {
            cell = Cell::Border;
        }
        let (first, last) = (from.max(start) - start, to.min(end) - start);
        let is_here = |region: &Region| {
            let at = region.offset.min(segment.used.saturating_sub(1));
            region.file == segment.file && at < last && region.end().max(at + 1) > first
        };
        if map.regions.iter().any(is_here) {
            return Cell::Damaged;
        }
    }
    cell
}
