-- Works with 1.0.0 and newer releases.
-- Id under which the quotas of a rotated key are counted: that of the first key, so that a rotation gives no units. Null: its own.
alter table gateway.api_keys add column quota_of text;
