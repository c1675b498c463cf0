-- Works with 1.0.0 and newer releases.
-- Quarantined credentials, which the start page of support counts however long ago they were quarantined.
create index clients_quarantined on gateway.clients (client_id)
  where quarantined_reason is not null and disabled_at is null;
create index api_keys_quarantined on gateway.api_keys (key_id)
  where quarantined_reason is not null and revoked_at is null;
create index client_secrets_quarantined on gateway.client_secrets (secret_id)
  where quarantined_reason is not null and revoked_at is null;
