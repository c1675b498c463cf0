-- Whether later deliveries of the entity wait behind this one, or may: only then is there anybody to look for when it is
-- finished. Kept under the lock of the lane. What was there before may have followers.
alter table webhooks.deliveries add column followed boolean not null default true;

-- Whoever makes a delivery pending says so to its endpoint in the same statement: a trigger of every update would gather
-- each row that is leased or finished, to find that none of them is.
drop trigger deliveries_updated on webhooks.deliveries;
