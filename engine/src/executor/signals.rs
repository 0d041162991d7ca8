//! Signals to this process, and from another thread, on their way to the command.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The signals that are passed on to a running command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForwardedSignal {
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGQUIT: Ctrl-\.
    Quit,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
    /// SIGTERM.
    Terminate,
    /// SIGWINCH: the terminal has another size.
    WindowChange,
}

impl ForwardedSignal {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Hangup,
        Self::Interrupt,
        Self::Quit,
        Self::User1,
        Self::User2,
        Self::Terminate,
        Self::WindowChange,
    ];

    /// The number that the system gives it.
    pub fn number(self) -> i32 {
        match self {
            Self::Hangup => libc::SIGHUP,
            Self::Interrupt => libc::SIGINT,
            Self::Quit => libc::SIGQUIT,
            Self::User1 => libc::SIGUSR1,
            Self::User2 => libc::SIGUSR2,
            Self::Terminate => libc::SIGTERM,
            Self::WindowChange => libc::SIGWINCH,
        }
    }

    /// The signal with a number, if it is one of these.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.number() == number)
    }

    /// Returns whether it asks for the end: SIGHUP, SIGINT, SIGQUIT and SIGTERM do.
    pub fn asks_for_the_end(self) -> bool {
        matches!(self, Self::Hangup | Self::Interrupt | Self::Quit | Self::Terminate)
    }

    /// The signal, without a word on where it came from.
    fn of_unknown_origin(self) -> ReceivedSignal {
        ReceivedSignal { signal: self, origin: SignalOrigin::Unknown }
    }
}

/// Origin of a signal, as far as the kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SignalOrigin {
    /// The driver of a terminal: a key was typed, or the terminal is gone.
    Terminal,
    /// A process sent it.
    Process {
        /// Its number; `None` where it has none here, as one outside of a container.
        pid: Option<u32>,
        /// The user number that it ran as.
        uid: u32,
    },
    /// Not known.
    #[default]
    Unknown,
}

/// A signal, and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedSignal {
    /// The signal.
    pub signal: ForwardedSignal,
    /// Origin of it.
    pub origin: SignalOrigin,
}

/// Source from which an execution learns of signals.
pub trait SignalSource {
    /// A descriptor that becomes readable when [`take`](Self::take) has something new. `None`
    /// when nothing will come any more.
    fn wake(&self) -> Option<BorrowedFd<'_>>;

    /// The signals that came since the last call. Does not wait.
    fn take(&mut self) -> Vec<ReceivedSignal>;

    /// Returns whether SIGTSTP (Ctrl-Z) to this process is to stop the command too, which has no
    /// terminal of this process's that could: everything of the command is stopped, then this
    /// process, and SIGCONT to this process continues both. Of several executions at once, only one
    /// may do so.
    fn stops_this_process(&self) -> bool {
        false
    }
}

/// No signals at all: this process's handling of signals is left as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSignals;

impl SignalSource for NoSignals {
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn take(&mut self) -> Vec<ReceivedSignal> {
        Vec::new()
    }
}

/// A way to signal a running execution from another thread, without a signal to this process.
/// Where such a signal comes from is not known: it is nobody's word that a person said stop.
///
/// # Errors
///
/// When the system has no descriptors left.
pub fn signal_channel() -> io::Result<(SignalSender, SignalReceiver)> {
    let (sending, receiving) = UnixStream::pair()?;
    sending.set_nonblocking(true)?;
    receiving.set_nonblocking(true)?;
    let sender = SignalSender { stream: Arc::new(sending) };
    Ok((sender, SignalReceiver { stream: Some(receiving) }))
}

/// The sending side of [`signal_channel`]: can be cloned and moved to other threads.
#[derive(Debug, Clone)]
pub struct SignalSender {
    stream: Arc<UnixStream>,
}

impl SignalSender {
    /// Sends a signal, to be passed on to the command. Does not wait.
    ///
    /// # Errors
    ///
    /// When the receiver is gone, or thousands of signals wait to be taken.
    pub fn send(&self, signal: ForwardedSignal) -> io::Result<()> {
        let number = u8::try_from(signal.number()).expect("signal numbers are below 128");
        (&*self.stream).write_all(&[number])
    }
}

/// The receiving side of [`signal_channel`].
#[derive(Debug)]
pub struct SignalReceiver {
    /// `None` once every sender is gone.
    stream: Option<UnixStream>,
}

impl SignalSource for SignalReceiver {
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.stream.as_ref().map(AsFd::as_fd)
    }

    fn take(&mut self) -> Vec<ReceivedSignal> {
        let mut taken = Vec::new();
        let mut buffer = [0_u8; 64];
        while let Some(stream) = &mut self.stream {
            match stream.read(&mut buffer) {
                Ok(0) => self.stream = None,
                Ok(count) => {
                    let numbers = buffer.iter().take(count);
                    let signals =
                        numbers.filter_map(|n| ForwardedSignal::from_number(i32::from(*n)));
                    taken.extend(signals.map(ForwardedSignal::of_unknown_origin));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.stream = None,
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_forwarded_signal_is_found_by_its_number() {
        for signal in ForwardedSignal::ALL {
            assert_eq!(ForwardedSignal::from_number(signal.number()), Some(signal));
        }
        assert_eq!(ForwardedSignal::from_number(libc::SIGKILL), None);
    }

    #[test]
    fn a_channel_gives_what_was_sent_in_order_and_then_says_that_it_is_over() {
        let (sender, mut receiver) = signal_channel().expect("descriptors");
        for signal in ForwardedSignal::ALL {
            sender.send(signal).expect("the receiver lives");
        }
        assert_eq!(receiver.take(), ForwardedSignal::ALL.map(ForwardedSignal::of_unknown_origin));
        assert!(receiver.wake().is_some());
        drop(sender);
        assert_eq!(receiver.take(), []);
        assert!(receiver.wake().is_none());
    }
}
