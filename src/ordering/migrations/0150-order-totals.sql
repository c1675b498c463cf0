-- Totals of lists of orders that do not grow with what there is. Of each status but `new` there is a tally, in slots as
-- those of migration 0140; `new` is what is left of all, whose number is the last order's, so taking an order writes no
-- tally. Counted when the transaction commits: what an order does to other tallies is then done, and two transactions that
-- meet in a slot take its rows in one sequence and wait for each other in one direction only.
create function ordering.tally_status() returns trigger language plpgsql as $$
declare
  was text := case when tg_op = 'UPDATE' then old.status else 'new' end;
begin
  insert into ordering.tallies (restuid, name, slot, count)
  select new.restuid, 'orders_' || moved.status, pg_backend_pid() % 16, moved.more
  from (values (was, -1), (new.status, 1)) as moved (status, more)
  where moved.status <> 'new' order by moved.status
  on conflict (restuid, name, slot) do update set count = ordering.tallies.count + excluded.count;
  return null;
end $$;

create constraint trigger orders_tally after insert on ordering.orders deferrable initially deferred
  for each row when (new.status <> 'new') execute function ordering.tally_status();
create constraint trigger orders_tally_move after update of status on ordering.orders deferrable initially deferred
  for each row when (old.status <> new.status) execute function ordering.tally_status();

-- What is there already. Creating the triggers has locked the table against writers until this is committed.
insert into ordering.tallies (restuid, name, slot, count)
select restuid, 'orders_' || status, 0, count(*) from ordering.orders where status <> 'new' group by restuid, status;

-- Other filters are counted, in the index alone.
drop index ordering.orders_listed;
create index orders_listed on ordering.orders (restuid, date desc, uid desc) include (status, location_uid, dmethod);
