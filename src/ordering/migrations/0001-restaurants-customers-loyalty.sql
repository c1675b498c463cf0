-- Restaurants, their locations and customers, and the loyalty ledger. Every key starts with the restaurant, so that the
-- tables can be partitioned by it. Amounts and points are hundredths. Uids compare by byte, the same on every machine.
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

-- Running numbers without gaps: a row, unlike a sequence, goes back when its transaction does.
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
create index customers_by_location on ordering.customers (restuid, subrestaurant_uid, added desc, uid desc)
  where subrestaurant_uid is not null;
-- Starts of names, email and phone without case; phone_digits also finds the customer of an order.
create index customers_first_name on ordering.customers (restuid, lower(first_name) text_pattern_ops)
  where first_name is not null;
create index customers_last_name on ordering.customers (restuid, lower(last_name) text_pattern_ops)
  where last_name is not null;
create index customers_email_start on ordering.customers (restuid, lower(email) text_pattern_ops)
  where email is not null;
create index customers_phone_start on ordering.customers (restuid, lower(phone) text_pattern_ops)
  where phone is not null;
create index customers_phone_digits on ordering.customers (restuid, phone_digits, added, uid)
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
create index loyalty_entries_listed on ordering.loyalty_entries (restuid, created desc, uid desc);
create index loyalty_entries_of_customer on ordering.loyalty_entries (restuid, customer_uid, created desc, uid desc);
create index loyalty_entries_of_order on ordering.loyalty_entries (restuid, order_uid) where order_uid is not null;
