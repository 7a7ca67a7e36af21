//! The figures of `docs/kubectl.md`, written by a long run.

use crate::{settings::Settings, tally::Tally};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/kubectl.md");
const BEGIN: &str = "<!-- generated: parity (make parity) -->\n";
const END: &str = "<!-- end of generated -->";

/// Replaces the generated block of the page.
pub(crate) fn write(settings: &Settings, tally: &Tally) {
    let page = std::fs::read_to_string(PAGE).unwrap();
    std::fs::write(PAGE, replaced(&page, &block(settings, tally))).unwrap();
}

fn replaced(page: &str, block: &str) -> String {
    let (before, rest) = page.split_once(BEGIN).expect("the page has a mark where the block begins");
    let (_, after) = rest.split_once(END).expect("the page has a mark where the block ends");
    format!("{before}{BEGIN}{block}{END}{after}")
}

fn block(settings: &Settings, tally: &Tally) -> String {
    format!(
        "\
The last long run, by seed {seed}:

```
{figures}
```

Cases of each verb and kind; a number alone means that none of them differs:

{tables}
",
        seed = settings.seed,
        figures = tally.figures(),
        tables = tally.tables(),
    )
}

#[test]
fn the_page_has_a_block_for_the_figures() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let written = replaced(&page, "new\n");
    assert!(written.contains(&format!("{BEGIN}new\n{END}")), "{written}");
}
