-- Credentials that are not revoked, newest first, for lists of what is live now.
create index api_keys_live on gateway.api_keys (created, key_id) where revoked_at is null;
create index client_secrets_live on gateway.client_secrets (created, secret_id) where revoked_at is null;
create index client_keys_live on gateway.client_keys (created, client_id, key_id) where revoked_at is null;
