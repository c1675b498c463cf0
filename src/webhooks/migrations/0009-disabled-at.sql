-- Works with 1.0.0 and newer releases.
-- When the program or the owner disabled the endpoint; null while it is enabled, and where an earlier release disabled it.
alter table webhooks.endpoints add column disabled_at timestamptz;
