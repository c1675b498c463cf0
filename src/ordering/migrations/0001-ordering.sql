-- Restaurants, their locations and customers, the loyalty ledger, menus and their imports, coupons, orders, and the tallies
-- of what is listed. Every key starts with the restaurant, so that the tables can be partitioned by it. Amounts, points and
-- percentages are hundredths. Uids compare by byte, the same on every machine.
create schema ordering;

create table ordering.restaurants (
  uid text collate "C" primary key,
  name text not null,
  time_zone text not null,
  -- Zone of legacy dates and date filters.
  api_time_zone text not null,
  currency text not null,
  language text not null,
  confirmation_required boolean not null,
  countdown_minutes integer not null check (countdown_minutes between 0 and 120),
  points_per_unit numeric(6, 2) not null check (points_per_unit between 0 and 1000),
  point_value numeric(8, 4) check (point_value between 0.0001 and 1000),
  signup_points bigint not null check (signup_points >= 0)
);
create index restaurants_words on ordering.restaurants
  using gin (to_tsvector('simple', regexp_replace(name, '[^[:alnum:]]+', ' ', 'g')));

-- Running numbers without gaps: a row, unlike a sequence, is rolled back with its transaction.
create table ordering.counters (
  restuid text collate "C" not null,
  name text not null,
  last integer not null,
  primary key (restuid, name)
);

create table ordering.locations (
  restuid text collate "C" not null,
  uid text collate "C" not null,
  name text not null,
  at text,
  code text,
  address text,
  city text,
  province text,
  zip text,
  country text,
  phone text,
  email text,
  lat double precision,
  lng double precision,
  time_zone text not null,
  hidden boolean not null,
  position integer not null,
  dmethods jsonb not null,
  deliverypoints jsonb not null,
  zones jsonb not null,
  hours jsonb,
  primary key (restuid, uid)
);

create table ordering.customers (
  restuid text collate "C" not null,
  uid text collate "C" not null,
  -- Rises with every change of the record that can have an event; statistics and balance leave it alone.
  seq bigint not null,
  added timestamptz(3) not null,
  email text,
  first_name text,
  last_name text,
  phone text,
  address text,
  number text,
  city text,
  province text,
  zip text,
  country text,
  code text,
  subrestaurant_uid text collate "C",
  signup_uid text,
  signup_deleted timestamptz(3),
  devices_unregistered timestamptz(3),
  removed_at timestamptz(3),
  phone_digits text generated always as (nullif(regexp_replace(phone, '[^0-9]', '', 'g'), '')) stored,
  -- Snapshot of the orders that count.
  orders_count integer not null default 0,
  pickup_orders_count integer not null default 0,
  delivery_orders_count integer not null default 0,
  offline_orders_count integer not null default 0,
  first_order timestamptz(3),
  last_order timestamptz(3),
  last_offline_order timestamptz(3),
  orders_total bigint not null default 0,
  -- Snapshot of the ledger: the balance after entry loyalty_seq.
  loyalty_points bigint not null default 0 check (loyalty_points >= 0),
  loyalty_seq integer not null default 0,
  primary key (restuid, uid)
);

create unique index customers_email on ordering.customers (restuid, lower(email)) where email is not null;
create unique index customers_code on ordering.customers (restuid, code) where code is not null;
-- The order of the list, also for its cursor and its count.
create index customers_listed on ordering.customers (restuid, added desc, uid desc) where removed_at is null;
create index customers_first_order on ordering.customers (restuid, first_order)
  where removed_at is null and first_order is not null;
create index customers_last_order on ordering.customers (restuid, last_order)
  where removed_at is null and last_order is not null;
create index customers_devices_unregistered on ordering.customers (restuid, devices_unregistered)
  where devices_unregistered is not null;
create index customers_signed_up on ordering.customers (restuid, added desc, uid desc) where signup_uid is not null;
create index customers_not_signed_up on ordering.customers (restuid, added desc, uid desc)
  where signup_uid is null and removed_at is null;
create index customers_by_location on ordering.customers (restuid, subrestaurant_uid, added desc, uid desc)
  where subrestaurant_uid is not null;
-- Starts of names, email and phone without case; the first one also finds the start of a last name behind a whole first
-- name, and phone_digits also finds the customer of an order.
create index customers_first_name on ordering.customers
  (restuid, lower(first_name) text_pattern_ops, lower(last_name) text_pattern_ops) where first_name is not null;
