//! The oracle of outcomes: whatever happens to the recorder of a run, to its guard and to the
//! command between any two of their system calls, the outcome on record is what really happened,
//! or says that it is unknown.
//!
//! The command writes down what it does. `HOLDPOINT_TIMES=40` makes 2,000 schedules of the 50.

#![cfg(target_os = "linux")]

use crate::program::{Place, skip, text};
use holdpoint_testing::inject::{Answer, Errno, Step, refusal, run_stepwise};
use holdpoint_testing::log::Random;
use holdpoint_testing::part::times;
use holdpoint_testing::story::seed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How many schedules there are.
const SCHEDULES: u64 = 50;
/// How long nobody does anything where there is nobody left to do it.
const ABANDONED_AFTER: Duration = Duration::from_secs(2);

/// Whose call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Recorder,
    Guard,
    Command,
}

/// What is done to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Kill,
    /// Stopped, and continued later.
    Stop(Duration),
    /// One call is carried out late.
    Slow(Duration),
    /// One call fails that was a wait or a message.
    Fail(Errno),
}

#[derive(Clone, Copy, Debug)]
struct Planned {
    role: Role,
    /// Whether the calls are counted from the guard's first one on.
    since_guard: bool,
    at: u64,
    deed: Deed,
}

impl Planned {
    fn draw(random: &mut Random) -> Self {
        let role = [Role::Recorder, Role::Guard, Role::Command][random.below(3) as usize];
        let most = match role {
            Role::Recorder => 400,
            Role::Guard => 180,
            Role::Command => 60,
        };
        let time = Duration::from_millis(random.below(700));
        let errors = [Errno::INTR, Errno::NOMEM, Errno::CHILD, Errno::INVAL, Errno::AGAIN];
        let deed = match random.below(5) {
            0 | 1 => Deed::Kill,
            2 => Deed::Stop(time),
            3 => Deed::Slow(time),
            // What the command makes of an error is its own affair.
            _ if role == Role::Command => Deed::Stop(time),
            _ => Deed::Fail(errors[random.below(5) as usize]),
        };
        Self { role, since_guard: random.below(4) > 0, at: random.below(most), deed }
    }
}

/// What happens to the processes of one run.
struct Schedule {
    planned: Vec<Planned>,
    roles: BTreeMap<i32, Role>,
    recorder: Option<i32>,
    counts: BTreeMap<Role, u64>,
    since_guard: BTreeMap<Role, u64>,
    /// Who is to be continued, and when.
    stopped: Vec<(Instant, i32)>,
    done: Vec<Planned>,
    /// When somebody made the last call.
    heard: Instant,
}

impl Schedule {
    fn new(planned: Vec<Planned>) -> Self {
        Self {
            planned,
            roles: BTreeMap::new(),
            recorder: None,
            counts: BTreeMap::new(),
            since_guard: BTreeMap::new(),
            stopped: Vec::new(),
            done: Vec::new(),
            heard: Instant::now(),
        }
    }

    fn hear(&mut self, step: Option<Step>) -> Answer {
        let now = Instant::now();
        for (_, process) in self.stopped.extract_if(.., |(due, _)| *due <= now) {
            signal(process, Signal::CONT);
        }
        let Some(step) = step else {
            self.end_what_nobody_ends(now);
            return Answer::GoOn;
        };
        self.heard = now;
        let Some(role) = self.role(step.process) else { return Answer::GoOn };
        let guard_is_there = role == Role::Guard || self.counts.contains_key(&Role::Guard);
        let count = self.counts.entry(role).or_default();
        let number = *count;
        *count += 1;
        let relative = guard_is_there.then(|| {
            let count = self.since_guard.entry(role).or_default();
            *count += 1;
            *count - 1
        });
        let is_due = |planned: &Planned| {
            let reached = if planned.since_guard { relative } else { Some(number) };
            let fails = matches!(planned.deed, Deed::Fail(_));
            planned.role == role
                && reached.is_some_and(|reached| reached >= planned.at)
                && (!fails || step.is_wait_or_message())
        };
        let Some(index) = self.planned.iter().position(is_due) else { return Answer::GoOn };
        let planned = self.planned.remove(index);
        self.done.push(planned);
        match planned.deed {
            Deed::Kill => signal(step.process, Signal::KILL),
            Deed::Stop(time) => {
                signal(step.process, Signal::STOP);
                self.stopped.push((now + time, step.process));
            }
            Deed::Slow(time) => return Answer::Later(time),
            Deed::Fail(error) => return Answer::Fail(error),
        }
        Answer::GoOn
    }

