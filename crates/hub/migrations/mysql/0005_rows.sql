-- What is kept of each object beside its body, so that no list reads bodies. It is written and removed with its object.
-- `kind` is Spinnaker's spelling in lower case; `owner` is `<kind> <name>`, or `*` of several; `derived` is the batch.
CREATE TABLE IF NOT EXISTS spindrift_row (
    tenant VARCHAR(128) NOT NULL,
    kind VARCHAR(382) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    account VARCHAR(128) NOT NULL,
    namespace VARCHAR(63) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    name VARCHAR(253) NOT NULL,
    api_group VARCHAR(253) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    spinnaker_kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    application VARCHAR(253) NOT NULL,
    cluster VARCHAR(253) NOT NULL,
    owner VARCHAR(400) NOT NULL,
    derived BIGINT NOT NULL,
    content LONGBLOB NOT NULL,
    PRIMARY KEY (tenant, kind, account, namespace, name),
    -- An application and a cluster are there exactly while an entry of this index names them.
    KEY spindrift_row_application (tenant, application, account, cluster),
    KEY spindrift_row_owner (tenant, account, namespace, owner),
    -- For the one list over all applications: security groups, few among many.
    KEY spindrift_row_spinnaker_kind (tenant, spinnaker_kind, account)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4
    /*M!100202 COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin */;

-- The rows are those of the objects up to this batch, by these rules. A hub of the release before moves `seq` alone, by
-- which its changes are noticed. While rows are derived anew, `rows_pass` names who does it, and when it last did.
ALTER TABLE spindrift_cursor
    ADD COLUMN rows_seq BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN rows_rules VARCHAR(64) NOT NULL DEFAULT '',
    ADD COLUMN rows_pass VARCHAR(36) NOT NULL DEFAULT '',
    ADD COLUMN rows_pass_at BIGINT NOT NULL DEFAULT 0;
