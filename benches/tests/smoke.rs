//! Every figure of ours can be measured: each gives values, and no floor fails. How large the
//! values are is nothing that a test asks.

use holdpoint_measure::bars::{Found, judge};
use holdpoint_measure::machine::Machine;
use holdpoint_measure::report::markdown;
use holdpoint_measure::results::{Results, figure_result};
use holdpoint_measure::{Effort, Kind, Others, Outcome, Plan, Role, figures};
use std::path::Path;

fn measured(directory: &Path) -> Vec<Outcome> {
    let mut plan = Plan::new(directory.to_path_buf(), Effort::Smoke);
    plan.child = Some(env!("CARGO_BIN_EXE_results").into());
    let all = Kind::ALL.iter().flat_map(|kind| figures(*kind, &plan, Others::default()));
    all.map(|figure| figure.measure(1, &mut |_| {})).collect()
}

#[test]
fn every_figure_of_ours_gives_values_and_stands_in_the_report() {
    let directory = tempfile::tempdir().unwrap();
    let outcomes = measured(directory.path());
    for outcome in &outcomes {
        assert!(outcome.ours().is_some(), "{}", outcome.kind.name());
        for line in &outcome.lines {
            let value = line.measured.as_ref().map(|measured| measured.values.median());
            let what = format!("{} {}: {value:?}", outcome.kind.name(), line.name);
            assert!(matches!(line.role, Role::Ours | Role::Floor), "{what}");
            assert!(value.is_ok_and(|value| value.is_finite() && value >= 0.0), "{what}");
        }
    }
    let machine = Machine::of(directory.path());
    let results = Results {
        bars: judge(&Found { outcomes: &outcomes, scale: None }, &machine),
        machine,
        effort: "smoke".to_string(),
        effort_says: String::new(),
        options: String::new(),
        figures: outcomes.iter().map(figure_result).collect(),
    };
    let report = markdown(&results, &outcomes, "");
    for kind in Kind::ALL {
        assert!(report.contains(kind.title()), "{}", kind.name());
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}
