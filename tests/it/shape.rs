//! The size of the product is held by `shape.toml`: no number of it gets worse without a reason.
//!
//! Better numbers, verbs, options and lines of crates are written, and nothing is loosened, by
//! `HOLDPOINT_WRITE_SHAPE=1 cargo test --locked -p holdpoint-cli --test it -- shape::`. A release
//! takes the reasons out: `HOLDPOINT_WRITE_SHAPE=release`.

mod command_line;
mod count;
mod names;
mod numbers;
mod product;
mod ratchet;

use command_line::CommandLine;
use numbers::{Numbers, ceilings, floors, lines};
use product::sources;
use ratchet::{Bound, Change, Limit};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Every verb that does something.
pub(crate) fn leaf_verbs() -> BTreeSet<String> {
    CommandLine::of(holdpoint_cli::command_line()).verbs
}

const SHAPE: &str = "shape.toml";
const ABOUT: &str = "\
# The size of the product, held by tests/it/shape.rs. A number that is worse than `at` fails, and so
# does one that is better by more than 2 %. `first` is what it was at the last release, or when it
# was first held; `gained` is by how much it got better since. To raise a ceiling or lower a floor,
# move its `at` and add an entry, [[raised]] or [[lowered]], in the same commit:
#     [[raised]]
#     number = \"code lines\"
#     old = 100
#     new = 120
#     issue = 7
#     reason = \"what the lines are for\"
# All else is written by HOLDPOINT_WRITE_SHAPE=1.
";
/// How many lines a crate may have more or less than is stated: a small change states nothing.
const LINES_OFF_MAX: usize = 200;
const WRITE: &str = "HOLDPOINT_WRITE_SHAPE";

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Shape {
    ceilings: BTreeMap<String, Limit>,
    floors: BTreeMap<String, Limit>,
    raised: Vec<Change>,
    lowered: Vec<Change>,
    lines: BTreeMap<String, usize>,
    command_line: CommandLine,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The numbers of the product as they are.
struct Product {
    ceilings: Numbers,
    floors: Numbers,
    lines: BTreeMap<String, usize>,
    command_line: CommandLine,
}

impl Product {
    fn new() -> Self {
        let sources = sources();
        let command_line = CommandLine::of(holdpoint_cli::command_line());
        let ceilings = ceilings(&sources, &command_line);
        Self { ceilings, floors: floors(), lines: lines(&sources), command_line }
    }
}

impl Shape {
    fn read() -> Self {
        toml::from_str(&fs::read_to_string(root().join(SHAPE)).unwrap()).unwrap()
    }

    fn sections(&self) -> [(Bound, &BTreeMap<String, Limit>, &[Change]); 2] {
        [
            (Bound::Ceiling, &self.ceilings, &self.raised),
            (Bound::Floor, &self.floors, &self.lowered),
        ]
    }

    /// The shape with everything stated as it is, and no limit loosened.
    fn tightened(self, product: &Product) -> Self {
        let tightened = |bound, numbers: &Numbers, limits: &BTreeMap<String, Limit>| {
            let limit = |(name, number): (&String, &ratchet::Number)| {
                let limit = limits.get(name).copied().unwrap_or(Limit::new(number.value));
                (name.clone(), limit.tightened(bound, number.value))
            };
            numbers.iter().map(limit).collect()
        };
        Self {
            ceilings: tightened(Bound::Ceiling, &product.ceilings, &self.ceilings),
            floors: tightened(Bound::Floor, &product.floors, &self.floors),
            lines: product.lines.clone(),
            command_line: product.command_line.clone(),
            ..self
        }
    }

    /// The shape of a release, from which limits give way anew.
    fn released(mut self) -> Self {
        for limit in self.ceilings.values_mut().chain(self.floors.values_mut()) {
            *limit = Limit::new(limit.at);
        }
        Self { raised: Vec::new(), lowered: Vec::new(), ..self }
    }

    /// The text of the file: one entry a line, so that a change shows what it moves.
    fn text(&self) -> String {
        let mut text = String::from(ABOUT);
        for (title, limits) in [("ceilings", &self.ceilings), ("floors", &self.floors)] {
            writeln!(text, "[{title}]").unwrap();
            for (name, Limit { at, first, gained }) in limits {
                writeln!(text, "{name:?} = {{ at = {at}, first = {first}, gained = {gained} }}")
                    .unwrap();
            }
            text.push('\n');
        }
        for (bound, _, changes) in self.sections() {
            changes.iter().for_each(|change| text.push_str(&change.text(bound)));
        }
        text.push_str("[lines]\n");
        for (folder, lines) in &self.lines {
            writeln!(text, "{folder:?} = {lines}").unwrap();
        }
        let list = |names: &BTreeSet<String>| -> String {
            names.iter().map(|name| format!("    {name:?},\n")).collect()
        };
        let CommandLine { verbs, options } = &self.command_line;
        let (verbs, options) = (list(verbs), list(options));
        write!(text, "\n[command_line]\nverbs = [\n{verbs}]\noptions = [\n{options}]\n").unwrap();
        text
    }

    /// Everything in which the product is not what is stated.
    fn faults(&self, product: &Product) -> Vec<String> {
        let mut faults = Vec::new();
        for (numbers, (bound, limits, changes)) in
            [&product.ceilings, &product.floors].into_iter().zip(self.sections())
        {
            faults.extend(ratchet::idle(bound, changes, |name| limits.contains_key(name)));
            faults.extend(unlike("other numbers", numbers.keys(), limits.keys()));
            for (name, number) in numbers {
                let limit = limits.get(name).into_iter();
                faults.extend(
                    limit.flat_map(|limit| ratchet::faults(name, bound, number, *limit, changes)),
                );
            }
        }
        let (stated, line) = (&self.command_line, &product.command_line);
        faults.extend(unlike("other verbs", &line.verbs, &stated.verbs));
        faults.extend(unlike("other options", &line.options, &stated.options));
        faults.extend(unlike("other crates", product.lines.keys(), self.lines.keys()));
        for (folder, lines) in &product.lines {
            let stated = self.lines.get(folder).copied().unwrap_or(*lines);
            if lines.abs_diff(stated) > LINES_OFF_MAX {
                faults.push(format!("{folder} has {lines} lines of code, and {stated} are stated"));
            }
        }
        faults
    }
}

/// The names that are on one side alone.
fn unlike<'a>(
    title: &str,
    product: impl IntoIterator<Item = &'a String>,
    stated: impl IntoIterator<Item = &'a String>,
) -> Option<String> {
    let (product, stated) = (BTreeSet::from_iter(product), BTreeSet::from_iter(stated));
    let (more, gone) = (&product - &stated, &stated - &product);
    (product != stated).then(|| format!("{SHAPE} states {title}: new {more:?}, gone {gone:?}"))
}

