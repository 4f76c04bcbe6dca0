//! `tightloop papers`, with the cheapest experiment.

use super::parse;
use super::scratch::Scratch;

#[test]
fn alone_it_lists_experiments_with_what_they_show() {
    let scratch = Scratch::new();
    let listed = scratch.ok(&["papers"]);
    for word in ["sqp/fig5a", "sqp/fig17b", "[SQP] Fig. 16a", "takes, s"] {
        assert!(listed.contains(word), "{word}: {listed}");
    }
    let entries = parse(&scratch.ok(&["papers", "--json"]));
    let entries = entries.as_array().expect("a list");
    assert_eq!(
        entries.len(),
        listed
            .lines()
            .filter(|line| line.starts_with("sqp/"))
            .count()
    );
}

#[test]
fn an_experiment_has_a_table_a_page_and_the_same_numbers_again() {
    let scratch = Scratch::new();
    let run = |jobs: &str| {
        let words = ["papers", "sqp/fig17a", "--seeds", "2", "--json"];
        scratch.ok(&[&words[..], &["--out", "pages", "--jobs", jobs]].concat())
    };
    let first = run("1");
    assert_eq!(first, run("2"), "the number of jobs decides nothing");
    let found = &parse(&first)[0];
    assert_eq!(found["held"], true);
    let measures = found["measures"].as_array().expect("a list");
    assert!(measures.len() > 3, "{first}");
    for measure in measures {
        let number = |key: &str| measure[key].as_f64().expect("a number");
        let (low, high) = (&measure["spread"][0], &measure["spread"][1]);
        let spread = (low.as_f64().expect("low"), high.as_f64().expect("high"));
        assert!((spread.0..=spread.1).contains(&number("median")), "{first}");
    }
    let page = scratch.read("pages/sqp-fig17a.html");
    for word in ["[SQP] Fig. 17a", "<svg", "✓ held", "B, SQP&#39;s estimate"] {
        assert!(page.contains(word), "{word}");
    }
    let printed = scratch.ok(&["papers", "sqp/fig17a", "--seeds", "1", "--out", "pages"]);
    for word in [
        "measure",
        "median",
        "spread",
        "held",
        "open pages/sqp-fig17a.html",
    ] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
}

#[test]
fn an_unknown_experiment_is_refused_with_the_nearest() {
    let scratch = Scratch::new();
    let said = scratch.refused(&["papers", "sqp/fig5x"]);
    assert!(said.contains("did you mean `sqp/fig5"), "{said}");
    scratch.refused(&["papers", "sqp", "--seeds", "0"]);
}
