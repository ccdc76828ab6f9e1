-- EffectOnce's bookkeeping in PostgreSQL (13 or newer). Apply it once to the database that a pipeline writes to, in the
-- schema that the job's user finds first; several pipelines share these tables. It can be applied again.

-- The ledger: a row per idempotency key that has taken effect, written in the effects' own transaction.
CREATE TABLE IF NOT EXISTS effect_ledger (
  event_key        bytea       NOT NULL PRIMARY KEY, -- 16 bytes of pipeline, business ID and operation
  pipeline         text        NOT NULL,
  business_id      text        NOT NULL,
  operation        text        NOT NULL,
  fingerprint      bigint      NOT NULL,             -- of the values; tells a conflict from a duplicate
  source_topic     text        NOT NULL,
  source_partition integer     NOT NULL,
  source_offset    bigint      NOT NULL,
  source_part      integer     NOT NULL,             -- the part of an exploded record, from 0
  applied_at       timestamptz NOT NULL DEFAULT now()
);

-- Rows come in the order of time, so a block-range index finds old ones at next to no cost.
CREATE INDEX IF NOT EXISTS effect_ledger_applied_at ON effect_ledger USING brin (applied_at);

-- Records, or parts of records, that couldn't take effect, with their bytes as Kafka had them.
CREATE TABLE IF NOT EXISTS dead_letter (
  id               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  pipeline         text        NOT NULL,
  source_topic     text        NOT NULL,
  source_partition integer     NOT NULL,
  source_offset    bigint      NOT NULL,
  source_part      integer     NOT NULL,
  content_hash     bytea       NOT NULL,             -- SHA-256 of the record's key, value and headers
  event_key        bytea,                            -- null where the key couldn't be read
  business_id      text,
  operation        text,
  stage            text        NOT NULL,
  reason           text        NOT NULL,
  message          text        NOT NULL,
  record_key       bytea,
  record_value     bytea,
  record_headers   json        NOT NULL,             -- [["name", "Base64" or null], ...]
  record_timestamp timestamptz,
  created_at       timestamptz NOT NULL DEFAULT now(),
  replays          integer     NOT NULL DEFAULT 0,   -- attempts while it was open; after a failure of the job one may count twice
  closed_at        timestamptz,                      -- set when a replay or a correction took effect
  UNIQUE (pipeline, source_topic, source_partition, source_offset, source_part, content_hash)
);

CREATE INDEX IF NOT EXISTS dead_letter_open_key ON dead_letter (event_key)
  WHERE closed_at IS NULL AND event_key IS NOT NULL;

-- The optional audit of what the filter held back; a pipeline writes to it if its file says duplicates: { table: ... }.
CREATE TABLE IF NOT EXISTS duplicate_event (
  pipeline         text        NOT NULL,
  source_topic     text        NOT NULL,
  source_partition integer     NOT NULL,
  source_offset    bigint      NOT NULL,
  source_part      integer     NOT NULL,
  event_key        bytea       NOT NULL,
  business_id      text        NOT NULL,
  operation        text        NOT NULL,
  first_seen_at    timestamptz NOT NULL,             -- whole seconds
  seen_at          timestamptz NOT NULL,
  PRIMARY KEY (pipeline, source_topic, source_partition, source_offset, source_part)
);
