-- Endpoints, deliveries of events to them, attempts of deliveries, and what the engine needs to choose the next delivery.
create schema webhooks;

-- What an owner may set and rotate (interface 12.5). A removed endpoint keeps its row for the log of its deliveries.
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
  max_per_second smallint,
  digest boolean not null default false,
  -- Sealed like `secret`; signs beside it until the overlap of a rotation ends.
  previous_secret bytea,
  previous_secret_expires timestamptz,
  removed timestamptz,
  -- Deliveries that were made up to this moment are being cancelled, a batch at a time; none is sent until that is done.
  cancel_through timestamptz,
  primary key (tenant, uid),
  unique (uid)
);
create index endpoints_listed on webhooks.endpoints (tenant, created desc, uid desc) where removed is null;
create index endpoints_of_owner on webhooks.endpoints (tenant, owner_kind, owner_id, created desc, uid desc)
  where removed is null;
create index endpoints_cancelling on webhooks.endpoints (uid) where cancel_through is not null;

-- What attempts say of an endpoint. A table of its own: the dispatcher locks endpoints, and attempts must not wait for it.
create table webhooks.endpoint_health (
  endpoint_uid text primary key references webhooks.endpoints (uid),
  -- First failed attempt after the last success, and how many failed since.
  failing_since timestamptz,
  failures_count integer not null default 0,
  last_success timestamptz,
  last_failure timestamptz,
  -- When the owner was warned that it will be disabled.
  warned timestamptz
) with (fillfactor = 70);

-- Deliveries and attempts are kept as long as their event and dropped with it, by week. They do not reference endpoints,
-- whose rows are never deleted: the check of a reference would lock the endpoint once for each delivery. There is no index by
-- uid either: a delivery is found by its endpoint and the time in its id, or by its event.
create table webhooks.deliveries (
  tenant text not null,
  uid text not null,
  endpoint_uid text not null,
  event_id text collate "C" not null,
  event text not null,
  kind text not null,
  entity text not null,
  seq bigint not null,
  position bigint not null,
  -- Only of events that exist for one endpoint alone; other bodies are in the outbox, once, as long as the delivery exists.
  body text,
  state text not null check (state in ('pending', 'waiting', 'succeeded', 'exhausted', 'cancelled')),
  attempts_count smallint not null default 0,
  next_attempt_at timestamptz,
  -- The worker that holds the lease may send. Its token keeps a worker whose lease has ended from writing the outcome.
  lease_token text,
  lease_until timestamptz,
  created timestamptz not null,
  finished timestamptz,
  -- Delivering again makes a delivery of its own, so that the log of the first stays as it was.
  redelivery_uid text,
  -- Later deliveries of the entity wait behind this one, or may: only then are they looked for when it is finished. Changed
  -- under the lock of the entity's queue only.
  followed boolean not null default true
) partition by range (event_id);
create table webhooks.deliveries_default partition of webhooks.deliveries default;
-- One index keeps an event from being dispatched or queued twice and finds the deliveries of an event.
create unique index deliveries_of_event on webhooks.deliveries (event_id, endpoint_uid, redelivery_uid) nulls not distinct;
-- Finds the due deliveries of one endpoint without reading those of others.
create index deliveries_due_of_endpoint on webhooks.deliveries (endpoint_uid, next_attempt_at) where state = 'pending';
create index deliveries_unfinished on webhooks.deliveries (endpoint_uid, kind, entity, position)
  where state in ('pending', 'waiting');
create index deliveries_of_endpoint on webhooks.deliveries (tenant, endpoint_uid, created desc);
-- A search for failed deliveries does not read those that succeeded. A row enters the index once, when it is finished.
create index deliveries_without_success on webhooks.deliveries (tenant, endpoint_uid, created desc, uid desc)
  where state in ('exhausted', 'cancelled');
create index deliveries_of_redelivery on webhooks.deliveries (redelivery_uid, state) where redelivery_uid is not null;
create index deliveries_redelivered on webhooks.deliveries (tenant, endpoint_uid, redelivery_uid, created desc, uid desc)
  where redelivery_uid is not null;

