//! What holds for stations on any input, and slow and obvious oracles for each order.

mod common;

use common::serve;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sojourn_kernel::{Span, Time};
use sojourn_queueing::{Joins, Line, Order, Station, Task};

/// A job: the gap since the one before, its work, its class. Small numbers, so that many things
/// happen at the same time.
type Job = (u64, u64, u32);

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let work = prop_oneof![4 => 0u64..8, 1 => 0u64..60];
    prop::collection::vec((0u64..6, work, 0u32..3), 0..40)
}

fn orders() -> impl Strategy<Value = Order> {
    prop::sample::select(vec![Order::Arrival, Order::Class, Order::ShortestRemaining])
}

/// The jobs as tasks for station 0, named by their place in the list.
fn arrivals(jobs: &[Job]) -> Vec<(Time, usize, Task<usize>)> {
    let mut now = Time::ZERO;
    let task = |(index, &(gap, work, class)): (usize, &Job)| {
        now += Span::from_ps(gap);
        (now, 0, Task { job: index, class, work: Span::from_ps(work) })
    };
    jobs.iter().enumerate().map(task).collect()
}

/// When each job of the list is done.
fn completions(jobs: &[Job], servers: usize, order: Order) -> Vec<u64> {
    let mut done = vec![None; jobs.len()];
    let mut stations = [Station::new(servers, Line::new(order))];
    serve(&mut stations, arrivals(jobs), |now, _, task| {
        if let Some(task) = task {
            assert_eq!(done[task.job].replace(now.ps()), None, "a job is done once");
        }
    });
    done.into_iter().map(|at| at.expect("every job is done")).collect()
}

/// The times at which jobs arrive.
fn arrival_times(jobs: &[Job]) -> Vec<u64> {
    arrivals(jobs).iter().map(|arrival| arrival.0.ps()).collect()
}

/// First come, first served: each job takes the server that is free first.
fn fcfs_oracle(jobs: &[Job], servers: usize) -> Vec<u64> {
    let mut free = vec![0; servers];
    let serve = |(&(_, work, _), at): (&Job, u64)| {
        let first = (0..servers).min_by_key(|&server| free[server]).expect("a server");
        free[first] = free[first].max(at) + work;
        free[first]
    };
    jobs.iter().zip(arrival_times(jobs)).map(serve).collect()
}

/// One server, smallest class first: whenever a service ends, look through all that has arrived.
fn class_oracle(jobs: &[Job]) -> Vec<u64> {
    let arrived = arrival_times(jobs);
    let mut done = vec![None; jobs.len()];
    let mut now = None;
    while let Some(first) = (0..jobs.len()).find(|&job| done[job].is_none()) {
        let here = (0..jobs.len())
            .filter(|&job| done[job].is_none() && Some(arrived[job]) <= now)
            .min_by_key(|&job| (jobs[job].2, job));
        // An idle server takes the first to come, whatever comes with it.
        let next = here.unwrap_or(first);
        let ends = now.unwrap_or(0).max(arrived[next]) + jobs[next].1;
        done[next] = Some(ends);
        now = Some(ends);
    }
    done.into_iter().flatten().collect()
}

/// Shortest remaining first, one picosecond at a time.
fn srpt_oracle(jobs: &[Job], servers: usize) -> Vec<u64> {
    let arrived = arrival_times(jobs);
    let mut left: Vec<u64> = jobs.iter().map(|job| job.1).collect();
    let mut done: Vec<Option<u64>> = vec![None; jobs.len()];
    let mut now = 0;
    while done.contains(&None) {
        let mut here: Vec<usize> =
            (0..jobs.len()).filter(|&job| arrived[job] <= now && done[job].is_none()).collect();
        here.sort_by_key(|&job| left[job]);
        // What needs nothing is done at once and keeps no server for this picosecond.
        let (nothing, rest): (Vec<usize>, Vec<usize>) =
            here.iter().partition(|&&job| left[job] == 0);
        nothing.into_iter().for_each(|job| done[job] = Some(now));
        for job in rest.into_iter().take(servers) {
            left[job] -= 1;
            if left[job] == 0 {
                done[job] = Some(now + 1);
            }
        }
        now += 1;
    }
    done.into_iter().flatten().collect()
}

fn sorted(mut times: Vec<u64>) -> Vec<u64> {
    times.sort();
    times
}

