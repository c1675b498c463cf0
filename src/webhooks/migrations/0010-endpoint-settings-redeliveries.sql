-- What an owner may set and rotate (interface 12.5). A removed endpoint keeps its row for the log of its deliveries.
alter table webhooks.endpoints
  add column max_per_second smallint,
  add column digest boolean not null default false,
  -- Sealed like `secret`; signs beside it until the overlap of a rotation ends.
  add column previous_secret bytea,
  add column previous_secret_expires timestamptz,
  add column removed timestamptz;

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

create table webhooks.redeliveries (
  tenant text not null,
  uid text not null,
  endpoint_uid text not null references webhooks.endpoints (uid),
  -- Events recorded from `since` on and before `until`; those that succeeded there too if `everything`.
  since timestamptz not null,
  until timestamptz,
  everything boolean not null,
  -- Places in the feed: looked at up to here, and the last one to look at.
  after_position bigint not null,
  last_position bigint not null,
  queued integer not null default 0,
  state text not null check (state in ('running', 'done')),
  created timestamptz not null,
  -- When it was last worked at: they take turns.
  touched timestamptz not null default now(),
  primary key (tenant, uid),
  unique (uid)
);
-- One at a time per endpoint: a second one would look through the same events beside it.
create unique index redeliveries_running on webhooks.redeliveries (endpoint_uid) where state = 'running';

-- Delivering again makes a delivery of its own, so that the log of the first stays as it was. One index keeps an event
-- from being dispatched or queued twice and finds the deliveries of an event.
alter table webhooks.deliveries
  add column redelivery_uid text,
  drop constraint deliveries_endpoint_uid_event_id_key;
create unique index deliveries_of_event on webhooks.deliveries (event_id, endpoint_uid, redelivery_uid) nulls not distinct;
create index deliveries_of_redelivery on webhooks.deliveries (redelivery_uid, state) where redelivery_uid is not null;
