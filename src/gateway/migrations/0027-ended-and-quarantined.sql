-- Works with 1.0.0 and newer releases.
-- Keys and secrets that were revoked long ago, which are deleted with what is known of their use.
create index api_keys_revoked on gateway.api_keys (revoked_at) where revoked_at is not null;
create index client_secrets_revoked on gateway.client_secrets (revoked_at) where revoked_at is not null;
-- Quarantined credentials, which the start page of support counts however long ago they were quarantined.
create index clients_quarantined on gateway.clients (client_id)
  where quarantined_reason is not null and disabled_at is null;
create index api_keys_quarantined on gateway.api_keys (key_id)
  where quarantined_reason is not null and revoked_at is null;
create index client_secrets_quarantined on gateway.client_secrets (secret_id)
  where quarantined_reason is not null and revoked_at is null;
-- The last removal of a certificate that was registered again: the tokens of before stay ended.
alter table gateway.client_certificates add column ended_before timestamptz;
