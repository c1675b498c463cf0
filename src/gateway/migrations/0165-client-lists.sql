-- Clients by age, by words of their names, and their grants by tenant, a page at a time.
create index clients_created on gateway.clients (created, client_id);
create index clients_words on gateway.clients
  using gin (to_tsvector('simple', regexp_replace(name, '[^[:alnum:]]+', ' ', 'g')));
create index client_tenants_granted on gateway.client_tenants (client_id, tenant) where withdrawn_at is null;
drop index gateway.client_tenants_client;
