-- Works with earlier releases: they write notices without the tenant, which are sent as before.
-- The tenant that a notice is about, so that a notice to an owner who lost it since is not sent. Null: it is about none.
alter table panel.notices add column tenant text;
