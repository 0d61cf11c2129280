//! The load that flows of a Poisson process offer to the links of a fabric, computed before they are
//! drawn.

use super::Pairs;
use crate::topology::Network;
use sojourn_core::parameters::Value;

/// What the flows of one Poisson process bring in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// Between which hosts they go.
    pub pairs: Pairs,
    /// How many arrive in a second.
    pub rate: f64,
    /// What one takes on the wire, in bytes: headers too, but no acknowledgements, and nothing twice.
    pub wire: f64,
    /// The means of the first, second and fourth power of their sizes in bytes.
    pub moments: [f64; 3],
}

/// The total with the load that is offered to the busiest link.
pub(crate) const OFFERED: &str = "queue_utilisation_offered";

/// The numbers that decide how long a run has to be before its results have intervals: those of a
/// queue at the busiest link, whose services are as long as flows are, and the number of such queues.
/// That number is 1 over the share of the flows that goes to the host to which most go. There are no
/// numbers where flows are no Poisson process.
///
/// They are computed and not measured, because a run whose ports happened to be idle would
/// measure a low load, and would have an interval for that reason alone.
pub(crate) fn queue(offered: &[Offered], network: &Network) -> Vec<(String, Value)> {
    if offered.is_empty() {
        return Vec::new();
    }
    let mut crossed = vec![(0.0, 0.0); network.links.len()];
    for part in offered {
        for ((flows, bits), share) in crossed.iter_mut().zip(crossing(network, part.pairs)) {
            *flows += share * part.rate;
            *bits += share * part.rate * part.wire * 8.0;
        }
    }
    let links = || crossed.iter().zip(&network.links);
    let loads = links().map(|((_, bits), link)| bits / link.spec.rate.bits_per_second() as f64);
    let to_hosts = links().filter(|(_, link)| (link.to as usize) < network.hosts);
    let most = to_hosts.map(|((flows, _), _)| *flows).fold(0.0, f64::max);
    let flows: f64 = offered.iter().map(|part| part.rate).sum();
    let moment =
        |nth: usize| offered.iter().map(|part| part.rate * part.moments[nth]).sum::<f64>() / flows;
    let [mean, second, fourth] = [0, 1, 2].map(moment);
    let numbers = [
        (OFFERED, loads.fold(0.0, f64::max)),
        ("queue_dispersion_of_arrivals", 1.0),
        ("queue_squared_cv_of_services", second / (mean * mean) - 1.0),
        ("queue_fourth_moment_of_services", fourth / mean.powi(4)),
        ("queues", flows / most),
    ];
    numbers.into_iter().map(|(name, number)| (name.to_owned(), Value::Float(number))).collect()
}

