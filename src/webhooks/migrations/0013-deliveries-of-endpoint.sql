-- Works with 1.0.0 and newer releases.
-- `deliveries_newest` has taken its place. A migration of its own: to make that index locks the table against writers, to drop
-- this one also against readers, and a transaction that asks for the second lock while it holds the first may be part of a
-- deadlock with one that has read and wants to write.
drop index webhooks.deliveries_of_endpoint;
