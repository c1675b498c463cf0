-- Credentials and their states, replay protection, denials, policy dry runs, and the audit.
-- Secrets are stored as keyed digests (HMAC-SHA-256) only, private keys sealed.
create schema gateway;

create table gateway.tenants (
  id text primary key,
  api_enabled boolean not null default true,
  gone_at timestamptz,
  created timestamptz not null,
  -- Facts that the gateway passes to callers and never reads itself.
  facts jsonb not null default '{}'
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
  quarantined_reason text,
  -- SHA-256 of the value (audit/fingerprint.ts): tells whether a value is the one that was issued.
  fingerprint text,
  primary key (tenant, key_id)
);
-- Keys that are not revoked, newest first, for lists of what is live now.
create index api_keys_live on gateway.api_keys (created, key_id) where revoked_at is null;
create index api_keys_by_age on gateway.api_keys (tenant, created desc, key_id desc);

create table gateway.clients (
  client_id text primary key,
  name text not null,
  -- null: every scope, also those that a later version adds.
  scopes text[],
  may_use_tokens boolean not null default true,
  disabled_at timestamptz,
  created timestamptz not null,
  may_introspect boolean not null default false,
  -- Tokens that were issued before are refused.
  tokens_not_before timestamptz,
  quarantined_reason text,
  -- Proof of possession (RFC 9449).
  dpop_required boolean not null default false
);
create index clients_created on gateway.clients (created, client_id);
create index clients_words on gateway.clients
  using gin (to_tsvector('simple', regexp_replace(name, '[^[:alnum:]]+', ' ', 'g')));

-- A client normally has several live secrets while it changes them.
create table gateway.client_secrets (
  secret_id text primary key,
  client_id text not null references gateway.clients (client_id),
  digest bytea not null,
  created timestamptz not null,
  expires timestamptz,
  revoked_at timestamptz,
  quarantined_reason text,
  -- As in api_keys.
  fingerprint text
);
create index client_secrets_client on gateway.client_secrets (client_id) where revoked_at is null;
create index client_secrets_live on gateway.client_secrets (created, secret_id) where revoked_at is null;

-- Public keys with which clients sign assertions (RFC 7523).
create table gateway.client_keys (
  client_id text not null references gateway.clients (client_id),
  key_id text not null,
  jwk jsonb not null,
  created timestamptz not null,
  revoked_at timestamptz,
  primary key (client_id, key_id)
);
create index client_keys_live on gateway.client_keys (created, client_id, key_id) where revoked_at is null;

create table gateway.client_tenants (
  tenant text not null references gateway.tenants (id),
  client_id text not null references gateway.clients (client_id),
  granted_at timestamptz not null,
  withdrawn_at timestamptz,
  primary key (tenant, client_id)
);
create index client_tenants_granted on gateway.client_tenants (client_id, tenant) where withdrawn_at is null;

create table gateway.signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  -- Private JWK, AES-256-GCM under the master key, bound to the kid.
  private_sealed bytea not null,
  created timestamptz not null,
  not_before timestamptz not null,
  retired_at timestamptz,
  -- Longest life of a token that any gateway may have signed with the key.
  token_seconds_max integer not null default 0
);

-- One row. Every change to a table above raises `epoch` in the same transaction, so a gateway whose caches belong to the
-- current number has seen every change. `token_epoch` is raised by each revocation of a token, which changes nothing else
-- that a gateway caches.
create table gateway.credential_epoch (
  single boolean primary key default true check (single),
  epoch bigint not null,
  token_epoch bigint not null default 1,
  -- A number alone does not name a state: a restored or failed-over store gives the same number to another change. So each
  -- raise also writes a random value, and a state is the same only when both are equal.
  mark uuid not null default gen_random_uuid(),
  token_mark uuid not null default gen_random_uuid()
);
insert into gateway.credential_epoch (epoch) values (1);