/// The same cases each time.
fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: 1000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn fcfs_is_the_oracle(jobs in jobs(), servers in 1usize..4) {
        prop_assert_eq!(
            completions(&jobs, servers, Order::Arrival),
            fcfs_oracle(&jobs, servers)
        );
    }

    #[test]
    fn priority_is_the_oracle(jobs in jobs()) {
        prop_assert_eq!(completions(&jobs, 1, Order::Class), class_oracle(&jobs));
    }

    /// Jobs with equally much to go may change places, so the times are compared and not whose
    /// they are.
    #[test]
    fn srpt_is_the_oracle(jobs in jobs(), servers in 1usize..4) {
        prop_assert_eq!(
            sorted(completions(&jobs, servers, Order::ShortestRemaining)),
            sorted(srpt_oracle(&jobs, servers))
        );
    }

    /// On one server no order has a smaller sum of sojourns.
    #[test]
    fn srpt_is_the_best(jobs in jobs(), order in orders()) {
        let sum = |order| completions(&jobs, 1, order).into_iter().sum::<u64>();
        prop_assert!(sum(Order::ShortestRemaining) <= sum(order));
    }

    #[test]
    fn equal_works_make_srpt_first_come_first_served(
        gaps in prop::collection::vec(0u64..6, 0..40), work in 0u64..8, servers in 1usize..4
    ) {
        let jobs: Vec<Job> = gaps.into_iter().map(|gap| (gap, work, 0)).collect();
        prop_assert_eq!(
            completions(&jobs, servers, Order::ShortestRemaining),
            completions(&jobs, servers, Order::Arrival)
        );
    }

    /// No server idles while a task waits, the servers are busy for exactly the work that came,
    /// and (Little) the number in the system over time adds up to the sum of the sojourns.
    #[test]
    fn work_is_conserved(jobs in jobs(), servers in 1usize..4, order in orders()) {
        let mut stations = [Station::new(servers, Line::new(order))];
        let (mut before, mut number, mut area) = (Time::ZERO, 0, 0);
        let mut sojourns = 0;
        let arrived = arrival_times(&jobs);
        serve(&mut stations, arrivals(&jobs), |now, stations, done| {
            area += number * (now - before).ps();
            before = now;
            let station = &stations[0];
            assert!(station.waiting() == 0 || station.serving() == servers);
            number = (station.waiting() + station.serving()) as u64;
            if let Some(task) = done {
                sojourns += now.ps() - arrived[task.job];
            }
        });
        prop_assert_eq!(number, 0);
        prop_assert_eq!(area, sojourns);
        prop_assert_eq!(stations[0].busy().ps(), jobs.iter().map(|job| job.1).sum::<u64>());
    }

    /// A job that forks is done exactly when the last of its tasks is.
    #[test]
    fn a_job_joins_with_its_last_task(
        jobs in prop::collection::vec((0u64..6, prop::collection::vec(0u64..8, 1..4)), 0..30)
    ) {
        let mut joins = Joins::new();
        let mut tasks = Vec::new();
        let mut last = vec![Time::ZERO; jobs.len()];
        let mut now = Time::ZERO;
        for (index, (gap, works)) in jobs.iter().enumerate() {
            now += Span::from_ps(*gap);
            let fork = joins.fork(index, works.len() as u32);
            let task = |&work| Task { job: (index, fork), class: 0, work: Span::from_ps(work) };
            tasks.extend(works.iter().map(task).enumerate().map(|(at, task)| (now, at, task)));
        }
        let mut stations: Vec<_> =
            (0..3).map(|_| Station::new(1, Line::new(Order::Arrival))).collect();
        let mut joined = vec![None; jobs.len()];
        serve(&mut stations, tasks, |now, _, done| {
            if let Some(Task { job: (index, fork), .. }) = done {
                last[index] = now;
                if let Some(job) = joins.join(fork) {
                    joined[job] = Some(now);
                }
            }
        });
        prop_assert!(joins.is_empty());
        prop_assert_eq!(joined, last.into_iter().map(Some).collect::<Vec<_>>());
    }
}

#[test]
fn a_displaced_task_goes_on_where_it_was() {
    // The long job is displaced at 2 with 8 to go, and again at 5 with 6.
    let jobs = [(0, 10, 0), (2, 1, 0), (3, 4, 0)];
    assert_eq!(completions(&jobs, 1, Order::ShortestRemaining), [15, 3, 9]);
}

#[test]
#[should_panic(expected = "a station has at least one server")]
fn a_station_without_servers_is_refused() {
    Station::<Line<()>>::new(0, Line::new(Order::Arrival));
}

#[test]
#[should_panic(expected = "a job has at least one task")]
fn a_job_without_tasks_is_refused() {
    Joins::new().fork((), 0);
}
