-- Works with 1.0.0 and newer releases.
-- The secret that signs notices to an address, sealed. Notices to an address that is older than this have none until one is made.
alter table panel.notice_targets
  add column secret bytea,
  -- During the overlap of a rotation the earlier secret signs too.
  add column previous_secret bytea,
  add column previous_secret_ends timestamptz;
