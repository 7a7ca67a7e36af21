-- Accounts that an agent was accepted for in a session: it may attach these and no others.
{create table} spindrift_session_account (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    session VARCHAR(128) {bytewise} NOT NULL,
    account VARCHAR(128) {bytewise} NOT NULL,
    PRIMARY KEY (tenant, session, account)
) {options};
