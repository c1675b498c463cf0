-- Works with 1.0.0 and newer releases.
-- Keys and secrets that were revoked long ago, which are deleted with what is known of their use.
create index api_keys_revoked on gateway.api_keys (revoked_at) where revoked_at is not null;
create index client_secrets_revoked on gateway.client_secrets (revoked_at) where revoked_at is not null;
