-- Works with 1.0.0 and newer releases.
-- How deliveries are signed beside Standard Webhooks: 'rfc9421:ed25519', 'rfc9421:ecdsa-p256', or null for not at all.
alter table webhooks.endpoints add column signature text;
-- Keys of message signatures (RFC 9421); the private part is sealed. A table of its own: releases before would sign `v1a` with
-- any key of `signing_keys`.
create table webhooks.message_keys (
  kid text primary key,
  -- As in the column `signature` of endpoints.
  scheme text not null,
  public_jwk jsonb not null,
  private_key bytea not null,
  created timestamptz not null,
  -- From when on it signs: it is listed before. The first one signs at once.
  not_before timestamptz not null
);
