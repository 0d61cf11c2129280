//! The idle servers of queues.

/// The idle servers of queues that have several, a bit for each.
#[derive(Clone, Debug)]
pub(super) struct Idle {
    /// The number of servers of a queue.
    servers: usize,
    /// The numbers of 64 bits that each queue has.
    words: usize,
    bits: Vec<u64>,
}

impl Idle {
    /// All servers of `queues` queues.
    pub(super) fn new(queues: usize, servers: usize) -> Idle {
        let words = servers.div_ceil(64);
        let of_queue = (0..words).map(|word| match servers - 64 * word {
            64.. => u64::MAX,
            few => (1 << few) - 1,
        });
        let bits = of_queue.collect::<Vec<_>>().repeat(queues);
        Idle { servers, words, bits }
    }

    /// The number and the bit of a server.
    #[inline]
    fn place(&self, server: usize) -> (usize, u64) {
        let (queue, place) = (server / self.servers, server % self.servers);
        (queue * self.words + place / 64, 1 << (place % 64))
    }

    /// A server becomes idle.
    pub(super) fn add(&mut self, server: usize) {
        let (word, bit) = self.place(server);
        self.bits[word] |= bit;
    }

    /// A server is no longer idle.
    pub(super) fn remove(&mut self, server: usize) {
        let (word, bit) = self.place(server);
        self.bits[word] &= !bit;
    }

    /// The first idle server of a queue.
    pub(super) fn first(&self, queue: usize) -> Option<usize> {
        let words = &self.bits[queue * self.words..][..self.words];
        let place = words.iter().position(|&word| word != 0)?;
        Some(queue * self.servers + 64 * place + words[place].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Streams;

    #[test]
    fn the_first_idle_server_is_the_lowest() {
        let mut stream = Streams::new(1, 0).stream("idle", 0);
        for servers in [2, 3, 63, 64, 65, 130, 1024] {
            let mut idle = Idle::new(3, servers);
            let mut plain = vec![true; 3 * servers];
            for _ in 0..3000 {
                let server = stream.below(3 * servers as u64) as usize;
                plain[server] = stream.below(4) == 0;
                if plain[server] {
                    idle.add(server)
                } else {
                    idle.remove(server)
                }
                let queue = server / servers;
                let first = (queue * servers..(queue + 1) * servers).find(|&place| plain[place]);
                assert_eq!(idle.first(queue), first);
            }
        }
    }
}
