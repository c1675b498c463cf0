-- Tells by its SHA-256 alone whether a value is the one that was issued (audit/fingerprint.ts). Null for what was issued
-- before there was this column; then only the audit can tell, if the value was used since.
alter table gateway.api_keys add column fingerprint text;
alter table gateway.client_secrets add column fingerprint text;
