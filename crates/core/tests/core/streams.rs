//! Streams are the same for ever, and independent of one another.

use sojourn_core::{Stream, Streams};

/// Rows that people have published depend on these numbers: they must never change. (Computed
/// once with a second implementation, in another language.)
#[test]
fn streams_are_golden() {
    let first = |seed, replication, purpose, entity| {
        let mut stream = Streams::new(seed, replication).stream(purpose, entity);
        [stream.bits(), stream.bits(), stream.bits()]
    };
    let golden = [
        (
            first(1, 0, "sizes", 0),
            [10192296332951066088, 16374111176368296076, 6551039594945402286],
        ),
        (first(1, 0, "sizes", 1), [15785899004367128409, 2057171658507141072, 1759957001114386781]),
        (
            first(1, 0, "arrivals", 0),
            [12893696140941671328, 9712814496992222949, 2265082814306088262],
        ),
        (
            first(1, 1, "sizes", 0),
            [7953509046090254181, 10217090423721529814, 17539674363953247464],
        ),
        (first(2, 0, "sizes", 0), [8227265045844322901, 18388216581940724637, 978613785997678290]),
    ];
    for (index, (given, known)) in golden.into_iter().enumerate() {
        assert_eq!(given, known, "stream {index}");
    }
    let mut stream = Streams::new(7, 3).stream("gaps", 5);
    assert_eq!(stream.uniform(), 0.22108694197493295);
    assert_eq!([10, 1000, u64::MAX].map(|n| stream.below(n)), [5, 248, 3314552679498733524]);
}

#[test]
fn a_stream_does_not_depend_on_how_much_others_are_used() {
    let streams = Streams::new(1, 0);
    let mut alone = streams.stream("sizes", 4);
    let mut other = streams.stream("sizes", 3);
    let mut beside = streams.stream("sizes", 4);
    for _ in 0..100 {
        other.bits();
        assert_eq!(alone.bits(), beside.bits());
    }
}

/// Asserts that `values`, cells below `cells`, are evenly spread: the chi-square statistic, made
/// a normal deviate by Wilson and Hilferty, lies within 3.3 (one false alarm in a thousand), and
/// not too evenly either.
fn assert_even(what: &str, cells: usize, values: impl Iterator<Item = usize>) {
    let mut counts = vec![0u64; cells];
    values.for_each(|cell| counts[cell] += 1);
    let expected = counts.iter().sum::<u64>() as f64 / cells as f64;
    assert!(expected >= 10.0, "{what}: too few values for the test");
    let square = |count: &u64| (*count as f64 - expected).powi(2) / expected;
    let chi_square: f64 = counts.iter().map(square).sum();
    let freedom = (cells - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    let deviate = ((chi_square / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
    assert!(deviate.abs() < 3.3, "{what}: chi-square {chi_square} at {freedom} degrees");
}

/// Seed, replication, purpose, entity.
type Key = (u64, u64, &'static str, u64);

const CELLS: u64 = 32;

/// The cell of a pair of numbers in a square of 32 x 32.
fn pair(a: &mut Stream, b: &mut Stream) -> usize {
    let cell = |stream: &mut Stream| (stream.uniform() * CELLS as f64) as usize;
    cell(a) * CELLS as usize + cell(b)
}

#[test]
fn one_stream_is_even_and_its_neighbours_are_independent() {
    let mut stream = Streams::new(1, 0).stream("evenness", 0);
    let cells = (CELLS * CELLS) as usize;
    let single = |stream: &mut Stream| (stream.uniform() * cells as f64) as usize;
    assert_even("single", cells, (0..1 << 20).map(|_| single(&mut stream)));
    let mut copy = stream.clone();
    copy.bits();
    let pairs = (0..1 << 20).map(|_| pair(&mut stream, &mut copy));
    assert_even("successive", cells, pairs);
}

#[test]
fn streams_of_different_keys_are_independent() {
    let cells = (CELLS * CELLS) as usize;
    let stream = |(seed, replication, purpose, entity): Key| {
        Streams::new(seed, replication).stream(purpose, entity)
    };
    // The first pair of many pairs of streams that differ in one part of the key only.
    let many = 0..100_000;
    let first = |differ: fn(u64) -> [Key; 2]| {
        many.clone().map(move |i| {
            let [mut a, mut b] = differ(i).map(stream);
            pair(&mut a, &mut b)
        })
    };
    assert_even("entities", cells, first(|i| [(1, 0, "a", i), (1, 0, "a", i + 1)]));
    assert_even("purposes", cells, first(|i| [(1, 0, "a", i), (1, 0, "b", i)]));
    assert_even("replications", cells, first(|i| [(1, i, "a", 0), (1, i + 1, "a", 0)]));
    assert_even("seeds", cells, first(|i| [(i, 0, "a", 0), (i + 1, 0, "a", 0)]));
    // Parts of the key that could be taken for each other.
    assert_even("swapped", cells, first(|i| [(1, i, "a", 7), (1, 7, "a", i)]));

    // Two streams side by side, far in.
    let mut a = stream((1, 0, "sizes", 1));
    let mut b = stream((1, 0, "sizes", 2));
    assert_even("side by side", cells, (0..1 << 20).map(|_| pair(&mut a, &mut b)));
}

#[test]
fn below_is_even_for_small_and_huge_numbers() {
    let mut stream = Streams::new(1, 0).stream("below", 0);
    for n in [2, 3, 10, 1000] {
        let values = (0..100_000).map(|_| stream.below(n) as usize);
        assert_even(&format!("below {n}"), n as usize, values);
    }
    // Where taking the high half of a product without rejection would favour every third number
    // two to one.
    let n = 3 << 62;
    let values = (0..100_000).map(|_| {
        let value = stream.below(n);
        assert!(value < n);
        (value % 3) as usize
    });
    assert_even("below 3 * 2^62", 3, values);
}

#[test]
#[should_panic(expected = "there is no number below zero")]
fn there_is_nothing_below_zero() {
    Streams::new(1, 0).stream("below", 0).below(0);
}
