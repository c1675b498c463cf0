-- Works with 1.0.0 and newer releases.
-- What operators see of a stream of security events, and the rotation of the key that signs them. A release before this one
-- signs with the newest key by its creation, also before its time: its receivers read the key set again.

-- The last push that the receiver took, and the last one that it did not.
alter table gateway.signal_streams add column pushed_at timestamptz;
alter table gateway.signal_streams add column last_error text;
alter table gateway.signal_streams add column failed_at timestamptz;

-- A key is listed before it signs. Null: from its creation on.
alter table gateway.signal_keys add column not_before timestamptz;
