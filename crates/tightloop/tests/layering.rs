//! The module table in ARCHITECTURE.md is true: no module uses another that
//! its row does not name.

mod source;

use std::collections::{BTreeMap, BTreeSet};

use source::{Source, closing, document, name_at, sources, words};

const SRC: &str = "crates/tightloop/src";

/// A row of the table: a module and what it may use.
type Table = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_use_only_what_the_table_allows() {
    let table = rows(&document("ARCHITECTURE.md")).into_iter().collect();
    let faults = violations(&table, &sources(SRC));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_table_lists_every_module_and_no_other() {
    let rows = rows(&document("ARCHITECTURE.md"));
    let listed: BTreeSet<&str> = rows.iter().map(|(module, _)| module.as_str()).collect();
    let files = sources(SRC);
    let root = files
        .iter()
        .find(|file| file.name.ends_with("/lib.rs"))
        .expect("a crate has a root");
    let declared: BTreeSet<&str> = words(&root.code, "mod")
        .map(|at| name_at(&root.code, at + "mod ".len()))
        .collect();
    assert_eq!(
        listed, declared,
        "left: the module table in ARCHITECTURE.md; right: the modules of {SRC}/lib.rs"
    );
}

#[test]
fn each_row_names_only_rows_above_it() {
    let mut above = BTreeSet::new();
    for (module, uses) in rows(&document("ARCHITECTURE.md")) {
        let below: Vec<_> = uses.difference(&above).collect();
        assert!(
            below.is_empty(),
            "ARCHITECTURE.md: the row of `{module}` names {below:?}, which no row above it \
             introduces: the order of rows is the order of dependence"
        );
        above.insert(module);
    }
}

#[test]
fn violations_are_found_however_they_are_written() {
    let table = Table::from([
        ("units".into(), BTreeSet::new()),
        ("cc".into(), BTreeSet::from(["units".into()])),
        ("link".into(), BTreeSet::from(["units".into()])),
    ]);
    let faults = |name: &str, text: &str| {
        violations(
            &table,
            &[Source::new(format!("{SRC}/{name}"), text.to_owned())],
        )
    };
    for (name, text) in [
        ("cc/copa.rs", "use crate::link::Link;"),
        (
            "cc/copa.rs",
            "use crate::{units::Time, link::{Link, Queue}};",
        ),
        ("cc/copa.rs", "fn f() -> crate :: link::Link { todo!() }"),
        ("cc/copa.rs", "use super::super::link::Link;"),
        ("cc.rs", "use super::link::Link;"),
        (
            "cc.rs",
            "#[cfg(test)]\nmod tests {}\nuse crate::link::Link;",
        ),
    ] {
        let found = faults(name, text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].contains("`cc` uses `link`"), "{}", found[0]);
    }
    for text in [
        "use crate::units::Time;",
        "use super::Control;",
        "use crate::cc::Control;",
        "/// See [`crate::link`].\nconst NAME: &str = \"crate::link\";",
        "#[cfg(test)]\nmod tests {\n    use crate::link::Link;\n}",
    ] {
        assert_eq!(faults("cc/copa.rs", text), [""; 0], "{text}");
    }
}

/// The table's rows, in order.
fn rows(architecture: &str) -> Vec<(String, BTreeSet<String>)> {
    let rows: Vec<_> = architecture
        .lines()
        .skip_while(|line| !line.starts_with("| module | may use |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').collect();
            let module = quoted(cells[1]).next().unwrap_or_else(|| {
                panic!("ARCHITECTURE.md: a row of the module table names no `module`: {line}")
            });
            (module, quoted(cells[2]).collect())
        })
        .collect();
    assert!(
        !rows.is_empty(),
        "ARCHITECTURE.md has no table that starts with `| module | may use |`"
    );
    rows
}

/// The words between back-ticks.
fn quoted(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// One line for each use the table does not allow.
fn violations(table: &Table, files: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files {
        let parts = module_of(&file.name);
        let Some(module) = parts.first() else {
            continue;
        };
        let allowed = table.get(module);
        for (at, used) in uses(&file.shipped, parts.len()) {
            let known = table.contains_key(&used);
            let fine = used == *module || allowed.is_some_and(|uses| uses.contains(&used));
            if known && !fine {
                faults.push(format!(
                    "{}: `{module}` uses `{used}`, which the module table in ARCHITECTURE.md does \
                     not allow: move the code, or add `{used}` to the row of `{module}` and say why",
                    file.at(at)
                ));
            }
        }
    }
    faults
}

/// The module path of a file: `["cc", "copa"]` for `…/cc/copa.rs`.
fn module_of(name: &str) -> Vec<String> {
    let path = name.strip_prefix(SRC).expect("a file of this crate");
    path.trim_start_matches('/')
        .trim_end_matches(".rs")
        .split('/')
        .filter(|part| !["lib", "mod"].contains(part))
        .map(str::to_owned)
        .collect()
}

/// Top-level modules a file of this depth reaches by `crate::` or by climbing.
fn uses(code: &str, depth: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in words(code, "crate") {
        if let Some(next) = after_colons(code, at + "crate".len()) {
            found.extend(heads(code, next));
        }
    }
    for at in words(code, "super") {
        // Only the first of a chain.
        if code[..at].trim_end().ends_with("::") {
            continue;
        }
        let (mut climbed, mut end) = (1, at + "super".len());
        while let Some(next) = after_colons(code, end) {
            if name_at(code, next) != "super" {
                if climbed == depth {
                    found.extend(heads(code, next));
                }
                break;
            }
            climbed += 1;
            end = next + "super".len();
        }
    }
    found
}

/// The offset of what follows `::`, if that is what comes.
fn after_colons(code: &str, from: usize) -> Option<usize> {
    let rest = code[from..].trim_start().strip_prefix("::")?;
    Some(code.len() - rest.trim_start().len())
}

/// The first names of a path or of a braced group of paths.
fn heads(code: &str, from: usize) -> Vec<(usize, String)> {
    if !code[from..].starts_with('{') {
        return vec![(from, name_at(code, from).to_owned())];
    }
    let end = closing(code, from) - 1;
    let mut found = Vec::new();
    let mut at = from + 1;
    while at < end {
        let rest = code[at..end].trim_start();
        let start = end - rest.len();
        found.extend(heads(code, start));
        // On to the comma after this path, past groups of its own.
        at = start;
        while at < end && code.as_bytes()[at] != b',' {
            at = match code.as_bytes()[at] {
                b'{' => closing(code, at),
                _ => at + 1,
            };
        }
        at += 1;
    }
    found
}
