use std::fmt;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use crate::log::Log;
use crate::outcome::{Effect, Outcome};
use crate::pair::Pair;

/// Marks and statements of an archive.
mod archives;
/// Facts changed, dropped and added, and the chain made anew behind them.
mod chains;
/// Ends and whole files taken away.
mod cuts;
/// One field of a record changed, with its checksum or its link as well.
mod fields;
/// One bit, anywhere.
mod flips;
/// HEAD and LOCK forged, their checksums good.
mod heads;
/// Statements of where an archive is, and what stands there.
mod hints;
/// Records that lie in what a command printed.
mod images;
/// Indexes that lie, and what the chain says of them.
mod indexes;
/// A log's archive changed, replaced and taken away.
mod moved;
/// What several families need.
mod places;
/// An older state put in the place of the log, or of a part of it.
mod rollbacks;
/// Segment headers and seals forged, their checksums good.
mod seals;
/// Snapshots that lie, and what the chain says of them.
mod snapshots;
/// Parts of other logs and of other histories.
mod splices;
/// Records and segments in other places.
mod swaps;
/// Payloads taken out, with their digests left.
mod withheld;
/// Zeros where something was.
mod zeroing;

/// Why an attack cannot be made, or nothing.
type Forged = Result<(), &'static str>;

/// What can be attacked.
pub trait Victim: Clone + PartialEq {
    /// # Errors
    /// The directory cannot be read.
    fn read(directory: &Path) -> io::Result<Self>;

    /// Makes a directory hold it and nothing else.
    ///
    /// # Errors
    /// The directory cannot be written.
    fn write(&self, directory: &Path) -> io::Result<()>;

    /// What became of what it says.
    fn effect(before: &Self, after: &Self) -> Effect;
}

/// One way to attack a log, or a log with its archive.
pub struct Attack<V = Log> {
    /// Kebab case, and the same for ever.
    pub name: &'static str,
    /// What the forger did, in one sentence.
    pub what: &'static str,
    forge: fn(&mut V, u64) -> Forged,
}

impl<V> Clone for Attack<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Attack<V> {}

impl<V> fmt::Debug for Attack<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<V: Victim> Attack<V> {
    /// Attacks a log. The variant picks the place: 0 the first, 1 the middle one, 2 the last, and
    /// from 3 on any. A log to which it cannot be done stays as it was.
    pub fn apply(&self, log: &mut V, variant: u64) -> Outcome {
        let before = log.clone();
        if let Err(why) = (self.forge)(log, variant) {
            *log = before;
            return Outcome::NotApplicable(why);
        }
        if *log == before {
            return Outcome::NotApplicable("nothing would differ");
        }
        Outcome::Applied(V::effect(&before, log))
    }
}

/// Every attack on a log, by families.
pub fn attacks() -> &'static [Attack] {
    static ALL: LazyLock<Vec<Attack>> = LazyLock::new(|| {
        let families = [
            flips::ATTACKS,
            cuts::ATTACKS,
            zeroing::ATTACKS,
            swaps::ATTACKS,
            splices::ATTACKS,
            rollbacks::ATTACKS,
            fields::ATTACKS,
            chains::ATTACKS,
            heads::ATTACKS,
            seals::ATTACKS,
            indexes::ATTACKS,
            snapshots::ATTACKS,
            images::ATTACKS,
            withheld::ATTACKS,
            archives::ATTACKS,
        ];
        families.concat()
    });
    &ALL
}

/// Every attack on a log and its archive, by families.
pub fn pair_attacks() -> &'static [Attack<Pair>] {
    static ALL: LazyLock<Vec<Attack<Pair>>> =
        LazyLock::new(|| [moved::ATTACKS, hints::ATTACKS].concat());
    &ALL
}

/// The attack of a name.
pub fn attack(name: &str) -> Option<&'static Attack> {
    attacks().iter().find(|attack| attack.name == name)
}

/// A row of a family's table.
const fn row<V>(
    name: &'static str,
    what: &'static str,
    forge: fn(&mut V, u64) -> Forged,
) -> Attack<V> {
    Attack { name, what, forge }
}
