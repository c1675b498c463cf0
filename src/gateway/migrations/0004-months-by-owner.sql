-- Months of the audit are made and dropped by functions that run with the rights of the owner of the tables, so that the server
-- can log in as a role that may only read and write rows.

-- Makes the partition of a month unless it exists. Called before rows of that month are written; a service calls it a month
-- ahead, so that no request waits for the lock that a new partition takes. A role that is not the owner makes months around
-- the present only, so that it cannot fill the catalogue; the owner could make any table without this function.
create or replace function gateway.audit_partition(moment timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  first timestamptz := date_trunc('month', moment at time zone 'UTC') at time zone 'UTC';
  after timestamptz := (date_trunc('month', moment at time zone 'UTC') + interval '1 month') at time zone 'UTC';
  name text := 'audit_events_' || to_char(moment at time zone 'UTC', 'YYYYMM');
begin
  if to_regclass('gateway.' || name) is not null then
    return;
  end if;
  if moment not between now() - interval '62 days' and now() + interval '62 days'
    and not pg_has_role(session_user, current_user, 'usage') then
    raise exception 'the month of % is more than 62 days away', moment using errcode = 'insufficient_privilege';
  end if;
  perform pg_advisory_xact_lock(hashtext('gateway.audit_partition'));
  execute format('create table if not exists gateway.%I partition of gateway.audit_events for values from (%L) to (%L)',
    name, first, after);
end $$;
revoke all on function gateway.audit_partition(timestamptz) from public;

-- Drops a month that audit_partition made. A role that is not the owner drops only months that ended a day ago, which is the
-- least retention that the settings accept.
create function gateway.drop_audit_partition(month_name text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  first timestamptz;
  after timestamptz;
begin
  if month_name !~ '^audit_events_[0-9]{4}(0[1-9]|1[0-2])$' then
    raise exception '% is not a month of the audit', month_name using errcode = 'insufficient_privilege';
  end if;
  first := to_date(right(month_name, 6), 'YYYYMM')::timestamp at time zone 'UTC';
  after := (to_date(right(month_name, 6), 'YYYYMM') + interval '1 month') at time zone 'UTC';
  if not exists (
    select from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'gateway.audit_events'::regclass and relname = month_name
      and relnamespace = 'gateway'::regnamespace
      and pg_get_expr(relpartbound, pg_class.oid) = format('FOR VALUES FROM (%L) TO (%L)', first, after)
  ) then
    raise exception '% is not a month of the audit', month_name using errcode = 'insufficient_privilege';
  end if;
  if after > now() - interval '1 day' and not pg_has_role(session_user, current_user, 'usage') then
    raise exception 'the month of % did not end a day ago', month_name using errcode = 'insufficient_privilege';
  end if;
  execute format('drop table gateway.%I', month_name);
end $$;
revoke all on function gateway.drop_audit_partition(text) from public;
