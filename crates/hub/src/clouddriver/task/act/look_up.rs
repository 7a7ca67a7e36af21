//! What a deployment has to know of the cluster.

use serde_json::Value;
use spindrift_model::{Matches, Verb};
use spindrift_spinnaker::{Coordinates, Live, Lookup, Manifest, Version, annotation};

use super::{Act, reference};
use crate::clouddriver::task::halt::Halt;

// === impl Act ===

impl Act<'_> {
    /// Finds out what has to be known to prepare a manifest.
    pub(super) async fn look_up(
        &mut self,
        manifest: Option<&Manifest>,
        lookups: &[Lookup],
    ) -> Result<Live, Halt> {
        let mut live = Live::default();
        let Some(manifest) = manifest else { return Ok(live) };
        for lookup in lookups {
            match lookup {
                Lookup::Get(target) => live.got.extend(self.get(target).await?),
                Lookup::List { kind, namespace } => {
                    let is_version =
                        |object: &Manifest| object.annotation(annotation::artifact::NAME) == manifest.name();
                    live.listed = self.list(kind, namespace, None, is_version).await?;
                    if kind.is("secret") {
                        live.same = self.same(manifest, &live.listed).await?;
                    }
                }
            }
        }
        Ok(live)
    }

    /// The oldest version of a Secret that was applied with the same content. Its values do not leave the cluster: the
    /// agent compares.
    async fn same(&mut self, manifest: &Manifest, versions: &[Manifest]) -> Result<Vec<String>, Halt> {
        for name in Version::names(manifest, versions) {
            let target = Coordinates { name: name.clone(), ..manifest.coordinates() };
            let matches = Matches {
                target: reference(&target),
                manifest: Some(spindrift_model::Manifest(Value::from(manifest.clone()))),
                other: None,
            };
            // What was never applied holds something, too; but nobody knows what it was made from.
            let is_same = |answer: &Value| answer["matches"] == true && answer["by"] == "lastApplied";
            let found = self.ask(Verb::Matches(matches), is_same).await;
            if found.map_err(|halt| halt.told(|said| super::unread(&target, said)))? {
                return Ok(vec![name]);
            }
        }
        Ok(Vec::new())
    }
}
