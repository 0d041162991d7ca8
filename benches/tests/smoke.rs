//! Every figure can be measured, and every bar has one. How large the values are is nothing that a
//! test asks.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails, fails its test"
)]

use holdpoint_measure::Kind;
use holdpoint_measure::scale::{Point, Scale, markdown};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// One run of everything with barely any effort: its document, and its results as data.
fn measured(place: &Path) -> (String, Value) {
    let (directory, out) = (place.join("measured"), place.join("out"));
    for made in [&directory, &out] {
        std::fs::create_dir(made).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_results"));
    command.arg("--smoke").arg("--dir").arg(&directory).arg("--out").arg(&out);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(directory.read_dir().unwrap().count(), 0, "nothing is left behind");
    let document = std::fs::read_to_string(out.join("RESULTS.md")).unwrap();
    let json = std::fs::read_to_string(out.join("results.json")).unwrap();
    for picture in out.join("curves").read_dir().unwrap() {
        let name = picture.unwrap().file_name().into_string().unwrap();
        assert!(document.contains(&format!("(curves/{name})")), "{name}");
    }
    (document, serde_json::from_str(&json).unwrap())
}

/// Minutes in a build without optimizations, more with the peers.
#[test]
#[ignore = "takes minutes: a stage of `.ci/run all`"]
fn every_figure_gives_values_and_every_bar_is_read_from_one() {
    let place = tempfile::tempdir().unwrap();
    let (document, results) = measured(place.path());
    for kind in Kind::ALL {
        assert!(document.contains(kind.title()), "{}", kind.name());
    }
    assert!(document.contains("system's allocator; no other one is linked"), "{document}");
    assert_tables(&document);
    results["figures"].as_array().unwrap().iter().for_each(assert_measured);
    for bar in results["bars"].as_array().unwrap() {
        // Of the bars on a peer, only one whose peer takes part is read.
        let needs_peer = bar["key"].as_str().unwrap().contains("peer")
            || ["audit-trail", "batpak"]
                .iter()
                .any(|name| bar["says"].as_str().unwrap().contains(name));
        assert!(bar["value"].is_f64() || needs_peer && !cfg!(feature = "peers"), "{bar:#}");
    }
    let scale = &results["scale"];
    assert_eq!(scale["points"].as_array().unwrap().len(), 2);
    assert_no_gap(scale);
    assert_columns_follow_what_was_measured(scale, &document);
}

/// As data the section on scale is whole, and thirty million are one column more.
fn assert_columns_follow_what_was_measured(scale: &Value, document: &str) {
    let mut scale: Scale = serde_json::from_value(scale.clone()).unwrap();
    let section = markdown(&scale, &[]);
    assert!(document.contains(section.trim_end()), "{section}");
    let point = serde_json::to_value(&scale.points[0]).unwrap();
    let of_length = |records| Point { records, ..serde_json::from_value(point.clone()).unwrap() };
    let lengths = [10_001, 100_002, 1_000_000, 10_000_000, 30_000_001];
    scale.points = lengths.into_iter().map(of_length).collect();
    let section = markdown(&scale, &[]);
    assert_tables(&section);
    assert!(section.contains("\n| records | 10k | 100k | 1M | 10M | 30M |\n"), "{section}");
}

/// Ours and the floors have values at every size. A peer may lack what the figure asks for.
fn assert_measured(figure: &Value) {
    let lines = |part: &str| figure[part].as_array().unwrap().clone();
    assert!(!lines("ours").is_empty(), "{figure:#}");
    for line in lines("ours").iter().chain(&lines("floor")) {
        assert!(line["median"].as_f64().is_some_and(|median| median >= 0.0), "{line:#}");
    }
    for line in lines("peers") {
        assert!(line["median"].is_f64() || line["absent"].is_string(), "{line:#}");
    }
}

/// Every row of a table is as wide as its header.
fn assert_tables(document: &str) {
    let mut width = None;
    for line in document.lines() {
        let columns = line.starts_with('|').then(|| line.matches('|').count());
        assert!(width.is_none() || columns.is_none() || columns == width, "{line}");
        width = columns;
    }
}

/// What is not a number, as the ratio of nothing, is null; so is the noise of what was measured
/// once, and nothing else.
fn assert_no_gap(value: &Value) {
    match value {
        Value::Array(values) => values.iter().for_each(assert_no_gap),
        Value::Object(fields) => {
            for (name, value) in fields {
                assert!(!value.is_null() || name.ends_with("noise_percent"), "{name}");
                assert_no_gap(value);
            }
        }
        _ => {}
    }
}
