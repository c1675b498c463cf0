-- One chain per writing process, so that gateways never wait for each other; chain 0 holds changes, each written in the
-- transaction of the change. `mac` signs the head under a key of the installation; `anchor_*` is what a chain begins with
-- after its oldest part was dropped.
create table gateway.audit_chains (
  chain integer primary key,
  process text not null,
  opened timestamptz not null,
  seq bigint not null,
  hash bytea not null,
  signed timestamptz not null,
  closed boolean not null,
  -- JSON: the newest chains with their seq when this head was signed, so that a head cannot be put back, nor a chain
  -- vanish, without another head telling of it.
  seen text not null,
  mac bytea not null,
  anchor_seq bigint not null,
  anchor_hash bytea not null,
  anchor_mac bytea not null
);

-- Names are explained in audit/audit-event.ts. A row stands for `count` requests of one caller to one route within a
-- fifth of a second when they were allowed; everything else has a row of its own.
create table gateway.audit_events (
  chain integer not null,
  seq bigint not null,
  at timestamptz not null,
  action text not null,
  outcome text not null,
  reason text,
  count integer not null,
  request_ids text[] not null,
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
  primary key (chain, seq, at)
) partition by range (at);

create index audit_events_at on gateway.audit_events (at, chain, seq);
create index audit_events_fingerprint on gateway.audit_events (fingerprint, at) where fingerprint is not null;
create index audit_events_credential on gateway.audit_events (credential_id, at) where credential_id is not null;
create index audit_events_client on gateway.audit_events (client_id, at) where client_id is not null;
create index audit_events_token on gateway.audit_events (token_id, at) where token_id is not null;
create index audit_events_failure on gateway.audit_events (at, chain, seq) where outcome = 'failure';
create index audit_events_action on gateway.audit_events (action, at) where action <> 'request.allowed';
create index audit_events_tenants on gateway.audit_events using gin (tenants);
create index audit_events_requests on gateway.audit_events using gin (request_ids);

-- The partition of a month, when it is not there. Called before rows of that month are written; a month ahead by a service,
-- so that nobody waits for the lock that a new partition takes.
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
