//! Measures Holdpoint against what it cannot beat, and against what else there is, in one run.
