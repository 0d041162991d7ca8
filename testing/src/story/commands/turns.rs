//! Commands on threads.

use holdpoint_domain::Command;
use holdpoint_domain::interruption_thread::{
    Directive, InterruptionThreadCommand, PendingState, TakeTurn, ThreadCommand,
};

use super::registrations::{TENANT, USERS, WorkOrder, device_of};
use super::{Generator, any, below, one_in};
use crate::story::Story;
use crate::threads::drawn::{Moment, drawn_request, drawn_row, row};
use crate::threads::planned::{committed, drafted, heard};
use crate::threads::thread_command;

/// Threads that are spoken in at a time.
const PLACES: u64 = 8;

impl Generator {
    /// What carries a thread on, or ends it; first what a thread needs to be spoken in.
    pub(super) fn of_thread(&mut self, story: &Story) -> Command {
        if let Some(command) = self.missing() {
            return command;
        }
        let place = below(&mut self.random, PLACES);
        let life = self.registered.lives.get(&place).copied().unwrap_or_default();
        let thread = format!("thread-{place}-{life}");
        let Some(order) = self.registered.work_order_of(&thread) else {
            return self.order_work(&thread);
        };
        let has_lease = self.registered.lease_on(&order, story.now).is_some();
        if !has_lease && one_in(&mut self.random, 3) {
            return self.hold_lease(&order.work_order_id, story.now);
        }
        let drawn = below(&mut self.random, 80);
        if drawn >= 60 {
            return self.of_plan(story, &thread, &order, drawn < 70);
        }
        let on: fn(ThreadCommand) -> InterruptionThreadCommand = match drawn {
            0 => InterruptionThreadCommand::ExpireThread,
            1 | 2 => InterruptionThreadCommand::CloseThread,
            3 | 4 => InterruptionThreadCommand::ReadAuditRows,
            5..30 => {
                let turn = self.turn(story, &thread, &order);
                return drawn_row(&mut self.random, turn);
            }
            30..40 if self.is_free(story, &thread) => {
                return row(self.turn(story, &thread, &order), Directive::Dispatch);
            }
            _ => {
                return Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(
                    self.turn(story, &thread, &order),
                ));
            }
        };
        on(thread_command(TENANT, &thread)).into()
    }

    /// The plan of a turn; or, where there is one, mostly its commit, which may come too early.
    fn of_plan(&mut self, story: &Story, thread: &str, order: &WorkOrder, anew: bool) -> Command {
        let mut turn = self.turn(story, thread, order);
        let mut said = heard(&turn.request);
        said.transcript.is_final = !one_in(&mut self.random, 10);
        let known = story.world.thread(TENANT, thread);
        match known.and_then(|known| known.open_plan()).filter(|_| !anew) {
            Some(open) => {
                turn.turn_id = open.turn_id;
                committed(&turn, &open.plan_key, said)
            }
            None => drafted(&turn, said),
        }
    }

    /// Whether nothing bars a dispatch: no open question, and no words left unsaid.
    fn is_free(&self, story: &Story, thread: &str) -> bool {
        story.world.thread(TENANT, thread).is_none_or(|thread| {
            let state = &thread.state;
            state.pending_state() == PendingState::None && state.resume_buffers.is_empty()
        })
    }

    fn turn(&mut self, story: &Story, thread: &str, order: &WorkOrder) -> TakeTurn {
        let known = story.world.thread(TENANT, thread);
        let state = known.map(|known| known.state.clone()).unwrap_or_default();
        let random = &mut self.random;
        let told = state.marks.active_speaker_user_id.as_deref();
        let told = told.filter(|_| !one_in(random, 6)).map(str::to_owned);
        let user = told.unwrap_or_else(|| any(random, &USERS).to_owned());
        let turn_id = known.map_or(0, |known| known.last_turn_id) + below(random, 20).clamp(1, 2);
        let session_id = self.registered.session_of(&user, random);
        let session_id = session_id.filter(|_| !one_in(random, 3));
        let at = story.now.nanoseconds();
        let words = format!("[{user} {turn_id}] words left unsaid.");
        let moment = Moment { at, user: &user, turn_id, state: &state, words: &words };
        TakeTurn {
            tenant_id: TENANT.to_owned(),
            correlation_id: thread.to_owned(),
            turn_id,
            session_id,
            device_id: device_of(&user),
            work_order_id: order.work_order_id.to_string(),
            work_order_status_snapshot: order.status,
            pending_state: match one_in(random, 20) {
                true => PendingState::StepUp,
                false => state.pending_state(),
            },
            idempotency_key: format!("key-{turn_id}"),
            lease_token_hash: self.registered.lease_on(order, story.now),
            request: drawn_request(random, moment).into(),
            user_id: user,
        }
    }
}
