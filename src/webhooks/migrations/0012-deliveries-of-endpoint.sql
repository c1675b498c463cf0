-- Works with 1.0.0 and newer releases.
-- The uid of an endpoint names one tenant, and a shorter index costs less: each delivery enters it twice.
create index deliveries_newest on webhooks.deliveries (endpoint_uid, created desc);
drop index webhooks.deliveries_of_endpoint;
