//! What priority flow control needs in a fabric: the headroom of each port, and how long pauses last.

use super::memory::{ALPHA_BITS, Ingress, Memory, Rule};
use super::{Acks, Pfc, Thresholds};
use crate::topology::{Link, Network};
use sojourn_core::parameters::Refusal;
use sojourn_core::{Rate, Span};

/// Bytes of a pause frame on the wire (IEEE 802.3, section 31).
pub(crate) const FRAME: u16 = 64;

/// Bytes in which the time of a pause is counted: 512 bits.
const QUANTUM: u64 = 64;

/// Priority flow control in one fabric.
#[derive(Clone, Debug)]
pub struct PausePlan {
    /// Which packets a pause stops.
    pub acks: Acks,
    /// The time of a pause, in quanta.
    pub(crate) quanta: u32,
    /// Whether a pause is sent again before it runs out.
    pub(crate) refresh: bool,
    /// How long a port may be stopped before it drops.
    pub(crate) watchdog: Option<Span>,
    /// Whether each pause is noted, and not only counted.
    pub(crate) notes_each: bool,
    /// The headroom of each port as packets come in by it, in bytes; 0 for hosts.
    headrooms: Vec<u32>,
    pfc: Pfc,
}

impl PausePlan {
    /// The plan of `pfc` in `network`, for packets of up to `largest` bytes, where host number `host` delays a
    /// packet by up to `overhead(host)`. Refuses a memory in which thresholds and headroom do not fit.
    pub(crate) fn new(
        pfc: &Pfc,
        network: &Network,
        largest: u16,
        overhead: impl Fn(usize) -> Span,
    ) -> Result<PausePlan, Refusal> {
        let before = |port: usize| network.far_end(port as u32) as usize;
        let headroom = |port: usize| match (pfc.headroom, port < network.hosts) {
            (_, true) => 0,
            (Some(headroom), _) => headroom.0,
            (None, _) => {
                let late =
                    if before(port) < network.hosts { overhead(before(port)) } else { Span::ZERO };
                headroom(&network.links[before(port)], late, largest)
            }
        };
        let headrooms: Vec<u64> = (0..network.links.len()).map(headroom).collect();
        for switch in 0..network.switches {
            let ports = network.ports_of(switch);
            let rooms = || ports.clone().map(|port| headrooms[port]);
            pfc.check_room(rooms().sum(), ports.len() as u64, largest)?;
        }
        let slowest = network.links.iter().map(|link| link.spec.rate).min();
        let half = slowest.map_or(Span::MAX, |rate| pause_time(rate, pfc.quanta) / 2);
        let begun = slowest.map_or(Span::ZERO, |rate| rate.span(u64::from(largest + FRAME)));
        if half <= begun {
            let least = 2 * u64::from(largest + FRAME) / QUANTUM + 1;
            let expected =
                format!("at least {least}: half of a pause has to be longer than a full packet");
            return Err(Refusal::of(&pfc.quanta, expected).under("quanta"));
        }
        Ok(PausePlan {
            acks: pfc.acks,
            quanta: pfc.quanta,
            refresh: pfc.refresh,
            watchdog: pfc.watchdog,
            notes_each: false,
            headrooms: headrooms.into_iter().map(|room| room as u32).collect(),
            pfc: pfc.clone(),
        })
    }

    /// How long a pause of `quanta` stops a port of `rate`.
    pub(crate) fn time(&self, rate: Rate) -> Span {
        pause_time(rate, self.quanta)
    }

    /// The empty memory of `switch`, and the empty counter of each of its ports; `inflow` says how many bytes a
    /// window of the engine can bring by a port.
    pub(crate) fn memory(
        &self,
        network: &Network,
        switch: usize,
        inflow: impl Fn(u32) -> u64,
    ) -> (Memory, Vec<Ingress>) {
        let ports = network.ports_of(switch);
        let all: u64 = ports.clone().map(|port| inflow(port as u32)).sum();
        let rooms = ports.clone().map(|port| u64::from(self.headrooms[port]));
        match &self.pfc.thresholds {
            Thresholds::Fixed(fixed) => {
                let (xoff, xon) = (fixed.xoff.0 as u32, fixed.xon.0 as u32);
                let ingress = |port: usize| {
                    let near = u64::from(xoff).saturating_sub(inflow(port as u32)) as u32;
                    Ingress::fixed(xoff, self.headrooms[port], near)
                };
                let always = |port: &usize| inflow(*port as u32) > u64::from(xoff);
                let near = ports.clone().filter(always).count() as u32;
                (Memory::new(Rule::Fixed { xon }, all, near), ports.map(ingress).collect())
            }
            Thresholds::Dynamic(dynamic) => {
                let reserve = dynamic.reserve.0 as u32;
                let own = rooms.sum::<u64>() + u64::from(reserve) * ports.len() as u64;
                let rule = Rule::Dynamic {
                    shared: self.pfc.size.0 - own,
                    alpha: (dynamic.alpha * f64::from(1 << ALPHA_BITS)).round() as u64,
                    gap: dynamic.gap.0,
                    reserve,
                };
                let ingress = |port: usize| Ingress::dynamic(self.headrooms[port]);
                (Memory::new(rule, all, 0), ports.map(ingress).collect())
            }
        }
    }
}

