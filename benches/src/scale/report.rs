//! What was measured, for a reader.

use super::look::Look;
use super::picture::{bytes_shown, time_shown};
use super::result::{InboxPoint, LookPoint, Percentiles, Point, Ratio, Scale, Spread};
use super::run::GIVE_BACK;
use crate::svg::count;

/// Writes a point's value.
type Cell = fn(&Point) -> String;

/// The rows: what it is, and its value at a length.
const ROWS: &[(&str, Cell)] = &[
    ("private memory, writer", |p| once(&bytes_shown(p.writer_memory_bytes as f64))),
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
    ("state behind half of the records", |p| once(&time_shown(p.travel))),
    ("writing the history, each record", |p| once(&time_shown(p.write_each))),
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
         given again. {} rounds that count, in which logs of all lengths take turns. Values are \
         medians of the rounds; +- is the interquartile range in percent, and `once` is what was \
         measured once; percentiles are of all rounds together, and the +- behind a p50 is that \
         of the rounds' own. Where a segment is small beside the log, a log is written on until \
         its active segment is nearly full, which is the slowest case for whatever reads it. The \
         writer runs with `{}={}`: its memory is what it uses, without \
         what the C library keeps of what was freed.\n\n",
        scale.live, scale.seed, scale.rounds, GIVE_BACK.0, GIVE_BACK.1
    );
    let (long, short) = (count(scale.long as f64), count(scale.short as f64));
    out += &format!("| {long} over {short} | |\n| --- | --- |\n");
    scale.ratios.iter().for_each(|ratio| out += &compared(ratio));
    out += "\n| records |";
    scale.points.iter().for_each(|point| out += &format!(" {} |", count(point.records as f64)));
    out += "\n| --- |";
    scale.points.iter().for_each(|_| out += " --- |");
    let mut row = |name: &str, cell: &dyn Fn(&Point) -> String| {
        out += &format!("\n| {name} |");
        scale.points.iter().for_each(|point| out += &format!(" {} |", cell(point)));
    };
    ROWS.iter().for_each(|(name, cell)| row(name, cell));
    for verb in Look::ALL {
        row(verb.name(), &|point| point.look(verb).map_or_else(String::new, look));
    }
    out += "\n\n";
    out += LOOKS;
    if let Some(InboxPoint { logs, questions, look: waits }) = &scale.inbox {
        out += &format!("`inbox`, {logs} logs with {questions} questions: {}.\n\n", look(waits));
    }
    for picture in pictures {
        out += &format!("![{0}](curves/{0})\n", picture);
    }
    out
}

/// How verbs are measured.
const LOOKS: &str = "\
The verbs are those of the program, each in a process of its own: the time is from before it is \
started to its end, beside which the first verb is the start alone; the memory is the private one \
at its end, and the most that the process had in all, with what was mapped of files.\n\n";

fn compared(ratio: &Ratio) -> String {
    let Ratio { figure, unit, value, .. } = ratio;
    format!("| {figure} | {:.2} {unit} ({}) |\n", value.median, noise(value.noise_percent))
}

fn noise(percent: Option<f64>) -> String {
    percent.map_or_else(|| "once".to_string(), |percent| format!("+-{percent:.0} %"))
}

fn once(value: &str) -> String {
    format!("{value} (once)")
}

fn spread(spread: &Spread) -> String {
    format!("{} ({})", time_shown(spread.median), noise(spread.noise_percent))
}

fn look(point: &LookPoint) -> String {
    let bytes = |spread: &Spread| bytes_shown(spread.median);
    let (private, peak) = (bytes(&point.private_memory_bytes), bytes(&point.peak_memory_bytes));
    format!("{}, {private}, {peak}", spread(&point.time))
}

fn two(percentiles: &Percentiles) -> String {
    let Percentiles { p50, p50_noise_percent, p99, .. } = percentiles;
    let noise = noise(*p50_noise_percent);
    format!("{} ({noise}), {}", time_shown(*p50), time_shown(*p99))
}

fn tail(percentiles: &Percentiles) -> String {
    format!("{}, {}", time_shown(percentiles.p999), time_shown(percentiles.max))
}
