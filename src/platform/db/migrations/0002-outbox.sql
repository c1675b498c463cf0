-- Events, recorded in the transaction of their change. An event is written once, to `events`. Until it is dispatched it has a
-- row in the queue `waiting`; the dispatcher then deletes that row and gives the event its position in the feed in `places`.
create schema outbox;

-- Which kinds of events a tenant has switched on; no row means off.
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

create sequence outbox.event_positions;

-- Kept by week and dropped by week. Rows whose week has no partition go to the default partition.
create table outbox.events (
  position bigint not null default nextval('outbox.event_positions'),
  id text collate "C" primary key,
  tenant text not null,
  kind text not null,
  event text not null,
  entity text not null,
  seq bigint not null,
  previous_seq bigint,
  created timestamptz not null,
  body text not null,
  -- The statement that inserts the event also inserts its row of `waiting`.
  queued boolean not null default false
) partition by range (id);
create table outbox.events_default partition of outbox.events default;

create table outbox.waiting (
  position bigint primary key,
  event_id text collate "C" not null,
  tenant text not null,
  kind text not null,
  event text not null,
  entity text not null,
  created timestamptz not null
-- The table is nearly always empty, and its dead rows are many: vacuum starts by their number, not by their share.
) with (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0);

-- An event gets its position in the feed after its commit, from the one dispatcher at a time. `position` is given before the
-- commit, so of two transactions the one with the later number may become readable first.
create sequence outbox.feed_positions;
create table outbox.places (
  event_id text collate "C" primary key,
  place bigint not null default nextval('outbox.feed_positions'),
  tenant text not null,
  kind text not null,
  event text not null,
  entity text not null,
  created timestamptz not null
) partition by range (event_id);
create table outbox.places_default partition of outbox.places default;
create index places_of_kind on outbox.places (tenant, kind, place);
create index places_of_entity on outbox.places (tenant, entity, place);

-- Five weeks back and one ahead; a service makes the following ones.
select platform.ensure_week('outbox.events', 'id', 'evt', now() + week * interval '7 days', 100),
  platform.ensure_week('outbox.places', 'event_id', 'evt', now() + week * interval '7 days', 100)
from generate_series(-5, 1) as week;

-- Queues an event whose insert did not queue it.
create function outbox.let_wait() returns trigger language plpgsql as $$
begin
  insert into outbox.waiting (position, event_id, tenant, kind, event, entity, created)
  values (new.position, new.id, new.tenant, new.kind, new.event, new.entity, new.created);
  return null;
end $$;
create trigger events_wait after insert on outbox.events
  for each row when (not new.queued) execute function outbox.let_wait();