impl Pfc {
    /// Refuses a memory that is smaller than what `ports` ports with `headroom` bytes in all need.
    fn check_room(&self, headroom: u64, ports: u64, largest: u16) -> Result<(), Refusal> {
        let (need, what) = match &self.thresholds {
            Thresholds::Fixed(fixed) => (headroom + fixed.xoff.0 * ports, "xoff and headroom"),
            Thresholds::Dynamic(dynamic) => {
                // What is shared has to let in a packet.
                let packet = (f64::from(largest) / dynamic.alpha).ceil() as u64;
                (headroom + dynamic.reserve.0 * ports + packet, "reserve and headroom")
            }
        };
        if need <= self.size.0 {
            return Ok(());
        }
        let expected = format!("at least {need}B, for {what} of the {ports} ports of a switch");
        Err(Refusal::of(&self.size, expected).under("size"))
    }
}

/// Bytes that still arrive over `link` after a switch has to stop it: what is under way, and what is sent until
/// the pause frame is there. The frame may wait for a packet that has begun, and for a frame before it; when it
/// comes, the other end may just have begun a packet, and that which crosses the threshold comes whole. `late` is
/// how long a host may delay a packet that is sent.
fn headroom(link: &Link, late: Span, largest: u16) -> u64 {
    let time = link.spec.delay.saturating_add(link.spec.delay).saturating_add(late);
    let packets = 3 * u64::from(largest) + 2 * u64::from(FRAME);
    link.spec.rate.bytes_in(time).saturating_add(packets + 1).min(u64::from(u32::MAX) >> 2)
}

fn pause_time(rate: Rate, quanta: u32) -> Span {
    rate.span(u64::from(quanta) * QUANTUM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{LinkSpec, SingleSwitch};
    use sojourn_core::Bytes;
    use sojourn_core::parameters::defaults;

    fn network() -> Network {
        let rate = Rate::gbps(100);
        SingleSwitch { hosts: 4, rate, delay: Span::from_us(1), ..defaults() }.graph().network()
    }

    fn plan(pfc: &Pfc) -> Result<PausePlan, Refusal> {
        PausePlan::new(pfc, &network(), 4064, |_| Span::ZERO)
    }

    /// 25,000 B in 2 us at 100 Gb/s, three packets of 4064 B, two frames, and what rounding takes.
    #[test]
    fn headroom_is_what_the_link_brings() {
        let spec = LinkSpec { rate: Rate::gbps(100), delay: Span::from_us(1) };
        let link = Link { spec, ..network().links[0] };
        assert_eq!(headroom(&link, Span::ZERO, 4064), 25_000 + 12_192 + 128 + 1);
        assert_eq!(headroom(&link, Span::from_ns(80), 4064), 26_000 + 12_192 + 128 + 1);
        assert_eq!(
            plan(&defaults()).unwrap().headrooms,
            [0, 0, 0, 0, 37_321, 37_321, 37_321, 37_321]
        );
    }

    #[test]
    fn a_memory_smaller_than_the_sum_is_refused() {
        let need = 4 * (60_000 + 37_321);
        let of = |size| plan(&Pfc { size: Bytes(size), ..defaults() });
        assert!(of(need).is_ok());
        let refusal = of(need - 1).unwrap_err();
        assert_eq!(
            refusal.expected,
            format!("at least {need}B, for xoff and headroom of the 4 ports of a switch")
        );
        let thresholds = Thresholds::Dynamic(defaults());
        let need = 4 * (4_000 + 37_321) + 4064 * 8;
        let of =
            |size| plan(&Pfc { size: Bytes(size), thresholds: thresholds.clone(), ..defaults() });
        assert!(of(need).is_ok() && of(need - 1).is_err());
    }

    /// 65,535 times 512 bits at 100 Gb/s.
    #[test]
    fn a_pause_lasts_336_us() {
        let plan = plan(&defaults()).unwrap();
        assert_eq!(plan.time(Rate::gbps(100)), Span::from_ps(65_535 * 5_120));
        let short = self::plan(&Pfc { quanta: 128, ..defaults() }).unwrap_err();
        assert_eq!(
            short.expected,
            "at least 130: half of a pause has to be longer than a full packet"
        );
        assert!(self::plan(&Pfc { quanta: 130, ..defaults() }).is_ok());
    }
}
