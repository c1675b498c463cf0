-- Nobody asks for an event by its position: those that wait have an index of their own, and the feed has another place. Its
-- name was made up by the server when the table was partitioned.
do $$
declare
  name text;
begin
  select indexrelid::regclass::text into strict name from pg_index
  where indrelid = 'outbox.events'::regclass and indpred is null and indnatts = 1 and indkey[0] = (
    select attnum from pg_attribute where attrelid = indrelid and attname = 'position'
  );
  execute 'drop index ' || name;
end $$;
