-- What was refused and what was issued for one credential, without reading all that it did.
create index audit_events_refused on gateway.audit_events (fingerprint, at)
  where outcome = 'failure' and fingerprint is not null;
create index audit_events_issued on gateway.audit_events (credential_id, at)
  where action = 'token.issued' and credential_id is not null;
