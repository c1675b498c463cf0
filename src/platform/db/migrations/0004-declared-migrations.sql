-- Works with 1.0.0 and newer releases.
-- Migrations that name the oldest release that works with them, so that an earlier release can start although it does not
-- know them. Release 1.0.0 refuses to start when platform.migrations has a row that it does not know, and reads no other
-- table: a migration that 1.0.0 works with stands here alone, every other one in both tables.
create table platform.declared_migrations (
  feature text not null,
  number integer not null,
  name text not null,
  sha256 text not null,
  works_with text not null,
  applied_at timestamptz not null default now(),
  primary key (feature, number)
);
