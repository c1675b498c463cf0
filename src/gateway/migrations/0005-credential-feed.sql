-- Works with 1.0.0 and newer releases.
-- The last changes of credentials. Each raise of gateway.credential_epoch adds a row in its transaction, under the lock of the
-- epoch's row, so rows become visible in the sequence of their numbers. A gateway that knows number and mark of the epoch at
-- some time reads the rows since then and forgets only what they name. It forgets everything when the rows do not lead
-- without a gap from what it knows to the epoch: after a raise by an earlier release, which adds no row, and in a restored
-- store, where the mark before a change is another one.
create table gateway.credential_feed (
  -- Number and mark of the epoch after the change.
  number bigint primary key,
  mark uuid not null,
  mark_before uuid not null,
  -- Ids of the API keys and clients that changed; null: any of them may have.
  credentials text[],
  -- When the change revoked something, for the metric of its delay.
  revoked_at timestamptz
);
