//! Under a policy of the machine that names one approver, at a terminal, nothing else passes a
//! hold: random combinations of who answers, from where, below what, with which environment and
//! project file and by which verb, against a model of one line. A failure prints the seed that
//! gives it again (`HOLDPOINT_SEED`).

mod attempt;

use crate::machine::{ALICE, Machine, told};
use crate::program::{status, text};
use crate::who_may_pass::random::Random;
use attempt::Attempt;
use holdpoint_testing::part::times;
use holdpoint_testing::story::seed;
use std::fs;

/// So many for each of [`HOLDPOINT_TIMES`](times).
const COMBINATIONS: usize = 250;
/// So many machines at once, each with its part of the combinations.
const WORKERS: usize = 2;
/// Attempts that must not pass, between two looks whether one did.
const BETWEEN_LOOKS: usize = 10;
/// The one approver, who has to sit at a terminal.
const POLICY: &str = "[hold]\ndefault = \"before\"\napprovers = [\"bob\"]\n\
                      authentication = \"terminal\"\n";

#[test]
fn nothing_but_the_approver_who_types_at_a_terminal_of_their_own_passes() {
    let seed = seed();
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..WORKERS).map(|number| scope.spawn(move || worker(seed, number))).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

fn worker(seed: u64, number: usize) {
    let mut random = Random::new(seed ^ ((number as u64) << 48));
    let Some(machine) = Machine::new() else { return };
    attempt::prepare(&machine);
    let mut hold = Hold::of(&machine);
    let (mut passed, mut tried) = (0, Vec::new());
    // The first is the one that has to pass: else nothing is proven by the others.
    let mut next = Attempt::of_the_approver();
    for _ in 0..COMBINATIONS * usize::try_from(times()).unwrap() / WORKERS {
        let may_pass = next.may_pass();
        if may_pass || tried.len() == BETWEEN_LOOKS {
            assert!(!hold.spend(), "HOLDPOINT_SEED={seed}: one of these passed: {tried:#?}");
            tried.clear();
        }
        let said = next.answer(&machine, &hold.question);
        if !may_pass {
            tried.push((next, said));
        } else if hold.spend() {
            hold = Hold::of(&machine);
            passed += 1;
        } else {
            assert!(!next.has_to_pass(), "HOLDPOINT_SEED={seed}: {next:#?} did not pass: {said}");
        }
        next = Attempt::any(&mut random);
    }
    assert!(!hold.spend(), "HOLDPOINT_SEED={seed}: one of these passed: {tried:#?}");
    println!("HOLDPOINT_SEED={seed}, worker {number}: {passed} passed");
}

/// A command that waits for its approval.
struct Hold<'a> {
    machine: &'a Machine,
    question: String,
}

/// What is asked about, and adds a line to a file where it runs.
const COMMAND: [&str; 4] = ["--", "sh", "-c", "echo x >> starts"];

impl<'a> Hold<'a> {
    fn of(machine: &'a Machine) -> Self {
        machine.floor(&machine.system(), 0, POLICY);
        let _ = fs::remove_file(machine.place.directory.path().join("starts"));
        let _ = fs::remove_file(machine.place.directory.path().join("holdpoint.toml"));
        if machine.place.log.exists() {
            machine.give_log(ALICE);
        }
        let asked = [&["run", "--no-wait"][..], &COMMAND].concat();
        let asked = machine.call(ALICE, &asked);
        assert_eq!(status(&asked), 122, "{}", told(&asked));
        Self { machine, question: text(&asked.stdout).trim().to_string() }
    }

    /// Whether the command starts with what was answered. The asker spends it, in a clean place.
    fn spend(&self) -> bool {
        let directory = self.machine.place.directory.path();
        let _ = fs::remove_file(directory.join("holdpoint.toml"));
        self.machine.give_log(ALICE);
        let spent = [&["run", "--approval", &self.question][..], &COMMAND].concat();
        let spent = self.machine.call(ALICE, &spent);
        let is_started = directory.join("starts").exists();
        let expected = if is_started { 0 } else { 125 };
        assert_eq!(status(&spent), expected, "{}", told(&spent));
        is_started
    }
}
