//! Studies that are to be estimated: what is refused, and what it resolves to.

use sojourn_study::{Estimate, Resources, Study};

const STUDY: &str = r#"
[topology]
kind = "leaf-spine"
[workload]
kind = "poisson"
load = 0.5
[scheme]
name = "DCTCP"
balance = "ecmp"
"#;

/// What is said of a study with this laid over it.
fn refused(overrides: &[(&str, &str)]) -> String {
    let given: Vec<(String, String)> =
        overrides.iter().map(|&(path, value)| (path.to_owned(), value.to_owned())).collect();
    Study::parse(STUDY, "study.toml", &[], &Resources::default()).expect("a study");
    match Estimate::parse(STUDY, "study.toml", &given, &Resources::default()) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_links_alone_do_not_show_is_refused_by_name() {
    let messages: [(&[(&str, &str)], &str); 14] = [
        (&[], "nothing"),
        (&[("background.kind", "poisson"), ("background.load", "0.1")], "nothing"),
        (
            &[("scheme.balance", "spray")],
            "--set scheme.balance=spray: scheme.balance = \"spray\", expected \"ecmp\" to estimate: a \
             flow has to stay on a single path",
        ),
        (
            &[("scheme", "Ideal")],
            "--set scheme=Ideal: scheme.name = \"Ideal\", expected a scheme of packets to estimate: \
             the ideal scheduler knows no links",
        ),
        (
            &[("scheme", "{ name = \"Swift\", balance = \"ecmp\" }")],
            "--set scheme={ name = \"Swift\", balance = \"ecmp\" }: scheme.transport = \"swift\", \
             expected a transport to estimate that looks at the links of a path one by one: \
             new-reno, dctcp, min-tcp, line-rate ...",
        ),
        (
            &[("buffer", "{ kind = \"shared\", size = \"9MB\" }")],
            "--set buffer={ kind = \"shared\", size = \"9MB\" }: buffer = \"shared\", expected \
             \"private\" to estimate: a link that is simulated alone shares no memory with others",
        ),
        (
            &[("workload", "incast")],
            "--set workload=incast: workload.kind = \"incast\", expected \"poisson\" or \"csv\" to \
             estimate: flows that come on their own, one after the other, and end",
        ),
        (
            &[("background", "bulk")],
            "--set background=bulk: background.kind = \"bulk\", expected \"poisson\" or \"csv\" to \
             estimate: flows that come on their own, one after the other, and end",
        ),
        (
            &[("forwarding", "cut-through")],
            "--set forwarding=cut-through: forwarding = \"cut-through\", expected \
             \"store-and-forward\" to estimate: times of links add up only where each takes packets \
             whole",
        ),
        (
            &[("sample", "10us")],
            "--set sample=10us: sample = \"10us\", expected none to estimate: no run has the \
             ports of the whole fabric",
        ),
        (
            &[("topology", "{ kind = \"leaf-spine\", racks = 250, hosts = 201 }")],
            "--set topology={ kind = \"leaf-spine\", racks = 250, hosts = 201 }: topology = \
             \"leaf-spine\", expected at most 50000 hosts to estimate",
        ),
        (
            &[("estimate.cluster", "7")],
            "--set estimate.cluster=7: estimate.cluster = 7.0, expected a share from 0 to 1",
        ),
        (
            &[("estimate.bucket_span", "0.5")],
            "--set estimate.bucket_span=0.5: estimate.bucket_span = 0.5, expected a number from 1 to \
             1000000",
        ),
        (
            &[("estimate.clusters", "0.1")],
            "--set estimate.clusters=0.1: unknown key estimate.clusters, expected cluster, access, \
             draws, acks, bucket_flows, bucket_span (did you mean cluster?)",
        ),
    ];
    for (overrides, message) in messages {
        assert_said(&refused(overrides), message);
    }
}

/// The message, or its beginning where it ends with dots: transports that are added join a list.
fn assert_said(said: &str, message: &str) {
    match message.strip_suffix(" ...") {
        Some(beginning) => assert!(said.starts_with(beginning), "{said}"),
        None => assert_eq!(said, message),
    }
}

/// The place of a value that the sweep sets is its line.
#[test]
fn what_the_sweep_sets_is_refused_there() {
    let text = format!("{STUDY}[sweep]\nscheme.balance = [\"ecmp\", \"spray\"]\n");
    let error =
        Estimate::parse(&text, "study.toml", &[], &Resources::default()).unwrap_err().to_string();
    assert!(error.starts_with("study.toml:11: scheme.balance = \"spray\", expected"), "{error}");
    let error = Estimate::parse(
        "model = \"array\"\ndisk = \"ST3500630NS\"\nlayout = \"raid5\"\n[workload]\nkind = \"synthetic\"\nblocks = 4\narrivals = { kind = \"poisson\", rate = \"1/s\" }",
        "study.toml",
        &[],
        &Resources::default(),
    );
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("study.toml:1: model = \"array\", expected \"fabric\""), "{error}");
}

#[test]
fn an_estimate_resolves_to_itself_and_is_no_plain_study() {
    let cluster = [("estimate.cluster".to_owned(), "0.2".to_owned())];
    let estimate = Estimate::parse(STUDY, "study.toml", &cluster, &Resources::default()).unwrap();
    let resolved = estimate.resolved();
    assert!(resolved.contains("[estimate]\ncluster = 0.2\naccess = \"once\"\n"), "{resolved}");
    let again = Estimate::parse(&resolved, "elsewhere.toml", &[], &Resources::default()).unwrap();
    assert_eq!(again.resolved(), resolved);
    assert_eq!(again.parameters(), estimate.parameters());
    let error = Study::parse(&resolved, "elsewhere.toml", &[], &Resources::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("unknown key estimate"), "{error}");
}
