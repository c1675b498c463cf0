-- Works with 1.0.0 and newer releases.
-- What each key and client called: a row for each refused, failed and writing request, and counts by the hour of everything.
-- Days are made and dropped by functions that run with the rights of the owner of the tables, so that the server can log in as
-- a role that may only read and write rows. A release before this one neither writes nor reads any of it.

-- The key that a rotated key replaced: its holder sees the calls of both. Null: none, or rotated by a release before this one.
alter table gateway.api_keys add column successor_of text;

-- `caller`: id of the key or client. `at`: when the head of the answer was written. `number` differs between rows of one
-- millisecond; a batch that is written twice finds its rows by these three. No path, query or address is stored.
create table gateway.requests (
  caller text not null,
  at timestamptz not null,
  number integer not null,
  request_id text not null,
  -- False: the id tells its time, by which the row is found (audit/event/request-id-times.ts).
  id_indexed boolean not null,
  method text not null,
  -- Null: there is no such operation.
  route text,
  -- Null: the gateway saw no answer.
  status smallint,
  code text,
  duration_ms integer not null,
  tenant text,
  idempotency_key text,
  primary key (caller, at, number)
) partition by range (at);
create index requests_by_id on gateway.requests (caller, request_id, at, number) where id_indexed;

-- `route` '' means an operation that does not exist. `reads` and `writes` succeeded.
create table gateway.request_hours (
  caller text not null,
  hour timestamptz not null,
  route text not null,
  reads bigint not null,
  writes bigint not null,
  refused bigint not null,
  failed bigint not null,
  primary key (caller, hour, route)
) partition by range (hour);

-- Makes the day (UTC) of `moment` in both tables unless it exists. A role that is not the owner makes days around the present
-- only, so that it cannot fill the catalogue; the owner could make any table without this function.
create function gateway.make_request_day(moment timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  first timestamptz := date_trunc('day', moment at time zone 'UTC') at time zone 'UTC';
  after timestamptz := (date_trunc('day', moment at time zone 'UTC') + interval '1 day') at time zone 'UTC';
  day text := to_char(moment at time zone 'UTC', 'YYYYMMDD');
begin
  if to_regclass('gateway.requests_' || day) is not null then
    return;
  end if;
  if moment not between now() - interval '40 days' and now() + interval '10 days'
    and not pg_has_role(session_user, current_user, 'usage') then
    raise exception 'the day of % is more than 40 days ago or more than 10 days ahead', moment
      using errcode = 'insufficient_privilege';
  end if;
  perform pg_advisory_xact_lock(hashtext('gateway.request_day'));
  execute format('create table if not exists gateway.%I partition of gateway.requests for values from (%L) to (%L)',
    'requests_' || day, first, after);
  -- The counts of the running hour are written again and again: pages keep room for that.
  execute format(
    'create table if not exists gateway.%I partition of gateway.request_hours for values from (%L) to (%L) with (fillfactor = 60)',
    'request_hours_' || day, first, after);
end $$;

-- Drops a day that make_request_day made, `day` as YYYYMMDD; a missing one is no error. A role that is not the owner drops only
-- days that ended a day ago, which is the least retention that the settings accept.
create function gateway.drop_request_day(day text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  child regclass;
begin
  if day !~ '^[0-9]{8}$' then
    raise exception '% is not a day of the requests', day using errcode = 'insufficient_privilege';
  end if;
  if (to_date(day, 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' > now() - interval '1 day'
    and not pg_has_role(session_user, current_user, 'usage') then
    raise exception 'the day % of the requests did not end a day ago', day using errcode = 'insufficient_privilege';
  end if;
  for child in
    select pg_class.oid from pg_inherits join pg_class on pg_class.oid = inhrelid
    where (inhparent = 'gateway.requests'::regclass and relname = 'requests_' || day)
      or (inhparent = 'gateway.request_hours'::regclass and relname = 'request_hours_' || day)
  loop
    execute format('drop table %s', child);
  end loop;
end $$;

revoke all on function gateway.make_request_day(timestamptz), gateway.drop_request_day(text) from public;
