-- Kinds that the owner of the endpoint may not read now: none of them is sent.
alter table webhooks.endpoints add column withheld_kinds text[] not null default '{}';
-- While it is set, the unfinished deliveries of these kinds are being cancelled, and nothing is sent to the endpoint. A
-- column beside `cancel_through`, because processes of the release before would cancel the deliveries of every kind.
alter table webhooks.endpoints add column withheld_through timestamptz;
create index endpoints_withholding on webhooks.endpoints (uid) where withheld_through is not null;
-- The endpoints of API clients are read in pages, in this sequence.
create index endpoints_of_clients on webhooks.endpoints (uid) where owner_kind = 'api_client' and removed is null;
