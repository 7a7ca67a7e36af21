//! Labels that are only shown: kept as JSON, since parsing them costs more than all the rest.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Labels of an object, as JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(Box<RawValue>);

// === impl Labels ===

impl Labels {
    /// Labels as the API server wrote them, if they are an object.
    pub(super) fn of(json: Option<&RawValue>) -> Self {
        json.filter(|json| json.get().starts_with('{'))
            .map_or_else(Self::default, |json| Self(json.to_owned()))
    }

    pub fn is_empty(&self) -> bool {
        let inside = self.0.get().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        inside.is_some_and(|inside| inside.trim().is_empty())
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self(RawValue::from_string("{}".to_owned()).expect("it is JSON"))
    }
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get())
    }
}
