-- Works with 1.0.0 and newer releases.
-- The uid of an endpoint names one tenant, and a shorter index costs less: each delivery enters it twice. The condition is true
-- for every row. It keeps the index from statements that do not name the tenant: those look for few events of an endpoint, and
-- a planner that takes the endpoint for a small one would read all of its deliveries.
create index deliveries_newest on webhooks.deliveries (endpoint_uid, created desc) where tenant is not null;
