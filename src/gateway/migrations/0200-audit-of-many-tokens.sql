-- One event for many tokens of one client (audit/token-uses.ts): `uses` says what each of them did, `use_keys` is what each
-- is looked up by. Null in every other event.
alter table gateway.audit_events add column uses text, add column use_keys bigint[];
-- What waits to be sorted into the index is read at every look, and sorted by whoever writes: a megabyte is milliseconds.
create index audit_events_uses on gateway.audit_events using gin (use_keys) with (gin_pending_list_limit = 1024)
  where use_keys is not null;
-- Ids and fingerprints are mostly random: to try to compress them costs more than all the rest of writing them, for a third
-- of their size at best.
alter table gateway.audit_events alter column request_ids set storage external, alter column uses set storage external,
  alter column use_keys set storage external;
