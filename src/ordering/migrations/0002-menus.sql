-- Menus. Options and their values live inside their category or product as one document, since they are read, imported and
-- restored with it; the ones that an import left out stay there marked removed, so that they come back with their uid.
-- Amounts are hundredths.

-- One row per restaurant: its version counts the changes, its lock makes imports of one restaurant wait for each other.
create table ordering.menus (
  restuid text collate "C" primary key,
  version bigint not null check (version >= 0)
);

create table ordering.categories (
  restuid text collate "C" not null,
  uid text collate "C" not null,
  -- Who made it: a client by import, null for the panel. With ext_id the identity of an imported element.
  owner_client text collate "C",
  ext_id text collate "C",
  -- The point of sale that sent it last; a replace reaches only elements of its own.
  pos_uid text collate "C",
  name text not null,
  description text,
  image text,
  url text,
  hidden boolean not null,
  position integer not null,
  subrestaurant_uids text[] not null,
  options jsonb not null,
  -- A removed element is found by nobody but its owner's next import.
  removed_at timestamptz(3),
  primary key (restuid, uid)
);

create unique index categories_identity on ordering.categories (restuid, coalesce(owner_client, ''), ext_id)
  where ext_id is not null;

create table ordering.products (
  restuid text collate "C" not null,
  uid text collate "C" not null,
  owner_client text collate "C",
  ext_id text collate "C",
  pos_uid text collate "C",
  category_uid text collate "C" not null,
  name text not null,
  ingredients text,
  price bigint not null check (price >= 0),
  prices_table jsonb not null,
  image text,
  allergens text[] not null,
  symbols text[] not null,
  suggested boolean not null,
  price_sale_alert boolean not null,
  price_sale_badge integer not null check (price_sale_badge between 0 and 100),
  checkout_selling boolean not null,
  url text,
  hidden boolean not null,
  position integer not null,
  subrestaurant_uids text[] not null,
  inherits_options text not null check (inherits_options in ('sync', 'copy', 'none')),
  -- What a copying product took from its category when it was made; null for the others.
  copied_options jsonb,
  options jsonb not null,
  -- Id in a till linked in the panel.
  offline_uid text,
  removed_at timestamptz(3),
  primary key (restuid, uid),
  foreign key (restuid, category_uid) references ordering.categories (restuid, uid)
);

create unique index products_identity on ordering.products (restuid, coalesce(owner_client, ''), ext_id)
  where ext_id is not null;
create index products_of_category on ordering.products (restuid, category_uid) where removed_at is null;
