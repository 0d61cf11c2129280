//! Named random streams.
//!
//! Each (seed, replication, purpose, entity) has a separate stream, and nothing else goes into the
//! key: never the scheme, never the load. Two schemes in one study therefore see the same arrivals,
//! sizes and pairs (common random numbers), and using one stream more or less does not shift any
//! other. Generator: xoshiro256++ (Blackman and Vigna), seeded through SplitMix64.

/// The source of all streams of one replication of one study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
    replication: u64,
}

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream {
    state: [u64; 4],
}

impl Streams {
    /// The streams of `replication` under `seed`.
    pub const fn new(seed: u64, replication: u64) -> Streams {
        Streams { seed, replication }
    }

    /// The streams of the `nth` of several like things; the first, number 0, has these themselves.
    pub const fn branch(&self, nth: u64) -> Streams {
        match nth {
            0 => *self,
            nth => Streams { seed: mix(self.seed ^ mix(nth)), ..*self },
        }
    }

    /// The stream for `purpose` (a name such as `"sizes"`) of `entity` (a host, a port, ...).
    pub const fn stream(&self, purpose: &str, entity: u64) -> Stream {
        let mut key = mix(self.seed ^ 0x6a09_e667_f3bc_c909);
        key = mix(key ^ self.replication);
        key = mix(key ^ name_hash(purpose));
        key = mix(key ^ entity);
        let mut state = [0; 4];
        let mut i = 0;
        while i < 4 {
            key = key.wrapping_add(GOLDEN);
            state[i] = mix(key);
            i += 1;
        }
        Stream { state }
    }
}

impl Stream {
    /// 64 random bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform on the open interval (0, 1): neither end is ever returned, so its logarithm and
    /// its inverse are finite. 52 random bits.
    #[inline]
    pub const fn uniform(&mut self) -> f64 {
        open_unit(self.bits())
    }

    /// A whole number below `n`, each equally likely. Panics when `n` is zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        below(n, || self.bits())
    }
}

/// A random stream whose state is eight bytes: a fabric has one for each host, and draws from it for
/// each packet. The generator is wyrand (Wang Yi, 2019).
#[derive(Clone, Debug)]
pub struct Light {
    state: u64,
}

impl Light {
    /// A stream that begins where the next number of `stream` says.
    pub const fn new(mut stream: Stream) -> Light {
        Light { state: stream.bits() }
    }

    /// A whole number below `n`, each as likely as the others to within n / 2^64; 0 when `n` is.
    #[inline(always)]
    pub fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(self.state) * u128::from(self.state ^ 0xe703_7ed1_a0b4_28db);
        let bits = (product >> 64) as u64 ^ product as u64;
        ((u128::from(bits) * u128::from(n)) >> 64) as u64
    }
}

/// How many numbers an [`Ahead`] draws at a time.
const AHEAD: usize = 64;

/// A stream whose numbers are drawn many at a time. They are those of the stream; one by one they
/// cost less, as the generator's state stays in registers.
#[derive(Clone, Debug)]
pub struct Ahead {
    drawn: [u64; AHEAD],
    next: usize,
    stream: Stream,
}

impl Ahead {
    /// The numbers of `stream` from here on.
    pub const fn new(stream: Stream) -> Ahead {
        Ahead { drawn: [0; AHEAD], next: AHEAD, stream }
    }

    /// 64 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        if self.next >= AHEAD {
            self.refill();
        }
        let bits = self.drawn[self.next];
        self.next += 1;
        bits
    }

    /// A whole number below `n`, each equally likely. Panics when `n` is zero.
    #[inline(always)]
    pub fn below(&mut self, n: u64) -> u64 {
        below(n, || self.bits())
    }

    #[inline(never)]
    fn refill(&mut self) {
        // Apart from `self`, so that the generator's state stays in registers.
        let mut stream = self.stream.clone();
        self.drawn.fill_with(|| stream.bits());
        self.stream = stream;
        self.next = 0;
    }
}

/// A whole number below `n`, each equally likely (Lemire's method).
#[inline(always)]
fn below(n: u64, mut bits: impl FnMut() -> u64) -> u64 {
    assert!(n > 0, "there is no number below zero");
    loop {
        let product = u128::from(bits()) * u128::from(n);
        let low = product as u64;
        if low >= n || low >= n.wrapping_neg() % n {
            return (product >> 64) as u64;
        }
    }
}

/// The middle of one of 2^52 equal parts of (0, 1); every step of this is exact.
#[inline]
const fn open_unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finaliser: a bijection that spreads every input bit over all output bits.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a of a name.
const fn name_hash(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the authors' xoshiro256plusplus.c from the state 1, 2, 3, 4.
    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let known = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
            9973669472204895162,
            14011001112246962877,
            12406186145184390807,
            15849039046786891736,
            10450023813501588000,
        ];
        assert_eq!(known.map(|_| stream.bits()), known);
    }

    /// The first outputs of the author's splitmix64.c from the state 1234567.
    #[test]
    fn mixing_is_splitmix64() {
        let known = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
            16408922859458223821,
        ];
        let states = [0u64, 1, 2, 3, 4].map(|i| 1234567u64.wrapping_add(i.wrapping_mul(GOLDEN)));
        assert_eq!(states.map(mix), known);
    }

    #[test]
    fn numbers_drawn_ahead_are_those_of_the_stream() {
        let mut stream = Streams::new(1, 0).stream("ahead", 0);
        let mut ahead = Ahead::new(stream.clone());
        for n in 1..1000 {
            assert_eq!(ahead.below(n << 50), stream.below(n << 50));
            assert_eq!(ahead.bits(), stream.bits());
        }
    }

    #[test]
    fn names_are_hashed_by_fnv_1a() {
        assert_eq!(name_hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(name_hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(name_hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn uniform_is_inside_the_open_interval_at_the_extremes() {
        let half_step = 1.0 / (1u64 << 53) as f64;
        for (bits, value) in [
            (0, half_step),
            ((1 << 12) - 1, half_step),
            (1 << 12, 3.0 * half_step),
            (1 << 63, 0.5 + half_step),
            (u64::MAX, 1.0 - half_step),
        ] {
            assert_eq!(open_unit(bits), value);
            assert!(0.0 < value && value < 1.0);
        }
    }
}
