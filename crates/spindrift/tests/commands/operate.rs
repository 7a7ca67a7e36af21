//! Commands that change clusters: beside kubectl on a real one, and against a scripted hub for rare answers.

mod beside_kubectl;
mod fleet;
mod interrupt;
mod scripted;
mod sentences;
mod several;
mod shop;
mod top;
mod verbs;
