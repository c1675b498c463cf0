-- Requests to read the route table again. Every gateway carries out the last one.
create table gateway.reload_request (
  single boolean primary key default true check (single),
  number bigint not null,
  actor text not null,
  at timestamptz not null
);
insert into gateway.reload_request (number, actor, at) values (0, '', now());

-- Which route table each gateway serves. A gateway renews its row every few seconds. `request`: number of the last request
-- that it has carried out. `problems`: JSON list, empty unless the file was refused.
create table gateway.served_tables (
  process uuid primary key,
  -- Host name and process id.
  gateway text not null,
  version text not null,
  request bigint not null,
  result text not null check (result in ('reloaded', 'unchanged', 'refused')),
  problems jsonb not null check (jsonb_typeof(problems) = 'array'),
  seen timestamptz not null
);