#[test]
fn no_number_of_the_product_gets_worse_without_a_reason() {
    let product = Product::new();
    let write = env::var(WRITE).ok();
    if let Some(write) = &write {
        let shape = Shape::read().tightened(&product);
        let shape = if write == "release" { shape.released() } else { shape };
        fs::write(root().join(SHAPE), shape.text()).unwrap();
    }
    let shape = Shape::read();
    for (bound, limits, changes) in shape.sections() {
        for name in limits.keys() {
            let by = ratchet::given_way(name, bound, changes);
            if by > 0 {
                println!("{} since the last release: {name} by {by}", bound.section());
            }
        }
    }
    let faults = shape.faults(&product);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_is_written_is_read_again() {
    let change = |reason: &str| Change {
        number: "verbs".into(),
        old: 1,
        new: 2,
        issue: 3,
        reason: reason.into(),
    };
    let shape = Shape {
        ceilings: [("verbs".into(), Limit::new(2))].into(),
        raised: vec![change("a \"verb\" of C:\\more"), change("one")],
        lowered: vec![change("fewer")],
        lines: [("engine/domain".into(), 3)].into(),
        ..Shape::read()
    };
    assert_eq!(toml::from_str::<Shape>(&shape.text()).unwrap(), shape);
    let released = shape.released();
    assert!(released.raised.is_empty() && released.lowered.is_empty());
}
