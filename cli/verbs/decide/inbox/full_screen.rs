//! The inbox over a whole terminal: the logs are followed, and questions answered in place.

use super::screen::{Action, Key, Opened, Place, Renderer, Screen, View};
use super::terminal::FullTerminal;
use crate::args::LockWaitArgs;
use crate::log::captured_output;
use crate::log::configuration::hides_output;
use crate::log::named_logs::NamedLogs;
use crate::questions::decision_view::{self, Doubts};
use crate::questions::hold_view;
use crate::questions::log_snapshot::SnapshotScope;
use crate::questions::respond::{self, Reply, Terms};
use crate::questions::waiting_item::Item;
use crate::questions::waiting_logs::Logs;
use crate::ui::program::program;
use crate::ui::{Exit, Failure, complain, now};
use holdpoint_domain::governed::RequestPlace;
use holdpoint_engine::shell::{Question, Watch};
use holdpoint_replay::question::Kind;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The countdowns go on so often, and every log is looked at.
const TICK: Duration = Duration::from_secs(1);
/// The logs are looked at no more often than this, however much is written to them.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// So many lines of a run's output are shown.
const OUTPUT_LINES: usize = 1000;

/// The inbox while it is looked at.
struct Session<'a> {
    logs: Logs,
    screen: Screen,
    turn: &'a LockWaitArgs,
    looked: Instant,
    /// What was answered here, of which the log has nothing new to tell.
    answered: Vec<Place>,
}

/// Shows the inbox until whoever looks at it has seen enough. Exit codes as those of the list.
pub(super) fn show(
    named: &NamedLogs,
    asked: SnapshotScope,
    turn: &LockWaitArgs,
) -> Result<Exit, Failure> {
    let (notices, logs) = Logs::read(named, asked)?;
    let mut session =
        Session { logs, screen: Screen::new(), turn, looked: Instant::now(), answered: Vec::new() };
    session.take();
    let looked_at = FullTerminal::take().and_then(|mut terminal| {
        let ended = session.look(&mut terminal, &notices);
        drop(terminal);
        ended
    });
    looked_at.map_err(|error| {
        let message = format!("the terminal failed: {error}; `holdpoint inbox | cat` needs none");
        Failure::new(Exit::FAILED, "io", message)
    })?;
    session.logs.problems().for_each(|problem| complain(problem.message()));
    Ok(session.logs.exit())
}

