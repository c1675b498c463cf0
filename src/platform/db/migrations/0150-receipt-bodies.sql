-- The body of a large request, canonical and deflated, so that the first difference of another request can be named. Already
-- compressed: the server need not try again.
alter table platform.receipts add column request_body bytea;
alter table platform.receipts alter column request_body set storage external;
