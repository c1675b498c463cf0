-- What every feature uses: receipts of idempotent requests, facts about the installation, and partitions by week. The schema
-- itself is made by the migration runner, which keeps its list in it.

-- One row per owner and idempotency key, kept 48 hours.
create table platform.receipts (
  owner text not null,
  key text not null,
  request_hash bytea not null,
  request text,
  status smallint not null,
  body text not null,
  headers jsonb not null,
  expires timestamptz not null,
  -- Body of a large request, canonical and deflated, so that the first difference of another request can be named. It is
  -- compressed already, so the server does not try again.
  request_body bytea storage external,
  primary key (owner, key)
);
create index receipts_expires on platform.receipts (expires);

-- Small facts about this installation, such as the check value of the master key.
create table platform.facts (
  name text primary key,
  value text not null
);

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

-- Makes the partition of the week of `moment` for a table that is partitioned by ranges of ids, unless it exists. An id
-- begins with its time, so a week is a range of ids, and rows of a week are dropped together. Does nothing when the default
-- partition already has rows of that week: they stay there. The partition is made first and attached then, because
-- `create table ... partition of` would lock out every reader.
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
