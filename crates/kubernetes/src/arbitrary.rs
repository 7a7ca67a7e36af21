//! Arbitrary objects, spellings and chunks, for tests.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::value::RawValue;
use spindrift_model::Resource;

use crate::{
    RedactRule, Redactions, ScrubRules, View,
    json::{Fields, text},
};

/// JSON with its order and its repeated keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tree {
    /// A number, `true`, `false` or `null`.
    Scalar(&'static str),
    Text(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// Random blanks and escapes of JSON.
pub(crate) struct Spelling(u64);

/// Keys with a meaning somewhere, so that they occur everywhere.
const KEYS: [&str; 17] = [
    "k8s.io/initial-events-end",
    "kubectl.kubernetes.io/last-applied-configuration",
    "annotations",
    "labels",
    "managedFields",
    "data",
    "stringData",
    "spec",
    "status",
    "a",
    "b",
    "a.b",
    "REDACTED",
    "é\u{2028}",
    "\"\\/\u{1}",
    "",
    "🦀",
];

/// Paths that match some of the keys.
const PATHS: [&str; 15] = [
    "data",
    "data.*",
    "spec.*.a",
    "spec.a",
    "spec.a[*]",
    "spec.a[*].b",
    "spec[*].a.b",
    "spec[*][*]",
    "status.*",
    "a['a.b']",
    "*.b.*.a",
    "metadata.annotations",
    "metadata.annotations.*",
    "metadata.annotations['a.b']",
    "metadata.labels",
];

// === impl Tree ===

impl Tree {
    pub(crate) fn parse(json: &str) -> Self {
        let value: &RawValue = serde_json::from_str(json).unwrap();
        match value.get().as_bytes()[0] {
            b'{' => {
                let fields = Fields::of(value).unwrap();
                Self::Object(
                    fields.iter().map(|f| (f.name.to_string(), Self::parse(f.value.get()))).collect(),
                )
            }
            b'[' => {
                let elements: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap();
                Self::Array(elements.into_iter().map(|element| Self::parse(element.get())).collect())
            }
            b'"' => Self::Text(text(value).unwrap().into_owned()),
            _ => Self::Scalar(SCALARS.iter().find(|scalar| **scalar == value.get()).unwrap()),
        }
    }

    pub(crate) fn spell(&self, spelling: &mut Spelling) -> String {
        let mut out = String::new();
        self.write(spelling, &mut out);
        out
    }

    fn write(&self, spelling: &mut Spelling, out: &mut String) {
        match self {
            Self::Scalar(scalar) => out.push_str(scalar),
            Self::Text(text) => spelling.quote(text, out),
            Self::Array(elements) => {
                out.push('[');
                for (i, element) in elements.iter().enumerate() {
                    spelling.separate(i, out);
                    element.write(spelling, out);
                    spelling.blank(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    spelling.separate(i, out);
                    spelling.quote(key, out);
                    spelling.blank(out);
                    out.push(':');
                    spelling.blank(out);
                    value.write(spelling, out);
                    spelling.blank(out);
                }
                out.push('}');
            }
        }
    }

    pub(crate) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }
}

// === impl Spelling ===

impl Spelling {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Returns a number below `end`, by xorshift.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn blank(&mut self, out: &mut String) {
        if self.below(8) == 0 {
            out.push_str([" ", "\t", "\r", "  "][self.below(4)]);
        }
    }

    fn separate(&mut self, index: usize, out: &mut String) {
        if index > 0 {
            out.push(',');
        }
        self.blank(out);
    }

    fn quote(&mut self, text: &str, out: &mut String) {
        use std::fmt::Write as _;
        out.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '/' if self.below(2) == 0 => out.push_str("\\/"),
                c if c < ' ' || self.below(10) == 0 => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(out, "\\u{unit:04x}").unwrap();
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }

    /// Cuts a body into chunks, some of them empty.
    pub(crate) fn cut(&mut self, body: &[u8]) -> Vec<Bytes> {
        let most = 1 + self.below(body.len() + 2);
        let (mut chunks, mut rest) = (Vec::new(), body);
        while !rest.is_empty() {
            let (chunk, left) = rest.split_at(self.below(most + 1).min(rest.len()));
            chunks.push(Bytes::copy_from_slice(chunk));
            rest = left;
        }
        chunks
    }
}

const SCALARS: [&str; 8] = ["null", "true", "false", "0", "-1.50", "1e+30", "9007199254740993", "0.1E-7"];

fn key() -> impl Strategy<Value = String> {
    prop_oneof![6 => prop::sample::select(&KEYS[..]).prop_map(Into::into), 1 => "\\PC{0,6}"]
}

fn members(value: impl Strategy<Value = Tree>, most: usize) -> impl Strategy<Value = Vec<(String, Tree)>> {
    prop::collection::vec((key(), value), 0..most)
}

fn tree() -> impl Strategy<Value = Tree> {
    let text = prop_oneof![Just("canary".to_owned()), "\\PC{0,12}", "[\"\\\\{}\\[\\],:n\u{0}-\u{1f}]{0,6}"];
    let leaf =
        prop_oneof![prop::sample::select(&SCALARS[..]).prop_map(Tree::Scalar), text.prop_map(Tree::Text),];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            2 => members(inner.clone(), 5).prop_map(Tree::Object),
            1 => prop::collection::vec(inner, 0..4).prop_map(Tree::Array),
        ]
    })
}

prop_compose! {
    /// An object of a cluster, with its identity at random positions of the metadata.
    pub(crate) fn object()(
        mut object in members(tree(), 6),
        mut metadata in members(tree(), 6),
        annotations in members(tree(), 4),
        at in any::<[prop::sample::Index; 3]>(),
        is_named in any::<bool>(),
    ) -> Tree {
        metadata.insert(at[1].index(metadata.len() + 1), ("annotations".into(), Tree::Object(annotations)));
        for (name, value) in [("name", "n"), ("uid", "u"), ("resourceVersion", "7"), ("namespace", "é")] {
            metadata.insert(at[2].index(metadata.len() + 1), (name.into(), Tree::Text(value.into())));
        }
        object.insert(at[0].index(object.len() + 1), ("metadata".into(), Tree::Object(metadata)));
        if is_named {
            object.push(("kind".into(), Tree::Text("Thing".into())));
        }
        Tree::Object(object)
    }
}

/// Paths of which some match.
pub(crate) fn redacted_paths() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(&PATHS[..], 0..6)
}

pub(crate) fn redactions(paths: &[&str]) -> Redactions {
    let paths = paths.iter().map(|path| (*path).into()).collect::<Vec<_>>();
    let rules: Vec<_> =
        if paths.is_empty() { vec![] } else { vec![RedactRule { kind: "*".into(), paths, preset: None }] };
    Redactions::compile(&rules).unwrap()
}

/// Rules of a kind without special treatment, with these paths redacted.
pub(crate) fn rules(view: View, paths: &[&str]) -> ScrubRules {
    let things = Resource {
        group: "example.com".into(),
        version: "v1".into(),
        kind: "Thing".into(),
        plural: "things".into(),
        namespaced: true,
    };
    ScrubRules::new(&things, view, &redactions(paths))
}
