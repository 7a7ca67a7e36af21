//! A database that commits nothing of one account, and all of the others.

use spindrift_testkit::{Engine, eventually};

use crate::support::{LONG, Stack};

/// A trigger by which every write of an account takes longer than the database allows, until [`Stall::end`].
pub(crate) struct Stall<'a> {
    stack: &'a Stack,
    /// Retries of the hub before it began.
    retries: u64,
}

const RETRIES: &str = "spindrift_hub_commit_retries_total";

/// Retries after which a hub puts an account aside, and waits for a second or more outside of any transaction.
const UNTIL_PUT_ASIDE: u64 = 4;

// === impl Stall ===

impl<'a> Stall<'a> {
    /// Begins; SQLite has no such error.
    pub(crate) async fn new(stack: &'a Stack, account: &str) -> Self {
        let trigger = match stack.database.engine() {
            Engine::Sqlite => panic!("a statement of SQLite takes as long as it takes"),
            Engine::Postgres => format!(
                "CREATE FUNCTION stall() RETURNS trigger AS $$
                 BEGIN RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014'; END $$
                 LANGUAGE plpgsql;
                 CREATE TRIGGER stall BEFORE INSERT ON spindrift_object FOR EACH ROW
                 WHEN (NEW.account = '{account}') EXECUTE FUNCTION stall()"
            ),
            Engine::MariaDb => format!(
                "CREATE TRIGGER stall BEFORE INSERT ON spindrift_object FOR EACH ROW IF NEW.account = '{account}' THEN
                 SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1969, MESSAGE_TEXT = 'Query execution was interrupted'; END IF"
            ),
        };
        let retries = stack.hub.metric(RETRIES).await.unwrap();
        stack.database.execute(&trigger).await.unwrap();
        Self { stack, retries }
    }

    /// Waits until the hub has tried to commit a batch of the account in vain, and waits with it.
    pub(crate) async fn holds_back_a_batch(&self) {
        eventually!("a batch waits", LONG, {
            self.stack.hub.metric(RETRIES).await.unwrap() >= self.retries + UNTIL_PUT_ASIDE
        });
    }

    /// The database commits again.
    pub(crate) async fn end(self) {
        let drop = match self.stack.database.engine() {
            Engine::MariaDb | Engine::Sqlite => "DROP TRIGGER stall",
            Engine::Postgres => "DROP TRIGGER stall ON spindrift_object",
        };
        self.stack.database.execute(drop).await.unwrap();
    }
}
