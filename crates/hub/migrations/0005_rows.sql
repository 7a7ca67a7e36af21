-- Derived rows: a summary of each object, so that lists read no bodies. A row is written and deleted with its object.
-- `kind` is Spinnaker's spelling in lower case; `owner` is `<kind> <name>`, or `*` of several; `derived` is the batch.
{create table} spindrift_row (
    tenant VARCHAR(128) {bytewise} NOT NULL,
    kind VARCHAR(382) {bytewise} {ascii} NOT NULL,
    account VARCHAR(128) {bytewise} NOT NULL,
    namespace VARCHAR(63) {bytewise} {ascii} NOT NULL,
    name VARCHAR(253) {bytewise} NOT NULL,
    api_group VARCHAR(253) {ascii} NOT NULL,
    spinnaker_kind VARCHAR(32) {ascii} NOT NULL,
    application VARCHAR(253) {bytewise} NOT NULL,
    cluster VARCHAR(253) {bytewise} NOT NULL,
    owner VARCHAR(400) {bytewise} NOT NULL,
    derived BIGINT NOT NULL,
    content {bytes} NOT NULL,
    PRIMARY KEY (tenant, kind, account, namespace, name)
[mysql]    , KEY spindrift_row_application (tenant, application, account, cluster)
[mysql]    , KEY spindrift_row_owner (tenant, account, namespace, owner)
[mysql]    , KEY spindrift_row_spinnaker_kind (tenant, spinnaker_kind, account)
) {options};

-- An application and a cluster exist exactly while an entry of the first index names them. The third one serves the only
-- list over all applications, that of security groups: few among many.
[sqlite postgres] CREATE INDEX spindrift_row_application ON spindrift_row (tenant, application, account, cluster) WHERE application <> '';
[sqlite postgres] CREATE INDEX spindrift_row_owner ON spindrift_row (tenant, account, namespace, owner);
[sqlite postgres] CREATE INDEX spindrift_row_security_group ON spindrift_row (tenant, account) WHERE spinnaker_kind = 'securityGroups';

-- The rows match the objects up to the batch `rows_seq`, by the rules `rows_rules`. A hub of the previous release moves
-- `seq` alone, which shows that it wrote. While rows are derived again, `rows_pass` is the id of the pass, and
-- `rows_pass_at` the time of its last page.
ALTER TABLE spindrift_cursor
    ADD COLUMN rows_seq BIGINT NOT NULL DEFAULT 0
[sqlite] ; ALTER TABLE spindrift_cursor
[postgres mysql]    ,
    ADD COLUMN rows_rules VARCHAR(64) NOT NULL DEFAULT ''
[sqlite] ; ALTER TABLE spindrift_cursor
[postgres mysql]    ,
    ADD COLUMN rows_pass VARCHAR(36) NOT NULL DEFAULT ''
[sqlite] ; ALTER TABLE spindrift_cursor
[postgres mysql]    ,
    ADD COLUMN rows_pass_at BIGINT NOT NULL DEFAULT 0;
