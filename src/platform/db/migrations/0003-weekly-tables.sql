-- Weeks are made and dropped by functions that run with the rights of the owner of the tables, so that the server can log in
-- as a role that may only read and write rows. What these functions may touch is written here and nowhere else: such a role
-- can read this table and cannot change it.
create table platform.weekly_tables (
  schema_name name not null,
  table_name name not null,
  -- The column whose ids the weeks are ranges of, and the prefix of these ids.
  key_column name not null,
  prefix text not null,
  -- Percent of a page that inserts fill: less leaves room for updates.
  fillfactor integer not null,
  primary key (schema_name, table_name)
);
insert into platform.weekly_tables values
  ('outbox', 'events', 'id', 'evt', 100),
  ('outbox', 'places', 'event_id', 'evt', 100);

-- The row of a weekly table; an error for every other table.
create function platform.weekly_table(in_schema text, in_table text) returns platform.weekly_tables
language plpgsql stable as $$
declare
  found_table platform.weekly_tables;
begin
  select * into found_table from platform.weekly_tables where schema_name = in_schema and table_name = in_table;
  if found_table is null then
    raise exception 'the table %.% is not kept by week', in_schema, in_table using errcode = 'insufficient_privilege';
  end if;
  return found_table;
end $$;

-- Makes the week of `moment` unless it exists. A role that is not the owner makes weeks around the present only, so that it
-- cannot fill the catalogue; the owner could make any table without this function.
create function platform.make_week(in_schema text, in_table text, moment timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  weekly platform.weekly_tables := platform.weekly_table(in_schema, in_table);
begin
  if moment not between now() - interval '7 days' and now() + interval '28 days'
    and not pg_has_role(session_user, current_user, 'usage') then
    raise exception 'the week of % is more than 7 days ago or more than 28 days ahead', moment
      using errcode = 'insufficient_privilege';
  end if;
  perform platform.ensure_week(format('%I.%I', in_schema, in_table)::regclass, weekly.key_column, weekly.prefix, moment,
    weekly.fillfactor);
end $$;

-- Drops a week; a missing one is no error. A role that is not the owner drops only weeks that ended 30 days ago (interface
-- 12.4).
create function platform.drop_week(in_schema text, in_table text, week bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  weekly platform.weekly_tables := platform.weekly_table(in_schema, in_table);
  child regclass;
begin
  if week not between 0 and 100000 or to_timestamp((week + 1) * 604800) > now() - interval '30 days'
    and not pg_has_role(session_user, current_user, 'usage') then
    raise exception 'the week % of %.% did not end 30 days ago', week, in_schema, in_table
      using errcode = 'insufficient_privilege';
  end if;
  select pg_class.oid into child
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent = format('%I.%I', in_schema, in_table)::regclass and relname = weekly.table_name || '_w' || week;
  if child is not null then
    execute format('drop table %s', child);
  end if;
end $$;

revoke all on function platform.make_week(text, text, timestamptz), platform.drop_week(text, text, bigint) from public;
