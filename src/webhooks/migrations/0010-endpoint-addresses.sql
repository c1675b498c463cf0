-- Works with 1.0.0 and newer releases.
-- Addresses of endpoints without their scheme, which staff find by the beginning.
create index endpoints_addresses on webhooks.endpoints
  ((left(regexp_replace(lower(url), '^https?://', ''), 200)) collate "C") where removed is null;
