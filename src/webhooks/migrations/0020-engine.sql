-- Deliveries and attempts are kept as long as their event and dropped with it, by week: the body of a delivery stands in the
-- outbox, once, and is there as long as the delivery. `body` is for events that exist for one endpoint alone. No
-- reference to endpoints, whose rows are never removed: its check would lock them once for each delivery.
alter table webhooks.attempts add column event_id text collate "C";
update webhooks.attempts set event_id = delivery.event_id
from webhooks.deliveries as delivery where delivery.uid = delivery_uid;
alter table webhooks.attempts alter column event_id set not null;
alter table webhooks.attempts drop constraint attempts_delivery_uid_fkey;
alter table webhooks.attempts drop constraint attempts_pkey;
drop index webhooks.attempts_of_delivery;
create unique index attempts_of_delivery on webhooks.attempts (delivery_uid, number, event_id);

alter table webhooks.deliveries alter column event_id type text collate "C";
alter table webhooks.deliveries alter column body drop not null;
alter table webhooks.deliveries drop constraint deliveries_pkey;
alter table webhooks.deliveries drop constraint deliveries_uid_key;
alter table webhooks.deliveries drop constraint deliveries_endpoint_uid_fkey;
drop index webhooks.deliveries_due;
create index deliveries_by_uid on webhooks.deliveries (uid);

alter table webhooks.deliveries rename to deliveries_whole;
alter table webhooks.attempts rename to attempts_whole;
create table webhooks.deliveries (like webhooks.deliveries_whole including all) partition by range (event_id);
create table webhooks.attempts (like webhooks.attempts_whole including all) partition by range (event_id);
create table webhooks.deliveries_default partition of webhooks.deliveries default;
create table webhooks.attempts_default partition of webhooks.attempts default;
-- Room in each page: a lease is written without a word to any index.
select platform.ensure_week('webhooks.deliveries', 'event_id', 'evt', now() + week * interval '7 days', 75),
  platform.ensure_week('webhooks.attempts', 'event_id', 'evt', now() + week * interval '7 days', 100)
from generate_series(-5, 1) as week;
insert into webhooks.deliveries select * from webhooks.deliveries_whole;
insert into webhooks.attempts select * from webhooks.attempts_whole;
drop table webhooks.attempts_whole;
drop table webhooks.deliveries_whole;

-- Deliveries that were made up to this moment are being cancelled, a piece at a time; none is sent until that is done.
alter table webhooks.endpoints add column cancel_through timestamptz;
create index endpoints_cancelling on webhooks.endpoints (uid) where cancel_through is not null;

-- When to look at an endpoint next, one row each: what a claim costs depends neither on backlogs nor on their number.
create table webhooks.ready (
  endpoint_uid text primary key,
  due_at timestamptz not null,
  -- 0 answers quickly, 1 not known yet, 2 slow: each kind has places of its own.
  class smallint not null default 1,
  -- Up to when its rate is used up.
  paced timestamptz,
  -- Held by the breaker: nothing that became due in the last five minutes is sent before.
  gate timestamptz,
  -- Began to answer again after it had been held: every worker begins anew with one place.
  recovered timestamptz
) with (fillfactor = 50);
create index ready_due on webhooks.ready (class, due_at) where due_at < 'infinity';

-- Whoever makes a delivery pending makes its endpoint ready. Leased deliveries are on their way already.
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
create trigger deliveries_updated after update on webhooks.deliveries
  referencing new table as changed for each statement execute function webhooks.make_ready();
insert into webhooks.ready (endpoint_uid, due_at)
select endpoint_uid, min(next_attempt_at) from webhooks.deliveries where state = 'pending' group by endpoint_uid;

-- The hour that the next digest of an endpoint is about, and the hour of the last one that was sent.
create table webhooks.digests (
  endpoint_uid text primary key references webhooks.endpoints (uid),
  next_from timestamptz not null,
  last_seq bigint
);