-- Kept until the token expires. `epoch` is the token epoch of the revocation: rows become visible in its sequence, so a
-- gateway reads only what is new.
create table gateway.revoked_tokens (
  jti text primary key,
  client_id text not null references gateway.clients (client_id),
  expires timestamptz not null,
  revoked_at timestamptz not null,
  epoch bigint not null,
  -- Of the raise that made the row. A gateway that still finds the newest row it knows under the mark it knows may read on
  -- behind it; otherwise the store has another history, and the gateway reads all rows again.
  mark uuid
);
create index revoked_tokens_epoch on gateway.revoked_tokens (epoch);
create index revoked_tokens_expires on gateway.revoked_tokens (expires);

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

-- How credentials are used, written in batches by every gateway, each row once a minute at most. `credential`: id of a key,
-- secret, client key or client.
create table gateway.credential_use (
  credential text primary key,
  last_used timestamptz not null,
  last_address text not null,
  -- Longest observed time between two uses: a job that runs once a day is silent for a day each day.
  longest_gap_seconds bigint not null default 0
);
-- Pages of the panel ask again and again what was used last.
create index credential_use_last on gateway.credential_use (last_used);

create table gateway.credential_calls (
  credential text not null,
  minute timestamptz not null,
  calls bigint not null,
  primary key (credential, minute)
);
create index credential_calls_minute on gateway.credential_calls (minute);

-- One row per accepted assertion, until it could not be accepted again anyway.
create table gateway.used_assertions (
  client_id text not null references gateway.clients (client_id),
  jti text not null,
  expires timestamptz not null,
  primary key (client_id, jti)
);
create index used_assertions_expires on gateway.used_assertions (expires);

-- One row per accepted DPoP proof, until it could not be accepted again anyway. `digest`: SHA-256 of the key's thumbprint and
-- the proof's id, so that a client cannot choose the size of a row.
create table gateway.used_proofs (
  digest bytea primary key,
  expires timestamptz not null
);
create index used_proofs_expires on gateway.used_proofs (expires);

-- Why a request was refused, readable by its own key or client, kept for days. A second write under the same id replaces the
-- first. `caller` is a key id or a client id.
create table gateway.denials (
  caller text not null,
  request_id text not null,
  at timestamptz not null,
  denial jsonb not null,
  primary key (caller, request_id)
);
create index denials_at on gateway.denials (at);

-- Callers that would be refused by scopes which a route only tries out. Counts, not requests: the table grows with the number
-- of callers and routes only.
create table gateway.policy_dry_run (
  route text not null,
  -- Client id or key id.
  caller text not null,
  missing_scopes text[] not null,
  calls bigint not null,
  first_seen timestamptz not null,
  last_seen timestamptz not null,
  primary key (route, caller, missing_scopes)
);
create index policy_dry_run_seen on gateway.policy_dry_run (last_seen, route, caller);

-- One chain per writing process, so that gateways never wait for each other; chain 0 holds changes, each written in the
-- transaction of the change. `mac` signs the head under a key of the installation; `anchor_*` is what a chain begins with
-- after its oldest part was dropped. A head is signed in the statement that writes its events, several times a second: pages
-- keep free space for the new row.
create table gateway.audit_chains (
  chain integer primary key,
  process text not null,
  opened timestamptz not null,
  seq bigint not null,
  hash bytea not null,
  signed timestamptz not null,
  closed boolean not null,
  -- JSON: the newest chains with their seq when this head was signed. When a head is replaced by an older one, or a chain is
  -- deleted, another head still has the later state.
  seen text not null,
  mac bytea not null,
  anchor_seq bigint not null,
  anchor_hash bytea not null,
  anchor_mac bytea not null
) with (fillfactor = 50);

-- The columns are explained in audit-event.ts. A row stands for `count` requests of one caller to one route within a fifth of
-- a second when they were allowed; every other event has a row of its own. Ids and fingerprints are mostly random:
-- compressing them costs more than writing them and saves a third at best, so those columns are stored as they are.
create table gateway.audit_events (
  chain integer not null,
  seq bigint not null,
  at timestamptz not null,
  action text not null,
  outcome text not null,
  reason text,
  count integer not null,
  request_ids text[] storage external not null,
  fingerprint text,
  kind text,
  credential_id text,
  token_id text,
  client_id text,
  tenants text[] not null,
  route_id text,
  scopes text[] not null,
  address text,
  actor text,
  details text not null,
  hash bytea not null,
  -- Ids that the gateway made are found by the time that is in them (request-id-times.ts); only other ids are indexed.
  ids_indexed boolean not null default true,
  -- One event for many tokens of one client (token-uses.ts): what each of them did, and the keys by which each is found.
  -- Null in every other event.
  uses text storage external,
  use_keys bigint[] storage external,
  primary key (chain, seq, at)
) partition by range (at);

