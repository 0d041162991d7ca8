//! Long random lives with many crashes and honest faults, one seed each.

use crate::history::{History, Operation, random_life, shorten};
use crate::life::Life;
use crate::oracle::{Case, judge};
use crate::random::Random;
use crate::survivors::one_of;
use crate::tally::Tally;

/// Operations of one life.
const LENGTH: usize = 60;

/// Surviving images judged aside at each moment that is looked at.
const IMAGES: usize = 6;

/// Lives one life; the error holds its seed and the shortest history that still fails.
pub(crate) fn live(seed: u64, tally: &Tally) -> Result<(), String> {
    let history = random_life(&mut Random::of(seed), LENGTH);
    let Err(first) = one_life(&history, seed, tally) else { return Ok(()) };
    tally.violation();
    let nobody = Tally::new();
    let fails = |history: &History| one_life(history, seed, &nobody).err();
    let (shortest, why) = shorten(&history, &fails).unwrap_or((history, first));
    Err(format!("HOLDPOINT_SEED={seed}\n{why}\nthe shortest history: {shortest:#?}"))
}

fn one_life(history: &History, seed: u64, tally: &Tally) -> Result<(), String> {
    let mut life = Life::new(history);
    let mut random = Random::of(seed);
    for (index, operation) in history.operations.iter().enumerate() {
        let told = |why| format!("operation {index}, {operation:?}: {why}");
        let before = life.disk.happened().len();
        if matches!(operation, Operation::Kill | Operation::PowerLoss { .. }) {
            images(&life, &mut random, tally).map_err(told)?;
        }
        life.step(operation).map_err(told)?;
        life.disk.happened().into_iter().skip(before).for_each(|name| tally.fault(name));
    }
    images(&life, &mut random, tally).map_err(|why| format!("at the end: {why}"))
}

/// Some of the images that a crash now may leave.
fn images(life: &Life, random: &mut Random, tally: &Tally) -> Result<(), String> {
    let promised = &life.model;
    let (may, must) = (&promised.records[..], promised.written);
    let case = Case { promised, may, must, is_honest: true };
    let killed = life.disk.kill();
    tally.state(killed.fingerprint());
    judge(&killed, &case, random, 1).map_err(|why| format!("killed: {why}"))?;
    let pending = life.disk.pending();
    let case = Case { must: promised.durable, ..case };
    for _ in 0..IMAGES {
        let survivors = one_of(&pending, random);
        let image = life.disk.power_loss_tearing(&survivors.picks, &survivors.tears());
        if tally.state(image.fingerprint()) {
            let crashes = u32::from(random.one_in(3));
            judge(&image, &case, random, crashes)
                .map_err(|why| format!("power lost, {survivors:?}: {why}"))?;
        }
    }
    Ok(())
}
