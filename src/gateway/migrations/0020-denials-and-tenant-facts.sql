-- Why a request was refused, for its own key or client to read (kept for days). Written again under the same id, the newer
-- stands. `caller` is a key id or a client id.
create table gateway.denials (
  caller text not null,
  request_id text not null,
  at timestamptz not null,
  denial jsonb not null,
  primary key (caller, request_id)
);
create index denials_at on gateway.denials (at);

-- What callers are told about a tenant. The gateway never looks into it.
alter table gateway.tenants add column facts jsonb not null default '{}';
