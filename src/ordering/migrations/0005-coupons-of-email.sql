-- Works with 1.0.0 and newer releases.
-- Finds the coupons of a customer who is removed.
create index coupons_of_email on ordering.coupons (restuid, lower(valid_email)) where valid_email is not null;
