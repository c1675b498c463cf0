-- Works with 1.0.0 and newer releases.
-- The removal of a customer erased neither the texts of their orders nor the hash of what was sent. Reads a few rows for each
-- removed customer, by the index of the orders of a customer.
update ordering.orders o set notes = null, confirmation_text = null, cancel_reason = null,
  details = (select coalesce(jsonb_agg(line || '{"notes": null}' order by place), '[]')
    from jsonb_array_elements(o.details) with ordinality as lines (line, place)),
  external_hash = case when o.external_hash is not null then ''::bytea end
from ordering.customers c
where c.removed_at is not null and o.restuid = c.restuid and o.customer_uid = c.uid;
