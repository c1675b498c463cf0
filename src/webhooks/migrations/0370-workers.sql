-- Workers that send: their leases begin with the uid. Whose session is gone, and who was not seen since, is dead, and its
-- leases are given to others.
create table webhooks.workers (
  uid text primary key,
  -- Of the advisory lock that its session holds.
  lock_key bigint not null,
  -- By the clock of the database.
  seen timestamptz not null
) with (fillfactor = 50);
