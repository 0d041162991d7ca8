//! The curves of a run.

use super::result::{Point, Scale};
use crate::svg::{Curve, Series};

/// File names and documents.
#[must_use]
pub fn curves(scale: &Scale) -> Vec<(&'static str, String)> {
    let line = |name: &str, value: fn(&Point) -> f64| Series {
        name: name.to_string(),
        points: scale.points.iter().map(|point| (point.records as f64, value(point))).collect(),
    };
    let memory = vec![
        line("writer", |point| point.writer_memory_bytes as f64),
        line("opener", |point| point.opener_memory_bytes as f64),
    ];
    let open = vec![
        line("clean", |point| point.open_clean.median),
        line("after a kill", |point| point.open_crashed.median),
    ];
    let append =
        vec![line("p50", |point| point.append_os.p50), line("p99", |point| point.append_os.p99)];
    let durable = vec![
        line("p50", |point| point.append_durable.p50),
        line("p99", |point| point.append_durable.p99),
    ];
    let look_up = vec![
        line("a key of long ago", |point| point.look_up_old.p50),
        line("a new key", |point| point.look_up_new.p50),
    ];
    let bytes = vec![
        line("segments", |point| point.segment_bytes_each),
        line("indexes", |point| point.index_bytes_each),
    ];
    let drawn = |name, title: &str, shown: fn(f64) -> String, series| {
        (name, Curve { title: title.to_string(), shown, series }.svg())
    };
    vec![
        drawn("memory.svg", "Private memory, by records of the log", bytes_shown, memory),
        drawn("open.svg", "Opening, beyond the start of a process", time_shown, open),
        drawn("append.svg", "One append, written to the file", time_shown, append),
        drawn("append-durable.svg", "One append, synced", time_shown, durable),
        drawn("look-up.svg", "A command under a key", time_shown, look_up),
        drawn("bytes.svg", "Bytes on the disk for each record", bytes_shown, bytes),
    ]
}

/// `1.5 ms`, of seconds.
pub(super) fn time_shown(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.1} us", seconds * 1e6),
        ..1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// `1.5 MiB`.
pub(super) fn bytes_shown(bytes: f64) -> String {
    match bytes {
        ..1024.0 => format!("{bytes:.0} B"),
        ..1_048_576.0 => format!("{:.1} KiB", bytes / 1024.0),
        _ => format!("{:.1} MiB", bytes / 1_048_576.0),
    }
}
