-- The due deliveries of one endpoint, and the endpoints that have any, are found without reading the backlog of others.
create index deliveries_due_of_endpoint on webhooks.deliveries (endpoint_uid, next_attempt_at) where state = 'pending';

-- Where the time of an attempt went; null for a part that it did not reach, 0 for one that a kept connection spared.
alter table webhooks.attempts
  add column dns_ms integer,
  add column connect_ms integer,
  add column tls_ms integer,
  add column first_byte_ms integer;
