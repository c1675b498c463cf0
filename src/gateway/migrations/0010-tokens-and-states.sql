-- Revocation of tokens, keys of clients, states with their history, use of credentials, rotation of signing keys.

-- Raised by each revocation of a token. Apart from `epoch`, since nothing else that a gateway remembers changes with it.
alter table gateway.credential_epoch add column token_epoch bigint not null default 1;

-- Kept until the token would have ended by itself. `epoch` is the token epoch of the revocation: rows become visible in
-- its sequence, so a gateway reads what is new only.
create table gateway.revoked_tokens (
  jti text primary key,
  client_id text not null references gateway.clients (client_id),
  expires timestamptz not null,
  revoked_at timestamptz not null,
  epoch bigint not null
);
create index revoked_tokens_epoch on gateway.revoked_tokens (epoch);
create index revoked_tokens_expires on gateway.revoked_tokens (expires);

alter table gateway.clients
  add column may_introspect boolean not null default false,
  -- Tokens that were issued before are refused.
  add column tokens_not_before timestamptz,
  add column quarantined_reason text;
alter table gateway.client_secrets add column quarantined_reason text;
alter table gateway.api_keys add column quarantined_reason text;

-- Public keys with which clients sign assertions (RFC 7523).
create table gateway.client_keys (
  client_id text not null references gateway.clients (client_id),
  key_id text not null,
  jwk jsonb not null,
  created timestamptz not null,
  revoked_at timestamptz,
  primary key (client_id, key_id)
);

-- One row per accepted assertion, until it could not be accepted again anyway.
create table gateway.used_assertions (
  client_id text not null references gateway.clients (client_id),
  jti text not null,
  expires timestamptz not null,
  primary key (client_id, jti)
);
create index used_assertions_expires on gateway.used_assertions (expires);

-- Every change of a credential's state: what, why, who, when. Rows are only added.
create table gateway.credential_changes (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('client', 'secret', 'client_key', 'api_key', 'token', 'tokens')),
  credential text not null,
  state text not null check (state in ('active', 'quarantined', 'revoked', 'expiring')),
  reason text not null,
  actor text not null,
  at timestamptz not null
);
create index credential_changes_credential on gateway.credential_changes (credential, id);

-- How credentials are used, written in batches by every gateway. `credential`: id of a key, secret, client key or client.
create table gateway.credential_use (
  credential text primary key,
  last_used timestamptz not null,
  last_address text not null
);
create table gateway.credential_calls (
  credential text not null,
  minute timestamptz not null,
  calls bigint not null,
  primary key (credential, minute)
);
create index credential_calls_minute on gateway.credential_calls (minute);

-- Longest life of a token that any gateway may have signed with the key.
alter table gateway.signing_keys add column token_seconds_max integer not null default 0;
