//! How soon a waiting thread knows of an answer: from handing the answer in until the wait returns,
//! against what it cannot beat: making one record durable and waking a thread through a pipe.

use criterion::Criterion;
use holdpoint_domain::decision_point::DecisionOption;
use holdpoint_engine::shell::{DecisionPointRecord, Submitted, UpdatedDecisionPoint};
use holdpoint_engine::{Engine, Origin};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Far longer than an answer takes.
const LONG: Duration = Duration::from_secs(60);
/// How long a waiting thread is given to begin its wait.
const HEAD_START: Duration = Duration::from_millis(5);
/// Bytes of the floor's record.
const RECORD_BYTES: usize = 512;
/// Bytes of the file that the floor writes into.
const PREPARED_BYTES: u64 = 64 << 20;
/// How often a ratio's parts are measured; the median counts.
const ROUNDS: usize = 101;

/// Does one round and gives the time from the answer to the end of the wait.
type Work = Box<dyn FnMut() -> Duration>;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("decision wait");
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let mut contenders = contenders();
    for (name, work) in &mut contenders {
        group.bench_function(*name, |bencher| {
            bencher.iter_custom(|times| (0..times).map(|_| work()).sum());
        });
    }
    group.finish();
    criterion.final_summary();
    if std::env::args().any(|argument| argument == "--bench") {
        print_ratios(&mut contenders);
    }
}

/// The floor first.
fn contenders() -> Vec<(&'static str, Work)> {
    vec![
        ("floor: pwrite, fdatasync and a pipe", floor()),
        ("a thread of the same engine", waiting(false)),
        ("another engine on the log", waiting(true)),
    ]
}

fn floor() -> Work {
    let file = tempfile::tempfile().expect("there is room for a file");
    fallocate(&file, FallocateFlags::empty(), 0, PREPARED_BYTES).expect("there is room");
    let (reader, mut writer) = std::io::pipe().expect("there are pipes");
    let (woken, heard) = channel();
    std::thread::spawn(move || tell_wakes(reader, &woken));
    let mut offset = 0;
    Box::new(move || {
        std::thread::sleep(HEAD_START);
        let begun = Instant::now();
        write_and_wake(&file, &mut offset, &mut writer);
        heard.recv().map_or(Duration::ZERO, |woken: Instant| woken - begun)
    })
}

fn tell_wakes(mut reader: PipeReader, woken: &Sender<Instant>) {
    let mut byte = [0];
    while reader.read_exact(&mut byte).is_ok() && woken.send(Instant::now()).is_ok() {}
}

fn write_and_wake(file: &File, offset: &mut u64, writer: &mut PipeWriter) {
    file.write_all_at(&[0xa5; RECORD_BYTES], *offset).expect("the file can be written");
    file.sync_data().expect("the file can be synced");
    *offset = (*offset + RECORD_BYTES as u64) % (PREPARED_BYTES - RECORD_BYTES as u64);
    writer.write_all(&[1]).expect("somebody reads");
}

/// A log, the engine that answers, and the thread that waits.
struct Desk {
    engine: std::sync::Arc<Engine>,
    ask: Sender<String>,
    woken: Receiver<Instant>,
    asked: u64,
    // Removed last.
    _directory: TempDir,
}

fn waiting(by_another: bool) -> Work {
    let directory = tempfile::tempdir().expect("there is room for a directory");
    let engine = opened(directory.path());
    let waiter = if by_another { opened(directory.path()) } else { engine.clone() };
    let ((ask, asked), (tell, woken)) = (channel::<String>(), channel());
    std::thread::spawn(move || {
        for id in asked {
            drop(waiter.wait_for_decision(&id, LONG).expect("the log can be read"));
            if tell.send(Instant::now()).is_err() {
                return;
            }
        }
    });
    let mut desk = Desk { engine, ask, woken, asked: 0, _directory: directory };
    Box::new(move || desk.round())
}

fn opened(directory: &Path) -> std::sync::Arc<Engine> {
    Engine::open(directory).expect("the log opens").into()
}

impl Desk {
    fn round(&mut self) -> Duration {
        let mut record = self.question();
        let id = match self
            .engine
            .create_decision_point(&Origin::agent("agent-7"), (), &record)
            .expect("it can be asked")
        {
            Submitted::Accepted(receipt) => {
                receipt.events.first().and_then(|event| event.decision_point().map(str::to_string))
            }
            Submitted::Repeated(_) | Submitted::Refused(_) => None,
        };
        self.ask.send(id.expect("a new question")).expect("somebody waits");
        std::thread::sleep(HEAD_START);
        record.selected_option = Some("yes".to_string());
        record.responded_by = Some("ada".to_string());
        let begun = Instant::now();
        let answered = self
            .engine
            .update_decision_point(&Origin::human("ada"), (), &record)
            .expect("it can be answered");
        assert!(matches!(answered, UpdatedDecisionPoint::Recorded(_)));
        let woken = self.woken.recv().expect("the wait ends");
        woken - begun
    }

    fn question(&mut self) -> DecisionPointRecord {
        self.asked += 1;
        let yes = DecisionOption {
            id: "yes".into(),
            short: "yes".into(),
            label: "Deploy now".into(),
            description: None,
            reject: false,
        };
        DecisionPointRecord {
            issue_id: format!("issue {}", self.asked),
            prompt: "Deploy to production?".to_string(),
            options: vec![yes],
            requested_by: "agent-7".to_string(),
            ..DecisionPointRecord::default()
        }
    }
}

/// The floor and what waits, measured once more in turns.
fn print_ratios(contenders: &mut [(&'static str, Work)]) {
    let mut taken: Vec<Vec<Duration>> = contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for ((_, work), taken) in contenders.iter_mut().zip(&mut taken) {
            taken.push(work());
        }
    }
    let medians: Vec<f64> = taken.into_iter().map(median).collect();
    let floor = medians.first().copied().unwrap_or(f64::NAN);
    println!("\ndecision wait: median from handing the answer in to the end of the wait");
    for ((name, _), median) in contenders.iter().zip(&medians) {
        println!("{name:<36} {:>9.1} us: {:.2} times the floor", median * 1e6, median / floor);
    }
}

/// Seconds.
fn median(mut taken: Vec<Duration>) -> f64 {
    taken.sort_unstable();
    taken.get(taken.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
}
