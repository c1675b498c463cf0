/** The state of the tree for people: what the newest checkpoint covers, and what it does not cover yet. */
import { type Kysely, sql } from 'kysely';
import { treeSize } from './tree-store.ts';

export type TreeState = {
  /** Number of events in the tree. */
  size: number;
  /** Whether the newest leaf is the event as it is stored. `dropped`: the retention dropped that event, or the tree is empty. */
  last: 'same' | 'changed' | 'dropped';
  /** Time of that event. */
  newest: Date | null;
  /** Signed events that are no leaves yet, without those that the retention dropped. */
  waiting: number;
};

export const describeTree = async (db: Kysely<unknown>): Promise<TreeState> => {
  const size = await treeSize(db);
  const last = await sql<{ at: Date; same: boolean }>`
    select e.at, e.hash = l.hash as same from gateway.audit_tree_leaves l
      join gateway.audit_events e on e.chain = l.chain and e.seq = l.seq
    where l.position = ${size - 1} limit 1`.execute(db);
  const { rows } = await sql<{ waiting: number }>`
    select coalesce(sum(c.seq - greatest(added.seq, c.anchor_seq)), 0)::bigint as waiting
    from gateway.audit_chains c cross join lateral (
      select coalesce(max(l.seq), 0) as seq from gateway.audit_tree_leaves l where l.chain = c.chain) as added`.execute(
    db,
  );
  const [event] = last.rows;
  return {
    size,
    last: event === undefined ? 'dropped' : event.same ? 'same' : 'changed',
    newest: event?.at ?? null,
    waiting: rows[0]?.waiting ?? 0,
  };
};
