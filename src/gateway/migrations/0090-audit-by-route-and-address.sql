-- The audit is searched by route and by address, too.
create index audit_events_route on gateway.audit_events (route_id, at) where route_id is not null;
create index audit_events_address on gateway.audit_events (address, at) where address is not null;
