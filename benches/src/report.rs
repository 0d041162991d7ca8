//! The results for people, as Markdown.

use crate::bars::Verdict;
use crate::figure::{Kind, Outcome, Unit};
use crate::results::{FigureResult, LineResult, Results, figure_result};
use std::fmt::Write;

/// The report: the machine, the bars, every figure. `explanations` is Markdown with a heading of
/// the second level for each key of a bar; what stands below it is shown where the bar was missed.
#[must_use]
pub fn markdown(results: &Results, outcomes: &[Outcome], explanations: &str) -> String {
    let mut out = String::new();
    head(&mut out, results);
    bars(&mut out, &results.bars, explanations);
    for kind in Kind::ALL {
        let of_kind = outcomes.iter().filter(|outcome| outcome.kind == *kind);
        let figures: Vec<FigureResult> = of_kind.map(figure_result).collect();
        if !figures.is_empty() {
            figure(&mut out, *kind, &figures);
        }
    }
    out
}

fn head(out: &mut String, results: &Results) {
    let machine = &results.machine;
    let has = |name: &str, has| if has { format!(", {name}") } else { String::new() };
    line(out, "# Results");
    line(out, "");
    line(
        out,
        &format!(
            "{}, {} cores{}{}; Linux {}; {} on {}. Effort: {}.",
            machine.cpu,
            machine.cores,
            has("SHA-NI", machine.has_sha),
            has("AVX-512", machine.has_avx512),
            machine.kernel,
            machine.file_system,
            machine.device,
            results.effort
        ),
    );
    line(out, "");
    line(
        out,
        "Everyone takes turns in every round, so that a ratio is one of neighbours in time. A \
         value is the median of the rounds; +- is the interquartile range in percent of it; \
         `x` is the median of the ratio to ours, round by round: above 1 is slower than ours. \
         Times are wall time.",
    );
}

fn bars(out: &mut String, bars: &[Verdict], explanations: &str) {
    line(out, "");
    line(out, "## The bars");
    line(out, "");
    line(out, "| what | bar | measured | +- | |");
    line(out, "|---|---|---|---|---|");
    for bar in bars {
        let value = bar.value.map_or_else(|| "not measured".to_string(), short);
        let noise = bar.noise_percent.map_or_else(String::new, |noise| format!("{noise:.0} %"));
        let passed = match bar.passed {
            Some(true) => "PASS",
            Some(false) => "**MISSED**",
            None => "",
        };
        line(out, &format!("| {} | {} | {value} | {noise} | {passed} |", bar.says, bar.limit));
    }
    for missed in bars.iter().filter(|bar| bar.passed == Some(false)) {
        line(out, "");
        line(out, &format!("**{}**", missed.says));
        line(out, "");
        line(
            out,
            explanation(explanations, missed.key).unwrap_or("No explanation is written yet."),
        );
    }
}

/// What stands below the heading of a key.
fn explanation<'a>(explanations: &'a str, key: &str) -> Option<&'a str> {
    let mut sections = explanations.split("\n## ");
    let section = sections.find(|section| section.lines().next().map(str::trim) == Some(key))?;
    Some(section.split_once('\n')?.1.trim()).filter(|text| !text.is_empty())
}

/// One row for everyone who took part, one column for every size.
fn figure(out: &mut String, kind: Kind, figures: &[FigureResult]) {
    line(out, "");
    line(out, &format!("## {} (`{}`)", kind.title(), kind.name()));
    line(out, "");
    let scopes: Vec<&str> = figures.iter().map(|figure| figure.scope.as_str()).collect();
    line(out, &format!("| | {} | syncs | remark |", scopes.join(" | ")));
    line(out, &format!("|---|{}---|---|", "---|".repeat(scopes.len())));
    let parts: [fn(&FigureResult) -> &[LineResult]; 3] =
        [|figure| &figure.ours, |figure| &figure.floor, |figure| &figure.peers];
    for part in parts {
        for name in names(figures, part) {
            let of_name = |figure| {
                let lines: &[LineResult] = part(figure);
                lines.iter().find(|line| line.name == name)
            };
            let lines: Vec<Option<&LineResult>> = figures.iter().map(of_name).collect();
            line(out, &row(&name, kind, &lines));
        }
    }
}

fn names(figures: &[FigureResult], part: fn(&FigureResult) -> &[LineResult]) -> Vec<String> {
    let mut names = Vec::new();
    for line in figures.iter().flat_map(part) {
        if !names.contains(&line.name) {
            names.push(line.name.clone());
        }
    }
    names
}

