-- An event is written once: what is not dispatched yet stands in a queue of narrow rows, and its place in the feed, given by
-- the dispatcher, in a table of narrow rows, where a row goes from one to the other. An older process may still run: what
-- it records gets into the queue by the trigger; its dispatcher and its feed find nothing that they know, and fail, where
-- otherwise they would go on without what is dispatched from now on.
lock table outbox.events in access exclusive mode;

create table outbox.waiting (
  position bigint primary key,
  event_id text collate "C" not null,
  tenant text not null,
  kind text not null,
  event text not null,
  entity text not null,
  created timestamptz not null
-- Hardly ever has a row for long, and then is as large as what it had at once: swept by what left it, not by its share.
) with (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0);

create table outbox.places (
  event_id text collate "C" primary key,
  place bigint not null default nextval('outbox.feed_positions'),
  tenant text not null,
  kind text not null,
  event text not null,
  entity text not null,
  created timestamptz not null
) partition by range (event_id);
create index places_of_kind on outbox.places (tenant, kind, place);
create index places_of_entity on outbox.places (tenant, entity, place);
create table outbox.places_default partition of outbox.places default;
select platform.ensure_week('outbox.places', 'event_id', 'evt', now() + week * interval '7 days', 100)
from generate_series(-5, 1) as week;

insert into outbox.places (event_id, place, tenant, kind, event, entity, created)
select id, feed_position, tenant, kind, event, entity, created from outbox.events where feed_position is not null;
insert into outbox.waiting (position, event_id, tenant, kind, event, entity, created)
select position, id, tenant, kind, event, entity, created from outbox.events where dispatched_at is null;

-- `queued`: whoever wrote the event has put it into the queue himself, in the same statement.
alter table outbox.events drop column dispatched_at, drop column feed_position, drop column xid,
  add column queued boolean not null default false;

create function outbox.let_wait() returns trigger language plpgsql as $$
begin
  insert into outbox.waiting (position, event_id, tenant, kind, event, entity, created)
  values (new.position, new.id, new.tenant, new.kind, new.event, new.entity, new.created);
  return null;
end $$;
create trigger events_wait after insert on outbox.events
  for each row when (not new.queued) execute function outbox.let_wait();
