//! Replies of large providers and filters, each with its fault and its source.

use serde::Deserialize;
use sojourn_mail_engine::bounce::{Fault, Faults, Stage};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize)]
struct Replies {
    reply: Vec<Reply>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    provider: String,
    stage: Option<Stage>,
    fault: Fault,
    source: String,
    reply: String,
}

fn replies() -> Vec<Reply> {
    let replies: Replies = toml::from_str(include_str!("../replies.toml")).unwrap();
    replies.reply
}

#[test]
fn each_reply_has_its_fault() {
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::<_, [usize; 5]>::new());
    for it in replies() {
        let fault = Faults::built_in().of(it.stage, None, &it.reply);
        if fault != it.fault {
            let stage = it.stage;
            wrong.push(format!(
                "{fault}, not {}: {stage:?}, {}: {}",
                it.fault, it.provider, it.reply
            ));
        }
        counts.entry(it.provider).or_default()[it.fault as usize] += 1;
    }
    println!("{:12} address content policy protocol unknown", "");
    for (provider, counts) in &counts {
        println!("{provider:12} {counts:?}");
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The issue wants 150 replies of large providers, each with its source.
#[test]
fn the_collection_is_large_and_has_sources() {
    let replies = replies();
    assert!(replies.len() >= 170, "{}", replies.len());
    let has_source = |it: &&Reply| it.source.contains('/');
    assert_eq!(replies.iter().filter(has_source).count(), replies.len());
    let texts: BTreeSet<_> = replies.iter().map(|it| (&it.provider, &it.reply)).collect();
    assert_eq!(texts.len(), replies.len());
}
