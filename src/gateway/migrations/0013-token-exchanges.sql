-- Works with 1.0.0 and newer releases.
-- How many tokens came of one token by exchange (RFC 8693), over all levels. A release before this one exchanges none, and refuses
-- tokens that were exchanged. A row may be deleted once the token has ended, since what came of it has ended too.
create table gateway.token_exchanges (
  root_jti text primary key,
  exchanged integer not null,
  expires timestamptz not null
);
create index token_exchanges_by_end on gateway.token_exchanges (expires);
