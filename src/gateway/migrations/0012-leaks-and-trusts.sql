-- Works with 1.0.0 and newer releases.
-- When the value of a credential was reported as leaked. Null: never. A report also sets `revoked_at`, so a release before this
-- one refuses the credential too; it does not know the reason.
alter table gateway.api_keys add column leak_reported_at timestamptz;
alter table gateway.client_secrets add column leak_reported_at timestamptz;
alter table gateway.revoked_tokens add column leak_reported_at timestamptz;
-- Gateways read the leaked secrets of a client beside its live ones, since their holder may read why they ended.
create index client_secrets_leaked on gateway.client_secrets (client_id) where leak_reported_at is not null;

-- Issuers whose tokens authenticate a client (RFC 7523 section 2.2). A release before this one does not read the table and
-- refuses such assertions. `jwks_uri` null: found by discovery. `reusable`: an assertion may be used until it expires.
create table gateway.client_trusts (
  trust_id text primary key,
  client_id text not null references gateway.clients (client_id),
  issuer text not null,
  subject text not null,
  audience text not null,
  jwks_uri text,
  reusable boolean not null default false,
  created timestamptz not null,
  removed_at timestamptz
);
create unique index client_trusts_live on gateway.client_trusts (issuer, subject, audience, client_id) where removed_at is null;
create index client_trusts_client on gateway.client_trusts (client_id, created);
