-- Callers that would be refused by scopes which a route only tries out. Counts, not requests: it stays as small as the
-- number of callers times routes.
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
