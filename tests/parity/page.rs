//! `docs/parity.md`, as a long run found it.

use crate::{settings::Settings, tally::Tally};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/parity.md");

/// Writes the page anew.
pub(crate) fn write(settings: &Settings, tally: &Tally) {
    let text = format!(
        "\
# Beside kubectl

<!-- Written by `make parity`; what is changed here by hand is lost. -->

What the agent does for the hub is compared with what the real kubectl (v1.36) does on the same real API server: kubectl
acts in one namespace, hub and agent act in another, by the same manifests, patches and flags, after the same changes by
somebody else. Then the objects must be the same but for what is given out anew each time (uids, versions, times,
addresses, managed fields), the last-applied annotation included; and the outcomes must be the same: kubectl's word for
what was done (`created`, `configured`, `unchanged` …), or the API server's reason and message.

Cases are made up from a seed: every one can be played again by it and its number, and `make test` plays some of them.
Rollouts, and deletions that wait for controllers, run on a cluster with controllers. Its kubelet is kwok, which reads
logs with the code of a kubelet; its metrics API is a small one of ours behind the API server.

Most cases are asked for over REST. Some go by the command line, `spindrift` with kubectl's own arguments: there the exit
code and every word on both streams are compared, refusals included. What differs on purpose:

- what to do about a conflict of managers, which we say in our own words, and values of Secrets in refusals, which we
  never say; nor do we repeat a patch of more than 4 KiB that was refused
- that no patch can be computed, that a kind knows no patch of this sort, or that a manifest has a text where a map
  should be: kubectl says that in sentences of its own
- that a kind has no namespaces, or that a roll-back leaves the last-applied annotation alone, where the deletion or the
  roll-back is then refused: kubectl warns of that first
- which pod and which container was chosen for its logs: kubectl says so on stderr, we do not

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
    );
    std::fs::write(PAGE, text).unwrap();
}
