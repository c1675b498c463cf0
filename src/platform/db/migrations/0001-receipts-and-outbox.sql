-- Receipts of idempotent requests: one per owner and key, kept 48 hours.
create table platform.receipts (
  owner text not null,
  key text not null,
  request_hash bytea not null,
  request text,
  status smallint not null,
  body text not null,
  headers jsonb not null,
  expires timestamptz not null,
  primary key (owner, key)
);
create index receipts_expires on platform.receipts (expires);

-- Small facts about this installation, such as the check value of the master key.
create table platform.facts (
  name text primary key,
  value text not null
);

create schema outbox;

-- Which kinds of events a tenant has switched on; absent means off.
create table outbox.switches (
  tenant text not null,
  kind text not null,
  enabled boolean not null,
  primary key (tenant, kind)
);

-- Last recorded seq per entity: the previous_seq of its next event.
create table outbox.heads (
  tenant text not null,
  kind text not null,
  entity text not null,
  last_seq bigint not null,
  primary key (tenant, kind, entity)
);

-- xid orders events by transaction, so that a reader can stop before those that may still commit.
create table outbox.events (
  position bigint generated always as identity primary key,
  id text not null unique,
  tenant text not null,
  kind text not null,
  event text not null,
  entity text not null,
  seq bigint not null,
  previous_seq bigint,
  created timestamptz not null,
  body text not null,
  xid xid8 not null default pg_current_xact_id(),
  dispatched_at timestamptz
);
create index events_waiting on outbox.events (position) where dispatched_at is null;
create index events_feed on outbox.events (tenant, position);
