-- Works with 1.0.0 and newer releases.
-- Streams of security events (OpenID Shared Signals Framework 1.0): their configuration, the events that wait for a receiver,
-- and the keys that sign them. A release before this one neither writes nor reads any of it, and its changes of credentials
-- queue no event.

-- What a stream of the client gets: null, the events of the client itself; `all`, those of every client and key; `off`, none.
alter table gateway.clients add column signals text;

create table gateway.signal_streams (
  stream_id text primary key,
  -- A client has one stream.
  client_id text not null unique references gateway.clients (client_id),
  -- `iss` of its events: the public address when the stream was made.
  issuer text not null,
  -- `push` or `poll`.
  delivery text not null,
  endpoint_url text,
  -- Value of the Authorization field for a push, AES-256-GCM under the master key, bound to the stream.
  authorization_sealed bytea,
  -- Null: every supported type.
  events_requested text[],
  description text,
  -- `enabled`, `paused` or `disabled`.
  status text not null default 'enabled',
  status_reason text,
  created timestamptz not null,
  verified_at timestamptz,
  -- Pushes that failed in a row, and the time before which none is tried.
  failures integer not null default 0,
  next_try timestamptz not null,
  -- The worker that pushes now.
  leased_by text,
  lease_until timestamptz
);

-- Subjects that the receiver removed from its stream: ids of clients and keys.
create table gateway.signal_exclusions (
  stream_id text not null references gateway.signal_streams (stream_id) on delete cascade,
  subject text not null,
  primary key (stream_id, subject)
);

-- A row is written in the transaction of the change and deleted when the receiver has the event.
create table gateway.signal_events (
  stream_id text not null references gateway.signal_streams (stream_id) on delete cascade,
  position bigint generated always as identity,
  jti text not null,
  txn text not null,
  event_type text not null,
  subject jsonb not null,
  payload jsonb not null,
  -- It is sent whatever the status of the stream: the event that says that the status was changed.
  always boolean not null default false,
  created timestamptz not null,
  primary key (stream_id, position)
);
create unique index signal_events_jti on gateway.signal_events (stream_id, jti);
create index signal_events_created on gateway.signal_events (created);

create table gateway.signal_keys (
  kid text primary key,
  public_jwk jsonb not null,
  -- Private JWK, AES-256-GCM under the master key, bound to the kid.
  private_sealed bytea not null,
  created timestamptz not null
);
