-- Works with 1.0.0 and newer releases.
-- The client that a notice is about, so that a notice to a contact who lost it since is not sent. Null: it is about none, or was
-- written by an earlier release, and is sent as before.
alter table panel.notices add column client text;
