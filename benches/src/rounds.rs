//! Paired rounds: the contenders of one figure take turns, so that whatever else the machine does
//! meets all of them, and a ratio is taken within its round.

use crate::error::{Doing, MeasureError};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Measurement of one contender in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// In the figure's unit: seconds or bytes.
    pub value: f64,
    /// Seconds that the measuring thread was on a CPU for it.
    pub cpu: Option<f64>,
}

impl Sample {
    /// A value that is no time.
    #[must_use]
    pub fn of(value: f64) -> Self {
        Self { value, cpu: None }
    }

    /// The median of several, which are not none.
    #[must_use]
    pub fn median(samples: Vec<Self>) -> Self {
        let cpu: Option<Vec<f64>> = samples.iter().map(|sample| sample.cpu).collect();
        let values = samples.iter().map(|sample| sample.value).collect();
        Self { value: Samples(values).median(), cpu: cpu.map(|cpu| Samples(cpu).median()) }
    }
}

/// The values of one contender, or of one ratio, one for each round in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples(pub Vec<f64>);

impl Samples {
    /// The median; `NaN` of nothing.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Interquartile range in percent of the median: how far to trust it.
    #[must_use]
    pub fn noise_percent(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / self.median() * 100.0
    }

    /// The same, where there is more than one value: what was measured once has no noise.
    #[must_use]
    pub fn noise(&self) -> Option<f64> {
        (self.0.len() > 1).then(|| self.noise_percent())
    }

    /// These values over those of the same rounds.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(this, other)| this / other).collect())
    }

    /// Linear between the two nearest values.
    fn quantile(&self, at: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1) as f64;
        let (below, above) = ((at * last).floor(), (at * last).ceil());
        let value = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
        value(below) + (value(above) - value(below)) * (at * last - below)
    }
}

/// Does a contender's work of one round.
pub type Work = Box<dyn FnMut() -> Result<Sample, MeasureError>>;

/// Results of the rounds of one contender.
#[derive(Debug)]
pub struct Measured {
    /// Values.
    pub values: Samples,
    /// CPU seconds, where they were measured in every round.
    pub cpu: Option<Samples>,
}

/// In which order the contenders of a round work: each round begins with the next one.
pub fn order(round: usize, contenders: usize) -> impl Iterator<Item = usize> {
    (0..contenders).map(move |turn| (turn + round) % contenders)
}

/// Lets the contenders work in turns: one round that does not count, then `rounds` that do. A
/// contender that fails takes no further part.
pub fn take_turns(
    work: Vec<&mut Work>,
    rounds: usize,
    tell: &mut dyn FnMut(usize),
) -> Vec<Result<Measured, MeasureError>> {
    let mut contenders: Vec<Turns<'_>> = work.into_iter().map(Turns::new).collect();
    for round in 0..=rounds {
        tell(round);
        for index in order(round, contenders.len()) {
            if let Some(contender) = contenders.get_mut(index) {
                contender.take(round > 0);
            }
        }
    }
    contenders.into_iter().map(Turns::measured).collect()
}

struct Turns<'a> {
    work: &'a mut Work,
    taken: Result<Vec<Sample>, MeasureError>,
}

impl<'a> Turns<'a> {
    fn new(work: &'a mut Work) -> Self {
        Self { work, taken: Ok(Vec::new()) }
    }

    fn take(&mut self, counts: bool) {
        let Ok(samples) = &mut self.taken else { return };
        match carried_out(self.work) {
            Ok(sample) if counts => samples.push(sample),
            Ok(_) => {}
            Err(error) => self.taken = Err(error),
        }
    }

    fn measured(self) -> Result<Measured, MeasureError> {
        let samples = self.taken?;
        let cpu: Option<Vec<f64>> = samples.iter().map(|sample| sample.cpu).collect();
        let values = Samples(samples.iter().map(|sample| sample.value).collect());
        Ok(Measured { values, cpu: cpu.map(Samples) })
    }
}

/// A contender that panics has failed, and no other.
fn carried_out(work: &mut Work) -> Result<Sample, MeasureError> {
    let caught = catch_unwind(AssertUnwindSafe(work));
    caught.unwrap_or_else(|_| Err("it panicked, see standard error").doing("measure it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn median_and_noise_are_those_of_the_sorted_values() {
        let odd = Samples(vec![5.0, 1.0, 3.0]);
        assert_eq!(odd.median(), 3.0);
        let even = Samples(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(even.median(), 2.5);
        let spread = Samples(vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((spread.noise_percent() - 200.0 / 3.0).abs() < 1e-9);
        assert!(Samples::default().median().is_nan());
    }

    #[test]
    fn what_is_done_several_times_in_a_round_counts_with_its_median() {
        let sample = |value: f64, cpu| Sample { value, cpu };
        let all = vec![sample(9.0, Some(1.0)), sample(2.0, Some(8.0)), sample(3.0, Some(2.0))];
        assert_eq!(Sample::median(all), sample(3.0, Some(2.0)));
        let some = vec![sample(9.0, None), sample(2.0, Some(8.0))];
        assert_eq!(Sample::median(some), sample(5.5, None));
    }

    #[test]
    fn a_ratio_is_taken_within_its_round() {
        let slow = Samples(vec![2.0, 20.0, 200.0]);
        let fast = Samples(vec![1.0, 10.0, 100.0]);
        assert_eq!(slow.over(&fast), Samples(vec![2.0; 3]));
        assert_eq!(slow.over(&fast).noise_percent(), 0.0);
    }

    #[test]
    fn every_round_begins_with_the_next_contender_and_hears_all() {
        assert_eq!(order(0, 3).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(order(1, 3).collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!(order(5, 3).collect::<Vec<_>>(), [2, 0, 1]);
        assert_eq!(order(7, 0).count(), 0);
    }

    #[test]
    fn who_panics_has_failed_alone() {
        let mut panics: Work = Box::new(|| panic!("on purpose"));
        let mut works: Work = Box::new(|| Ok(Sample::of(1.0)));
        let measured = take_turns(vec![&mut panics, &mut works], 1, &mut |_| {});
        let [Err(failed), Ok(_)] = measured.as_slice() else { panic!("{measured:?}") };
        assert!(failed.to_string().contains("panicked"));
    }

    #[test]
    fn the_first_round_does_not_count_and_who_fails_takes_no_further_part() {
        let turns = Rc::new(RefCell::new(Vec::new()));
        let noted = |name: char, fails: bool| -> Work {
            let turns = Rc::clone(&turns);
            Box::new(move || {
                turns.borrow_mut().push(name);
                let sample = Sample { value: turns.borrow().len() as f64, cpu: Some(1.0) };
                if fails { Err(MeasureError::NotOffered("never")) } else { Ok(sample) }
            })
        };
        let mut work = [noted('a', false), noted('b', true)];
        let measured = take_turns(work.iter_mut().collect(), 2, &mut |_| {});
        assert_eq!(*turns.borrow(), ['a', 'b', 'a', 'a']);
        let [Ok(good), Err(_)] = measured.as_slice() else { panic!("{measured:?}") };
        assert_eq!(good.values, Samples(vec![3.0, 4.0]));
        assert_eq!(good.cpu, Some(Samples(vec![1.0; 2])));
    }
}
