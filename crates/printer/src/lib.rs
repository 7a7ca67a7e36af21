//! How kubectl shows objects: columns per kind, ages, JSONPath, descriptions.
