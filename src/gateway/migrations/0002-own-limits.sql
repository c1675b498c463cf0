-- Limits and networks of single credentials, the leases of their quotas, and the use of each credential by the day.

-- `limits`: JSON object with minute, burst, day, month and concurrency (model/own-limits.ts); null: the defaults.
-- `allow_ip`: networks that the credential may be used from; null: from everywhere.
alter table gateway.clients
  add column limits jsonb check (jsonb_typeof(limits) = 'object'),
  add column allow_ip text[] check (cardinality(allow_ip) > 0);
alter table gateway.api_keys
  add column limits jsonb check (jsonb_typeof(limits) = 'object'),
  add column allow_ip text[] check (cardinality(allow_ip) > 0);

-- Units of a quota that gateways have taken for use, spent or not. A gateway takes a block before it spends from it, so the
-- sum of what is spent never exceeds `leased`, also after a crash. `granted`: size of the last block, for the answer to the
-- statement that took it. `caller`: key id or client id. Pages keep free space, since each block updates a row.
create table gateway.quota_leases (
  caller text not null,
  period text not null check (period in ('day', 'month')),
  -- Beginning of the day or month, UTC.
  starts timestamptz not null,
  leased bigint not null,
  granted bigint not null,
  primary key (caller, period, starts)
) with (fillfactor = 50);
create index quota_leases_starts on gateway.quota_leases (starts);

-- What a credential used on a day (UTC), written in batches by every gateway: a report reads no audit event.
create table gateway.caller_usage (
  caller text not null,
  day timestamptz not null,
  requests bigint not null,
  units bigint not null,
  -- Requests that a limit refused.
  limited bigint not null,
  -- Calls from an address outside `allow_ip`, and the last of them.
  elsewhere bigint not null,
  elsewhere_last timestamptz,
  elsewhere_address text,
  primary key (caller, day)
) with (fillfactor = 50);
create index caller_usage_day on gateway.caller_usage (day);
