//! The terminal while the inbox fills it: taken, drawn on, listened to, and given back as it was on
//! every way out, a panic and a signal included.

use super::screen::{Frame, Key, Tone};
use crate::ui::Output;
use crate::ui::screen::size_of;
use crossterm::cursor::Show;
use crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind,
    KeyModifiers,
};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use holdpoint_engine::executor::{Guard, Keeper, KeeperRequest};
use holdpoint_engine::shell::{is_in_front_of, lockable, terminal_name};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::stdio::dup2_stdin;
use rustix::termios::{QueueSelector, tcflush, ttyname};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Whether the terminal is taken now. A panic does not know who took it.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// What puts the terminal back where this process is killed, and lets nobody else ask there.
static KEEPER: Mutex<Option<Keeper>> = Mutex::new(None);

/// Where frames are drawn, opened so that no write waits.
static WRITER: OnceLock<OwnedFd> = OnceLock::new();

/// The terminal takes nothing any more: its other end is not read.
static IS_STUCK: AtomicBool = AtomicBool::new(false);

/// How long is looked for keys: without any time, nothing is read.
const LOOK: Duration = Duration::from_millis(1);

/// How long the terminal has to take something.
const DRAWING_MAX: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Writes to the terminal, which has a few seconds to take each piece: a signal ends this process
/// all the same where its other end is never read.
struct Patient;

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let writer = WRITER.get().map_or_else(rustix::stdio::stdout, AsFd::as_fd);
        while !IS_STUCK.load(Ordering::SeqCst) {
            match rustix::io::write(writer, bytes) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let mut watched = [PollFd::from_borrowed_fd(writer, PollFlags::OUT)];
                    let is_stuck = poll(&mut watched, Some(&DRAWING_MAX)) == Ok(0);
                    IS_STUCK.fetch_or(is_stuck, Ordering::SeqCst);
                }
                written => return Ok(written?),
            }
        }
        Err(io::Error::new(ErrorKind::TimedOut, "it takes nothing of what is written to it"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The terminal, taken whole.
pub(super) struct FullTerminal {
    drawn: Terminal<CrosstermBackend<BufWriter<Patient>>>,
    /// Its rows and columns when it was drawn on; `None`: something else may stand there.
    size: Option<(usize, usize)>,
    /// False where `NO_COLOR` or `--color` says so.
    is_coloured: bool,
    /// The number of the signal that asked for a stop; 0: none.
    signal: Arc<AtomicUsize>,
}

/// Whether there is a terminal that can be filled: somebody types there and sees what is drawn. In
/// its background there is none.
pub(super) fn is_there() -> bool {
    let is_plain = std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
    stdin().is_terminal() && stdout().is_terminal() && is_in_front_of(stdin()) && !is_plain
}

impl FullTerminal {
    /// Takes the terminal.
    pub(super) fn take() -> io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let value = usize::try_from(SIGTSTP).unwrap_or_default();
        signal_hook::flag::register_usize(SIGTSTP, Arc::clone(&signal), value)?;
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
        end_on_signals()?;
        never_wait();
        take()?;
        // From here on it is given back when this is dropped.
        let drawn = blank((0, 0)).inspect_err(|_| give_back())?;
        Ok(Self { drawn, size: None, is_coloured: Output::stdout().is_coloured(), signal })
    }

    /// How many rows and columns there are.
    pub(super) fn size(&self) -> (usize, usize) {
        size_of(stdout())
    }

    /// Shows a frame.
    pub(super) fn draw(&mut self, shown: &Frame) -> io::Result<()> {
        let now = self.size();
        if self.size != Some(now) {
            execute!(BufWriter::new(Patient), Clear(ClearType::All))?;
            (self.drawn, self.size) = (blank(now)?, Some(now));
        }
        let drawn = self.drawn.draw(|frame| {
            let area = frame.area();
            for (at, (line, y)) in shown.lines.iter().zip(0..area.height).enumerate() {
                let tone = shown.tones.iter().find(|(of, _)| *of == at && self.is_coloured);
                let style = tone.map_or_else(Style::new, |(_, tone)| style_of(*tone));
                let style = match shown.selected.contains(&at) {
                    true => style.add_modifier(Modifier::REVERSED),
                    false => style,
                };
                let width = usize::from(area.width);
                frame.buffer_mut().set_stringn(0, y, line, width, style);
            }
            if let Some((x, y)) = shown.cursor {
                let at = |place: usize, most: u16| u16::try_from(place).unwrap_or(most).min(most);
                let (x, y) = (at(x, area.width), at(y, area.height));
                frame.set_cursor_position(Position { x, y });
            }
        });
        drawn.map(drop)
    }

    /// The keys that were pressed and not taken yet.
    pub(super) fn keys(&mut self) -> io::Result<Vec<Key>> {
        let mut keys = Vec::new();
        while event::poll(LOOK)? {
            match event::read()? {
                Event::Key(pressed) => keys.extend(key(pressed)),
                Event::Paste(text) => keys.push(Key::Pasted(text)),
                Event::Resize(..) | Event::FocusGained | Event::FocusLost | Event::Mouse(_) => {}
            }
        }
        Ok(keys)
    }

    /// Throws away what was typed before now: it was for something else than what is shown next.
    pub(super) fn forget_typed(&mut self) -> io::Result<()> {
        // Where this fails nothing is lost but the throwing away.
        let _ = tcflush(stdin(), QueueSelector::IFlush);
        self.keys().map(drop)
    }

    /// Has everything drawn anew: something else may have been written to the terminal.
    pub(super) fn forget_drawn(&mut self) {
        self.size = None;
    }

    /// Stops where a signal asked for that, as anybody does; afterwards the terminal is taken
    /// again.
    pub(super) fn heed_signals(&mut self) -> io::Result<()> {
        match i32::try_from(self.signal.swap(0, Ordering::SeqCst)) {
            Ok(signal @ 1..) => self.heed(signal),
            _ => Ok(()),
        }
    }

    /// Stops, as Ctrl-Z does elsewhere.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.heed(SIGTSTP)
    }

    /// Gives the terminal back for a conversation, and takes it again.
    pub(super) fn lend<T>(&mut self, conversation: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let outcome = conversation();
        self.forget_drawn();
        take().map(|()| outcome)
    }

    fn heed(&mut self, signal: i32) -> io::Result<()> {
        give_back();
        emulate_default_handler(signal)?;
        self.forget_drawn();
        take()
    }
}

