-- Works with 1.0.0 and newer releases.
-- A Merkle tree (RFC 9162) over the events of the audit, for checkpoints and proofs. It holds hashes only and stays when the
-- retention drops events. A release before this one neither writes nor reads it; the next gateway of this release adds the events.

-- The leaves, in the order in which they were added, which never changes. `hash`: of the event, as in gateway.audit_events.
create table gateway.audit_tree_leaves (
  position bigint primary key,
  chain integer not null,
  seq bigint not null,
  hash bytea not null,
  -- The last added event of a chain is found by it, and no event is added twice.
  unique (chain, seq)
);

-- Hashes of complete subtrees: node `position` of `level` covers 2^level leaves. Leaves (level 0) are computed.
create table gateway.audit_tree_nodes (
  level smallint not null check (level > 0),
  position bigint not null,
  hash bytea not null,
  primary key (level, position)
);
