//! A deadlock by pauses, in words: why a run did not finish.

use crate::engine::{Deadlock, Outcome};
use crate::topology::Network;

/// Switches of a circle, and victims, that are named; there may be hundreds.
const MOST_NAMED: usize = 12;

/// Which switches wait for each other for ever, and what waits for them; none where nothing does.
pub(crate) fn deadlock(outcome: &Outcome, network: &Network) -> Option<String> {
    let Deadlock { circles, victims } = Deadlock::among(&outcome.blocked, network)?;
    let circles: Vec<String> = circles.iter().map(|circle| words(circle, network)).collect();
    let behind = match victims.len() {
        0 => String::new(),
        1 => format!(", and behind them waits {}", senders(&victims, network)),
        _ => format!(", and behind them wait {}", senders(&victims, network)),
    };
    Some(format!(
        "deadlock: ports stop each other in a circle, {}{behind}. No packet there moves until a pause runs out or \
         a watchdog drops",
        circles.join(" and ")
    ))
}

/// The switches of a circle of ports: what came in by the port of one waits for the next.
fn words(circle: &[u32], network: &Network) -> String {
    let mut switches: Vec<String> = circle.iter().map(|&port| at(network, port)).collect();
    switches.truncate(MOST_NAMED);
    let end = if circle.len() > MOST_NAMED { "...".to_owned() } else { at(network, circle[0]) };
    switches.push(end);
    format!("switch {}", switches.join(" -> "))
}

/// The number of the switch that `port` is of.
fn at(network: &Network, port: u32) -> String {
    network.switch_of(port).expect("a port of a switch").to_string()
}

/// What is stopped by ports in no circle.
fn senders(victims: &[u32], network: &Network) -> String {
    let sender = |port: u32| network.links[network.far_end(port) as usize].from;
    let name = |&port: &u32| network.node_name(sender(port));
    let mut names: Vec<String> = victims.iter().take(MOST_NAMED).map(name).collect();
    if victims.len() > MOST_NAMED {
        names.push(format!("{} others", victims.len() - MOST_NAMED));
    }
    names.join(", ")
}
