//! Any graph of switches, listed link by link.

use super::{Graph, LinkSpec};
use crate::packet::{MAX_HOSTS, MAX_PORTS, MAX_WAYS};
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Rate, Span, nested, parameters};
use std::collections::BTreeMap;

parameters! {
    /// Any graph: switches by name, the hosts on each, and the links between them. Packets take the paths with
    /// the fewest links; of several such paths, the ideal time of a flow is that of the first. Hosts are numbered in
    /// the order in which they are listed.
    pub struct Listed: "graph" {
        /// The names of all switches.
        pub switches: Vec<String>,
        /// The hosts, in groups on one switch.
        pub hosts: Vec<HostGroup>,
        /// The links between switches.
        pub links: Vec<Cable> = Vec::new(),
        /// Speed of the links that name no other.
        pub rate: Rate = Rate::gbps(10),
        /// Propagation on the links that name no other.
        pub delay: Span = Span::from_ns(200),
    }
}

parameters! {
    /// Hosts on one switch, each with a link of its own.
    pub struct HostGroup: "hosts" {
        /// The name of the switch.
        pub switch: String,
        /// How many hosts.
        pub count: u32 [1..=MAX_PORTS as u32] = 1,
        /// Speed of each host's link, where it differs.
        pub rate: Option<Rate> = None,
        /// Propagation on each host's link, where it differs.
        pub delay: Option<Span> = None,
    }
}
nested!(HostGroup);

parameters! {
    /// Links between two switches.
    pub struct Cable: "link" {
        /// The name of the switch at one end.
        pub from: String,
        /// The name of the switch at the other end.
        pub to: String,
        /// How many such links are parallel.
        pub count: u32 [1..=MAX_WAYS as u32] = 1,
        /// Speed of each way, where it differs.
        pub rate: Option<Rate> = None,
        /// Propagation, where it differs.
        pub delay: Option<Span> = None,
    }
}
nested!(Cable);

impl Check for HostGroup {}
impl Check for Cable {}

impl Check for Listed {
    fn check(&self) -> Result<(), Refusal> {
        let numbers = self.numbers();
        if numbers.len() < self.switches.len() {
            let again = |&(place, name): &(usize, &String)| numbers[name.as_str()] != place;
            let (_, name) = self.switches.iter().enumerate().find(again).expect("one again");
            return Err(refused(name, "another name: there is such a switch", "switches"));
        }
        let known = |name: &String| match numbers.contains_key(name.as_str()) {
            true => Ok(()),
            false => {
                let names = self.switches.iter().map(String::as_str).collect();
                Err(Refusal::name(&Value::Text(name.clone()), "switch", names))
            }
        };
        for (place, group) in self.hosts.iter().enumerate() {
            let known = known(&group.switch).map_err(|refusal| refusal.under("switch"));
            known.map_err(|refusal| refusal.among(place).under("hosts"))?;
        }
        for (place, cable) in self.links.iter().enumerate() {
            let ends = [("from", &cable.from), ("to", &cable.to)];
            let mut known =
                ends.iter().try_for_each(|(key, name)| known(name).map_err(|own| own.under(key)));
            if cable.from == cable.to {
                known = Err(refused(&cable.to, "another switch than the link comes from", "to"));
            }
            known.map_err(|refusal| refusal.among(place).under("links"))?;
        }
        let hosts: u64 = self.hosts.iter().map(|group| u64::from(group.count)).sum();
        if !(2..=MAX_HOSTS as u64).contains(&hosts) {
            let expected = format!("2 to {MAX_HOSTS} in all");
            return Err(refused(&format!("{hosts} hosts"), &expected, "hosts"));
        }
        self.check_ports(&numbers)?;
        self.check_islands(&numbers)
    }
}

/// The number of each switch, by its name.
type Numbers<'a> = BTreeMap<&'a str, usize>;

fn refused(given: &str, expected: &str, key: &str) -> Refusal {
    Refusal::value(&Value::Text(given.to_owned()), expected).under(key)
}

