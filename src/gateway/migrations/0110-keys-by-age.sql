-- Keys of a tenant, the newest first, page by page.
create index api_keys_by_age on gateway.api_keys (tenant, created desc, key_id desc);