/// The colours of a line.
fn style_of(tone: Tone) -> Style {
    match tone {
        Tone::Warning => Style::new().fg(Color::Yellow),
        Tone::Overdue => Style::new().fg(Color::Red),
        Tone::Faint => Style::new().add_modifier(Modifier::DIM),
        Tone::Foreign => Style::new().fg(Color::Cyan),
    }
}

impl Drop for FullTerminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// Whatever is waited for meanwhile, a signal that asks for the end gives the terminal back, and
/// ends this process as it ends any.
fn end_on_signals() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    std::thread::Builder::new().name("holdpoint-signals".into()).spawn(move || {
        for signal in signals.forever() {
            give_back();
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// Opens a terminal once more, so that nobody waits who reads and writes it: nobody else who has it
/// open is to be affected. Where it cannot be opened, it stays as it is.
fn reopened(terminal: impl AsFd, access: OFlags) -> Option<OwnedFd> {
    let flags = access | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open(&*ttyname(terminal, Vec::new()).ok()?, flags, Mode::empty()).ok()
}

/// Has frames written without waiting for whoever shows them, and input read without waiting for
/// it: what an unfinished sequence of keys lacks may never come, and whoever read on for it would
/// neither draw nor follow a log.
fn never_wait() {
    // Another one of this process is as good.
    let _ = reopened(stdout(), OFlags::WRONLY).map(|terminal| WRITER.set(terminal));
    let _ = reopened(stdin(), OFlags::RDWR).map(dup2_stdin);
}

/// A terminal of this size on which nothing is drawn. Where it is drawn on is stated, so that the
/// terminal is never asked where its cursor is: not every one answers.
fn blank(
    (rows, columns): (usize, usize),
) -> io::Result<Terminal<CrosstermBackend<BufWriter<Patient>>>> {
    let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let viewport = Viewport::Fixed(Rect::new(0, 0, cells(columns), cells(rows)));
    let backend = CrosstermBackend::new(BufWriter::new(Patient));
    Terminal::with_options(backend, TerminalOptions { viewport })
}

fn take() -> io::Result<()> {
    keep()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    let taken = enable_raw_mode().and_then(|()| {
        execute!(BufWriter::new(Patient), EnterAlternateScreen, EnableBracketedPaste)
    });
    taken.inspect_err(|_| give_back())
}

/// Answers are given here: no other process asks at this terminal meanwhile, and nobody opens it.
fn keep() -> io::Result<()> {
    let name = terminal_name().ok_or(io::ErrorKind::NotConnected)?;
    let mut keeper = Keeper::start(Guard::of_own_program().program(), lockable(&name)?.as_fd())?;
    let both = [KeeperRequest::Lock, KeeperRequest::Exclusive];
    both.into_iter().try_for_each(|it| keeper.ask(it)).map_err(io::Error::other)?;
    *KEEPER.lock().unwrap_or_else(PoisonError::into_inner) = Some(keeper);
    Ok(())
}

/// Makes the terminal what it was. Where it is gone there is nothing to give back.
fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let mut writer = BufWriter::new(Patient);
        let _ = execute!(writer, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
    drop(KEEPER.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// What a key means here; nothing where it means nothing. Escape right before another key reads as
/// that key with Alt.
fn key(pressed: KeyEvent) -> impl Iterator<Item = Key> {
    let is_pressed = pressed.kind != KeyEventKind::Release;
    let has_escape = pressed.modifiers.contains(KeyModifiers::ALT);
    let escape = has_escape.then_some(Key::Escape);
    escape.into_iter().chain(plain_key(pressed)).filter(move |_| is_pressed)
}

fn plain_key(KeyEvent { code, modifiers, .. }: KeyEvent) -> Option<Key> {
    match code {
        KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Control(c)),
        KeyCode::Char(c) => Some(Key::Character(c)),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::Backspace | KeyCode::Delete => Some(Key::Backspace),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        KeyCode::Home => Some(Key::Home),
        KeyCode::End => Some(Key::End),
        _ => None,
    }
}
