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
  closed_at        timestamptz,                      -- null while it is open
  closed_by        text,                             -- a replay or a correction that took effect, or discard
  UNIQUE (pipeline, source_topic, source_partition, source_offset, source_part, content_hash)
);

ALTER TABLE dead_letter ADD COLUMN IF NOT EXISTS closed_by text; -- for a table made before there was this column

CREATE INDEX IF NOT EXISTS dead_letter_open_key ON dead_letter (event_key)
  WHERE closed_at IS NULL AND event_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS dead_letter_open ON dead_letter (pipeline, id) WHERE closed_at IS NULL;

-- Which job runs a pipeline: only that one commits its transactions.
CREATE TABLE IF NOT EXISTS pipeline_owner (
  pipeline         text        NOT NULL PRIMARY KEY,
  job              text        NOT NULL,             -- Flink's JobID
  taken_at         timestamptz NOT NULL DEFAULT now()
);

-- Who may write for a pipeline: a row per writer, replaced when another attempt takes over. Every transaction with effects
-- locks its writer's row, so that an attempt that was given up can't finish what it had begun.
CREATE TABLE IF NOT EXISTS writer_fence (
  pipeline         text        NOT NULL,
  writer           integer     NOT NULL,             -- from 0
  token            uuid        NOT NULL,             -- known to the current attempt alone
  job              text        NOT NULL,             -- Flink's JobID
  session_id       bigint      NOT NULL,             -- the attempt's session: its process id on the server ...
  session_started  timestamptz NOT NULL,             -- ... and when it began
  parallelism      integer     NOT NULL,             -- how many writers the job has
  restored         bigint      NOT NULL,             -- the checkpoint it went on from, 0 for none
  ready            boolean     NOT NULL,             -- whether what came before has been settled
  taken_at         timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (pipeline, writer)
);

-- Which transactions were committed: each has a row, which is visible exactly if it was. Kept for sink.markers.keep.
CREATE TABLE IF NOT EXISTS commit_marker (
  id               bytea       NOT NULL PRIMARY KEY,
  pipeline         text        NOT NULL,
  writer           integer     NOT NULL,
  epoch            bigint      NOT NULL,             -- the checkpoint after which its events came
  events           integer     NOT NULL,             -- 0 where a writer started
  counts           bytea,                            -- what it counted, where the job's state doesn't hold that
  created_at       timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX IF NOT EXISTS commit_marker_created_at ON commit_marker (pipeline, created_at);

-- What is in the branches that are in doubt, for people who have to decide about one.
CREATE TABLE IF NOT EXISTS prepared_branch (
  id               bytea       NOT NULL PRIMARY KEY,
  pipeline         text        NOT NULL,
  writer           integer     NOT NULL,
  events           integer     NOT NULL,
  source_offsets   text        NOT NULL,
  prepared_at      timestamptz NOT NULL DEFAULT now()
);

-- Events that are in no transaction, only in checkpoints: they came while a branch was in doubt. A row goes in the transaction
-- that applies its events. A start without state is refused while there is one, since nobody else would know of them.
CREATE TABLE IF NOT EXISTS checkpoint_backlog (
  id               bytea       NOT NULL PRIMARY KEY,
  pipeline         text        NOT NULL,
  writer           integer     NOT NULL,
  job              text        NOT NULL,             -- Flink's JobID
  events           integer     NOT NULL,
  source_offsets   text        NOT NULL,
  created_at       timestamptz NOT NULL DEFAULT now()
);

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