create index customers_last_name on ordering.customers (restuid, lower(last_name) text_pattern_ops)
  where last_name is not null;
create index customers_email_start on ordering.customers (restuid, lower(email) text_pattern_ops)
  where email is not null;
create index customers_phone_start on ordering.customers (restuid, lower(phone) text_pattern_ops)
  where phone is not null;
create index customers_phone_digits on ordering.customers (restuid, phone_digits text_pattern_ops, added, uid)
  where phone_digits is not null;

-- Entries are never changed or deleted. Who the customer is stands in ordering.customers, so that removing the record
-- leaves nothing personal here.
create table ordering.loyalty_entries (
  restuid text collate "C" not null,
  uid text collate "C" not null,
  customer_uid text collate "C" not null,
  seq integer not null,
  loyalty_points bigint not null check (loyalty_points >= 0),
  type text not null,
  input_type text not null check (input_type in ('points', 'value')),
  diff_op text not null check (diff_op in ('add', 'subtract')),
  diff_points bigint not null check (diff_points > 0),
  diff_value bigint,
  diff_left_value bigint,
  loyalty_left_value bigint,
  currency text not null,
  created timestamptz(3) not null,
  notes text,
  order_uid text collate "C",
  reversed_uid text collate "C",
  coupon_code text,
  used_coupon_code text,
  subrestaurant_uid text collate "C",
  -- What made the entry: one cause makes at most one entry of a type. Null: made by hand, as often as wanted.
  cause text,
  primary key (restuid, uid),
  constraint loyalty_entries_seq unique (restuid, customer_uid, seq)
);

create unique index loyalty_entries_cause on ordering.loyalty_entries (restuid, cause, type) where cause is not null;
-- Entries of one moment are listed by their seq, as they happened; uids of one moment have no sequence.
create index loyalty_entries_newest on ordering.loyalty_entries (restuid, created desc, seq desc, uid desc);
create index loyalty_entries_newest_of_customer on ordering.loyalty_entries
  (restuid, customer_uid, created desc, seq desc, uid desc);
create index loyalty_entries_by_type on ordering.loyalty_entries (restuid, type, created desc, seq desc, uid desc);
create index loyalty_entries_of_order on ordering.loyalty_entries (restuid, order_uid) where order_uid is not null;

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
  -- Only the next import of its owner finds a removed element.
  removed_at timestamptz(3),
  primary key (restuid, uid)
);

create unique index categories_identity on ordering.categories (restuid, coalesce(owner_client, ''), ext_id)
  where ext_id is not null;
-- Lists of a menu by position.
create index categories_listed on ordering.categories (restuid, position, uid) where removed_at is null;
create index categories_shown on ordering.categories (restuid, position, uid) where removed_at is null and not hidden;

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
-- Lists of a menu by position.
create index products_listed on ordering.products (restuid, category_uid, position, uid) include (name)
  where removed_at is null;
create index products_shown on ordering.products (restuid, category_uid, position, uid) include (name)
  where removed_at is null and not hidden;

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
  -- By the clock of this server: a running import that is not touched any more has ended with its process.
  touched timestamptz(3) not null,
  counts jsonb not null,
  removal_percent double precision not null,
  primary key (restuid, uid)
);

create index menu_imports_listed on ordering.menu_imports (restuid, created desc, uid desc);
create index menu_imports_of_client on ordering.menu_imports (restuid, client_id, created desc, uid desc);
create index menu_imports_version on ordering.menu_imports (restuid, version) where version is not null;
create index menu_imports_running on ordering.menu_imports (restuid, client_id) where state = 'running';
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

-- Coupons and the generators that make them. Percentages, amounts and points are hundredths.
create table ordering.coupon_generators (
  restuid text collate "C" not null,
  gencode text collate "C" not null,
  discount_perc integer not null check (discount_perc between 0 and 10000),
  -- Uses of each coupon.
  quantity integer not null check (quantity between 1 and 1000000),
  order_min bigint not null check (order_min >= 0),
  valid_from date,
  valid_to date,
  -- Days that a coupon is valid from the day on which it is made; null: as long as valid_to says.
  valid_days integer check (valid_days between 1 and 3650),
  valid_weekdays integer[] not null,
  -- What a coupon costs the customer; 0: nothing.
  points bigint not null check (points >= 0),
  created timestamptz(3) not null,
  primary key (restuid, gencode)
);

