-- Who carries the audit to a sink at the moment: one gateway at a time, until its lease ends.
create table gateway.audit_sinks (
  sink text primary key,
  holder text not null,
  leased_until timestamptz not null
);

-- How far a sink has come in each chain: everything up to `seq` was taken by it.
create table gateway.audit_sink_positions (
  sink text not null,
  chain integer not null,
  seq bigint not null,
  primary key (sink, chain)
);
