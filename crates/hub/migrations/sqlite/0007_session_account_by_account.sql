-- Who serves an account is looked up for each operation. All columns, since SQLite would read the whole primary key instead.
CREATE INDEX spindrift_session_account_account
    ON spindrift_session_account (tenant, account, session);
