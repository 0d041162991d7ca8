//! Histories: what is done to a log, in an order that can be repeated and shortened.

use crate::random::Random;
use holdpoint_engine::log::Level;
use std::time::Duration;

/// How sure a caller wants to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    Witnessed,
    Always,
    Os,
    Staged,
}

impl Sure {
    pub(crate) const ALL: [Self; 4] = [Self::Witnessed, Self::Always, Self::Os, Self::Staged];

    pub(crate) fn level(self) -> Level {
        match self {
            Self::Witnessed => Level::Witnessed,
            Self::Always => Level::Always,
            Self::Os => Level::Os,
            Self::Staged => Level::Staged,
        }
    }
}

/// One thing that is done. `by` is one of two handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Open {
        by: usize,
    },
    Append {
        by: usize,
        lengths: Vec<usize>,
        sure: Sure,
    },
    /// The next segment is made ahead.
    Prepare {
        by: usize,
    },
    Close {
        by: usize,
    },
    /// Every process is killed.
    Kill,
    /// Power is lost; what survives is drawn from the seed.
    PowerLoss {
        seed: u64,
    },
    /// An honest fault, drawn from the seed, strikes one of the next calls.
    Fault {
        seed: u64,
    },
}

/// A named list of operations.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) name: &'static str,
    pub(crate) is_exclusive: bool,
    pub(crate) operations: Vec<Operation>,
    /// How many of the operations another history begins with too, which explores them.
    pub(crate) explored: usize,
}

/// Far beyond any test: nothing happens in the background.
pub(crate) const NEVER: Duration = Duration::from_secs(1 << 30);

const OPEN: Operation = Operation::Open { by: 0 };
const CLOSE: Operation = Operation::Close { by: 0 };

fn append(lengths: &[usize], sure: Sure) -> Operation {
    append_by(0, lengths, sure)
}

fn append_by(by: usize, lengths: &[usize], sure: Sure) -> Operation {
    Operation::Append { by, lengths: lengths.to_vec(), sure }
}

/// The small histories that are explored whole.
pub(crate) fn small() -> Vec<History> {
    use Sure::{Always, Os, Staged, Witnessed};
    let (one, two, three) = (&[40][..], &[10, 600][..], &[8, 0, 300][..]);
    let reopened = [OPEN, append(one, Always), CLOSE, OPEN, append(two, Os), CLOSE];
    let killed = [OPEN, append(one, Os), Operation::Kill, OPEN, append(two, Always)];
    let across_pages =
        [OPEN, append(&[3_000, 3_000], Always), append(&[2_500, 9_000], Os), append(one, Always)];
    let (loses, again) = (Operation::PowerLoss { seed: 5 }, Operation::PowerLoss { seed: 6 });
    vec![
        in_turns("created_and_closed", &[OPEN, CLOSE]),
        in_turns("batches", &[OPEN, append(three, Always), append(two, Witnessed), CLOSE]),
        in_turns("reopened", &reopened),
        in_turns("killed_and_reopened", &killed),
        in_turns("two_handles", &two_handles(one, two)),
        // HEAD follows at the second opening, and who closes then relies on it.
        in_turns("opened_beside", &[OPEN, append(one, Always), Operation::Open { by: 1 }, CLOSE]),
        in_turns("across_pages", &across_pages),
        in_turns("rolled", &rolled(one)),
        exclusive("rolled_twice", &rolled_twice(two)),
        exclusive("rolled_into_one_made_ahead", &rolled_into_one_made_ahead(one)),
        in_turns("replaced_empty", &[OPEN, append(&[66_000], Always), append(one, Os)]),
        exclusive("staged", &[OPEN, append(two, Staged), append(one, Always), CLOSE]),
        in_turns(
            "crash_upon_crash",
            &[
                OPEN,
                append(two, Always),
                append(one, Os),
                loses,
                OPEN,
                append(three, Os),
                again,
                OPEN,
                append(one, Witnessed),
            ],
        ),
    ]
}

fn two_handles(one: &[usize], two: &[usize]) -> Vec<Operation> {
    vec![
        OPEN,
        Operation::Open { by: 1 },
        append(one, Sure::Always),
        append_by(1, two, Sure::Witnessed),
        append(one, Sure::Os),
        append_by(1, one, Sure::Always),
        CLOSE,
        Operation::Close { by: 1 },
    ]
}

fn rolled(one: &[usize]) -> Vec<Operation> {
    let big = append(&[59_000], Sure::Os);
    vec![OPEN, big, append(&[5_000], Sure::Always), append(one, Sure::Witnessed), CLOSE]
}

