//! Lists of numbers, one for each of many owners, in two flat vectors.

/// For each owner, numbered from 0, a list of numbers (compressed sparse rows).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lists {
    /// Where each list begins among `items`, and behind them where the last one ends; empty where there is no
    /// list.
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// The lists of `owners` owners, of pairs of an owner and an item: each list has its items in the order
    /// of the pairs.
    pub(crate) fn grouped(owners: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
        let mut starts = vec![0; owners + 1];
        for (owner, _) in pairs.clone() {
            starts[owner as usize + 1] += 1;
        }
        for owner in 0..owners {
            starts[owner + 1] += starts[owner];
        }
        let mut ends: Vec<u32> = starts[..owners].to_vec();
        let mut items = vec![0; starts[owners] as usize];
        for (owner, item) in pairs {
            let end = &mut ends[owner as usize];
            items[*end as usize] = item;
            *end += 1;
        }
        Lists { starts, items }
    }

    /// Appends the list of the next owner.
    pub(crate) fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.items.extend(list);
        self.starts.push(self.items.len() as u32);
    }

    /// The list of `owner`; empty where it has none.
    pub(crate) fn of(&self, owner: u32) -> &[u32] {
        let place = owner as usize;
        match self.starts.get(place..place + 2) {
            Some(&[start, end]) => &self.items[start as usize..end as usize],
            _ => &[],
        }
    }

    /// How many owners there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Number of items in all lists.
    pub(crate) fn items(&self) -> usize {
        self.items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_owner_has_its_items_in_order(
            pairs in prop::collection::vec((0u32..7, any::<u32>()), 0..40),
        ) {
            let lists = Lists::grouped(7, pairs.iter().copied());
            let mut pushed = Lists::default();
            for owner in 0..7 {
                let own = pairs.iter().filter(|pair| pair.0 == owner).map(|pair| pair.1);
                prop_assert_eq!(lists.of(owner), own.clone().collect::<Vec<_>>());
                pushed.push(own);
            }
            prop_assert_eq!(&lists, &pushed);
            prop_assert_eq!((lists.len(), lists.items()), (7, pairs.len()));
            prop_assert_eq!(lists.of(7), []);
        }
    }
}
