//! One entity from its beginning to its end.

use super::execution_loop::LoopLife;
use super::point::PointLife;
use super::random::Random;
use super::thread::ThreadLife;
use holdpoint_domain::{ActorId, Command, World};

/// A command, and who gives it in which story.
pub(super) struct Submission {
    pub(super) actor: ActorId,
    pub(super) correlation: String,
    pub(super) key: Option<String>,
    /// It answers something whose time may be over: it may be refused.
    pub(super) may_be_late: bool,
    pub(super) command: Command,
}

/// What an entity does next.
pub(super) enum Move {
    /// Somebody gives a command.
    Give(Box<Submission>),
    /// Nobody does anything until its time is over.
    Wait,
    /// Nothing more: it ended.
    Over,
}

/// Something that lives.
pub(super) enum Life {
    Loop(LoopLife),
    Point(PointLife),
    Thread(ThreadLife),
}

impl Life {
    /// The `number`th entity of a history: mostly a loop.
    pub(super) fn new(random: &mut Random, number: u64) -> Self {
        match random.below(100) {
            ..2 => Self::Thread(ThreadLife::new(random, number)),
            2..12 => Self::Point(PointLife::new(random)),
            _ => Self::Loop(LoopLife::new(random)),
        }
    }

    /// The next move, at a time in nanoseconds.
    pub(super) fn go_on(&mut self, random: &mut Random, now: u64) -> Move {
        match self {
            Self::Loop(life) => life.go_on(random),
            Self::Point(life) => life.go_on(random),
            Self::Thread(life) => life.go_on(random, now),
        }
    }

    /// Whether the state still holds it among what lives.
    pub(super) fn is_live(&self, world: &World) -> bool {
        match self {
            Self::Loop(life) => life.is_live(world),
            Self::Point(life) => life.is_live(world),
            Self::Thread(life) => life.is_live(world),
        }
    }
}
