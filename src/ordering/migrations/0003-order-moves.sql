-- Works with 1.0.0 and newer releases.
-- Who moved an order, and when: an array of {to, at, by}, the oldest first. Null in orders that a release before this one inserted;
-- such a release leaves it as it is when it moves an order.
alter table ordering.orders add column moves jsonb;
