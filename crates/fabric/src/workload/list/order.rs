//! Which rows of a list of flows wait for which, and an order in which each stands behind those it waits for.

use super::columns::Line;
use super::{ListError, Place};
use crate::lists::Lists;
use crate::packet::LATEST_ARRIVAL;
use sojourn_core::Time;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Most names in all lists of flows to wait for.
const MAX_PARENTS: usize = 200_000_000;

/// For each of `lines` the places of those that it waits for, in a file with a column of ids or without.
pub(super) fn with_parents(lines: &[Line], have_ids: bool) -> Result<Lists, ListError> {
    let places = if have_ids { places(lines)? } else { BTreeMap::new() };
    let place = |name: &str| match have_ids {
        true => places.get(name).copied(),
        false => name.parse().ok().filter(|&place: &u32| (place as usize) < lines.len()),
    };
    let mut parents = Lists::default();
    for line in lines {
        let refused = |what: String| ListError { place: line.place, what };
        if parents.items() + line.after.len() > MAX_PARENTS {
            return Err(refused(format!("after, expected at most {MAX_PARENTS} names in all")));
        }
        let mut own: Vec<(u32, &str)> = Vec::with_capacity(line.after.len());
        for name in &line.after {
            let parent = place(name).ok_or_else(|| match have_ids {
                true => refused(format!(
                    "after {name:?}, expected the id of another {}",
                    line.place.noun
                )),
                false => refused(format!(
                    "after {name:?}, expected the number of a {} of data, from 0 to {}, or a \
                     column \"id\"",
                    line.place.noun,
                    lines.len() - 1
                )),
            })?;
            let (parents, from) = (&lines[parent as usize].flow, line.flow.from);
            if ![parents.to, parents.from].contains(&from) {
                return Err(refused(format!(
                    "after {name:?}, from host {} to host {}, expected a flow to or from the source, \
                     host {from}",
                    parents.from, parents.to
                )));
            }
            own.push((parent, name));
        }
        own.sort_unstable();
        if let Some(pair) = own.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(refused(format!("after {:?} twice, expected it once", pair[1].1)));
        }
        parents.push(own.into_iter().map(|(parent, _)| parent));
    }
    Ok(parents)
}

/// The place of each line with an id.
fn places(lines: &[Line]) -> Result<BTreeMap<&str, u32>, ListError> {
    let mut places = BTreeMap::new();
    for (place, line) in (0..).zip(lines).filter(|(_, line)| !line.id.is_empty()) {
        if let Some(other) = places.insert(line.id.as_str(), place) {
            let other = lines[other as usize].place;
            let what = format!("id {:?}, which {other} has, expected another", line.id);
            return Err(ListError { place: line.place, what });
        }
    }
    Ok(places)
}

/// An order of `lines` by time of arrival, those with `parents` behind the others and behind their parents.
/// The arrival time of a line with parents becomes the soonest begin that these and their delays allow.
pub(super) fn in_order(lines: &mut [Line], parents: &Lists) -> Result<Vec<u32>, ListError> {
    let mut order = behind_parents(lines, parents)?;
    for &place in &order {
        let delay = lines[place as usize].delay;
        let ready = |&parent: &u32| lines[parent as usize].flow.arrived + delay;
        let ready = parents.of(place).iter().map(ready).max().unwrap_or(Time::ZERO);
        let line = &mut lines[place as usize];
        line.flow.arrived = line.flow.arrived.max(ready);
        if line.flow.arrived > Time::ZERO + LATEST_ARRIVAL {
            let what = format!(
                "a begin after {} at least, by all delays, expected at most {LATEST_ARRIVAL}",
                line.flow.arrived
            );
            return Err(ListError { place: line.place, what });
        }
    }
    order.sort_by_key(|&place| (!parents.of(place).is_empty(), lines[place as usize].flow.arrived));
    Ok(order)
}

/// The places of `lines`, each behind those of its `parents` (Kahn 1962): in the order of the file, as far as
/// that goes.
fn behind_parents(lines: &[Line], parents: &Lists) -> Result<Vec<u32>, ListError> {
    let all = 0..lines.len() as u32;
    let mut left: Vec<usize> = all.clone().map(|place| parents.of(place).len()).collect();
    let pairs = all.clone().flat_map(|child| {
        let own = parents.of(child).iter();
        own.map(move |&parent| (parent, child))
    });
    let children = Lists::grouped(lines.len(), pairs);
    let mut order: Vec<u32> = all.filter(|&place| left[place as usize] == 0).collect();
    let mut next = 0;
    while let Some(&place) = order.get(next) {
        next += 1;
        for &child in children.of(place) {
            left[child as usize] -= 1;
            if left[child as usize] == 0 {
                order.push(child);
            }
        }
    }
    match left.iter().position(|&left| left > 0) {
        None => Ok(order),
        Some(stuck) => Err(circle(lines, parents, &left, stuck as u32)),
    }
}

/// Most lines of a circle that are named.
const NAMED: usize = 8;

/// The message about a circle of lines that wait for each other. Line `stuck` is in one or waits for one;
/// `left` says how many parents of each line wait for themselves.
fn circle(lines: &[Line], parents: &Lists, left: &[usize], stuck: u32) -> ListError {
    let waits = |place: u32| {
        let mut own = parents.of(place).iter().copied();
        own.find(|&parent| left[parent as usize] > 0).expect("a parent that waits")
    };
    // After as many steps as there are lines, the walk is inside of the circle.
    let first = (0..lines.len()).fold(stuck, |place, _| waits(place));
    let mut circle = vec![first];
    while let next = waits(circle[circle.len() - 1])
        && next != first
    {
        circle.push(next);
    }
    let least = (0..circle.len()).min_by_key(|&nth| circle[nth]).expect("a circle");
    circle.rotate_left(least);
    let places: Vec<Place> = circle.iter().map(|&place| lines[place as usize].place).collect();
    let mut what = "after, in a circle: ".to_owned();
    for place in places.iter().take(NAMED) {
        write!(what, "{place} waits for ").expect("a string");
    }
    let more = if places.len() > NAMED { "others, and the last of them for " } else { "" };
    write!(what, "{more}{}, expected flows that can begin", places[0]).expect("a string");
    ListError { place: places[0], what }
}
