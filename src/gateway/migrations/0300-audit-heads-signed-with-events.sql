-- A head is signed in the statement that writes its events, some times a second: room for that beside the old row.
alter table gateway.audit_chains set (fillfactor = 50);

-- Two events of one moment may lie on both sides of the end of a month. When the older month was dropped, one of them could
-- stay before the signed beginning of its chain, where nothing vouches for it; the retention takes it away itself from now on.
delete from gateway.audit_events e using gateway.audit_chains c
where c.chain = e.chain and c.anchor_seq > 0 and e.seq <= c.anchor_seq;