create table ordering.coupons (
  restuid text collate "C" not null,
  code text collate "C" not null,
  gencode text collate "C" not null,
  discount_perc integer not null check (discount_perc between 0 and 10000),
  -- Uses left.
  quantity integer not null check (quantity >= 0),
  order_min bigint not null check (order_min >= 0),
  valid_from date,
  valid_to date,
  valid_weekdays integer[] not null,
  valid_email text,
  created timestamptz(3) not null,
  primary key (restuid, code),
  foreign key (restuid, gencode) references ordering.coupon_generators (restuid, gencode)
);

-- Orders. Lines are a document: names and prices of the moment of ordering, never joined with the menu again. Amounts and
-- points are hundredths.
create table ordering.orders (
  restuid text collate "C" not null,
  uid text collate "C" not null,
  token text not null,
  -- Rises with every change of the order, also while events are off.
  seq bigint not null,
  status text not null check (status in ('new', 'confirmed', 'timed_out', 'closed', 'cancelled')),
  number integer not null,
  date timestamptz(3) not null,
  updated timestamptz(3) not null,
  customer_uid text collate "C",
  -- As given with the order; null once the customer was removed.
  client jsonb,
  details jsonb not null,
  dmethod text not null,
  fee bigint not null,
  payment_method text not null,
  payment_method_sub text,
  paid boolean not null,
  lines_total bigint not null,
  coupon jsonb,
  redeemed_points bigint,
  loyalty_discount bigint,
  total bigint not null,
  currency text not null,
  location_uid text collate "C" not null,
  location_code text,
  time_zone text not null,
  notes text,
  language text,
  creator text not null check (creator in ('customer', 'restaurant')),
  table_name text,
  pickup_date timestamptz(3),
  delivery_date timestamptz(3),
  address jsonb,
  deliverypoint jsonb,
  external_id text,
  external_owner text,
  -- Of the canonical request, to tell a repeat from another order with the same external id.
  external_hash bytea,
  receipt jsonb,
  confirmed boolean not null,
  countdown_minutes integer,
  countdown_started timestamptz(3),
  countdown_end timestamptz(3),
  settled timestamptz(3),
  confirmation_text text,
  cancelled timestamptz(3),
  cancel_reason text,
  cancelled_by text,
  primary key (restuid, uid)
);

create unique index orders_number on ordering.orders (restuid, number);
create unique index orders_external on ordering.orders (restuid, external_owner, external_id) where external_id is not null;
-- An index for each filter of the list, in the sequence of the list (platform/db/bounded-list.ts). Columns of other filters
-- are included, so that rows which do not fit are counted and skipped in the index alone.
create index orders_listed on ordering.orders (restuid, date desc, uid desc) include (status, location_uid, dmethod);
create index orders_by_location on ordering.orders (restuid, location_uid, date desc, uid desc) include (status, dmethod);
create index orders_by_dmethod on ordering.orders (restuid, dmethod, date desc, uid desc) include (status, location_uid);
create index orders_by_status on ordering.orders (restuid, status, date desc, uid desc);
create index orders_of_customer on ordering.orders (restuid, customer_uid, date desc, uid desc) where customer_uid is not null;
create index orders_by_external_id on ordering.orders (restuid, external_id) where external_id is not null;
create index orders_updated on ordering.orders (restuid, updated);
create index orders_counting_down on ordering.orders (countdown_end) where status = 'new' and countdown_end is not null;

-- How many rows a list has, so that a list need not count them: customers, ledger entries, orders of each status but `new`,
-- products of each category. Each number is kept in several slots, because concurrent transactions then seldom update the
-- same row. The sum of the slots is the number, exact in every snapshot. Orders altogether need no tally: they are never
-- deleted and their numbers have no gaps, so the last number is how many there are. Orders in `new` are all minus the
-- tallies, so taking an order writes no tally.
create table ordering.tallies (
  restuid text collate "C" not null,
  name text not null,
  slot integer not null,
  count bigint not null,
  primary key (restuid, name, slot)
) with (fillfactor = 50);