impl Session<'_> {
    fn look(&mut self, terminal: &mut FullTerminal, notices: &Watch) -> io::Result<()> {
        let mut may_have_grown = false;
        loop {
            let frame = self.screen.frame(now(), terminal.size());
            terminal.draw(&frame)?;
            let rest = BETWEEN_LOOKS.saturating_sub(self.looked.elapsed());
            let at_most = if may_have_grown { rest } else { TICK };
            may_have_grown |= notices.wait_with(io::stdin().as_fd(), at_most);
            terminal.heed_signals()?;
            for key in terminal.keys()? {
                if key == Key::Control('z') {
                    terminal.stop()?;
                    break;
                }
                match self.screen.press(&key) {
                    None => {}
                    Some(Action::Quit) => return Ok(()),
                    Some(action) => {
                        self.carry_out(terminal, action)?;
                        may_have_grown = true;
                        // What was typed meanwhile was for what was shown before, and what the
                        // log's writer has to say stands wherever the cursor was.
                        terminal.forget_typed()?;
                        terminal.forget_drawn();
                        break;
                    }
                }
            }
            let since = self.looked.elapsed();
            if since >= TICK || (may_have_grown && since >= BETWEEN_LOOKS) {
                may_have_grown = false;
                self.refresh();
            }
        }
    }

    /// Reads what changed, and tells what ended by it.
    fn refresh(&mut self) {
        self.looked = Instant::now();
        let changes = self.logs.refresh();
        if changes.is_empty() {
            return;
        }
        for (item, ending) in changes.iter().flat_map(|change| &change.ended) {
            let is_own = |own: &Place| own.log == item.log && own.id == item.id;
            if !self.answered.iter().any(is_own) {
                self.screen.ended(item, ending);
            }
        }
        // What was read since does not end by that answer any more: it was one of several.
        self.answered.retain(|own| changes.iter().all(|change| change.log != own.log));
        self.take();
        if let Some(opened) = self.screen.opened().filter(|opened| opened.over.is_none()) {
            match opening(&self.logs, &opened.place()) {
                Ok((item, shown)) => (opened.item, opened.shown, opened.lost) = (item, shown, None),
                Err(lost) => opened.lost = Some(lost),
            }
        }
    }

    /// Hands what was read to the screen.
    fn take(&mut self) {
        let items: Vec<Item> = self.logs.items().into_iter().cloned().collect();
        self.screen.take(items);
        self.screen.known = self.logs.known();
        let problems = self.logs.problems().map(|failure| failure.message().to_string());
        let ahead = self.logs.logs.iter().filter_map(|log| log.ahead());
        self.screen.problems = problems.chain(ahead).collect();
    }

    fn carry_out(&mut self, terminal: &mut FullTerminal, action: Action) -> io::Result<()> {
        match action {
            Action::Quit => {}
            Action::Open(place) => self.open(&place),
            Action::Output(place) => self.output(&place),
            Action::Give(place, reply) => {
                self.screen.reply("handing it in ..");
                let frame = self.screen.frame(now(), terminal.size());
                terminal.draw(&frame)?;
                // Where the answer is a person's, the whole question is shown, and the word typed.
                terminal.lend(|| self.give(&place, reply))?;
            }
        }
        Ok(())
    }

    fn open(&mut self, place: &Place) {
        match opening(&self.logs, place) {
            Ok((item, shown)) => {
                self.screen.view = View::Question(Box::new(Opened::new(item, shown)));
            }
            Err(why) => self.screen.reply(&why),
        }
    }

    fn output(&mut self, place: &Place) {
        let Some(item) = item(&self.logs, place) else { return };
        let Some(loop_id) = item.loop_id.clone() else {
            return self.screen.reply("no attempt has run yet");
        };
        let Some(log) = self.logs.logs.get(place.log) else { return };
        let global = log.place.global(false);
        let listed = log.place.expect_listed();
        let read =
            listed.and_then(|()| captured_output::last_shown(&global, &loop_id, OUTPUT_LINES));
        match read {
            Ok(parts) => self.screen.show_output(parts),
            Err(failure) => self.screen.reply(failure.message()),
        }
    }

    /// Hands an answer in, as `decision respond` does.
    fn give(&mut self, place: &Place, reply: Reply) {
        let Some(log) = self.logs.logs.get(place.log) else { return };
        let (global, terms) = (log.place.global(false), Terms::of_user(self.turn.clone()));
        let listed = log.place.expect_listed();
        let answered = listed.and_then(|()| respond::hand_in(&global, reply, terms));
        match answered.and_then(|output| output.words()) {
            Ok(came_to) => {
                self.screen.answered(&place.id, &came_to);
                self.answered.push(place.clone());
            }
            Err(failure) => self.screen.reply(failure.message()),
        }
    }
}

fn item<'a>(logs: &'a Logs, place: &Place) -> Option<&'a Item> {
    logs.logs.get(place.log)?.items.iter().find(|item| item.id == place.id)
}

/// A question, and how it is shown; else why it is not to be seen.
fn opening(logs: &Logs, place: &Place) -> Result<(Item, Renderer), String> {
    let found = item(logs, place).and_then(|item| Some((item.clone(), shown(logs, item)?)));
    found.ok_or_else(|| {
        let problem = logs.logs.get(place.log).and_then(|log| log.problem.as_ref());
        let why = problem.map(|problem| problem.message().to_string());
        why.unwrap_or_else(|| format!("{} is not there any more", place.id))
    })
}

/// A question as `decision show` and `decision show` have it.
fn shown(logs: &Logs, item: &Item) -> Option<Renderer> {
    let log = logs.logs.get(item.log)?;
    let state = log.state.as_ref()?;
    let world = state.world();
    match item.kind {
        Kind::Hold => match world.find_request(&item.id)? {
            RequestPlace::Live(entity, held) => {
                let global = log.place.global(false);
                let question = Question::of(entity, held).asked_in(world);
                let question = Question { hides_output: hides_output(&global), ..question };
                let program = program(&global.log);
                Some(Box::new(move |columns, now| {
                    hold_view::lines(&question, Some(now), columns, (&program, false))
                }))
            }
            RequestPlace::Closed(_) => None,
        },
        Kind::Decision => {
            let point = world.decision_point(&item.id)?.clone();
            let doubts = Doubts::of(world, &point, now());
            let doubts = Doubts { is_log_damaged: state.failed(), ..doubts };
            let global = log.place.global(false);
            Some(Box::new(move |columns, now| {
                decision_view::brief_lines(&global, &point, (now, columns, usize::MAX), doubts)
            }))
        }
    }
}
