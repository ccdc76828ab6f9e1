-- The tables of the example conf/payment-points.yaml. They are the application's own; yours will differ.

CREATE TABLE IF NOT EXISTS payments (
  order_id    text           NOT NULL PRIMARY KEY,
  user_id     text           NOT NULL,
  amount      numeric(12, 2) NOT NULL,
  city        text,
  occurred_at timestamptz    NOT NULL
);

CREATE TABLE IF NOT EXISTS user_points (
  user_id text   NOT NULL PRIMARY KEY,
  points  bigint NOT NULL
);
