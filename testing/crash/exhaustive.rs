//! Small histories, crashed at every call: killed there, and power lost there with every
//! combination of what was not durable while there are few, else the telling ones.

use crate::history::{History, shorten};
use crate::life::{Life, Stretch};
use crate::model::{Model, ModelRecord};
use crate::oracle::Case;
use crate::random::Random;
use crate::survivors::{Survivors, survivors};
use crate::tally::Tally;
use holdpoint_simulation::Moment;

/// Random survivors at a moment with too many for all.
const SAMPLES: usize = 60;

/// Explores histories; the error holds the shortest one that still fails.
pub(crate) fn explore(histories: &[History], seed: u64, tally: &Tally) -> Result<(), String> {
    for history in histories {
        if let Err(first) = every_crash(history, seed, tally) {
            tally.violation();
            return Err(shortest(history, seed, first));
        }
    }
    Ok(())
}

fn shortest(history: &History, seed: u64, first: String) -> String {
    let fails = |history: &History| every_crash(history, seed, &Tally::new()).err();
    let (shortest, why) = shorten(history, &fails).unwrap_or((history.clone(), first));
    format!("HOLDPOINT_SEED={seed}\n{why}\nthe shortest history: {shortest:#?}")
}

fn every_crash(history: &History, seed: u64, tally: &Tally) -> Result<(), String> {
    let mut random = Random::of(seed);
    for (number, stretch) in Life::record(history)?.iter().enumerate() {
        let explored = stretch.promises.get(history.explored).map_or(0, |(calls, _)| *calls);
        for moment in stretch.moments.iter().filter(|moment| moment.calls >= explored) {
            let place = Place { history, machine: number, moment };
            let (promised, may) = promises_at(stretch, moment.calls);
            place.kill(promised, may, &mut random, tally)?;
            place.lose_power(promised, may, &mut random, tally)?;
        }
    }
    Ok(())
}

/// What was acknowledged by a moment, and every record that may be there.
fn promises_at(stretch: &Stretch, calls: u64) -> (&Model, &[ModelRecord]) {
    let after = stretch.promises.partition_point(|(made, _)| *made <= calls);
    let (_, promised) = &stretch.promises[after.saturating_sub(1)];
    let next = stretch.promises.get(after).map_or(promised, |(_, model)| model);
    let longer = if next.records.starts_with(&promised.records) { next } else { promised };
    (promised, &longer.records)
}

struct Place<'a> {
    history: &'a History,
    machine: usize,
    moment: &'a Moment,
}

impl Place<'_> {
    fn kill(
        &self,
        promised: &Model,
        may: &[ModelRecord],
        random: &mut Random,
        tally: &Tally,
    ) -> Result<(), String> {
        let case = Case { promised, may, must: promised.written, is_honest: true };
        tally
            .judge_first(&self.moment.disk.kill(), &case, random)
            .map_err(|why| self.says("killed", &why))
    }

    fn lose_power(
        &self,
        promised: &Model,
        may: &[ModelRecord],
        random: &mut Random,
        tally: &Tally,
    ) -> Result<(), String> {
        let pending = self.moment.disk.pending();
        let case = Case { promised, may, must: promised.durable, is_honest: true };
        for Survivors { picks, tear } in survivors(&pending, random, SAMPLES) {
            let survivors = Survivors { picks, tear };
            let image = self.moment.disk.power_loss_tearing(&survivors.picks, &survivors.tears());
            tally
                .judge_first(&image, &case, random)
                .map_err(|why| self.says(&format!("power lost, {survivors:?},"), &why))?;
        }
        Ok(())
    }

    fn says(&self, what: &str, why: &str) -> String {
        let (name, calls) = (self.history.name, self.moment.calls);
        format!("{name}: {what} after call {calls} of machine {}: {why}", self.machine)
    }
}
