-- How many customers a restaurant has and how many entries its ledger, so that an unfiltered list need not count them. A
-- row for each of several slots: transactions that run side by side seldom meet in one. The sum of the slots is the
-- number, exact in every snapshot. (Orders need none of this: they are never deleted and their numbers have no gaps, so
-- the last number is how many there are.)
create table ordering.tallies (
  restuid text collate "C" not null,
  name text not null,
  slot integer not null,
  count bigint not null,
  primary key (restuid, name, slot)
) with (fillfactor = 50);

-- A connection keeps to its slot, so a transaction that counts twice waits for nobody the second time.
create function ordering.tally(p_restuid text, p_name text, p_more bigint) returns void language sql as $$
  insert into ordering.tallies (restuid, name, slot, count) values (p_restuid, p_name, pg_backend_pid() % 16, p_more)
  on conflict (restuid, name, slot) do update set count = ordering.tallies.count + excluded.count
$$;

create function ordering.tally_customers() returns trigger language plpgsql as $$
begin
  perform ordering.tally(restuid, 'customers', count(*)) from added where removed_at is null group by restuid
    order by restuid;
  return null;
end $$;

create function ordering.tally_removal() returns trigger language plpgsql as $$
begin
  perform ordering.tally(new.restuid, 'customers', case when new.removed_at is null then 1 else -1 end);
  return null;
end $$;

create function ordering.tally_entries() returns trigger language plpgsql as $$
begin
  perform ordering.tally(restuid, 'loyalty_entries', count(*)) from added group by restuid order by restuid;
  return null;
end $$;

create trigger customers_tally after insert on ordering.customers
  referencing new table as added for each statement execute function ordering.tally_customers();
create trigger customers_tally_removal after update of removed_at on ordering.customers
  for each row when ((old.removed_at is null) <> (new.removed_at is null)) execute function ordering.tally_removal();
create trigger loyalty_entries_tally after insert on ordering.loyalty_entries
  referencing new table as added for each statement execute function ordering.tally_entries();

-- What is there already. Creating the triggers has locked the tables against writers until this is committed.
insert into ordering.tallies (restuid, name, slot, count)
select restuid, 'customers', 0, count(*) from ordering.customers where removed_at is null group by restuid
union all
select restuid, 'loyalty_entries', 0, count(*) from ordering.loyalty_entries group by restuid;
