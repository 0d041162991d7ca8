//! The results for people, as Markdown.

use crate::bars::Verdict;
use crate::explanations::explain_missed;
use crate::figure::{Kind, Outcome, Unit};
use crate::figures::PEER_RECORDS_MAX;
use crate::results::{FigureResult, LineResult, Results, figure_result};
use crate::scale;
use std::fmt::Write;

/// The report: the machine, the bars, every figure, and how cost follows the length of a log, with
/// `pictures` of it. `explanations` is Markdown with a heading of the second level for each key of
/// a bar; what stands below it is shown where the bar was missed.
#[must_use]
pub fn markdown(
    results: &Results,
    outcomes: &[Outcome],
    pictures: &[&str],
    explanations: &str,
) -> String {
    let mut out = String::new();
    head(&mut out, results);
    bars(&mut out, results, explanations);
    for kind in Kind::ALL {
        let of_kind = outcomes.iter().filter(|outcome| outcome.kind == *kind);
        let figures: Vec<FigureResult> = of_kind.map(figure_result).collect();
        if !figures.is_empty() {
            figure(&mut out, *kind, &figures);
        }
    }
    if let Some(scale) = &results.scale {
        out += "\n";
        out += &scale::markdown(scale, pictures);
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
            "{}, {} cores{}{}; Linux {}; {} on {}.",
            machine.cpu,
            machine.cores,
            has("SHA-NI", machine.has_sha),
            has("AVX-512", machine.has_avx512),
            machine.kernel,
            machine.file_system,
            machine.device,
        ),
    );
    line(out, "");
    let options = match results.options.as_str() {
        "" => "Options: none.".to_string(),
        options => format!("Options: `{options}`."),
    };
    line(out, &format!("{} {options} {}", results.effort_says, circumstances(results)));
    line(out, "");
    line(
        out,
        "Everyone takes turns in every round, so that a ratio is one of neighbours in time. A \
         value is the median of the rounds; +- is the interquartile range in percent of it, and \
         `once` stands where there was one round alone; \
         `x` is the median of the ratio to ours, round by round: above 1 is slower than ours. \
         Times are wall time. A bar is passed within noise where its value clears the limit, and \
         its value with its noise does not. What whole programs cost stands in \
         [programs.md](programs.md).",
    );
}

/// With whom it was measured, how long that took, and what allocated.
fn circumstances(results: &Results) -> String {
    let with = if results.has_peers { "With" } else { "Without" };
    let minutes = results.took_seconds.div_ceil(60);
    let allocator = match results.has_systems_allocator {
        true => "Everything is allocated by the system's allocator; no other one is linked.",
        false => "**The allocator is not the system's.**",
    };
    format!("{with} the peers. It took {minutes} min. {allocator}")
}

fn bars(out: &mut String, results: &Results, explanations: &str) {
    line(out, "");
    line(out, "## The bars");
    line(out, "");
    line(out, "A payload has 256 B where nothing else is said; \"a over b\" is a's time over b's.");
    line(out, "");
    line(out, "| what | bar | measured | +- | |");
    line(out, "|---|---|---|---|---|");
    for bar in &results.bars {
        let value = bar.value.map_or_else(|| "not measured".to_string(), short);
        let noise = match (bar.value, bar.noise_percent) {
            (None, _) => String::new(),
            (Some(_), None) => "once".to_string(),
            (Some(_), Some(noise)) => format!("{noise:.0} %"),
        };
        let standing = standing(bar);
        line(out, &format!("| {} | {} | {value} | {noise} | {standing} |", bar.says, bar.limit));
    }
    if let Some(scale) = results.scale.as_ref().filter(|scale| !scale.has_bar_lengths()) {
        line(out, "");
        let (long, short) = (scale.long, scale.short);
        line(out, &format!("Instead of 10M and 1M records: {long} and {short}."));
    }
    for missed in results.bars.iter().filter(|bar| bar.passed == Some(false)) {
        explain_missed(out, missed.says, missed.key, explanations);
    }
}

fn standing(bar: &Verdict) -> &'static str {
    match (bar.standing(), bar.value) {
        (Some(standing), _) => standing.words(),
        (None, Some(_)) => "not judged: shorter logs",
        (None, None) => "",
    }
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
    reasons(out, figures);
}

/// Why some have a value at one size and none at another.
fn reasons(out: &mut String, figures: &[FigureResult]) {
    let has_peers = |figure: &FigureResult| !figure.peers.is_empty();
    let mut said = Vec::new();
    if figures.iter().any(has_peers) && !figures.iter().all(has_peers) {
        said.push(format!(
            "Peers take no part in logs of more than {PEER_RECORDS_MAX} records: some take \
             minutes to fill and to open them."
        ));
    }
    for name in names(figures, |figure| &figure.peers) {
        let of_name = |figure: &FigureResult| {
            let line = figure.peers.iter().find(|line| line.name == name);
            line.and_then(|line| Some((figure.scope.clone(), line.absent.clone()?)))
        };
        let lines = figures.iter().flat_map(|figure| &figure.peers);
        let lines: Vec<&LineResult> = lines.filter(|line| line.name == name).collect();
        if absent_everywhere(&lines).is_none() {
            let absent = figures.iter().filter_map(of_name);
            said.extend(absent.map(|(scope, why)| format!("{name}, {scope}: {}", one_line(&why))));
        }
    }
    if !said.is_empty() {
        line(out, "");
    }
    said.iter().for_each(|said| line(out, &format!("- {said}")));
}

