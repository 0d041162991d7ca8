//! What was measured, for a reader.

use super::picture::{bytes_shown, time_shown};
use super::result::{Percentiles, Point, Scale, Spread};
use super::run::GIVE_BACK;
use crate::svg::count;

/// Writes a point's value.
type Cell = fn(&Point) -> String;

/// The rows: what it is, and its value at a length.
const ROWS: &[(&str, Cell)] = &[
    ("private memory, writer", |p| bytes_shown(p.writer_memory_bytes as f64)),
    ("private memory, opener", |p| bytes_shown(p.opener_memory_bytes as f64)),
    ("clean open, beyond process start", |p| spread(&p.open_clean)),
    ("clean open, as the process sees it", |p| spread(&p.open_clean_inside)),
    ("clean open, time on a CPU", |p| spread(&p.open_clean_cpu)),
    ("then asking for all that lives", |p| spread(&p.ask_all)),
    ("- the log without the state", |p| spread(&p.open_log)),
    ("- reading the snapshot", |p| spread(&p.open_read)),
    ("- its fingerprint", |p| spread(&p.open_fingerprint)),
    ("- decoding it", |p| spread(&p.open_decode)),
    ("open after a kill", |p| spread(&p.open_crashed)),
    ("append, written: p50, p99", |p| two(&p.append_os)),
    ("append, written: p99.9, max", |p| tail(&p.append_os)),
    ("append, synced: p50, p99", |p| two(&p.append_durable)),
    ("append, synced: p99.9, max", |p| tail(&p.append_durable)),
    ("first key of long ago after opening", |p| spread(&p.look_up_first)),
    ("a key of long ago: p50, p99", |p| two(&p.look_up_old)),
    ("a key that nobody used: p50, p99", |p| two(&p.look_up_new)),
    ("state behind half of the records", |p| time_shown(p.travel)),
    ("writing the history, each record", |p| time_shown(p.write_each)),
    ("segments, each record", |p| format!("{:.0} B", p.segment_bytes_each)),
    ("indexes, each record", |p| format!("{:.1} B", p.index_bytes_each)),
    ("newest snapshot", |p| bytes_shown(p.snapshot_bytes as f64)),
];

/// The section on scale, as Markdown. Pictures are looked for in `curves/` beside it.
#[must_use]
pub fn markdown(scale: &Scale, pictures: &[&str]) -> String {
    let mut out = String::from("## Scale\n\n");
    out += &format!(
        "Histories with {} live entities at any time, seed {}: execution loops with evidence, \
         faults and retries, holds, decision points, conversations with interruptions, and keys \
         given again. {} rounds in which logs of all lengths take turns; medians, with their \
         interquartile range. The writer runs with `{}={}`: its memory is what it uses, without \
         what the C library keeps of what was freed.\n\n",
        scale.live, scale.seed, scale.rounds, GIVE_BACK.0, GIVE_BACK.1
    );
    out += "| bar | at most | measured | |\n| --- | --- | --- | --- |\n";
    for ratio in &scale.ratios {
        let verdict = if ratio.passes() { "PASS" } else { "MISSED" };
        let Spread { median, noise_percent } = ratio.value;
        out += &format!(
            "| {} | {} {} | {median:.2} {} (+-{noise_percent:.0} %) | {verdict} |\n",
            ratio.figure, ratio.at_most, ratio.unit, ratio.unit
        );
    }
    out += "\n| records |";
    scale.points.iter().for_each(|point| out += &format!(" {} |", count(point.records as f64)));
    out += "\n| --- |";
    scale.points.iter().for_each(|_| out += " --- |");
    for (name, cell) in ROWS {
        out += &format!("\n| {name} |");
        scale.points.iter().for_each(|point| out += &format!(" {} |", cell(point)));
    }
    out += "\n\n";
    for picture in pictures {
        out += &format!("![{0}](curves/{0})\n", picture);
    }
    out
}

fn spread(spread: &Spread) -> String {
    format!("{} (+-{:.0} %)", time_shown(spread.median), spread.noise_percent)
}

fn two(percentiles: &Percentiles) -> String {
    format!("{}, {}", time_shown(percentiles.p50), time_shown(percentiles.p99))
}

fn tail(percentiles: &Percentiles) -> String {
    format!("{}, {}", time_shown(percentiles.p999), time_shown(percentiles.max))
}
