-- Longest time between two uses, as far as it was seen: a job that runs once a day is silent for a day each day.
alter table gateway.credential_use add column longest_gap_seconds bigint not null default 0;
