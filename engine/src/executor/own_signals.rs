//! Handling of the signals that this process itself gets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin, Sent};

use super::child_calls::{Disposition, disposition};
use super::signals::{ForwardedSignal, ReceivedSignal, SignalOrigin, SignalSource};

/// Number of [`Signals`] that exist in this process.
static INSTALLED: Mutex<usize> = Mutex::new(0);

/// True if the default action applies again, because no [`Signals`] exists any more. A handler
/// stays in the process once it is installed, and consults this.
static DEFAULT_APPLIES: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// While this exists, the signals of [`ForwardedSignal`] to this process are kept for it: an
/// interrupt is never lost, whether or not a command is running yet.
///
/// A signal that was ignored when this was installed (by `nohup`, say) stays ignored, for the
/// command too. A handler that was there before is called as well. When the last of these values
/// is dropped, a signal that had its default action has it again; a handler that was added to such
/// a signal behind the first of them is not called then, so embedders install theirs first.
///
/// Each value gets every signal, so concurrent executions want one each. Several signals of one
/// kind between two looks count as one, as signals do.
#[derive(Debug)]
pub struct Signals {
    delivery: SignalDelivery<UnixStream, WithOrigin>,
    waiting: Vec<ReceivedSignal>,
    interrupted: Option<ForwardedSignal>,
}

impl Signals {
    /// Begins to keep the signals.
    ///
    /// # Errors
    ///
    /// When the system has no descriptors left or refuses a handler.
    pub fn install() -> io::Result<Self> {
        let mut installed = INSTALLED.lock();
        let mut kept = Vec::new();
        for signal in ForwardedSignal::ALL {
            let number = signal.number();
            match disposition(number)? {
                Disposition::Ignored => {}
                before => kept.push((number, before)),
            }
        }
        let (reading, writing) = UnixStream::pair()?;
        if *installed == 0 {
            DEFAULT_APPLIES.store(true, Ordering::SeqCst);
        }
        // Handlers run in the order of their registration, and one that is not over may be there
        // while this value goes: whether the default applies is asked before anybody is told.
        for (number, _) in kept.iter().filter(|(_, before)| *before == Disposition::Default) {
            let applies = Arc::clone(&DEFAULT_APPLIES);
            signal_hook::flag::register_conditional_default(*number, applies)?;
        }
        let numbers = kept.iter().map(|(number, _)| *number);
        let delivery = SignalDelivery::with_pipe(reading, writing, WithOrigin::default(), numbers)?;
        DEFAULT_APPLIES.store(false, Ordering::SeqCst);
        *installed += 1;
        Ok(Self { delivery, waiting: Vec::new(), interrupted: None })
    }

    /// The first signal that asked for the end since this was installed, whether or not an
    /// execution has taken it. It is never forgotten.
    pub fn interrupted(&mut self) -> Option<ForwardedSignal> {
        self.collect();
        self.interrupted
    }

    fn collect(&mut self) {
        for received in self.delivery.pending().filter_map(|origin| received(&origin)) {
            let signal = received.signal;
            if signal.asks_for_the_end() {
                self.interrupted.get_or_insert(signal);
            }
            if !self.waiting.iter().any(|waiting| waiting.signal == signal) {
                self.waiting.push(received);
            }
        }
    }
}

impl SignalSource for Signals {
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.delivery.get_read().as_fd())
    }

    fn take(&mut self) -> Vec<ReceivedSignal> {
        self.collect();
        std::mem::take(&mut self.waiting)
    }

    fn stops_this_process(&self) -> bool {
        true
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let mut installed = INSTALLED.lock();
        *installed -= 1;
        if *installed == 0 {
            DEFAULT_APPLIES.store(true, Ordering::SeqCst);
        }
    }
}

/// Returns what the kernel told with a signal. Only of `kill` and its like does it name the sender
/// itself: with a queued signal it hands on what the sender says.
fn received(told: &Origin) -> Option<ReceivedSignal> {
    let origin = match (told.cause, told.process) {
        (Cause::Kernel, _) => SignalOrigin::Terminal,
        (Cause::Sent(Sent::User | Sent::TKill), Some(sender)) => {
            let pid = u32::try_from(sender.pid).ok().filter(|pid| *pid != 0);
            SignalOrigin::Process { pid, uid: sender.uid }
        }
        _ => SignalOrigin::Unknown,
    };
    let signal = ForwardedSignal::from_number(told.signal)?;
    Some(ReceivedSignal { signal, origin })
}
