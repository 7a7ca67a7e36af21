-- Accounts that an agent is configured for and cannot serve now, with the reason; they belong to its session.
{create table} spindrift_unavailable_account (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    session VARCHAR(128) {bytewise} NOT NULL,
    account VARCHAR(128) {bytewise} NOT NULL,
    reason VARCHAR(2048) NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (tenant, session, account)
) {options};
