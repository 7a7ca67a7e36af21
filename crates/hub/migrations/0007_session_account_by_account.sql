-- The agents of an account are looked up for each operation. All columns, since SQLite would read the whole primary key
-- instead.
[sqlite postgres] CREATE INDEX spindrift_session_account_account
[mysql] CREATE INDEX /*M! IF NOT EXISTS */ spindrift_session_account_account
    ON spindrift_session_account (tenant, account, session);
