//! A run over short histories gives every value, a section, and pictures, and leaves nothing. How
//! fast anything was is nobody's promise here.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails, fails its test"
)]

use holdpoint_measure::scale::{Point, Ratio, Scale, ScalePlan, Spread, curves, markdown, measure};
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
    assert_section(&markdown(&scale, &names, ""), &names);
    assert_eq!(place.path().read_dir().unwrap().count(), 0);
    let json = serde_json::to_string(&scale).unwrap();
    let again: Scale = serde_json::from_str(&json).unwrap();
    assert_eq!(markdown(&again, &names, ""), markdown(&scale, &names, ""), "as data it is whole");
    assert_columns_follow_what_was_measured(again);
}

/// Thirty million are one column more, and their own bars are nobody's.
fn assert_columns_follow_what_was_measured(mut scale: Scale) {
    let lengths = [10_001, 100_002, 1_000_000, 10_000_000, 30_000_001];
    let point = serde_json::to_value(&scale.points[0]).unwrap();
    let of_length = |records| Point { records, ..serde_json::from_value(point.clone()).unwrap() };
    scale.points = lengths.into_iter().map(of_length).collect();
    scale.ratios = ratios();
    let explanations = "# Why\n\n## missed\n\nIt is slow.\n\n## scale\n\nWhat is opened.\n";
    let section = markdown(&scale, &[], explanations);
    assert_section(&section, &[]);
    let expected = [
        "\n| records | 10k | 100k | 1M | 10M | 30M |\n",
        "\n| a | 1 ms | 2.00 ms (+-3 %) | **MISSED** |\n",
        "\n| b | 1.2 x | 1.16 x (+-5 %) | PASS (within noise) |\n",
        "\n| c | 1.2 x | 1.16 x (once) | PASS |\n",
        "\n| d | - | 1.97 x (once) |  |\n",
        "\n**a**\n\nIt is slow.\n",
        "\n\nWhat is opened.\n",
    ];
    for expected in expected {
        assert!(section.contains(expected), "{expected}\n{section}");
    }
    assert_eq!(section.matches("No explanation").count(), 0, "{section}");
    assert!(markdown(&scale, &[], "").contains("\n**a**\n\nNo explanation is written yet.\n"));
}

fn ratios() -> Vec<Ratio> {
    let ratio = |key: &str, figure: &str, value, at_most, unit: &str| Ratio {
        key: key.into(),
        figure: figure.into(),
        unit: unit.into(),
        value,
        at_most,
    };
    let noisy = |median, noise| Spread { median, noise_percent: Some(noise) };
    vec![
        ratio("missed", "a", noisy(2.0, 3.0), Some(1.0), "ms"),
        ratio("noisy", "b", noisy(1.16, 5.0), Some(1.2), "x"),
        ratio("once", "c", Spread::once(1.16), Some(1.2), "x"),
        ratio("figure", "d", Spread::once(1.97), None, "x"),
    ]
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
