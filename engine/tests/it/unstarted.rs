//! A run whose recorder goes before the command starts is ended by the next writer, whatever stands
//! in the place of its file by then.

use holdpoint_domain::Event;
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, HaltReason};
use holdpoint_engine::executor::{Discard, NoSignals, ReceivedSignal, SignalSource};
use holdpoint_engine::shell::KeyedRun;
use holdpoint_testing::shell::{Place, origin, shell};
use std::fs;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// What somebody puts in the place of a run's file.
type Swap = fn(&Path);

/// Swaps the run's file when the run looks for signals, right before it dispatches, and gives up.
struct Gone(PathBuf, Swap);

impl SignalSource for Gone {
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn take(&mut self) -> Vec<ReceivedSignal> {
        let listed = fs::read_dir(&self.0).expect("it is there").map(|it| it.expect("it").path());
        let mut files = listed.filter(|it| it.extension().is_none());
        (self.1)(&files.next().expect("the run's file"));
        panic!("as if it were killed");
    }
}

#[test]
fn a_run_that_never_started_is_ended_although_something_else_has_the_place_of_its_file() {
    let swaps: [Swap; 3] = [
        |file| fs::hard_link(file, file.with_extension("link")).expect("it is linked"),
        |file| {
            fs::remove_file(file).expect("it is removed");
            fs::create_dir(file).expect("it is made");
        },
        |file| {
            fs::remove_file(file).expect("it is removed");
            std::os::unix::fs::symlink("elsewhere", file).expect("it is linked");
        },
    ];
    for swap in swaps {
        let place = Place::new();
        let engine = place.engine();
        let ran = engine.run(&origin(), (), &shell("true"), &mut Discard, &mut NoSignals);
        ran.and_then(KeyedRun::ended).expect("it runs");
        let mut gone = Gone(place.log().join("runs"), swap);
        let run = || engine.run(&origin(), (), &shell("true"), &mut Discard, &mut gone);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        drop(engine);
        let engine = place.engine();
        let live = || engine.query(|world| world.live_loops().count()).expect("the log works");
        assert_eq!(live(), 1);
        engine.expire().expect("the log works");
        assert_eq!(live(), 0);
        engine.close().expect("it closes");
        let ended = place.lines().into_iter().filter_map(|line| match line.envelope.event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(body)) => Some(body.reason),
            _ => None,
        });
        let expected = [HaltReason::Completed, HaltReason::RecorderLost];
        assert_eq!(ended.collect::<Vec<_>>(), expected);
    }
}
