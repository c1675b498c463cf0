-- Who may come through the gateway. Secrets are kept as keyed digests (HMAC-SHA-256) only, private keys sealed.
create schema if not exists gateway;

create table gateway.tenants (
  id text primary key,
  api_enabled boolean not null default true,
  gone_at timestamptz,
  created timestamptz not null
);

create table gateway.api_keys (
  tenant text not null references gateway.tenants (id),
  key_id text not null unique,
  name text not null,
  digest bytea not null unique,
  created timestamptz not null,
  expires timestamptz,
  revoked_at timestamptz,
  revoked_reason text,
  primary key (tenant, key_id)
);

create table gateway.clients (
  client_id text primary key,
  name text not null,
  -- null: every scope, also those that a later version adds.
  scopes text[],
  may_use_tokens boolean not null default true,
  disabled_at timestamptz,
  created timestamptz not null
);

-- Several live secrets of one client are the normal state while it changes them.
create table gateway.client_secrets (
  secret_id text primary key,
  client_id text not null references gateway.clients (client_id),
  digest bytea not null,
  created timestamptz not null,
  expires timestamptz,
  revoked_at timestamptz
);
create index client_secrets_client on gateway.client_secrets (client_id) where revoked_at is null;

create table gateway.client_tenants (
  tenant text not null references gateway.tenants (id),
  client_id text not null references gateway.clients (client_id),
  granted_at timestamptz not null,
  withdrawn_at timestamptz,
  primary key (tenant, client_id)
);
create index client_tenants_client on gateway.client_tenants (client_id) where withdrawn_at is null;

create table gateway.signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  -- Private JWK, AES-256-GCM under the master key, bound to the kid.
  private_sealed bytea not null,
  created timestamptz not null,
  not_before timestamptz not null,
  retired_at timestamptz
);

-- One row. Every change to a table above raises it in the same transaction, so a gateway whose caches belong to the
-- current number has heard of every change.
create table gateway.credential_epoch (
  single boolean primary key default true check (single),
  epoch bigint not null
);
insert into gateway.credential_epoch (epoch) values (1);