create index audit_events_at on gateway.audit_events (at, chain, seq);
create index audit_events_fingerprint on gateway.audit_events (fingerprint, at) where fingerprint is not null;
create index audit_events_credential on gateway.audit_events (credential_id, at) where credential_id is not null;
create index audit_events_client on gateway.audit_events (client_id, at) where client_id is not null;
create index audit_events_token on gateway.audit_events (token_id, at) where token_id is not null;
create index audit_events_route on gateway.audit_events (route_id, at) where route_id is not null;
create index audit_events_address on gateway.audit_events (address, at) where address is not null;
create index audit_events_failure on gateway.audit_events (at, chain, seq) where outcome = 'failure';
create index audit_events_action on gateway.audit_events (action, at) where action <> 'request.allowed';
-- Refusals and issued tokens of one credential, without reading all that it did.
create index audit_events_refused on gateway.audit_events (fingerprint, at)
  where outcome = 'failure' and fingerprint is not null;
create index audit_events_issued on gateway.audit_events (credential_id, at)
  where action = 'token.issued' and credential_id is not null;
create index audit_events_tenants on gateway.audit_events using gin (tenants);
create index audit_events_other_requests on gateway.audit_events using gin (request_ids) where ids_indexed;
-- Every lookup reads the index's pending list, and the writer that fills it sorts it in: one megabyte takes milliseconds.
create index audit_events_uses on gateway.audit_events using gin (use_keys) with (gin_pending_list_limit = 1024)
  where use_keys is not null;

-- Makes the partition of a month unless it exists. Called before rows of that month are written; a service calls it a month
-- ahead, so that no request waits for the lock that a new partition takes.
create function gateway.audit_partition(moment timestamptz) returns void language plpgsql as $$
declare
  first timestamptz := date_trunc('month', moment at time zone 'UTC') at time zone 'UTC';
  after timestamptz := (date_trunc('month', moment at time zone 'UTC') + interval '1 month') at time zone 'UTC';
  name text := 'audit_events_' || to_char(moment at time zone 'UTC', 'YYYYMM');
begin
  if to_regclass('gateway.' || name) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtext('gateway.audit_partition'));
  execute format('create table if not exists gateway.%I partition of gateway.audit_events for values from (%L) to (%L)',
    name, first, after);
end $$;

-- Totals of the audit by the hour, counted once from each chain (audit-hours.ts), so that a chart does not read millions of
-- events. `value` '' means "not known"; '*' sums the values beyond the bound of an hour.
create table gateway.audit_hours (
  dimension text not null check (dimension in ('all', 'client', 'reason', 'route', 'address')),
  hour timestamptz not null,
  what text not null check (what in ('issued', 'used', 'refused')),
  value text not null,
  count bigint not null,
  primary key (dimension, hour, what, value)
);

-- Up to where each chain was counted.
create table gateway.audit_hour_positions (
  chain integer primary key,
  seq bigint not null
);

-- Verifications of the audit that were started from the panel. An old `touched` shows that one was interrupted.
create table gateway.audit_verifications (
  id bigint generated always as identity primary key,
  actor text not null,
  started timestamptz not null,
  touched timestamptz not null,
  finished timestamptz,
  chains integer not null default 0,
  events bigint not null default 0,
  unsigned bigint not null default 0,
  problem_chain integer,
  problem_seq bigint,
  problem text,
  -- Signs the result: write access to the table is not enough to forge it.
  mac bytea
);

-- Which gateway exports the audit to a sink: one at a time, until its lease ends.
create table gateway.audit_sinks (
  sink text primary key,
  holder text not null,
  leased_until timestamptz not null
);

-- How far a sink is in each chain: it has taken everything up to `seq`.
create table gateway.audit_sink_positions (
  sink text not null,
  chain integer not null,
  seq bigint not null,
  -- Signs the position, as in audit_verifications.
  mac bytea,
  primary key (sink, chain)
);
