//! When a host is out.

use sojourn_core::{Distribution, Exponential, Span, Stream, Time};

/// Times in and times out, in turn, each exponential; the beginning is in mid-course.
#[derive(Clone, Debug)]
pub(super) struct Outages {
    /// The mean of a time in, and of one out.
    means: [Exponential; 2],
    out: bool,
    until: Time,
    stream: Stream,
}

impl Outages {
    /// Out for a share of the time, for `outage` on average.
    pub(super) fn new(share: f64, outage: Span, mut stream: Stream) -> Outages {
        let out = share > stream.uniform();
        let (always, mean) = (share <= 0.0 || share >= 1.0, outage.seconds());
        let up = if always { 1.0 } else { mean * (1.0 - share) / share };
        let means = [Exponential { mean: up }, Exponential { mean }];
        let mut outages = Outages { means, out, until: Time::NEVER, stream };
        if !always {
            outages.until = outages.turn(Time::ZERO);
        }
        outages
    }

    /// When the present time ends that begins at `at`.
    fn turn(&mut self, at: Time) -> Time {
        let span = self.means[usize::from(self.out)].sample(&mut self.stream);
        at.after(Span::from_seconds(span))
    }

    /// Whether it is out. What is asked out of turn, a little before what was asked last, is
    /// answered as that was; of a time that no run comes to, any answer will do.
    #[inline]
    pub(super) fn is_out(&mut self, now: Time) -> bool {
        while self.until <= now && now != Time::NEVER {
            self.out = !self.out;
            self.until = self.turn(self.until);
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Streams;

    #[test]
    fn hosts_are_out_for_their_share_of_the_time() {
        let hour = Span::from_s(3600);
        let (mut out, mut turns) = (0, 0);
        for host in 0..200 {
            let mut outages = Outages::new(0.1, hour, Streams::new(1, 0).stream("outages", host));
            let mut before = outages.is_out(Time::ZERO);
            for minute in 0..60 * 200 {
                let now = outages.is_out(Time::ZERO + Span::from_s(60 * minute));
                out += u32::from(now);
                turns += u32::from(now != before);
                before = now;
            }
        }
        let share = f64::from(out) / (200.0 * 200.0 * 60.0);
        assert!((share - 0.1).abs() < 0.005, "{share}");
        // A cycle of 10 hours has two turns, of which a minute hides hardly any.
        assert!((f64::from(turns) / 200.0 - 40.0).abs() < 2.0, "{turns}");
        let never = |share| Outages::new(share, hour, Streams::new(1, 0).stream("outages", 0));
        let later = Time::ZERO + hour * 1000;
        assert!(never(1.0).is_out(later) && !never(0.0).is_out(later));
    }
}
