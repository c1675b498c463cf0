-- A way for each filter of the lists of orders, customers and the ledger (platform/db/bounded-list.ts), in the sequence of
-- the list. What else a list is filtered by stands in the index, so that rows which do not fit are not read.
create index orders_by_location on ordering.orders (restuid, location_uid, date desc, uid desc) include (status, dmethod);
create index orders_by_dmethod on ordering.orders (restuid, dmethod, date desc, uid desc) include (status, location_uid);
create index customers_not_signed_up on ordering.customers (restuid, added desc, uid desc)
  where signup_uid is null and removed_at is null;
create index loyalty_entries_by_type on ordering.loyalty_entries (restuid, type, created desc, seq desc, uid desc);
-- Also finds the start of a last name behind a whole first name.
drop index ordering.customers_first_name;
create index customers_first_name on ordering.customers
  (restuid, lower(first_name) text_pattern_ops, lower(last_name) text_pattern_ops) where first_name is not null;
drop index ordering.customers_phone_digits;
create index customers_phone_digits on ordering.customers (restuid, phone_digits text_pattern_ops, added, uid)
  where phone_digits is not null;
