-- What imports did to menus: their reports, the plans that wait to be applied, and how elements were before each version.

-- One row per import, plan or revert. Rows of one client beyond the latest are deleted when it imports again.
create table ordering.menu_imports (
  restuid text collate "C" not null,
  uid text collate "C" not null,
  -- Client whose elements it is about; 'panel' for the panel's.
  client_id text collate "C" not null,
  kind text not null check (kind in ('import', 'revert')),
  state text not null check (state in ('planned', 'running', 'applied', 'failed')),
  percent integer not null check (percent between 0 and 100),
  pos_uid text,
  update_mode text,
  version bigint,
  base_version bigint,
  plan_id text collate "C",
  plan_expires timestamptz(3),
  -- Of a plan that was not applied: the names of what it changes. Its documents are in menu_plan_parts.
  plan jsonb,
  created timestamptz(3) not null,
  -- By the clock of this server: a running import that is not heard of any more has died with its process.
  touched timestamptz(3) not null,
  counts jsonb not null,
  removal_percent double precision not null,
  primary key (restuid, uid)
);

create index menu_imports_listed on ordering.menu_imports (restuid, created desc, uid desc);
create index menu_imports_of_client on ordering.menu_imports (restuid, client_id, created desc, uid desc);
create index menu_imports_version on ordering.menu_imports (restuid, version) where version is not null;
create unique index menu_imports_plan on ordering.menu_imports (restuid, plan_id) where plan_id is not null;

-- JSON object of items, warnings and errors, kept as the text that it was sent as; in parts, since it may have megabytes.
create table ordering.menu_reports (
  restuid text collate "C" not null,
  import_uid text collate "C" not null,
  part integer not null,
  text text not null,
  primary key (restuid, import_uid, part),
  foreign key (restuid, import_uid) references ordering.menu_imports (restuid, uid) on delete cascade
);

-- The elements of a plan as they will be, in the batches in which they are written.
create table ordering.menu_plan_parts (
  restuid text collate "C" not null,
  plan_id text collate "C" not null,
  part integer not null,
  kind text not null check (kind in ('category', 'product')),
  documents text not null,
  primary key (restuid, plan_id, part)
);

-- Rows of ordering.categories and ordering.products as they were before a version changed them; null: they were not there.
create table ordering.menu_undo (
  restuid text collate "C" not null,
  client_id text collate "C" not null,
  kind text not null check (kind in ('category', 'product')),
  uid text collate "C" not null,
  version bigint not null,
  document jsonb,
  primary key (restuid, client_id, kind, uid, version)
);
