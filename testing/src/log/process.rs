//! Other processes: this test program again, doing one job.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const JOB: &str = "HOLDPOINT_TEST_JOB";
const DIRECTORY: &str = "HOLDPOINT_TEST_DIRECTORY";
const NUMBER: &str = "HOLDPOINT_TEST_NUMBER";

/// The job that this process was started for.
pub struct Job {
    pub name: String,
    pub directory: std::path::PathBuf,
    pub number: u64,
}

/// What the test called `job_of_another_process` asks first; `None` in an ordinary run.
pub fn job() -> Option<Job> {
    let name = std::env::var(JOB).ok()?;
    let directory = std::env::var_os(DIRECTORY)?.into();
    let number = std::env::var(NUMBER).ok()?.parse().ok()?;
    Some(Job { name, directory, number })
}

/// Says a number to the process that started this one.
pub fn say(number: u64) {
    let mut out = std::io::stdout().lock();
    // The line before may not be finished: the harness names the test there.
    write!(out, "\n={number}\n").and_then(|()| out.flush()).expect("the other end reads");
}

/// A process that does `job`.
pub struct Other {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    /// The job is the one that the test `job_of_another_process` of a module knows:
    /// `module_path!()` names the module.
    pub fn start(module: &str, job: &str, directory: &Path, number: u64) -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let (_, module) = module.split_once("::").expect("a module of a test program");
        let test = format!("{module}::job_of_another_process");
        let mut child = Command::new(program)
            .args([test.as_str(), "--exact", "--nocapture"])
            .env(JOB, job)
            .env(DIRECTORY, directory)
            .env(NUMBER, number.to_string())
            .stdout(Stdio::piped())
            .stdin(Stdio::piped())
            .spawn()
            .expect("this program can be started again");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        Self { child, lines }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next number that it says; `None` when it ended.
    pub fn heard(&mut self) -> Option<u64> {
        let numbers = self.lines.by_ref().map_while(Result::ok);
        numbers.filter_map(|line| line.strip_prefix('=')?.parse().ok()).next()
    }

    /// Lets a job that waits for its input go on.
    pub fn release(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Kills it and gives what it had said and nobody had heard.
    pub fn kill(mut self) -> Vec<u64> {
        self.child.kill().expect("it is ours");
        self.rest()
    }

    /// Waits for its end and gives what it had said and nobody had heard.
    pub fn finish(mut self) -> Vec<u64> {
        self.release();
        self.rest()
    }

    fn rest(&mut self) -> Vec<u64> {
        let heard = std::iter::from_fn(|| self.heard()).collect();
        self.child.wait().expect("it is ours");
        heard
    }
}

/// Waits until the process that started this one goes on.
pub fn wait_for_release() {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    assert!(read.is_ok());
}