    /// Where recorder and guard were killed, nobody is left to end what one of them had stopped.
    fn end_what_nobody_ends(&self, now: Instant) {
        let killed = |role| self.was(role, |deed| deed == Deed::Kill);
        if killed(Role::Recorder) && killed(Role::Guard) && now - self.heard > ABANDONED_AFTER {
            self.roles
                .keys()
                .filter(|it| is_stopped(**it))
                .for_each(|it| signal(*it, Signal::KILL));
        }
    }

    /// The first process is the recorder, its child that is its own program the guard, and what
    /// that starts the command's. `None` for what the recorder asks other programs.
    fn role(&mut self, process: i32) -> Option<Role> {
        let recorder = *self.recorder.get_or_insert(process);
        if process == recorder {
            return Some(Role::Recorder);
        }
        if let Some(role) = self.roles.get(&process) {
            return Some(*role);
        }
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (name, fields) = stat.split_once('(')?.1.rsplit_once(')')?;
        let parent: i32 = fields.split_ascii_whitespace().nth(1)?.parse().ok()?;
        let role = match self.roles.get(&parent) {
            Some(_) => Role::Command,
            None if matches!(name, "exe" | "holdpoint-guard") => Role::Guard,
            None => return None,
        };
        self.roles.insert(process, role);
        Some(role)
    }

    /// Whether something of this kind was done to somebody.
    fn was(&self, role: Role, deed: impl Fn(Deed) -> bool) -> bool {
        self.done.iter().any(|planned| planned.role == role && deed(planned.deed))
    }
}

fn signal(process: i32, signal: Signal) {
    if let Some(process) = Pid::from_raw(process) {
        let _ = kill_process(process, signal);
    }
}

fn is_stopped(process: i32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| stat.contains(") T "))
}

/// A command that writes down what becomes of it, right before it does.
fn script(random: &mut Random) -> String {
    let work = ["", "true;", "sh -c :;", "echo out; echo err >&2;", "read x < /proc/uptime;"];
    let work = work[random.below(5) as usize];
    let end = match random.below(4) {
        0 => "echo 'exit 0' >> facts; exit 0".to_string(),
        1 => "echo 'signal 15' >> facts; kill -TERM $$".to_string(),
        _ => {
            let code = random.below(256);
            format!("echo 'exit {code}' >> facts; exit {code}")
        }
    };
    format!("echo started >> facts; {work} {end}")
}

/// What really happened, as the command wrote it down.
#[derive(Debug, PartialEq, Eq)]
struct Truth {
    started: bool,
    ended: Option<String>,
}

impl Truth {
    fn of(place: &Place) -> Self {
        let facts = fs::read_to_string(place.directory.path().join("facts")).unwrap_or_default();
        let mut lines = facts.lines().map(str::to_string);
        Self { started: lines.next().is_some(), ended: lines.next() }
    }
}

