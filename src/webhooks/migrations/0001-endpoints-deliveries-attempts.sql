create schema webhooks;

create table webhooks.endpoints (
  tenant text not null,
  uid text not null,
  owner_kind text not null,
  owner_id text not null,
  url text not null,
  description text,
  kinds text[] not null,
  enabled boolean not null default true,
  disabled_reason text,
  -- Sealed under a label that names this endpoint.
  secret bytea not null,
  signature_header text,
  created timestamptz not null,
  primary key (tenant, uid),
  unique (uid)
);

-- The body is kept here as well as in the outbox, so that a delivery reads one schema only.
create table webhooks.deliveries (
  tenant text not null,
  uid text not null,
  endpoint_uid text not null references webhooks.endpoints (uid),
  event_id text not null,
  event text not null,
  kind text not null,
  entity text not null,
  seq bigint not null,
  position bigint not null,
  body text not null,
  state text not null check (state in ('pending', 'waiting', 'succeeded', 'exhausted', 'cancelled')),
  attempts_count smallint not null default 0,
  next_attempt_at timestamptz,
  -- Whoever holds the lease may send; its token keeps a worker that was too slow from writing the outcome.
  lease_token text,
  lease_until timestamptz,
  created timestamptz not null,
  finished timestamptz,
  primary key (tenant, uid),
  unique (uid),
  unique (endpoint_uid, event_id)
);
create index deliveries_due on webhooks.deliveries (next_attempt_at) where state = 'pending';
create index deliveries_unfinished on webhooks.deliveries (endpoint_uid, kind, entity, position) where state in ('pending', 'waiting');
create index deliveries_of_endpoint on webhooks.deliveries (tenant, endpoint_uid, created desc);

create table webhooks.attempts (
  tenant text not null,
  uid text not null,
  delivery_uid text not null references webhooks.deliveries (uid),
  number smallint not null,
  started timestamptz not null,
  address text,
  total_ms integer not null,
  status smallint,
  failure text,
  retry_after_seconds integer,
  response text,
  primary key (tenant, uid)
);
create index attempts_of_delivery on webhooks.attempts (delivery_uid, number);

-- Ed25519 keys of v1a signatures; the private part is sealed.
create table webhooks.signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  private_key bytea not null,
  created timestamptz not null
);