/// Why there is no value at any size, where it is the same everywhere.
fn absent_everywhere<'a>(lines: &[&'a LineResult]) -> Option<&'a String> {
    let first = lines.first()?.absent.as_ref()?;
    lines.iter().all(|line| line.absent.as_ref() == Some(first)).then_some(first)
}

/// What fits into a cell or behind a dash.
fn one_line(text: &str) -> String {
    text.replace('|', "/").replace('\n', " ")
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
    let there: Vec<&LineResult> = lines.iter().flatten().copied().collect();
    let any = there.first();
    let syncs = any.and_then(|line| line.syncs_each).map(|syncs| format!("{syncs:.2}"));
    let remarks = any.map(|line| {
        let parts = [Some(&line.remark), line.not_counted.as_ref(), absent_everywhere(&there)];
        let said: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        said.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    });
    let chained = if any.is_some_and(|line| line.is_chained) { " (chained)" } else { "" };
    let cells = cells.collect::<Vec<_>>().join(" | ");
    let remark = one_line(&remarks.unwrap_or_default());
    format!("| {name}{chained} | {cells} | {} | {remark} |", syncs.unwrap_or_default())
}

fn cell(kind: Kind, line: &LineResult) -> String {
    let Some(median) = line.median else { return "-".to_string() };
    let noise = line.noise_percent;
    let noise = noise.map_or_else(|| "(once)".to_string(), |noise| format!("+-{noise:.0} %"));
    let value = match kind.unit() {
        Unit::SecondsEach | Unit::Seconds => time(median),
        Unit::BytesEach => format!("{median:.1} B"),
    };
    let ratio = line.over_ours.map_or_else(String::new, |ratio| format!(", {}x", short(ratio)));
    format!("{value} {noise}{ratio}")
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
    use crate::bars::{Measurements, judge};
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
        let outcomes = [outcome()];
        let results = Results {
            bars: judge(&Measurements { outcomes: &outcomes, scale: None }),
            machine: Machine::default(),
            effort: "quick".to_string(),
            effort_says: "Effort: quick: 5 rounds.".to_string(),
            options: "--quick".to_string(),
            has_peers: true,
            has_systems_allocator: true,
            took_seconds: 61,
            figures: outcomes.iter().map(figure_result).collect(),
            scale: None,
        };
        markdown(&results, &outcomes, &[], explanations)
    }

    #[test]
    fn the_head_says_what_the_effort_means_and_under_which_circumstances_it_was() {
        let expected = "\nEffort: quick: 5 rounds. Options: `--quick`. With the peers. It took \
                        2 min. Everything is allocated by the system's allocator; no other one is \
                        linked.\n";
        assert!(report("").contains(expected));
    }

    /// At ten million nobody but ours was asked.
    #[test]
    fn who_has_a_value_at_one_size_alone_has_a_reason_below_the_table() {
        let failed = || MeasureError::Failed { operation: "open", reason: "no|\nroom".into() };
        let peer = || Role::Peer(PeerFacts::default());
        let ours = || measured("Holdpoint", Role::Ours, &[1e-3; 2]);
        let broken = Line { measured: Err(failed()), ..measured("p", peer(), &[]) };
        let at = |records, lines| {
            figure_result(&Outcome { kind: Kind::OpenClean, scope: Scope::Records(records), lines })
        };
        let figures = [
            at(10_000, vec![ours(), measured("p", peer(), &[2e-3; 2])]),
            at(1_000_000, vec![ours(), broken]),
            at(10_000_000, vec![ours()]),
        ];
        let mut out = String::new();
        figure(&mut out, Kind::OpenClean, &figures);
        assert!(out.contains("| p | 2.00 ms +-0 %, 2.00x | - |  |  |  |"), "{out}");
        assert!(out.contains("- p, 1000000 records: cannot open: no/ room\n"), "{out}");
        assert!(out.contains("- Peers take no part in logs of more than 100000 records"));
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
        assert!(!explained.contains("Not explained."), "{explained}");
        assert!(report("").contains("Not explained."));
    }

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let seconds = [2.0, 1.5e-3, 12.34e-6, 123.4e-9, 5e-9];
        let shown: Vec<String> = seconds.into_iter().map(time).collect();
        assert_eq!(shown, ["2.00 s", "1.50 ms", "12.3 us", "123 ns", "5.00 ns"]);
    }
}
