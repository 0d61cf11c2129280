//! What a run plays: the flows of all parts of a case in one list, and whose they are.

use crate::engine::Watch;
use crate::flow::Flow;
use crate::workload::Drawn;
use sojourn_kernel::Time;
use std::sync::Arc;

/// All flows of one replication, by time of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) flows: Arc<[Flow]>,
    /// What of them is measured over a time: those without an end, in order.
    pub(crate) watches: Arc<[Watch]>,
    /// Which part of the case each flow belongs to.
    pub(crate) parts: Vec<u8>,
    /// Whether there are several.
    pub(crate) several: bool,
}

impl Script {
    /// Of what the parts of a case have drawn.
    pub(crate) fn new(parts: Vec<Drawn>) -> Script {
        let several = parts.len() > 1;
        let windows: Vec<_> = parts.iter().map(|drawn| drawn.window).collect();
        let numbered = (0..).zip(parts);
        let mut cast: Vec<(u8, Flow)> = numbered
            .flat_map(|(part, drawn)| drawn.flows.into_iter().map(move |flow| (part, flow)))
            .collect();
        cast.sort_by_key(|(_, flow)| flow.arrived);
        let endless = (0..).zip(&cast).filter(|(_, (_, flow))| flow.is_endless());
        let watches = endless.map(|(number, (part, _))| {
            let (from, until) = windows[usize::from(*part)].expect("a window for endless flows");
            Watch { flow: number, from, until }
        });
        Script {
            watches: watches.collect(),
            parts: cast.iter().map(|(part, _)| *part).collect(),
            flows: cast.into_iter().map(|(_, flow)| flow).collect(),
            several,
        }
    }

    /// When the last flow with an end arrives, if there is one.
    pub(crate) fn last_arrival(&self) -> Option<Time> {
        let finite = self.flows.iter().filter(|flow| !flow.is_endless());
        finite.map(|flow| flow.arrived).max()
    }

    /// When the last measurement ends, if there is one.
    pub(crate) fn last_look(&self) -> Option<Time> {
        self.watches.iter().map(|watch| watch.until).max()
    }
}
