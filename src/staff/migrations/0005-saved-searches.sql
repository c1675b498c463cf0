-- Works with 1.0.0 and newer releases.
-- Searches of the audit that users keep under a name. `query`: the filter as the address of the search page holds it.
create table panel.saved_searches (
  user_id text not null references panel.users on delete cascade,
  name text not null,
  query text not null,
  created_at timestamptz not null,
  primary key (user_id, name)
);
