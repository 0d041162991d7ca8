//! Messages of a recorder and its guard to each other, over one socket.
//!
//! A message is its length in four bytes and then itself. Descriptors travel with the first one.

use std::ffi::OsString;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::again::again;
use super::last_word::Entrusted;
use super::leader::{Limit, Limits};
use super::opened::Plan;
use super::pauses::Ran;
use super::report::Survivor;
use super::signal_state::SignalState;
use super::usage::Usage;
use super::variable::Variable;

/// Number of descriptors that can travel with a message.
const DESCRIPTORS_MAX: usize = 18;
/// Number of bytes a message has at most: several times what the kernel lets a command have of
/// arguments and environment.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Amount that is read at once.
const READ_BYTES: usize = 64 * 1024;
/// Number of bytes of the length that stands before a message.
const LENGTH_BYTES: usize = 4;

/// Command to start. Its descriptors are those of stdout, of stderr, of stdin if it is asked for,
/// of the program if there is a plan, of the last word if there may be one, and what is only to be
/// kept open.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) path: OsString,
    pub(super) name: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) directory: OsString,
    pub(super) environment: Vec<Variable>,
    pub(super) signals: SignalState,
    pub(super) has_stdin: bool,
    /// Its standard input is to be the terminal of its session.
    pub(super) has_terminal: bool,
    /// Files to execute, where they were opened.
    pub(super) plan: Option<Plan>,
    /// Means by which the guard may write down how the command ended.
    pub(super) last_word: Option<Entrusted>,
}

/// Later request of a recorder.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum Request {
    /// Let the command execute, and end it once it exceeds one of these, also where the recorder
    /// does not ask for it. Before this the command has certainly not run.
    Open(Limits),
    /// The command is being ended: kill it with everything that it started after this time, also
    /// where the recorder does not ask for it.
    KillAfter(Duration),
    /// Kill the command with everything that it started.
    Kill,
    /// The command is over: say how it ended, and leave alone what it left behind.
    Finish,
    /// The end of the command is on record.
    Part,
}

/// Message of a guard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Report {
    /// The process of the command waits at the gate: its number, and that of the guard.
    Ready { leader: i32, guard: i32 },
    /// The command is not executed, by the system's error number where there is one.
    NotStarted { errno: Option<i32>, message: String },
    /// Its first process has ended. It is not reaped.
    Ended,
    /// The command exceeded a limit: the guard ends it.
    Exceeded(Limit),
    /// Whatever could be killed is gone, and reaped.
    Killed,
    /// The last word.
    Finished(Finished),
}

/// End of a command.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Finished {
    /// The status as the system gives it.
    pub(super) status: i32,
    pub(super) usage: Usage,
    /// The time from the opening of the gate until its first process was seen to have ended.
    pub(super) ran: Ran,
    /// The peak of the guard, out of which the command was started.
    pub(super) own_peak: Option<u64>,
    pub(super) survivors: Vec<Survivor>,
    /// Number of those it may not kill although they were to end with the command.
    pub(super) beyond_reach: u32,
    /// True if the guard outlasts what the command left behind: it ends by itself then.
    pub(super) lives_on: bool,
}

/// Bytes read of messages that are not whole yet.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    /// Those that came with them.
    pub(super) descriptors: Vec<OwnedFd>,
}

/// Sends a message, and waits until the other side has room for it.
pub(super) fn send<T: Serialize>(channel: &UnixStream, message: &T) -> io::Result<()> {
    write_all(channel, &framed(message)?)
}

fn write_all(mut channel: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = again(|| channel.write(bytes))?;
        bytes = bytes.get(count..).filter(|_| count > 0).ok_or(ErrorKind::WriteZero)?;
    }
    Ok(())
}

/// Sends a message with descriptors.
pub(super) fn send_with<T: Serialize>(
    channel: &UnixStream,
    message: &T,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = framed(message)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "too many descriptors to hand over"));
    }
    let parts = [IoSlice::new(&bytes)];
    let sent = again(|| Ok(sendmsg(channel, &parts, &mut ancillary, SendFlags::NOSIGNAL)?))?;
    write_all(channel, bytes.get(sent..).unwrap_or_default())
}

