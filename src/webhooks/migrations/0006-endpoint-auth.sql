-- Works with 1.0.0 and newer releases.
-- What a receiver asks for beside signatures: a client certificate, an OAuth client or a header. Sealed under a label that
-- names the endpoint; null for nothing.
alter table webhooks.endpoints add column auth bytea;
-- What may be shown of it: {type, id, expires}.
alter table webhooks.endpoints add column auth_shown jsonb;