-- A connection always uses the same slot, so a transaction that counts twice does not wait the second time.
create function ordering.tally(p_restuid text, p_name text, p_more bigint) returns void language sql as $$
  insert into ordering.tallies (restuid, name, slot, count) values (p_restuid, p_name, pg_backend_pid() % 16, p_more)
  on conflict (restuid, name, slot) do update set count = ordering.tallies.count + excluded.count
$$;

create function ordering.tally_customers() returns trigger language plpgsql as $$
begin
  perform ordering.tally(restuid, 'customers', count(*)) from added where removed_at is null group by restuid
    order by restuid;
  return null;
end $$;

create function ordering.tally_removal() returns trigger language plpgsql as $$
begin
  perform ordering.tally(new.restuid, 'customers', case when new.removed_at is null then 1 else -1 end);
  return null;
end $$;

create function ordering.tally_entries() returns trigger language plpgsql as $$
begin
  perform ordering.tally(restuid, 'loyalty_entries', count(*)) from added group by restuid order by restuid;
  return null;
end $$;

create trigger customers_tally after insert on ordering.customers
  referencing new table as added for each statement execute function ordering.tally_customers();
create trigger customers_tally_removal after update of removed_at on ordering.customers
  for each row when ((old.removed_at is null) <> (new.removed_at is null)) execute function ordering.tally_removal();
create trigger loyalty_entries_tally after insert on ordering.loyalty_entries
  referencing new table as added for each statement execute function ordering.tally_entries();

-- Orders by status are counted when the transaction commits: what an order does to other tallies is done by then, and two
-- transactions that meet in a slot lock its rows in one sequence, so one of them waits and there is no deadlock.
create function ordering.tally_status() returns trigger language plpgsql as $$
declare
  was text := case when tg_op = 'UPDATE' then old.status else 'new' end;
begin
  insert into ordering.tallies (restuid, name, slot, count)
  select new.restuid, 'orders_' || moved.status, pg_backend_pid() % 16, moved.more
  from (values (was, -1), (new.status, 1)) as moved (status, more)
  where moved.status <> 'new' order by moved.status
  on conflict (restuid, name, slot) do update set count = ordering.tallies.count + excluded.count;
  return null;
end $$;

create constraint trigger orders_tally after insert on ordering.orders deferrable initially deferred
  for each row when (new.status <> 'new') execute function ordering.tally_status();
create constraint trigger orders_tally_move after update of status on ordering.orders deferrable initially deferred
  for each row when (old.status <> new.status) execute function ordering.tally_status();

-- Of each category: `products` counts those that are not removed, `products shown` those of them that are not hidden.
create function ordering.tally_products() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform ordering.tally(restuid, of_kind.kind || category_uid, count(*)) from added,
      lateral (values ('products '), (case when not hidden then 'products shown ' end)) as of_kind (kind)
      where removed_at is null and of_kind.kind is not null group by restuid, of_kind.kind, category_uid
      order by restuid, of_kind.kind, category_uid;
  elsif tg_op = 'DELETE' then
    perform ordering.tally(restuid, of_kind.kind || category_uid, -count(*)) from gone,
      lateral (values ('products '), (case when not hidden then 'products shown ' end)) as of_kind (kind)
      where removed_at is null and of_kind.kind is not null group by restuid, of_kind.kind, category_uid
      order by restuid, of_kind.kind, category_uid;
  else
    perform ordering.tally(restuid, kind || category_uid, more) from (
      select restuid, of_kind.kind, category_uid, sum(one)::bigint as more from (
        select restuid, category_uid, hidden, 1 as one from added where removed_at is null
        union all select restuid, category_uid, hidden, -1 from gone where removed_at is null
      ) as changed, lateral (values ('products '), (case when not hidden then 'products shown ' end)) as of_kind (kind)
      where of_kind.kind is not null group by restuid, of_kind.kind, category_uid
    ) as summed where more <> 0 order by restuid, kind, category_uid;
  end if;
  return null;
end $$;

create trigger products_tally_insert after insert on ordering.products
  referencing new table as added for each statement execute function ordering.tally_products();
create trigger products_tally_update after update on ordering.products
  referencing old table as gone new table as added for each statement execute function ordering.tally_products();
create trigger products_tally_delete after delete on ordering.products
  referencing old table as gone for each statement execute function ordering.tally_products();
