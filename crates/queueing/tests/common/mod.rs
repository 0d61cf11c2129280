//! Drives stations through a list of arrivals.

use sojourn_kernel::{Calendar, Time};
use sojourn_queueing::{Discipline, Service, Station};

/// Serves `arrivals`, in order of time: each a time, the index of a station, and a task. After
/// each arrival and each completion calls `watch` with the time, the stations, and the completed
/// task if it was a completion. At equal times arrivals go first.
pub(crate) fn serve<D: Discipline>(
    stations: &mut [Station<D>],
    arrivals: impl IntoIterator<Item = (Time, usize, D::Task)>,
    mut watch: impl FnMut(Time, &[Station<D>], Option<D::Task>),
) {
    let mut calendar: Calendar<(usize, Service)> = Calendar::new();
    let mut arrivals = arrivals.into_iter().peekable();
    loop {
        let completes = calendar.peek_time().unwrap_or(Time::NEVER);
        let (now, index, begun, done) =
            if let Some((now, index, task)) = arrivals.next_if(|arrival| arrival.0 <= completes) {
                (now, index, stations[index].arrive(now, task), None)
            } else if let Some((now, (index, service))) = calendar.pop() {
                let Some((task, begun)) = stations[index].complete(service) else {
                    continue;
                };
                (now, index, begun, Some(task))
            } else {
                return;
            };
        if let Some(service) = begun {
            calendar.schedule(service.ends, (index, service));
        }
        watch(now, stations, done);
    }
}
