/** SQL of the Merkle tree of the audit. */
import { type Kysely, sql } from 'kysely';
import { leafHash, type Node, type NodeKey, nodeName, type ReadNode } from './merkle.ts';

type Db = Kysely<unknown>;

export type Leaf = { position: number; chain: number; seq: number; hash: string };

/** The bytes of a leaf: the id and the hash of an event, which covers its content and the event before it. */
export const leafText = ({ chain, seq, hash }: Omit<Leaf, 'position'>): string => `${chain}-${seq} ${hash}\n`;

/** Takes the lock to the end of the transaction; false while another process adds leaves. */
export const lockTree = async (tx: Db): Promise<boolean> => {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtext('gateway.audit_tree')) as locked`.execute(tx);
  return rows[0]?.locked === true;
};

export const treeSize = async (db: Db): Promise<number> => {
  const { rows } = await sql<{ size: number }>`
    select coalesce(max(position) + 1, 0)::bigint as size from gateway.audit_tree_leaves`.execute(db);
  return rows[0]?.size ?? 0;
};

/** Events up to these ends of chains that are no leaves yet, in the order in which they are added. */
export const listNewLeaves = async (
  tx: Db,
  ends: readonly { chain: number; seq: number }[],
  limit: number,
): Promise<Omit<Leaf, 'position'>[]> => {
  const asked = JSON.stringify(ends.map(({ chain, seq }) => ({ chain, seq })));
  const { rows } = await sql<Omit<Leaf, 'position'>>`
    select h.chain, e.seq, encode(e.hash, 'hex') as hash
    from json_to_recordset(${asked}::json) as h (chain integer, seq bigint)
      cross join lateral (
        select coalesce(max(l.seq), 0) as seq from gateway.audit_tree_leaves l where l.chain = h.chain) as added
      cross join lateral (
        select distinct on (a.seq) a.seq, a.hash from gateway.audit_events a
        where a.chain = h.chain and a.seq > added.seq and a.seq <= h.seq order by a.seq, a.at limit ${limit}) as e
    order by h.chain, e.seq limit ${limit}`.execute(tx);
  return rows;
};

export const insertLeaves = async (tx: Db, leaves: readonly Leaf[], nodes: readonly Node[]): Promise<void> => {
  await sql`
    insert into gateway.audit_tree_leaves (position, chain, seq, hash)
    select position, chain, seq, decode(hash, 'hex') from json_to_recordset(${JSON.stringify(leaves)}::json)
      as l (position bigint, chain integer, seq bigint, hash text)`.execute(tx);
  const texts = nodes.map(({ level, position, hash }) => ({ level, position, hash: hash.toString('hex') }));
  await sql`
    insert into gateway.audit_tree_nodes (level, position, hash)
    select level, position, decode(hash, 'hex') from json_to_recordset(${JSON.stringify(texts)}::json)
      as n (level smallint, position bigint, hash text)`.execute(tx);
};

/** Reads these nodes. The returned function throws for a node that is not stored. */
export const readNodes = async (db: Db, keys: readonly NodeKey[]): Promise<ReadNode> => {
  const found = new Map<string, Buffer>();
  const leaves = keys.filter(({ level }) => level === 0).map(({ position }) => position);
  if (leaves.length > 0) {
    const { rows } = await sql<Leaf>`
      select position, chain, seq, encode(hash, 'hex') as hash from gateway.audit_tree_leaves
      where position = any(${leaves}::bigint[])`.execute(db);
    for (const leaf of rows) found.set(nodeName({ level: 0, position: leaf.position }), leafHash(leafText(leaf)));
  }
  const inner = JSON.stringify(keys.filter(({ level }) => level > 0));
  const { rows } = await sql<Node>`
    select n.level, n.position, n.hash
    from json_to_recordset(${inner}::json) as k (level smallint, position bigint)
      join gateway.audit_tree_nodes n on n.level = k.level and n.position = k.position`.execute(db);
  for (const node of rows) found.set(nodeName(node), node.hash);
  return (key) => {
    const hash = found.get(nodeName(key));
    if (hash === undefined) throw new Error(`the tree of the audit lacks the node ${nodeName(key)}`);
    return hash;
  };
};

export const findLeaf = async (db: Db, chain: number, seq: number): Promise<Leaf | undefined> => {
  const { rows } = await sql<Leaf>`
    select position, chain, seq, encode(hash, 'hex') as hash from gateway.audit_tree_leaves
    where chain = ${chain} and seq = ${seq}`.execute(db);
  return rows[0];
};

/** `stored` and `at`: of the event itself; null when it is not stored. `anchor`: null without the chain. */
export type ComparedLeaf = Leaf & { stored: string | null; at: Date | null; anchor: number | null };

/** Leaves from a position on, beside the events that they stand for, as one snapshot. */
export const listComparedLeaves = async (db: Db, from: number, limit: number): Promise<ComparedLeaf[]> => {
  const { rows } = await sql<ComparedLeaf>`
    select l.position, l.chain, l.seq, encode(l.hash, 'hex') as hash, encode(e.hash, 'hex') as stored,
      e.at, c.anchor_seq as anchor
    from gateway.audit_tree_leaves l
      left join gateway.audit_chains c on c.chain = l.chain
      left join lateral (
        select hash, at from gateway.audit_events where chain = l.chain and seq = l.seq order by at limit 1) e on true
    where l.position >= ${from} order by l.position limit ${limit}`.execute(db);
  return rows;
};

/** Time of the oldest event that is stored. */
export const oldestEvent = async (db: Db): Promise<Date | null> => {
  const { rows } = await sql<{ at: Date | null }>`select min(at) as at from gateway.audit_events`.execute(db);
  return rows[0]?.at ?? null;
};