create table webhooks.attempts (
  tenant text not null,
  uid text not null,
  delivery_uid text not null,
  number smallint not null,
  started timestamptz not null,
  address text,
  total_ms integer not null,
  status smallint,
  failure text,
  retry_after_seconds integer,
  response text,
  -- Parts of the time of an attempt; null for a part that it did not reach, 0 for one that an open connection saved.
  dns_ms integer,
  connect_ms integer,
  tls_ms integer,
  first_byte_ms integer,
  event_id text collate "C" not null
) partition by range (event_id);
create table webhooks.attempts_default partition of webhooks.attempts default;
create unique index attempts_of_delivery on webhooks.attempts (delivery_uid, number, event_id);

-- Five weeks back and one ahead; a service makes the following ones. Pages of deliveries keep free space, so that a lease is
-- written without touching an index.
select platform.ensure_week('webhooks.deliveries', 'event_id', 'evt', now() + week * interval '7 days', 75),
  platform.ensure_week('webhooks.attempts', 'event_id', 'evt', now() + week * interval '7 days', 100)
from generate_series(-5, 1) as week;

-- When to look at an endpoint next, one row each, so that the cost of a claim depends neither on the length of backlogs nor
-- on their number.
create table webhooks.ready (
  endpoint_uid text primary key,
  due_at timestamptz not null,
  -- 0 answers quickly, 1 not known yet, 2 slow: each class has slots of its own.
  class smallint not null default 1,
  -- Up to when its rate is used up.
  paced timestamptz,
  -- Set by the circuit breaker: nothing that became due in the last five minutes is sent before.
  gate timestamptz,
  -- When it answered again after the breaker had been open: every worker begins again with one slot.
  recovered timestamptz
) with (fillfactor = 50);
create index ready_due on webhooks.ready (class, due_at) where due_at < 'infinity';

-- An inserted delivery that is pending makes its endpoint ready. A leased delivery is being sent already. A statement that
-- updates deliveries to pending writes `ready` itself: a trigger for updates would gather each row that is leased or
-- finished, and none of those is pending.
create function webhooks.make_ready() returns trigger language plpgsql as $$
begin
  insert into webhooks.ready as known (endpoint_uid, due_at)
  select endpoint_uid, min(next_attempt_at) from changed
  where state = 'pending' and lease_until is null and next_attempt_at is not null
  group by endpoint_uid order by endpoint_uid
  on conflict (endpoint_uid) do update set due_at = greatest(excluded.due_at, known.gate)
  where known.due_at > greatest(excluded.due_at, known.gate);
  return null;
end $$;
create trigger deliveries_inserted after insert on webhooks.deliveries
  referencing new table as changed for each statement execute function webhooks.make_ready();

-- Workers that send; their lease tokens begin with the uid. A worker whose session is gone and which was not seen for some
-- time is dead, and its leases go to other workers.
create table webhooks.workers (
  uid text primary key,
  -- Of the advisory lock that its session holds.
  lock_key bigint not null,
  -- By the clock of the database.
  seen timestamptz not null
) with (fillfactor = 50);

create table webhooks.redeliveries (
  tenant text not null,
  uid text not null,
  endpoint_uid text not null references webhooks.endpoints (uid),
  -- Events recorded from `since` on and before `until`; with `everything` also those that succeeded there.
  since timestamptz not null,
  until timestamptz,
  everything boolean not null,
  -- Positions in the feed: the last one that was read, and the last one to read.
  after_position bigint not null,
  last_position bigint not null,
  queued integer not null default 0,
  state text not null check (state in ('running', 'done')),
  created timestamptz not null,
  -- When a worker last worked at it: the oldest is next.
  touched timestamptz not null default now(),
  primary key (tenant, uid),
  unique (uid)
);
-- One at a time per endpoint: a second one would read the same events beside it.
create unique index redeliveries_running on webhooks.redeliveries (endpoint_uid) where state = 'running';

-- The hour that the next digest of an endpoint is about. The seq of a digest is its hour; `last_seq` is the last one sent.
create table webhooks.digests (
  endpoint_uid text primary key references webhooks.endpoints (uid),
  next_from timestamptz not null,
  last_seq bigint
);

-- Ed25519 keys of v1a signatures; the private part is sealed.
create table webhooks.signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  private_key bytea not null,
  created timestamptz not null,
  -- From when on it signs: it is listed before. The first one signs at once.
  not_before timestamptz not null
);
