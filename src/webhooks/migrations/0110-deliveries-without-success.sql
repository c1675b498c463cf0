-- Whoever looks for what failed does not read through what succeeded. Rows enter it once, when they are finished.
create index deliveries_without_success on webhooks.deliveries (tenant, endpoint_uid, created desc, uid desc)
  where state in ('exhausted', 'cancelled');
