-- Proof of possession (RFC 9449).
alter table gateway.clients add column dpop_required boolean not null default false;

-- One row per accepted proof, until it could not be accepted again anyway. `digest`: SHA-256 of the key's thumbprint and the
-- proof's id, so that nobody decides how large a row is.
create table gateway.used_proofs (
  digest bytea primary key,
  expires timestamptz not null
);
create index used_proofs_expires on gateway.used_proofs (expires);
