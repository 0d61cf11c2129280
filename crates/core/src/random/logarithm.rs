//! Logarithms, many at a time.

/// ln 2 in two parts, the first with zeros at its end, so that a small whole multiple of it is exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// The coefficients of R in ln(1 + f) = f - s (f - R), s = f / (2 + f): those of s², s⁴, ..., s¹⁴.
const SERIES: [f64; 7] = [
    6.666_666_666_666_735e-1,
    3.999_999_999_940_942e-1,
    2.857_142_874_366_239e-1,
    2.222_219_843_214_978_4e-1,
    1.818_357_216_161_805e-1,
    1.531_383_769_920_937_3e-1,
    1.479_819_860_511_658_6e-1,
];

/// The upper half of the bits of 1 and of the square root of 1/2.
const ONE: u64 = 0x3ff0_0000 << 32;
const ROOT: u64 = 0x3fe6_a09e << 32;
/// The bits of a number's fraction.
const FRACTION: u32 = 52;

/// The natural logarithm of `x`, a number above 2^-1022 and below 1: to the bit that of `libm::log`,
/// with its steps (those of FreeBSD's `e_log.c`, Sun Microsystems, 1993) but without branches, so
/// that the compiler vectorises a loop over it.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    // x = 2^k (1 + f) with 1 + f between the roots of 1/2 and 2.
    let bits = x.to_bits() + (ONE - ROOT);
    let f = f64::from_bits((bits & ((1 << FRACTION) - 1)) + ROOT) - 1.0;
    // The exponent as a float: 2^52 + e has e as its last bits.
    let high = (1u64 << FRACTION) as f64;
    let k = f64::from_bits(high.to_bits() | (bits >> FRACTION)) - (high + 1023.0);
    let [s2, s4, s6, s8, s10, s12, s14] = SERIES;
    let half = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (s4 + w * (s8 + w * s12));
    let odd = z * (s2 + w * (s6 + w * (s10 + w * s14)));
    s * (half + (odd + even)) + k * LN_2[1] - half + f + k * LN_2[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    #[test]
    fn it_is_that_of_libm_to_the_bit() {
        let mut stream = Streams::new(1, 0).stream("logarithms", 0);
        let least = 0.5 / (1u64 << 52) as f64;
        let ends = [least, 0.5, 0.5_f64.sqrt(), 0.5 - least, 1.0 - least, 0.999_999, 1e-300];
        let near_root = (0..2000).map(|i| f64::from_bits(ROOT - 1000 + i));
        let many = (0..1_000_000).map(|_| stream.uniform());
        let tiny = (1..300).map(|i| 1.5 * 0.1_f64.powi(i));
        for x in ends.into_iter().chain(near_root).chain(tiny).chain(many) {
            assert_eq!(ln(x).to_bits(), libm::log(x).to_bits(), "{x}");
        }
    }
}
