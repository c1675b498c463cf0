-- Works with 1.0.0 and newer releases.
-- Endpoints that the program disabled, which users are notified of.
create index endpoints_disabled on webhooks.endpoints (uid)
  where not enabled and removed is null and disabled_reason in ('gone', 'failing');
