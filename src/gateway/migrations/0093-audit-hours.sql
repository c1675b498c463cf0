-- What the audit comes to by the hour, counted once from each chain (audit/audit-hours.ts), so that nobody reads millions
-- of events for a chart. `value` '' is "nobody knows", '*' are those beyond the bound of an hour.
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