impl Incoming {
    /// Reads once. Waits for something to read only where `flags` do not say otherwise. Whether
    /// there may be more to come: `false` at the end of the channel.
    pub(super) fn read(&mut self, channel: &UnixStream, flags: RecvFlags) -> io::Result<bool> {
        let mut buffer = vec![0; READ_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        let received = again(|| match recvmsg(channel, &mut parts, &mut ancillary, flags) {
            Ok(received) => Ok(Some(received.bytes)),
            Err(Errno::AGAIN) => Ok(None),
            Err(Errno::CONNRESET) => Ok(Some(0)),
            Err(error) => Err(error.into()),
        })?;
        let Some(received) = received else { return Ok(true) };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        self.bytes.extend_from_slice(buffer.get(..received).unwrap_or_default());
        Ok(received > 0)
    }

    /// The next whole message, if it is there.
    pub(super) fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(length) = self.bytes.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > MESSAGE_BYTES_MAX {
            return Err(not_understood());
        }
        let end = LENGTH_BYTES.saturating_add(length);
        let Some(message) = self.bytes.get(LENGTH_BYTES..end) else { return Ok(None) };
        let decoded = bincode::serde::decode_from_slice(message, bincode::config::standard());
        let (message, _) = decoded.map_err(|_| not_understood())?;
        self.bytes.drain(..end);
        Ok(Some(message))
    }
}

fn framed<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let too_long = || io::Error::from(Errno::TOOBIG);
    let encoded = bincode::serde::encode_to_vec(message, bincode::config::standard());
    let encoded = encoded.map_err(|_| not_understood())?;
    let length = u32::try_from(encoded.len()).map_err(|_| too_long())?;
    if encoded.len() > MESSAGE_BYTES_MAX {
        return Err(too_long());
    }
    Ok([&length.to_le_bytes()[..], &encoded].concat())
}

fn not_understood() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "a message that is none of this version's")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_message_and_its_descriptors_arrive_whole_whatever_its_length() {
        let (one, other) = UnixStream::pair().expect("descriptors");
        let order = Order {
            path: "/bin/sh".into(),
            name: "sh".into(),
            arguments: vec!["x".repeat(1 << 20).into()],
            directory: "/".into(),
            environment: vec![Variable::new("A", "b")],
            signals: SignalState::default(),
            has_stdin: false,
            has_terminal: false,
            plan: None,
            last_word: None,
        };
        let (reading, writing) = io::pipe().expect("descriptors");
        let sender = std::thread::spawn(move || {
            send_with(&one, &order, &[writing.as_fd()]).expect("it is read");
        });
        let mut incoming = Incoming::default();
        let order: Order = loop {
            assert!(incoming.read(&other, RecvFlags::empty()).expect("a channel"));
            if let Some(order) = incoming.take().expect("one of ours") {
                break order;
            }
        };
        sender.join().expect("all was sent");
        assert_eq!(order.arguments.first().map(|word| word.len()), Some(1 << 20));
        let mut arrived = std::fs::File::from(incoming.descriptors.remove(0));
        arrived.write_all(b"!").expect("a pipe");
        drop(arrived);
        assert_eq!(io::read_to_string(reading).expect("a pipe"), "!");
        assert!(!incoming.read(&other, RecvFlags::empty()).expect("its end"));
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let mut incoming = Incoming { bytes: vec![0xff; 64], descriptors: Vec::new() };
        assert!(incoming.take::<Report>().is_err());
        let mut incoming = Incoming { bytes: vec![1, 0, 0, 0, 99], descriptors: Vec::new() };
        assert!(incoming.take::<Report>().is_err());
        let mut incoming = Incoming { bytes: vec![9, 0, 0, 0, 1], descriptors: Vec::new() };
        assert!(incoming.take::<Report>().expect("not whole yet").is_none());
    }
}
