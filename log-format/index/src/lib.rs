//! The sidecar index of a sealed segment.
