-- Works with 1.0.0 and newer releases.
-- Keys that end soon, which users are notified of.
create index api_keys_ends on gateway.api_keys (expires, key_id) where revoked_at is null and expires is not null;
-- A certificate found in the wrong hands, of which only the thumbprint is known.
create index client_certificates_thumbprints on gateway.client_certificates (thumbprint);
