-- Works with 1.0.0 and newer releases.
-- A contact is a person at an integrator who sees the API clients of this table and nothing else.
alter table panel.users drop constraint users_role_check;
alter table panel.users add constraint users_role_check
  check (role in ('owner', 'support', 'security', 'admin', 'contact'));

create table panel.user_clients (
  user_id text not null references panel.users on delete cascade,
  client_id text not null,
  primary key (user_id, client_id)
);
-- The page of a client lists its contacts.
create index user_clients_of_client on panel.user_clients (client_id, user_id);
