-- Events are kept by week and dropped by week. An id begins with its time, so the week of an event is a range of ids, and
-- the id stays the key. Ids that belong to no week that was made go to the default partition.

-- The least id of a moment: `prefix_` and nine digits of time, as ids are made.
create function platform.id_bound(prefix text, moment timestamptz) returns text
language plpgsql immutable strict as $$
declare
  rest bigint := floor(extract(epoch from moment) * 1000);
  digits text := '';
begin
  for place in 1..9 loop
    digits := substr('0123456789abcdefghjkmnpqrstvwxyz', (rest % 32)::integer + 1, 1) || digits;
    rest := rest / 32;
  end loop;
  return prefix || '_' || digits;
end $$;

-- Makes the partition of the week of `moment` of a table that is partitioned by ranges of ids. Not when rows of it lie in
-- the default partition already: they stay there. Attached, not created in place: that would lock out every reader.
create function platform.ensure_week(parent regclass, key_column text, prefix text, moment timestamptz, fillfactor integer)
returns void language plpgsql as $$
declare
  week bigint := floor(extract(epoch from moment) / 604800);
  first text := platform.id_bound(prefix, to_timestamp(week * 604800));
  after text := platform.id_bound(prefix, to_timestamp((week + 1) * 604800));
  schema_name name;
  parent_name name;
  name text;
  occupied boolean;
begin
  select nspname, relname into schema_name, parent_name
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace where pg_class.oid = parent;
  name := parent_name || '_w' || week;
  perform pg_advisory_xact_lock(hashtext('platform.ensure_week'));
  if to_regclass(format('%I.%I', schema_name, name)) is not null then
    return;
  end if;
  execute format('select exists (select from %I.%I where %I >= %L and %I < %L)',
    schema_name, parent_name || '_default', key_column, first, key_column, after) into occupied;
  if occupied then
    return;
  end if;
  execute format('create table %I.%I (like %s including all) with (fillfactor = %s)', schema_name, name, parent, fillfactor);
  execute format('alter table %s attach partition %I.%I for values from (%L) to (%L)', parent, schema_name, name, first, after);
end $$;

alter table outbox.events alter column id type text collate "C";
alter table outbox.events drop constraint events_pkey;
alter table outbox.events drop constraint events_id_key;
create index events_position on outbox.events (position);
alter table outbox.events alter column position drop identity;
create sequence outbox.event_positions;
select setval('outbox.event_positions', (select coalesce(max(position), 0) + 1 from outbox.events), false);
alter table outbox.events alter column position set default nextval('outbox.event_positions');
alter table outbox.events rename to events_whole;
create table outbox.events (like outbox.events_whole including all, primary key (id)) partition by range (id);
create table outbox.events_default partition of outbox.events default;
select platform.ensure_week('outbox.events', 'id', 'evt', now() + week * interval '7 days', 100)
from generate_series(-5, 1) as week;
insert into outbox.events select * from outbox.events_whole;
drop table outbox.events_whole;
