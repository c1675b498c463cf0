-- Works with 1.0.0 and newer releases.
-- The running processes and the ids of the master keys that each would find at its next start, so that a key is not removed
-- that a process needs to start again. A row that was not renewed lately belongs to a process that has ended.
create table platform.key_holders (
  process text primary key,
  -- Host and process id, for the operator.
  name text not null,
  role text not null,
  keys text[] not null,
  seen timestamptz not null
);
