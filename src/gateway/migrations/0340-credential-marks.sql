-- A number alone does not name a state: a restored or failed-over store gives the same number to another change. So each
-- raise also writes a random value, and a state is the same only when both are equal.
alter table gateway.credential_epoch
  add column mark uuid not null default gen_random_uuid(),
  add column token_mark uuid not null default gen_random_uuid();

-- Of the raise that made the row. A gateway that still finds the newest row it knows under the mark it knows may read on
-- behind it; otherwise the store has another history, and it reads all rows again.
alter table gateway.revoked_tokens add column mark uuid;