impl Listed {
    fn numbers(&self) -> Numbers<'_> {
        // Of two switches of one name the first has it.
        let names = self.switches.iter().enumerate().rev();
        names.map(|(number, name)| (name.as_str(), number)).collect()
    }

    /// Refuses a switch with more links than it can have.
    fn check_ports(&self, numbers: &Numbers<'_>) -> Result<(), Refusal> {
        let (mut hosts, mut cables) =
            (vec![0u64; self.switches.len()], vec![0u64; self.switches.len()]);
        for group in &self.hosts {
            hosts[numbers[&*group.switch]] += u64::from(group.count);
        }
        for Cable { from, to, count, .. } in &self.links {
            [from, to].iter().for_each(|end| cables[numbers[end.as_str()]] += u64::from(*count));
        }
        for (name, (hosts, cables)) in self.switches.iter().zip(hosts.into_iter().zip(cables)) {
            if cables > MAX_WAYS as u64 {
                let expected = format!("at most {MAX_WAYS} to other switches");
                return Err(refused(&format!("{cables} links of {name}"), &expected, "links"));
            }
            if hosts + cables > MAX_PORTS as u64 {
                let expected = format!("at most {MAX_PORTS}");
                return Err(refused(
                    &format!("{} ports of {name}", hosts + cables),
                    &expected,
                    "hosts",
                ));
            }
        }
        Ok(())
    }

    /// Refuses switches that no path connects with the first one.
    fn check_islands(&self, numbers: &Numbers<'_>) -> Result<(), Refusal> {
        let mut next = vec![Vec::new(); self.switches.len()];
        for cable in &self.links {
            let (from, to) = (numbers[&*cable.from], numbers[&*cable.to]);
            next[from].push(to);
            next[to].push(from);
        }
        let mut reached = vec![false; self.switches.len()];
        let mut open = vec![0];
        while let Some(switch) = open.pop() {
            if !std::mem::replace(&mut reached[switch], true) {
                open.extend(&next[switch]);
            }
        }
        match reached.iter().position(|reached| !reached) {
            Some(island) => {
                let (first, name) = (&self.switches[0], &self.switches[island]);
                let expected = format!("a path of links to {first:?} too");
                Err(refused(&format!("no link from {name} on"), &expected, "links"))
            }
            None => Ok(()),
        }
    }

    /// Lays the links.
    pub fn graph(&self) -> Graph {
        let (numbers, mut graph) = (self.numbers(), Graph::new(self.switches.len()));
        let link = |rate: Option<Rate>, delay: Option<Span>| LinkSpec {
            rate: rate.unwrap_or(self.rate),
            delay: delay.unwrap_or(self.delay),
        };
        for group in &self.hosts {
            for _ in 0..group.count {
                graph.host(numbers[&*group.switch], link(group.rate, group.delay));
            }
        }
        for cable in &self.links {
            for _ in 0..cable.count {
                let ends = (numbers[&*cable.from], numbers[&*cable.to]);
                graph.cable(ends.0, ends.1, link(cable.rate, cable.delay));
            }
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::{Parameters, Table};

    fn read(
        switches: &[&str],
        hosts: &[(&str, u32)],
        links: &[(&str, &str, u32)],
    ) -> Result<Listed, Refusal> {
        let text = |text: &str| Value::Text(text.to_owned());
        let table = |pairs: &[(&str, Value)]| {
            let mut table = Table::default();
            pairs.iter().for_each(|(key, value)| table.set(key, value.clone()));
            Value::Table(table)
        };
        let host = |&(switch, count): &(&str, u32)| {
            table(&[("switch", text(switch)), ("count", Value::Int(count.into()))])
        };
        let link = |&(from, to, count): &(&str, &str, u32)| {
            table(&[("from", text(from)), ("to", text(to)), ("count", Value::Int(count.into()))])
        };
        let mut own = Table::default();
        own.set("switches", Value::List(switches.iter().map(|name| text(name)).collect()));
        own.set("hosts", Value::List(hosts.iter().map(host).collect()));
        own.set("links", Value::List(links.iter().map(link).collect()));
        Listed::read_table(&own)
    }

    #[test]
    fn links_are_laid_as_listed() {
        let listed = read(&["a", "b", "c"], &[("a", 2), ("c", 1)], &[("a", "b", 2), ("b", "c", 1)]);
        let network = listed.expect("a graph").graph().network();
        assert_eq!((network.hosts, network.switches, network.links.len()), (3, 3, 12));
        assert_eq!([0, 1, 2].map(|host| network.rack_of(host)), [0, 0, 1]);
        let ways: Vec<u64> = network.path(0, 2).iter().map(|hop| hop.parallel).collect();
        assert_eq!(ways, [1, 2, 2, 1]);
    }

    #[test]
    fn what_is_no_fabric_is_refused_by_its_key() {
        let two = [("a", 1), ("b", 1)];
        let refusals = [
            (read(&["a", "a"], &two, &[]), "switches"),
            (read(&["a", "b"], &[("a", 1), ("c", 1)], &[("a", "b", 1)]), "hosts.[1].switch"),
            (read(&["a", "b"], &two, &[("a", "c", 1)]), "links.[0].to"),
            (read(&["a", "b"], &two, &[("a", "a", 1)]), "links.[0].to"),
            (read(&["a", "b"], &[("a", 1)], &[("a", "b", 1)]), "hosts"),
            (read(&["a", "b"], &two, &[("a", "b", 200), ("b", "a", 100)]), "links"),
            (read(&["a", "b"], &[("a", 1000), ("b", 1)], &[("a", "b", 50)]), "hosts"),
            (read(&["a", "b", "c"], &two, &[("a", "b", 1)]), "links"),
        ];
        for (read, key) in refusals {
            let refusal = read.expect_err(key);
            assert_eq!(refusal.path.join("."), key, "{}", refusal.expected);
        }
    }
}
