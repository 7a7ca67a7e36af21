//! The store on SQLite, PostgreSQL and MariaDB: every test runs on all three.

mod bench;

mod accounts;
mod commits;
mod counts;
mod cursors;
mod deriving;
mod disk;
mod feed;
mod isolation;
mod objects;
mod opening;
mod operations;
mod rows;
mod scopes;
mod sessions;
mod tasks;
