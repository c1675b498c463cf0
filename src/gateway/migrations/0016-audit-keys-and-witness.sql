-- Works with 1.0.0 and newer releases.
-- Keys that sign checkpoints of the audit, and what a witness signed. A release before this one neither writes nor reads it; it
-- signs with the key that is derived from the root of the installation.

-- Every key that ever signed checkpoints, so that older ones stay verifiable. The newest has no `until`.
create table gateway.audit_checkpoint_keys (
  -- Ed25519, 32 bytes.
  public_key bytea primary key,
  since timestamptz not null,
  until timestamptz,
  -- HMAC-SHA-256 over the row under a derived key: a writer of the table alone cannot add a key.
  mac bytea not null
);

-- The newest checkpoint that each witness signed, with its signature.
create table gateway.audit_cosigned (
  -- Verifier key of the witness.
  witness text primary key,
  size bigint not null,
  checkpoint text not null,
  cosigned timestamptz not null
);
