//! Which ranks take part in a collective.

use super::error::ProgramError;

/// Groups of ranks: each rank is in at most one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// Every rank is in a group of `size` ranks that are `stride` apart. With tensor, data and pipeline
    /// parallelism of 2, 4 and 2, the data-parallel groups have size 4 and stride 2.
    Strided {
        /// The number of ranks of a group.
        size: u32,
        /// The distance between neighbours in a group.
        stride: u32,
    },
    /// The ranks of each group in their order, and for each rank its group and its index in it.
    Listed {
        /// The ranks of each group.
        members: Vec<Vec<u32>>,
        /// For each rank its group and its index in it.
        places: Vec<Option<(u32, u32)>>,
    },
}

impl Groups {
    /// Groups of `size` ranks that are `stride` apart. Refuses sizes that do not divide the ranks.
    pub fn strided(ranks: u32, size: u32, stride: u32) -> Result<Groups, ProgramError> {
        let span = u64::from(size) * u64::from(stride);
        if span == 0 || u64::from(ranks) % span != 0 {
            let why = format!(
                "groups of {size} ranks with a distance of {stride} do not divide {ranks} ranks"
            );
            return Err(ProgramError::Groups { why });
        }
        Ok(Groups::Strided { size, stride })
    }

    /// These groups. Refuses a rank that is not one of `ranks`, and one that is named twice.
    pub fn listed(ranks: u32, members: Vec<Vec<u32>>) -> Result<Groups, ProgramError> {
        let mut places = vec![None; ranks as usize];
        for (group, members) in members.iter().enumerate() {
            for (index, &rank) in members.iter().enumerate() {
                let refused = |why: &str| {
                    let why = format!("group {group} names rank {rank}, which {why}");
                    ProgramError::Groups { why }
                };
                let place = places.get_mut(rank as usize);
                match place.ok_or_else(|| refused(&format!("is not one of {ranks} ranks")))? {
                    Some(_) => return Err(refused("is in a group already")),
                    place => *place = Some((group as u32, index as u32)),
                }
            }
        }
        Ok(Groups::Listed { members, places })
    }

    /// The group of `rank` and its index in it; none if it is in no group.
    pub fn place(&self, rank: u32) -> Option<(u32, u32)> {
        match self {
            Groups::Strided { size, stride } => {
                let group = rank / (size * stride) * stride + rank % stride;
                Some((group, rank / stride % size))
            }
            Groups::Listed { places, .. } => places[rank as usize],
        }
    }

    /// The number of ranks of `group`.
    pub fn size(&self, group: u32) -> u32 {
        match self {
            Groups::Strided { size, .. } => *size,
            Groups::Listed { members, .. } => members[group as usize].len() as u32,
        }
    }

    /// The rank at `index` of `group`.
    pub fn member(&self, group: u32, index: u32) -> u32 {
        match self {
            Groups::Strided { size, stride } => {
                group / stride * (size * stride) + index * stride + group % stride
            }
            Groups::Listed { members, .. } => members[group as usize][index as usize],
        }
    }

    /// Every size that a group has, each once.
    pub(super) fn sizes(&self) -> Vec<u32> {
        let mut sizes = match self {
            Groups::Strided { size, .. } => vec![*size],
            Groups::Listed { members, .. } => {
                members.iter().map(|members| members.len() as u32).collect()
            }
        };
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_that_do_not_divide_are_refused() {
        let refused = Groups::strided(12, 4, 2).unwrap_err().to_string();
        assert_eq!(refused, "groups of 4 ranks with a distance of 2 do not divide 12 ranks");
        let refused = Groups::listed(3, vec![vec![0, 1], vec![1, 2]]).unwrap_err().to_string();
        assert_eq!(refused, "group 1 names rank 1, which is in a group already");
        let refused = Groups::listed(3, vec![vec![0, 3]]).unwrap_err().to_string();
        assert_eq!(refused, "group 0 names rank 3, which is not one of 3 ranks");
    }

    proptest! {
        #[test]
        fn a_strided_group_is_the_listed_one(size in 1_u32..6, stride in 1_u32..6, more in 1_u32..4) {
            let ranks = size * stride * more;
            let strided = Groups::strided(ranks, size, stride).unwrap();
            let members: Vec<Vec<u32>> = (0..ranks / size)
                .map(|group| (0..size).map(|index| strided.member(group, index)).collect())
                .collect();
            let listed = Groups::listed(ranks, members).unwrap();
            for rank in 0..ranks {
                prop_assert_eq!(strided.place(rank), listed.place(rank));
            }
        }
    }
}
