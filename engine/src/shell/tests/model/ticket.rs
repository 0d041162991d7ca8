//! A ticket is resolved once, and whoever waits for it is told. A notice that is given is seen.

use crate::log::tests::model::{NEVER, explore_all};
use crate::shell::callback::EngineId;
use crate::shell::error::SubmitError;
use crate::shell::submit::Submitted;
use crate::shell::subscription_notifier::{CloseNotice, Notifier};
use crate::shell::ticket::{Outcome, Resolver, Ticket};
use crate::sync::{Condvar, Mutex};
use holdpoint_domain::core::refusal::CommonRefusal;
use shuttle::thread;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

fn outcome() -> Outcome {
    Ok(Submitted::Refused(CommonRefusal::AlreadyDone { sequence: 1 }.into()))
}

fn is_given(outcome: &Outcome) -> bool {
    matches!(outcome, Ok(Submitted::Refused(_)))
}

/// Every schedule of a waiter and of a thread that resolves the ticket, or drops its other end.
fn with_every_end(wait: fn(Ticket) -> Outcome) {
    for is_resolved in [true, false] {
        explore_all(move || {
            let (ticket, resolver) = Ticket::pair(EngineId::next());
            let end: fn(Resolver) = if is_resolved { |end| end.resolve(outcome()) } else { drop };
            let resolving = thread::spawn(move || end(resolver));
            let told = wait(ticket);
            assert_eq!(is_given(&told), is_resolved);
            assert!(is_resolved || matches!(told, Err(SubmitError::Closed)));
            resolving.join().unwrap();
        });
    }
}

#[test]
fn model_whoever_waits_for_a_ticket_is_told_whatever_comes_first() {
    with_every_end(Ticket::wait);
}

#[test]
fn model_a_ticket_that_is_asked_now_and_then_says_its_outcome_once_it_is_known() {
    with_every_end(|ticket| match Ticket::poll(ticket) {
        Ok(outcome) => outcome,
        Err(pending) => pending.wait(),
    });
}

/// What a callback was called with, and how often.
#[derive(Default)]
struct Called {
    given: AtomicU32,
    closed: AtomicU32,
}

impl Called {
    fn note(&self, outcome: &Outcome) {
        let counter = if is_given(outcome) { &self.given } else { &self.closed };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn model_a_callback_is_called_exactly_once_whichever_thread_comes_first() {
    for is_resolved in [true, false] {
        explore_all(move || {
            let (ticket, resolver) = Ticket::pair(EngineId::next());
            let called = Arc::new(Called::default());
            let noted = Arc::clone(&called);
            let asking = thread::spawn(move || ticket.on_done(move |outcome| noted.note(&outcome)));
            if is_resolved {
                resolver.resolve(outcome())
            } else {
                drop(resolver)
            }
            asking.join().unwrap();
            assert_eq!(called.given.load(Ordering::Relaxed), u32::from(is_resolved));
            assert_eq!(called.closed.load(Ordering::Relaxed), u32::from(!is_resolved));
        });
    }
}

/// A task that sleeps until it is woken.
#[derive(Default)]
struct Sleeper {
    is_woken: Mutex<bool>,
    woken: Condvar,
}

impl Sleeper {
    fn sleep(&self) {
        let mut is_woken = self.is_woken.lock();
        while !*is_woken {
            self.woken.wait(&mut is_woken);
        }
        *is_woken = false;
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock() = true;
        self.woken.notify_all();
    }
}

#[test]
fn model_a_task_that_awaits_a_ticket_is_woken() {
    explore_all(|| {
        let (ticket, resolver) = Ticket::pair(EngineId::next());
        let resolving = thread::spawn(move || resolver.resolve(outcome()));
        let sleeper = Arc::new(Sleeper::default());
        let waker = Waker::from(Arc::clone(&sleeper));
        let mut context = Context::from_waker(&waker);
        let mut ticket = pin!(ticket);
        let told = loop {
            match ticket.as_mut().poll(&mut context) {
                Poll::Ready(told) => break told,
                Poll::Pending => sleeper.sleep(),
            }
        };
        assert!(is_given(&told));
        resolving.join().unwrap();
    });
}

#[test]
fn model_a_notice_between_looking_and_waiting_is_seen() {
    explore_all(|| {
        let notifier = Notifier::default();
        let notifies = notifier.clone();
        let notifying = thread::spawn(move || notifies.notify(Some(1)));
        // As a subscription does: see, look at the log, wait. A notice that is lost is waited for
        // for ever.
        let never = Instant::now() + NEVER;
        loop {
            let seen = notifier.seen();
            if seen.durable >= 1 {
                break;
            }
            notifier.wait(&seen, never);
        }
        notifying.join().unwrap();
    });
}

#[test]
fn model_the_close_notice_is_seen_and_nothing_that_was_said_before_is_lost() {
    explore_all(|| {
        let notifier = Notifier::default();
        let close_notice = CloseNotice(notifier.clone());
        let notifying = thread::spawn(move || {
            close_notice.0.notify(Some(7));
            drop(close_notice);
        });
        let never = Instant::now() + NEVER;
        let seen = loop {
            let seen = notifier.seen();
            if seen.is_closed {
                break seen;
            }
            notifier.wait(&seen, never);
        };
        assert_eq!(seen.durable, 7);
        notifying.join().unwrap();
    });
}
