-- Kinds that the owner of the endpoint may not read now: none of them is sent.
alter table webhooks.endpoints add column withheld_kinds text[] not null default '{}';
-- The kinds of the deliveries that `cancel_through` is about; null for all.
alter table webhooks.endpoints add column cancel_kinds text[];
-- The owners of endpoints are read in pages, in this sequence.
create index endpoints_of_clients on webhooks.endpoints (uid) where owner_kind = 'api_client' and removed is null;
