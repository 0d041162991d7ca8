use crate::story::seed;

/// The part of many cases that one run of the tests takes: one of `of`, beginning at another one
/// with each [`seed`]; more of them as [`step`] says.
pub fn part<T>(cases: Vec<T>, of: usize) -> Vec<T> {
    part_of(seed(), cases, of)
}

/// See [`part`], where the seed of the run is known.
pub fn part_of<T>(seed: u64, cases: Vec<T>, of: usize) -> Vec<T> {
    let step = step(of);
    let first = (seed % step as u64) as usize;
    cases.into_iter().skip(first).step_by(step).collect()
}

/// From one case to the next that a run takes, of which one in `of` is usually taken; 1 where
/// [`times`] is at least that.
pub fn step(of: usize) -> usize {
    (of as u64 / times()).max(1) as usize
}

/// How many times as many cases as usual a run takes: `HOLDPOINT_TIMES`, else once as many.
pub fn times() -> u64 {
    let given = std::env::var("HOLDPOINT_TIMES").ok();
    given.map_or(1, |text| text.parse().expect("HOLDPOINT_TIMES: a number")).max(1)
}
