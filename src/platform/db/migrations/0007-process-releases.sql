-- Works with 1.0.0 and newer releases.
-- The release of each running process, for the operator. Null: a process of a release before this column.
alter table platform.key_holders add column version text;
