-- From when on a key signs: it is listed before. The first one signs at once.
alter table webhooks.signing_keys add column not_before timestamptz;
update webhooks.signing_keys set not_before = created;
alter table webhooks.signing_keys alter column not_before set not null;
