//! Commands that do something in clusters: beside kubectl on a real one, and against a hub that plays what is rare.

mod beside_kubectl;
mod fleet;
mod interrupt;
mod scripted;
mod sentences;
mod several;
mod shop;
mod top;
