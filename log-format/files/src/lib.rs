//! A room of Holdpoint.
