use crate::story::seed;

/// The part of many cases that one run of the tests takes: one of `of`, beginning at another one
/// with each seed, which is printed; all of them where `HOLDPOINT_WHOLE` is set.
pub fn part<T>(cases: Vec<T>, of: usize) -> Vec<T> {
    let seed = seed() % of as u64;
    eprintln!("this repeats it: HOLDPOINT_SEED={seed}");
    part_of(seed, cases, of)
}

/// See [`part`], where the seed of the run is known and printed.
pub fn part_of<T>(seed: u64, cases: Vec<T>, of: usize) -> Vec<T> {
    let (first, step) = match std::env::var_os("HOLDPOINT_WHOLE") {
        Some(_) => (0, 1),
        None => ((seed % of as u64) as usize, of),
    };
    cases.into_iter().skip(first).step_by(step).collect()
}
