-- The functions that make and drop weeks accept these tables (platform 0003). Pages of deliveries keep free space, so that a
-- lease is written without touching an index.
insert into platform.weekly_tables values
  ('webhooks', 'deliveries', 'event_id', 'evt', 75),
  ('webhooks', 'attempts', 'event_id', 'evt', 100);
