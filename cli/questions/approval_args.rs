//! Who has to approve, as it is given on the command line.

use crate::log::configuration::AskedApproval;
use crate::questions::decision_session::no;
use crate::ui::Failure;
use clap::ValueEnum;
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::limits::MAX_LIST_ITEMS;
use holdpoint_domain::decision_point::DecisionPointRefusal;

/// Options that ask for approval. Any of them sets a policy: then the requester and agents are kept
/// from answering, unless they are let.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Approval policy, set by any of these")]
pub(crate) struct PolicyArgs {
    /// Approvers, by user name [default: every person].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    approvers: Vec<String>,
    /// Number of distinct people who must choose the same, 1 to 16; one rejecting choice ends it
    /// [default: 1].
    #[arg(long, value_name = "N")]
    quorum: Option<u8>,
    /// Allow the requester, or agents, to answer too.
    #[arg(long, value_name = "WHO,...", value_delimiter = ',')]
    allow: Vec<Allowed>,
    /// Minimum proof of who answers [default: terminal].
    #[arg(long, value_name = "PROOF")]
    authentication: Option<Proof>,
    /// Require a user other than the requester, by user number.
    #[arg(long)]
    separation: bool,
}

/// Somebody else who may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Allowed {
    /// Whoever asks.
    Requester,
    /// Agents.
    Agents,
}

/// What proves who somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Proof {
    /// None: claims count.
    #[value(alias = "claimed")]
    None,
    /// The operating system's user.
    OsUser,
    /// The operating system's user, at a terminal.
    Terminal,
}

impl PolicyArgs {
    /// What is asked for; `None` where nothing of it is given.
    pub(crate) fn read(&self) -> Result<Option<AskedApproval>, Failure> {
        let (expected, found) = (MAX_LIST_ITEMS, self.approvers.len());
        if found > expected {
            let field = "approvers";
            return Err(no(DecisionPointRefusal::TooMany { field, expected, found }));
        }
        let asked = AskedApproval {
            approvers: self.approvers.iter().map(|name| name.trim().into()).collect(),
            quorum: self.quorum,
            authentication: self.authentication.map(Proof::authentication),
            separation: self.separation,
            allow_requester: self.allow.contains(&Allowed::Requester),
            allow_agents: self.allow.contains(&Allowed::Agents),
        };
        Ok(self.is_given().then_some(asked))
    }

    fn is_given(&self) -> bool {
        let is_set = self.quorum.is_some() || self.authentication.is_some();
        let is_let = !self.allow.is_empty() || self.separation;
        is_set || is_let || !self.approvers.is_empty()
    }
}

impl Proof {
    /// As policies have it.
    pub(crate) const fn authentication(self) -> Authentication {
        match self {
            Self::None => Authentication::None,
            Self::OsUser => Authentication::OsUser,
            Self::Terminal => Authentication::Terminal,
        }
    }
}