/// The share of the flows between `pairs` that crosses each link, the shortest paths sharing them evenly.
fn crossing(network: &Network, pairs: Pairs) -> Vec<f64> {
    let (hosts, others) = (network.hosts as f64, (network.hosts - 1) as f64);
    let last = network.hosts - 1;
    let mut shares = vec![0.0; network.links.len()];
    let edge = |host: usize| network.links[host].to - network.hosts as u32;
    for host in 0..network.hosts {
        let down = network.next(edge(host), host as u16).next().expect("a way on") as usize;
        (shares[host], shares[down]) = match pairs {
            Pairs::Any => (1.0 / hosts, 1.0 / hosts),
            Pairs::ToLast if host == last => (0.0, 1.0),
            Pairs::ToLast => (1.0 / others, 0.0),
        };
    }
    // One host of each rack stands for all of it.
    let mut inside = vec![0u32; network.racks()];
    let mut one_of = vec![0; network.racks()];
    for host in 0..network.hosts {
        inside[network.rack_of(host)] += 1;
        one_of[network.rack_of(host)] = host;
    }
    // The switch that each link leads to: less to read than all that is known of the link.
    let ends: Vec<u32> =
        network.links.iter().map(|link| link.to.wrapping_sub(network.hosts as u32)).collect();
    // The share that is on its way at each switch; where there is any, the switch is in the list.
    let mut on = vec![0.0; network.switches];
    for (to, &number) in one_of.iter().zip(&inside) {
        let weight = match pairs {
            Pairs::Any => f64::from(number) / hosts,
            Pairs::ToLast => f64::from(u8::from(network.rack_of(last) == network.rack_of(*to))),
        };
        let mut here = Vec::new();
        for (from, &number) in one_of.iter().zip(&inside) {
            if from != to && weight > 0.0 {
                let switch = edge(*from);
                here.push(switch);
                on[switch as usize] = weight * f64::from(number) / others;
            }
        }
        while !here.is_empty() {
            here.sort_unstable();
            let mut next = Vec::new();
            for switch in here {
                let share = std::mem::replace(&mut on[switch as usize], 0.0);
                if switch == edge(*to) {
                    continue;
                }
                let ports = network.next(switch, *to as u16);
                let own = share / ports.len() as f64;
                for port in ports {
                    shares[port as usize] += own;
                    let to = ends[port as usize];
                    if on[to as usize] == 0.0 {
                        next.push(to);
                    }
                    on[to as usize] += own;
                }
            }
            here = next;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Graph, LinkSpec};
    use sojourn_core::{Rate, Span};

    const LINK: LinkSpec = LinkSpec { rate: Rate::gbps(10), delay: Span::ZERO };

    /// Two racks of four and two hosts, over two spines.
    fn network() -> Network {
        let mut graph = Graph::new(4);
        for host in 0..6 {
            graph.host(usize::from(host >= 4), LINK);
        }
        for leaf in 0..2 {
            graph.cable(leaf, 2, LINK);
            graph.cable(leaf, 3, LINK);
        }
        graph.network()
    }

    #[test]
    fn uplinks_carry_what_goes_between_racks() {
        let network = network();
        let shares = crossing(&network, Pairs::Any);
        // Of 30 ordered pairs 16 are in different racks: 8 each way, evenly over two uplinks.
        for (link, share) in network.links.iter().zip(&shares) {
            let both_switches = link.from >= 6 && link.to >= 6;
            let expected = if both_switches { 8.0 / 30.0 / 2.0 } else { 1.0 / 6.0 };
            assert!((share - expected).abs() < 1e-12, "{link:?}: {share}");
        }
    }

    #[test]
    fn all_flows_cross_the_last_link() {
        let network = network();
        let shares = crossing(&network, Pairs::ToLast);
        let into_last = network.links.iter().position(|link| link.to == 5).expect("a link");
        assert_eq!(shares[into_last], 1.0);
        // Four of the five senders are in the other rack.
        let down = network.links.iter().zip(&shares).filter(|(l, _)| l.from >= 8 && l.to == 7);
        assert!((down.map(|(_, share)| share).sum::<f64>() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn parts_add_up() {
        let network = network();
        let part = |pairs, rate| Offered { pairs, rate, wire: 1e6, moments: [1e6, 2e12, 24e24] };
        let said = queue(&[part(Pairs::Any, 600.0), part(Pairs::ToLast, 250.0)], &network);
        let of = |name: &str| match said.iter().find(|(own, _)| own == name) {
            Some((_, Value::Float(number))) => *number,
            other => panic!("{name}: {other:?}"),
        };
        // 100 flows a second of all, and 250 to the last host alone: 8 Mbit each, of 10 Gbit/s.
        assert!((of("queue_utilisation_offered") - 0.28).abs() < 1e-12);
        assert!((of("queue_squared_cv_of_services") - 1.0).abs() < 1e-12);
        assert!((of("queue_fourth_moment_of_services") - 24.0).abs() < 1e-9);
        // Of 850 flows 350 go to the last host.
        assert!((of("queues") - 850.0 / 350.0).abs() < 1e-12);
        let all = queue(&[part(Pairs::Any, 600.0)], &network);
        assert!(all.contains(&("queues".to_owned(), Value::Float(6.0))), "{all:?}");
    }
}
