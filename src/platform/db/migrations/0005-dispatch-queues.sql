-- Works with 1.0.0 and newer releases.
-- Events are dispatched by several queues at once. A hash of the tenant puts each event into one of 16 groups, and a queue
-- is one or more groups, so the events of a tenant stay in one queue. `waiting` is nearly always empty: this takes no time.
alter table outbox.waiting
  add column tenant_group smallint not null generated always as ((hashtextextended(tenant, 0) & 15)::smallint) stored;
create index waiting_of_group on outbox.waiting (tenant_group, position);

-- Positions in the feed rise with the time of recording in each tenant only, so a search by time is a search in one tenant.
create index places_of_time on outbox.places (tenant, event_id);
