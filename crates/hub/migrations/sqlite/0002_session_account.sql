-- The accounts that an agent was accepted for in a session: it may attach these and no others.
CREATE TABLE spindrift_session_account (
    tenant VARCHAR(128) NOT NULL,
    session VARCHAR(128) NOT NULL,
    account VARCHAR(128) NOT NULL,
    PRIMARY KEY (tenant, session, account)
);