/// Why what is on record is not the truth.
fn judge(
    run: Option<&Value>,
    truth: &Truth,
    schedule: &Schedule,
    exit: Option<i32>,
) -> Result<(), String> {
    let killed = |role| schedule.was(role, |deed| deed == Deed::Kill);
    let Some(run) = run else {
        return if truth.started { Err("no run is on record".into()) } else { Ok(()) };
    };
    let number = |name: &str| run[name].as_i64();
    let told = match (run["outcome"].as_str().unwrap_or_default(), number("signal")) {
        ("ok" | "failed", _) => format!("exit {}", number("exit_status").unwrap_or(-1)),
        ("crashed", Some(signal)) => format!("signal {signal}"),
        ("crashed", None) => "unknown".into(),
        (other, _) => other.into(),
    };
    let code = match told.split_once(' ') {
        Some(("exit", code)) => code.parse().ok(),
        Some(("signal", signal)) => signal.parse().ok().map(|signal: i32| 128 + signal),
        _ if told == "unknown" => Some(137),
        _ => None,
    };
    if let (Some(code), Some(exit)) = (code, exit)
        && code != exit
    {
        return Err(format!("on record: {told}, and the recorder ended with {exit}"));
    }
    let is_true = match told.as_str() {
        "signal 9" => killed(Role::Command),
        // Silence of the guard.
        "unknown" => killed(Role::Guard),
        "lost" => killed(Role::Recorder),
        "refused" | "not started" | "stopped" | "interrupted" => !truth.started,
        told => truth.ended.as_deref() == Some(told),
    };
    if is_true { Ok(()) } else { Err(format!("on record: {told}")) }
}

#[test]
fn the_outcome_on_record_is_what_really_happened_or_unknown_whatever_was_done_to_whom() {
    if let Some(error) = refusal() {
        return skip(&format!("this kernel lets no program wait with its calls: {error}"));
    }
    let seed = seed();
    for seed in (0..SCHEDULES * times()).map(|number| seed.wrapping_add(number)) {
        carry_out(seed);
    }
}

/// Others at work in the same log, to whom the same happens.
fn read_and_write(place: &Place, mut random: Random) {
    let verbs: [&[&str]; 4] = [
        &["record", "--stream", "beside", "--type", "noted"],
        &["verify"],
        &["runs"],
        &["decision", "expire"],
    ];
    if random.flips() {
        let verb = verbs[random.below(4) as usize];
        let planned = Planned::draw(&mut random);
        let planned = Planned { role: Role::Recorder, since_guard: false, ..planned };
        let mut schedule = Schedule::new(vec![planned]);
        let mut command = place.command(verb);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let ended = run_stepwise(command, &mut |step| schedule.hear(step));
        ended.unwrap_or_else(|error| panic!("{verb:?}, {planned:?}: {error}")).wait().unwrap();
    }
}

fn carry_out(seed: u64) {
    let mut random = Random::of(seed);
    let place = Place::with_log();
    let script = script(&mut random);
    let planned = (0..=random.below(3)).map(|_| Planned::draw(&mut random)).collect();
    let mut schedule = Schedule::new(planned);
    let mut run = place.command(&["run", "--hold", "never", "--", "sh", "-c", &script]);
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let beside = Random::of(random.below(u64::MAX));
    let ended = std::thread::scope(|scope| {
        let beside = scope.spawn(|| read_and_write(&place, beside));
        let ended = run_stepwise(run, &mut |step| schedule.hear(step));
        beside.join().unwrap();
        ended
    });
    let about =
        |schedule: &Schedule| format!("HOLDPOINT_SEED={seed}: {script:?}, {:?}", schedule.done);
    let mut recorder = ended.unwrap_or_else(|error| panic!("{}: {error}", about(&schedule)));
    let exit = recorder.wait().unwrap().code();
    // Whoever writes next records what is left to record.
    place.holdpoint(&["decision", "expire"]);
    let truth = Truth::of(&place);
    let listed = place.holdpoint(&["runs", "--json"]);
    let listed = text(&listed.stdout);
    let runs = listed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let run = runs.into_iter().find(|line| line.get("run").is_some());
    if let Err(wrong) = judge(run.as_ref(), &truth, &schedule, exit) {
        panic!("{}: {truth:?}, and {wrong}", about(&schedule));
    }
    place.verified();
}
