//! Generated names: the recorded ones, and the current ones.

use serde_json::Value;

/// Pairs of recorded and current names. Ids of tasks, uids, ETags and names that the API server generated are added as
/// they come, and put into later requests and answers.
#[derive(Debug, Clone, Default)]
pub struct Names(Vec<(String, String)>);

// === impl Names ===

impl Names {
    /// Adds a pair.
    pub fn learn(&mut self, recorded: &str, now: &str) {
        if recorded.is_empty() || recorded == now {
            return;
        }
        match self.0.iter_mut().find(|(known, _)| known == recorded) {
            Some((_, replacement)) => now.clone_into(replacement),
            None => self.0.push((recorded.to_owned(), now.to_owned())),
        }
    }

    /// Whether there is a current name for this one.
    pub fn knows(&self, recorded: &str) -> bool {
        self.0.iter().any(|(known, _)| known == recorded)
    }

    /// A text with the names of now.
    pub fn in_text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (recorded, now)| {
            if text.contains(recorded.as_str()) { text.replace(recorded.as_str(), now) } else { text }
        })
    }

    /// A value with the names of now, in keys too.
    pub fn in_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.in_text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.in_value(item)).collect(),
            Value::Object(map) => {
                map.iter().map(|(key, value)| (self.in_text(key), self.in_value(value))).collect()
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Names;

    #[test]
    fn learned_names_are_replaced_everywhere() {
        let mut names = Names::default();
        names.learn("old-id", "01ABC");
        names.learn("pod-x1", "pod-y2");
        names.learn("old-id", "01XYZ");
        assert_eq!(names.in_text("/task/old-id:resume"), "/task/01XYZ:resume");
        let value = json!({ "a": ["old-id", 1.0], "pod-x1": null });
        assert_eq!(names.in_value(&value), json!({ "a": ["01XYZ", 1.0], "pod-y2": null }));
        assert!(names.knows("old-id") && !names.knows("new-id"));
    }
}
