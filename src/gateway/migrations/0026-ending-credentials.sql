-- Works with 1.0.0 and newer releases.
-- Certificates and secrets that end soon, which users are notified of.
create index client_certificates_ends on gateway.client_certificates (expires)
  where revoked_at is null and expires is not null;
create index client_secrets_ends on gateway.client_secrets (expires) where revoked_at is null and expires is not null;
