-- Pages ask again and again what was used last. Rows are written once a minute at most.
create index credential_use_last on gateway.credential_use (last_used);
