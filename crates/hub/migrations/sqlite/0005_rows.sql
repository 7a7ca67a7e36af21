-- What is kept of each object beside its body, so that no list reads bodies. It is written and removed with its object.
-- `kind` is Spinnaker's spelling in lower case; `owner` is `<kind> <name>`, or `*` of several; `derived` is the batch.
CREATE TABLE spindrift_row (
    tenant VARCHAR(128) NOT NULL,
    kind VARCHAR(382) NOT NULL,
    account VARCHAR(128) NOT NULL,
    namespace VARCHAR(63) NOT NULL,
    name VARCHAR(253) NOT NULL,
    api_group VARCHAR(253) NOT NULL,
    spinnaker_kind VARCHAR(32) NOT NULL,
    application VARCHAR(253) NOT NULL,
    cluster VARCHAR(253) NOT NULL,
    owner VARCHAR(400) NOT NULL,
    derived BIGINT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (tenant, kind, account, namespace, name)
);

-- An application and a cluster are there exactly while an entry of this index names them.
CREATE INDEX spindrift_row_application ON spindrift_row (tenant, application, account, cluster) WHERE application <> '';
CREATE INDEX spindrift_row_owner ON spindrift_row (tenant, account, namespace, owner);
-- The one list over all applications: few among many.
CREATE INDEX spindrift_row_security_group ON spindrift_row (tenant, account) WHERE spinnaker_kind = 'securityGroups';

-- The rows are those of the objects up to this batch, by these rules. A hub of the release before moves `seq` alone, by
-- which its changes are noticed. While rows are derived anew, `rows_pass` names who does it, and when it last did.
ALTER TABLE spindrift_cursor ADD COLUMN rows_seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE spindrift_cursor ADD COLUMN rows_rules VARCHAR(64) NOT NULL DEFAULT '';
ALTER TABLE spindrift_cursor ADD COLUMN rows_pass VARCHAR(36) NOT NULL DEFAULT '';
ALTER TABLE spindrift_cursor ADD COLUMN rows_pass_at BIGINT NOT NULL DEFAULT 0;
