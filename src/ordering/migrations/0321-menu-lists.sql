-- Lists of a menu by position, and how many products each category has, as tallies of migration 0140: `products` of those
-- that are not removed, `products shown` of those that are not hidden either.
create index categories_listed on ordering.categories (restuid, position, uid) where removed_at is null;
create index categories_shown on ordering.categories (restuid, position, uid) where removed_at is null and not hidden;
create index products_listed on ordering.products (restuid, category_uid, position, uid) include (name)
  where removed_at is null;
create index products_shown on ordering.products (restuid, category_uid, position, uid) include (name)
  where removed_at is null and not hidden;
drop index ordering.products_of_category;
create index menu_imports_running on ordering.menu_imports (restuid, client_id) where state = 'running';

create function ordering.tally_products() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform ordering.tally(restuid, of_kind.kind || category_uid, count(*)) from added,
      lateral (values ('products '), (case when not hidden then 'products shown ' end)) as of_kind (kind)
      where removed_at is null and of_kind.kind is not null group by restuid, of_kind.kind, category_uid
      order by restuid, of_kind.kind, category_uid;
  elsif tg_op = 'DELETE' then
    perform ordering.tally(restuid, of_kind.kind || category_uid, -count(*)) from gone,
      lateral (values ('products '), (case when not hidden then 'products shown ' end)) as of_kind (kind)
      where removed_at is null and of_kind.kind is not null group by restuid, of_kind.kind, category_uid
      order by restuid, of_kind.kind, category_uid;
  else
    perform ordering.tally(restuid, kind || category_uid, more) from (
      select restuid, of_kind.kind, category_uid, sum(one)::bigint as more from (
        select restuid, category_uid, hidden, 1 as one from added where removed_at is null
        union all select restuid, category_uid, hidden, -1 from gone where removed_at is null
      ) as changed, lateral (values ('products '), (case when not hidden then 'products shown ' end)) as of_kind (kind)
      where of_kind.kind is not null group by restuid, of_kind.kind, category_uid
    ) as summed where more <> 0 order by restuid, kind, category_uid;
  end if;
  return null;
end $$;

create trigger products_tally_insert after insert on ordering.products
  referencing new table as added for each statement execute function ordering.tally_products();
create trigger products_tally_update after update on ordering.products
  referencing old table as gone new table as added for each statement execute function ordering.tally_products();
create trigger products_tally_delete after delete on ordering.products
  referencing old table as gone for each statement execute function ordering.tally_products();

-- What is there already. Creating the triggers has locked the table against writers until this is committed.
insert into ordering.tallies (restuid, name, slot, count)
select restuid, 'products ' || category_uid, 0, count(*) from ordering.products where removed_at is null
group by restuid, category_uid
union all
select restuid, 'products shown ' || category_uid, 0, count(*) from ordering.products
where removed_at is null and not hidden group by restuid, category_uid;
