-- Entries of one moment are listed by their seq, as they happened; uids of one moment have no sequence.
create index loyalty_entries_newest on ordering.loyalty_entries (restuid, created desc, seq desc, uid desc);
create index loyalty_entries_newest_of_customer on ordering.loyalty_entries
  (restuid, customer_uid, created desc, seq desc, uid desc);
drop index ordering.loyalty_entries_listed;
drop index ordering.loyalty_entries_of_customer;
