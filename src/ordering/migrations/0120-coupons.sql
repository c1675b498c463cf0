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
