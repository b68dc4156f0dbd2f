-- The read side's control tables: which builds of which projection there are, how far each is, and which serve.

CREATE SCHEMA control;

CREATE TABLE control.generation (
    id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    projection text NOT NULL,
    code_version integer NOT NULL,
    configuration jsonb NOT NULL,
    upstream jsonb NOT NULL,
    schema_name text UNIQUE,
    position bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    error text,
    error_position bigint
);

CREATE TABLE control.active (
    projection text PRIMARY KEY,
    generation integer NOT NULL REFERENCES control.generation (id)
);

-- Transformer vectors by what was embedded: outside generations, so that a rebuild embeds nothing twice.
CREATE TABLE control.embedding_cache (
    model text NOT NULL,
    text_hash bytea NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (model, text_hash)
);
-- A planner's samples hold values, and a text can be guessed from its vector or its hash.
ALTER TABLE control.embedding_cache ALTER COLUMN vector SET STATISTICS 0, ALTER COLUMN text_hash SET STATISTICS 0;
