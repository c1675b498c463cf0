-- Works with 1.0.0 and newer releases.
-- After a change of some clients only their endpoints are read.
create index endpoints_of_client on webhooks.endpoints (owner_id, uid) where owner_kind = 'api_client' and removed is null;