fn rolled_twice(two: &[usize]) -> Vec<Operation> {
    vec![
        OPEN,
        append(&[61_000], Sure::Always),
        append(&[100, 61_000], Sure::Os),
        append(&[70_000], Sure::Always),
        append(two, Sure::Always),
    ]
}

fn rolled_into_one_made_ahead(one: &[usize]) -> Vec<Operation> {
    let ahead = Operation::Prepare { by: 0 };
    let fills = append(&[59_000], Sure::Always);
    vec![OPEN, fills, ahead.clone(), append(&[5_000], Sure::Always), append(one, Sure::Os), ahead]
}

/// Shapes of the appends of short histories: a record, a batch, one across sectors, one that ends
/// at the end of a sector.
const SHAPES: [&[usize]; 4] = [&[0, 300], &[900], &[7, 70, 500], &[448]];

/// An append of every shape at every level.
fn every_append() -> Vec<Operation> {
    SHAPES.iter().flat_map(|shape| Sure::ALL.map(|sure| append(shape, sure))).collect()
}

/// Every history of creation and up to `longest` appends, of every shape at every level.
pub(crate) fn every_short(is_exclusive: bool, longest: u32) -> Vec<History> {
    let appends = every_append();
    let history = |number: usize| {
        let digits = (0..longest).map(|place| number / appends.len().pow(place) % appends.len());
        let operations = std::iter::once(OPEN).chain(digits.map(|digit| appends[digit].clone()));
        let is_first = number / appends.len().pow(longest - 1) == 0;
        let explored = if is_first { 0 } else { longest as usize };
        History { name: "short", is_exclusive, operations: operations.collect(), explored }
    };
    (0..appends.len().pow(longest)).map(history).collect()
}

/// A history of creation and more appends than all are explored of; its last one is explored.
pub(crate) fn longer(random: &mut Random, shortest: usize) -> History {
    let appends = every_append();
    let length = shortest + random.below(4);
    let operations = (0..length).map(|_| random.pick(&appends).clone());
    let operations = std::iter::once(OPEN).chain(operations).collect();
    History { name: "longer", is_exclusive: random.one_in(2), operations, explored: length }
}

fn in_turns(name: &'static str, operations: &[Operation]) -> History {
    History { name, is_exclusive: false, operations: operations.to_vec(), explored: 0 }
}

fn exclusive(name: &'static str, operations: &[Operation]) -> History {
    History { name, is_exclusive: true, operations: operations.to_vec(), explored: 0 }
}

/// A long random life.
pub(crate) fn random_life(random: &mut Random, length: usize) -> History {
    let is_exclusive = random.one_in(3);
    let operations = (0..length).map(|_| random_operation(random, is_exclusive)).collect();
    History { name: "life", is_exclusive, operations, explored: 0 }
}

fn random_operation(random: &mut Random, is_exclusive: bool) -> Operation {
    let by = if is_exclusive { 0 } else { random.below(2) };
    match random.below(20) {
        0..=1 => Operation::Open { by },
        2 => Operation::Close { by },
        3 => Operation::Kill,
        4..=5 => Operation::PowerLoss { seed: random.next() },
        6..=7 => Operation::Fault { seed: random.next() },
        8 if is_exclusive => Operation::Prepare { by },
        _ => random_append(random, by),
    }
}

fn random_append(random: &mut Random, by: usize) -> Operation {
    let count = 1 + random.below(3);
    let lengths = (0..count).map(|_| match random.below(12) {
        0 => 20_000 + random.below(45_000),
        1..=2 => random.below(6_000),
        _ => random.below(500),
    });
    let lengths = lengths.collect();
    Operation::Append { by, lengths, sure: *random.pick(&Sure::ALL) }
}

/// The shortest history found by leaving operations out for which `fails` still gives a reason.
pub(crate) fn shorten(
    history: &History,
    fails: &dyn Fn(&History) -> Option<String>,
) -> Option<(History, String)> {
    let mut shortest = History { explored: 0, ..history.clone() };
    let mut reason = fails(&shortest)?;
    let mut at = shortest.operations.len();
    while at > 0 {
        at -= 1;
        let mut shorter = shortest.clone();
        shorter.operations.remove(at);
        if let Some(why) = fails(&shorter) {
            (shortest, reason) = (shorter, why);
            at = shortest.operations.len();
        }
    }
    Some((shortest, reason))
}
