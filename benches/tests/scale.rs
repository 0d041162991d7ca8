//! A run over short histories gives every value, a section, and pictures, and leaves nothing. How
//! fast anything was is nobody's promise here.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails, fails its test"
)]

use holdpoint_measure::scale::{ScalePlan, curves, markdown, measure};
use serde_json::Value;

/// Every number below a value.
fn numbers(value: &Value, found: &mut Vec<f64>) {
    match value {
        Value::Number(number) => found.push(number.as_f64().unwrap()),
        Value::Array(values) => values.iter().for_each(|value| numbers(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| numbers(value, found)),
        // What is not a number, as the ratio of nothing, is null.
        other => assert!(!other.is_null()),
    }
}

#[test]
fn a_run_gives_every_value_at_every_length_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let plan = ScalePlan {
        directory: place.path().to_path_buf(),
        lengths: vec![1_500, 3_000],
        live: 40,
        seed: 1,
        rounds: 2,
        program: env!("CARGO_BIN_EXE_scale").into(),
    };
    let mut told = Vec::new();
    let scale = measure(&plan, &mut |what| told.push(what.to_string())).unwrap();
    assert!(!told.is_empty());
    assert_eq!(scale.points.len(), 2);
    for point in &scale.points {
        let value = serde_json::to_value(point).unwrap();
        let mut found = Vec::new();
        numbers(&value, &mut found);
        assert!(found.len() > 30, "{value:#}");
        assert!(point.append_os.p50 > 0.0 && point.append_durable.max > 0.0, "{value:#}");
        assert!(point.writer_memory_bytes > 0 && point.segment_bytes_each > 64.0, "{value:#}");
    }
    let pictures = curves(&scale);
    let names: Vec<&str> = pictures.iter().map(|(name, _)| *name).collect();
    for (name, document) in &pictures {
        assert_eq!(document.matches("<circle").count() % 2, 0, "{name}");
        assert!(document.matches("<circle").count() >= 2 * scale.points.len(), "{name}");
    }
    assert_section(&markdown(&scale, &names), &names);
    assert_eq!(place.path().read_dir().unwrap().count(), 0);
}

/// Every row of a table is as wide as its header, and every picture is shown.
fn assert_section(section: &str, pictures: &[&str]) {
    let mut width = None;
    for line in section.lines() {
        let columns = line.starts_with('|').then(|| line.matches('|').count());
        assert!(width.is_none() || columns.is_none() || columns == width, "{line}");
        width = columns;
    }
    assert!(pictures.iter().all(|name| section.contains(&format!("(curves/{name})"))));
}
