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
create index orders_listed on ordering.orders (restuid, date desc, uid desc);
create index orders_by_status on ordering.orders (restuid, status, date desc, uid desc);
create index orders_of_customer on ordering.orders (restuid, customer_uid, date desc, uid desc) where customer_uid is not null;
create index orders_by_external_id on ordering.orders (restuid, external_id) where external_id is not null;
create index orders_updated on ordering.orders (restuid, updated);
create index orders_counting_down on ordering.orders (countdown_end) where status = 'new' and countdown_end is not null;
