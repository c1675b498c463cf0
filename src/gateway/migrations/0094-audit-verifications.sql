-- Each time that somebody had the audit verified from the panel. `touched` tells of one that was interrupted.
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
  problem text
);

-- The report of dry runs shows the latest first, a page at a time.
create index policy_dry_run_seen on gateway.policy_dry_run (last_seen, route, caller);
