//! Names: what the directories show, what is durable, and the changes in between.

use std::collections::{BTreeMap, BTreeSet};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    File(u64),
    Directory,
}

/// One change of names. A rename is atomic.
#[derive(Clone, Debug)]
enum Change {
    Link { path: String, node: Node },
    Unlink { path: String },
    Rename { from: String, to: String, node: Node },
}

#[derive(Clone, Debug)]
struct Pending {
    change: Change,
    /// Directories that must be synced before the change is durable.
    unsynced: Vec<String>,
    /// The disk loses it, whatever is synced.
    is_lost: bool,
}

/// All names by path; the root is not among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    shown: BTreeMap<String, Node>,
    durable: BTreeMap<String, Node>,
    /// Changes since, oldest first. What follows a change that is not durable stays here.
    pending: Vec<Pending>,
}

impl Names {
    pub(super) fn get(&self, path: &str) -> Option<Node> {
        self.shown.get(path).copied()
    }

    /// Names and nodes directly in a directory.
    pub(super) fn list(&self, directory: &str) -> impl Iterator<Item = (&str, Node)> {
        let inside = move |path: &String| parent(path) == directory;
        let shown = self.shown.iter().filter(move |(path, _)| inside(path));
        shown.map(|(path, node)| (path.rsplit('/').next().unwrap_or(path), *node))
    }

    pub(super) fn link(&mut self, path: &str, node: Node, is_lost: bool) {
        let unsynced = vec![parent(path).to_string()];
        self.change(Change::Link { path: path.to_string(), node }, unsynced, is_lost);
    }

    pub(super) fn unlink(&mut self, path: &str, is_lost: bool) {
        let unsynced = vec![parent(path).to_string()];
        self.change(Change::Unlink { path: path.to_string() }, unsynced, is_lost);
    }

    pub(super) fn rename(&mut self, from: &str, to: &str, node: Node, is_lost: bool) {
        let mut unsynced = vec![parent(from).to_string(), parent(to).to_string()];
        unsynced.dedup();
        let change = Change::Rename { from: from.to_string(), to: to.to_string(), node };
        self.change(change, unsynced, is_lost);
    }

    fn change(&mut self, change: Change, unsynced: Vec<String>, is_lost: bool) {
        apply(&mut self.shown, &change);
        self.pending.push(Pending { change, unsynced, is_lost });
    }

    /// What was changed in this directory is durable, as far as it is in this directory alone.
    pub(super) fn sync(&mut self, directory: &str) {
        for pending in &mut self.pending {
            pending.unsynced.retain(|unsynced| unsynced != directory);
        }
        let is_done = |pending: &Pending| pending.unsynced.is_empty();
        let done = self.pending.iter().take_while(|pending| is_done(pending)).count();
        for pending in self.pending.drain(..done).filter(|pending| !pending.is_lost) {
            apply(&mut self.durable, &pending.change);
        }
    }

    /// The changes that power loss may undo, by the path that they make or remove.
    pub(super) fn unsynced(&self) -> impl Iterator<Item = &str> {
        let open = self.pending.iter().filter(|pending| pending.is_open());
        open.map(|pending| pending.change.path())
    }

    /// The names as they are after power came back, where the changes of [`Self::unsynced`] that
    /// `keeps` says yes to survived.
    pub(super) fn come_back(&mut self, mut keeps: impl FnMut() -> bool) {
        for pending in std::mem::take(&mut self.pending) {
            let is_kept = if pending.is_open() { keeps() } else { !pending.is_lost };
            if is_kept {
                apply(&mut self.durable, &pending.change);
            }
        }
        let directories: BTreeSet<String> =
            self.durable.iter().filter_map(directory_path).collect();
        let is_reachable =
            |path: &str| parent(path).is_empty() || directories.contains(parent(path));
        self.durable.retain(|path, _| is_reachable(path));
        self.shown.clone_from(&self.durable);
    }

    /// Every file that a name stands for, or may stand for after power loss.
    pub(super) fn files(&self) -> BTreeSet<u64> {
        let pending = self.pending.iter().filter_map(|pending| pending.change.node());
        let named = self.shown.values().chain(self.durable.values()).copied();
        let file = |node| if let Node::File(file) = node { Some(file) } else { None };
        named.chain(pending).filter_map(file).collect()
    }

    /// Paths and nodes.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, Node)> {
        self.shown.iter().map(|(path, node)| (path.as_str(), *node))
    }
}

impl Pending {
    fn is_open(&self) -> bool {
        !self.is_lost && !self.unsynced.is_empty()
    }
}

impl Change {
    fn path(&self) -> &str {
        match self {
            Self::Link { path, .. } | Self::Unlink { path } | Self::Rename { to: path, .. } => path,
        }
    }

    fn node(&self) -> Option<Node> {
        match self {
            Self::Link { node, .. } | Self::Rename { node, .. } => Some(*node),
            Self::Unlink { .. } => None,
        }
    }
}

fn apply(names: &mut BTreeMap<String, Node>, change: &Change) {
    match change {
        Change::Link { path, node } => {
            names.insert(path.clone(), *node);
        }
        Change::Unlink { path } => {
            names.remove(path);
        }
        Change::Rename { from, to, node } => {
            if names.get(from) == Some(node) {
                names.remove(from);
            }
            names.insert(to.clone(), *node);
        }
    }
}

fn directory_path((path, node): (&String, &Node)) -> Option<String> {
    (*node == Node::Directory).then(|| path.clone())
}

/// Path of the directory that a path is in; `""` is the root.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}
