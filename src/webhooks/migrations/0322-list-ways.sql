-- Endpoints newest first, for a tenant and for a client, and the deliveries of one redelivery.
create index endpoints_listed on webhooks.endpoints (tenant, created desc, uid desc) where removed is null;
create index endpoints_of_owner on webhooks.endpoints (tenant, owner_kind, owner_id, created desc, uid desc)
  where removed is null;
create index deliveries_redelivered on webhooks.deliveries (tenant, endpoint_uid, redelivery_uid, created desc, uid desc)
  where redelivery_uid is not null;
