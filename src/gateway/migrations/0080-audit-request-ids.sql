-- Ids that the gateway made are found by the time that they tell (audit/request-id-times.ts); only other ids are indexed.
alter table gateway.audit_events add column ids_indexed boolean not null default true;
drop index gateway.audit_events_requests;
create index audit_events_other_requests on gateway.audit_events using gin (request_ids) where ids_indexed;
