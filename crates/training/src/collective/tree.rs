//! NCCL's double binary tree (`graph/trees.cc`, `ncclGetDtree`; Sanders, Speck and Träff 2009).

/// The neighbours of a node in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The parent; the root has none.
    pub parent: Option<u32>,
    /// The children; a leaf has none, and the root at most one.
    pub children: [Option<u32>; 2],
}

/// The neighbours of `node` in tree 0 or 1 over `nodes` nodes. In tree 0, node 0 is the root and odd nodes are
/// leaves. Tree 1 is its mirror image if `nodes` is even; otherwise it is shifted by one. So a node has children
/// in one of the trees only, except for node 0 of an odd number of nodes.
///
/// ```
/// use sojourn_training::collective::double_tree;
///
/// let eight = double_tree(8, 0, 14);
/// assert_eq!((eight.parent, eight.children), (Some(0), [Some(4), Some(12)]));
/// ```
pub fn double_tree(node: u32, tree: u32, nodes: u32) -> Links {
    if tree == 0 {
        return first_tree(node, nodes);
    }
    let (there, back): (u32, fn(u32, u32) -> u32) = if nodes.is_multiple_of(2) {
        (nodes - 1 - node, |node, nodes| nodes - 1 - node)
    } else {
        ((node + nodes - 1) % nodes, |node, nodes| (node + 1) % nodes)
    };
    let links = first_tree(there, nodes);
    let back = |node: Option<u32>| node.map(|node| back(node, nodes));
    Links { parent: back(links.parent), children: links.children.map(back) }
}

fn first_tree(node: u32, nodes: u32) -> Links {
    if node == 0 {
        let below = (nodes > 1).then(|| 1 << (nodes - 1).ilog2());
        return Links { parent: None, children: [below, None] };
    }
    let bit = 1 << node.trailing_zeros();
    let up = (node ^ bit) | bit << 1;
    let parent = if up < nodes { up } else { node ^ bit };
    let left = (bit > 1).then(|| node - bit / 2);
    let mut step = bit / 2;
    while step > 0 && node + step >= nodes {
        step /= 2;
    }
    let right = (step > 0).then_some(node + step);
    Links { parent: Some(parent), children: [left, right] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the comment of NCCL's `trees.cc`.
    #[test]
    fn fourteen_nodes() {
        let inner =
            [(0, 8, None), (8, 4, Some(12)), (4, 2, Some(6)), (12, 10, Some(13)), (2, 1, Some(3))];
        for (node, left, right) in [&inner[..], &[(6, 5, Some(7)), (10, 9, Some(11))]].concat() {
            assert_eq!(double_tree(node, 0, 14).children, [Some(left), right], "{node}");
            let mirrored = double_tree(13 - node, 1, 14).children;
            assert_eq!(mirrored, [Some(13 - left), right.map(|right| 13 - right)], "{node}");
        }
    }

    #[test]
    fn both_trees_span_all_nodes_and_parents_agree_with_children() {
        for nodes in 1..300 {
            for tree in 0..2 {
                let mut depths = vec![0; nodes as usize];
                for node in 0..nodes {
                    let links = double_tree(node, tree, nodes);
                    for child in links.children.into_iter().flatten() {
                        assert_eq!(double_tree(child, tree, nodes).parent, Some(node));
                    }
                    let mut above = node;
                    while let Some(parent) = double_tree(above, tree, nodes).parent {
                        assert!(double_tree(parent, tree, nodes).children.contains(&Some(above)));
                        above = parent;
                        depths[node as usize] += 1;
                        assert!(depths[node as usize] < nodes, "a cycle");
                    }
                }
                let deepest = depths.into_iter().max().unwrap();
                assert!(deepest <= nodes.next_power_of_two().ilog2(), "{nodes}: {deepest}");
            }
        }
    }

    #[test]
    fn a_node_is_inner_in_one_tree_except_for_node_0_of_an_odd_number() {
        for nodes in 2..100 {
            for node in 0..nodes {
                let inner = |tree| double_tree(node, tree, nodes).children != [None, None];
                let odd = node == 0 && nodes % 2 == 1;
                assert_eq!(inner(0) && inner(1), odd, "{node} of {nodes}");
            }
        }
    }
}
