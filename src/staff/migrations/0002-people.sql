-- Works with 1.0.0 and newer releases.

-- The last change of role or restaurants; null before the first one.
alter table panel.users add column changed_at timestamptz;
