-- The log, its ledger, the contents they name, and the write side's own tables.
-- The two event tables and their row type are what the eventsourcing library's recorder would create.

CREATE TYPE log.stored_event_text AS (originator_id text, originator_version bigint, topic text, state bytea);

CREATE TABLE log.events (
    originator_id text NOT NULL,
    originator_version bigint NOT NULL,
    topic text,
    state bytea,
    notification_id bigserial,
    PRIMARY KEY (originator_id, originator_version)
) WITH (
    autovacuum_enabled = true,
    autovacuum_vacuum_threshold = 100000000,
    autovacuum_vacuum_scale_factor = 0.5,
    autovacuum_analyze_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.01
);
CREATE UNIQUE INDEX events_notification_id_idx ON log.events (notification_id ASC);

CREATE TABLE log.ledger (
    originator_id text NOT NULL,
    originator_version bigint NOT NULL,
    topic text,
    state bytea,
    notification_id bigserial,
    PRIMARY KEY (originator_id, originator_version)
) WITH (
    autovacuum_enabled = true,
    autovacuum_vacuum_threshold = 100000000,
    autovacuum_vacuum_scale_factor = 0.5,
    autovacuum_analyze_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.01
);
CREATE UNIQUE INDEX ledger_notification_id_idx ON log.ledger (notification_id ASC);

-- One row: the key under which contents are hashed, and which store this is. Backup and export carry it.
CREATE TABLE log.store (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id text NOT NULL,
    content_key bytea NOT NULL CHECK (octet_length(content_key) = 32),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE log.content (
    key text PRIMARY KEY,
    codec smallint NOT NULL,
    size bigint NOT NULL,
    bytes bytea NOT NULL
);
-- Contents are compressed before they come here.
ALTER TABLE log.content ALTER bytes SET STORAGE EXTERNAL;
-- The planner's statistics hold samples of values, and what is erased must not be among them; so for paths below.
ALTER TABLE log.content ALTER bytes SET STATISTICS 0;

-- Which source answers to a key in a scope: decided in the append's transaction.
CREATE TABLE log.source_names (
    scope text NOT NULL,
    key text NOT NULL,
    ordinal integer NOT NULL,
    source text NOT NULL,
    PRIMARY KEY (scope, key, ordinal)
);

-- Which scope a directory is mapped to: decided in the append's transaction. A path is bytes: not all are UTF-8.
-- A path may be longer than the 2,704 bytes that a B-tree takes, so here and below its digest is the key.
CREATE TABLE log.directories (
    directory bytea NOT NULL,
    scope text NOT NULL
);
ALTER TABLE log.directories ALTER directory SET STATISTICS 0;
CREATE UNIQUE INDEX directories_directory_idx ON log.directories (sha256(directory));

-- A cache of what each file looked like when it was captured: spares reading what did not change.
CREATE TABLE log.files (
    path bytea NOT NULL,
    root bytea,
    scope text NOT NULL,
    source text,
    sources integer NOT NULL,
    content text,
    size bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    ctime_ns bigint NOT NULL,
    inode numeric NOT NULL,
    device numeric NOT NULL,
    outcome text NOT NULL
);
ALTER TABLE log.files ALTER path SET STATISTICS 0, ALTER root SET STATISTICS 0;
CREATE UNIQUE INDEX files_path_idx ON log.files (sha256(path));
-- Finds what is below a folder; as much of a path as is sure to fit.
CREATE INDEX files_beginning_idx ON log.files (substr(path, 1, 1024));
ALTER INDEX log.files_beginning_idx ALTER COLUMN 1 SET STATISTICS 0;
CREATE INDEX files_content_idx ON log.files (content) WHERE content IS NOT NULL;
CREATE INDEX files_source_idx ON log.files (source) WHERE source IS NOT NULL;

-- Batches that were undone: decided in the transaction of the undo.
CREATE TABLE log.reverted (
    batch text PRIMARY KEY
);

-- What was erased and is not to be captured again: contents by the keys of their bytes, sources as a whole, and
-- passages by how long they are and by keyed hashes of their beginning and of the whole.
CREATE TABLE log.erased_content (
    key text PRIMARY KEY,
    erasure text NOT NULL
);
CREATE TABLE log.erased_source (
    source text PRIMARY KEY,
    erasure text NOT NULL
);
CREATE TABLE log.erased_span (
    source text NOT NULL,
    span text NOT NULL,
    erasure text NOT NULL,
    PRIMARY KEY (source, span)
);
