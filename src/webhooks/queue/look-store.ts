/**
 * One statement that says which loops of a worker have work. An idle worker asks it twice a second, in place of a statement or
 * a transaction of each loop. It reads the first entries of indexes, whose cost depends on no backlog.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { textArray } from '#src/platform/db/binary-array.ts';
import { isAnyWaiting } from '#src/platform/db/outbox/outbox-queue.ts';
import { quick, slow, unknown } from '../pacing/concurrency-limit.ts';

/** `version`: the transaction that wrote the row of the endpoint. */
export type EndpointVersion = { endpointUid: string; version: string };

export type Look<Version = EndpointVersion> = {
  isEventWaiting: boolean;
  isCancelling: boolean;
  isWithholding: boolean;
  isRedelivering: boolean;
  /** When the first endpoint is due, or was; null while none is scheduled. */
  dueAt: Date | null;
  /** Of `rightsVersion`; null without one. */
  rights: string | null;
  /** Of `versions`, those that are not current. */
  earlier: Version[];
};

export type LookAt = {
  /** Below it no event waits. */
  floor: number;
  /** A text that differs after every change of a right. */
  rightsVersion: RawBuilder<string> | undefined;
};

/** `versions`: of endpoints that the worker holds deliveries to. */
export const lookForWork = async <Version extends EndpointVersion>(
  db: Kysely<unknown>,
  { floor, rightsVersion }: LookAt,
  versions: readonly Version[],
): Promise<Look<Version>> => {
  const { rows } = await sql<Omit<Look, 'earlier'> & { earlierNumbers: number[] }>`
    select ${isAnyWaiting(floor)} as "isEventWaiting",
      exists (select from webhooks.endpoints where cancel_through is not null) as "isCancelling",
      exists (select from webhooks.endpoints where withheld_through is not null) as "isWithholding",
      exists (select from webhooks.redeliveries where state = 'running') as "isRedelivering",
      (select min(first.due_at) from unnest(${[quick, unknown, slow]}::smallint[]) as kind (class) cross join lateral (
        select due_at from webhooks.ready as turn where turn.class = kind.class and due_at < 'infinity'
        order by turn.class, due_at limit 1
      ) as first) as "dueAt",
      ${rightsVersion ?? sql`null::text`} as rights,
      array(
        select number::integer
        from unnest(${textArray(versions.map(({ endpointUid }) => endpointUid))}::text[],
          ${textArray(versions.map(({ version }) => version))}::text[]) with ordinality as held (uid, version, number)
        -- A subquery for each row reads the index by uid, also where the planner expects many rows.
        where (select xmin::text from webhooks.endpoints as endpoint where endpoint.uid = held.uid)
          is distinct from held.version
      ) as "earlierNumbers"`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('a look without a row');
  const { earlierNumbers, ...look } = row;
  const isEarlier = new Set(earlierNumbers);
  return { ...look, earlier: versions.filter((_, index) => isEarlier.has(index + 1)) };
};