fn row(name: &str, kind: Kind, lines: &[Option<&LineResult>]) -> String {
    let cells = lines.iter().map(|line| line.map_or_else(String::new, |line| cell(kind, line)));
    let any = lines.iter().flatten().next();
    let syncs = any.and_then(|line| line.syncs_each).map(|syncs| format!("{syncs:.2}"));
    let remarks = any.map(|line| {
        let parts = [Some(&line.remark), line.not_counted.as_ref(), line.absent.as_ref()];
        let said: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        said.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    });
    let chained = if any.is_some_and(|line| line.is_chained) { " (chained)" } else { "" };
    let cells = cells.collect::<Vec<_>>().join(" | ");
    let remark = remarks.unwrap_or_default().replace('|', "/").replace('\n', " ");
    format!("| {name}{chained} | {cells} | {} | {remark} |", syncs.unwrap_or_default())
}

fn cell(kind: Kind, line: &LineResult) -> String {
    let (Some(median), Some(noise)) = (line.median, line.noise_percent) else {
        return "-".to_string();
    };
    let value = match kind.unit() {
        Unit::SecondsEach | Unit::Seconds => time(median),
        Unit::BytesEach => format!("{median:.1} B"),
    };
    let ratio = line.over_ours.map_or_else(String::new, |ratio| format!(", {}x", short(ratio)));
    format!("{value} +-{noise:.0} %{ratio}")
}

/// Three digits that matter.
fn short(value: f64) -> String {
    let digits = if value >= 100.0 { 0 } else { usize::from(value < 10.0) + 1 };
    format!("{value:.digits$}")
}

/// Seconds, in the unit that suits them.
fn time(seconds: f64) -> String {
    let scale =
        [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")].into_iter().find(|(one, _)| seconds >= *one);
    let (one, unit) = scale.unwrap_or((1e-9, "ns"));
    format!("{} {unit}", short(seconds / one))
}

fn line(out: &mut String, text: &str) {
    // Writing into a string cannot fail.
    let _ = writeln!(out, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::judge;
    use crate::error::MeasureError;
    use crate::figure::{Line, PeerFacts, Role, Scope};
    use crate::machine::Machine;
    use crate::rounds::{Measured, Samples};

    fn measured(name: &str, role: Role, values: &[f64]) -> Line {
        let measured = Ok(Measured { values: Samples(values.to_vec()), cpu: None });
        Line { name: name.into(), role, remark: String::new(), measured }
    }

    fn outcome() -> Outcome {
        let facts = PeerFacts { syncs_each: Some(0.0), ..PeerFacts::default() };
        let not_counted = Some("acknowledges without a sync".to_string());
        let peer = Role::Peer(PeerFacts { not_counted, ..facts });
        let absent = Line {
            measured: Err(MeasureError::NotOffered("has no sync")),
            ..measured("absent", Role::Peer(PeerFacts::default()), &[])
        };
        let lines = vec![
            measured("Holdpoint", Role::Ours, &[250e-6; 5]),
            measured("pwrite+fdatasync", Role::Floor, &[200e-6; 5]),
            measured("fast", peer, &[5e-6; 5]),
            absent,
        ];
        Outcome { kind: Kind::DurableOne, scope: Scope::Payload(256), lines }
    }

    fn report(explanations: &str) -> String {
        let (outcomes, machine) = ([outcome()], Machine::default());
        let results = Results {
            bars: judge(&outcomes, &machine),
            machine,
            effort: "quick".to_string(),
            figures: outcomes.iter().map(figure_result).collect(),
        };
        markdown(&results, &outcomes, explanations)
    }

    #[test]
    fn everyone_has_a_row_with_ratio_syncs_and_what_has_to_be_said() {
        let report = report("");
        let rows = [
            "| Holdpoint (chained) | 250 us +-0 %, 1.00x |  |  |",
            "| pwrite+fdatasync | 200 us +-0 %, 0.80x |  |  |",
            "| fast | 5.00 us +-0 %, 0.02x | 0.00 | acknowledges without a sync |",
            "| absent | - |  | has no sync |",
        ];
        for row in rows {
            assert!(report.contains(row), "{row}\n{report}");
        }
    }

    #[test]
    fn a_missed_bar_is_explained_where_somebody_wrote_why() {
        let explanations = "# Why\n\n## durable-1/floor\n\nThe device is asleep.\n\n## x\n\nNo.\n";
        let explained = report(explanations);
        assert!(explained.contains("| >= 0.9 | 0.80 | 0 % | **MISSED** |"), "{explained}");
        assert!(explained.contains("\n\nThe device is asleep.\n"), "{explained}");
        assert!(!explained.contains("No explanation"), "{explained}");
        assert!(report("").contains("No explanation is written yet."));
    }

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let seconds = [2.0, 1.5e-3, 12.34e-6, 123.4e-9, 5e-9];
        let shown: Vec<String> = seconds.into_iter().map(time).collect();
        assert_eq!(shown, ["2.00 s", "1.50 ms", "12.3 us", "123 ns", "5.00 ns"]);
    }
}
