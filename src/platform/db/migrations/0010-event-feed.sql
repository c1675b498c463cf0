-- An event's place in the feed, given after its commit by the one dispatcher at a time: `position` is given before, so
-- that of two transactions the later number may be readable first.
alter table outbox.events add column feed_position bigint;
update outbox.events set feed_position = position where dispatched_at is not null;
create sequence outbox.feed_positions;
select setval('outbox.feed_positions', (select coalesce(max(position), 0) + 1 from outbox.events), false);

drop index outbox.events_feed;
create index events_feed on outbox.events (tenant, kind, feed_position) where feed_position is not null;
create index events_feed_of_entity on outbox.events (tenant, entity, feed_position) where feed_position is not null;
