/** Deliveries that wait, in the proportions of a bad day. */
import { sql } from 'kysely';
import { idFloor, newId } from '#src/platform/ids.ts';
import type { Harness } from '../webhook-harness.ts';

const chunkMax = 100_000;
const endpointsCount = 100;

/**
 * Four in ten wait behind an earlier event of their entity, four in ten for their next attempt in an hour, at 100 endpoints
 * that fail. Two in ten are due now, at an endpoint that takes 5 s for each answer.
 */
export const addBacklog = async (harness: Harness, slowUrl: string, count: number): Promise<void> => {
  const failing = await Promise.all(
    Array.from({ length: endpointsCount }, (_, number) => harness.addEndpoint(`rst_failing_${number}`, slowUrl)),
  );
  const slow = await harness.addEndpoint('rst_slow', slowUrl);
  const failingUids = failing.map(({ uid }) => uid);
  for (let done = 0; done < count; done += chunkMax)
    await insertDeliveries(harness, {
      failingUids,
      slowUid: slow.uid,
      from: done,
      to: Math.min(count, done + chunkMax),
    });
  await sql`analyze webhooks.deliveries`.execute(harness.db);
};

type Chunk = { failingUids: string[]; slowUid: string; from: number; to: number };

/** Ids of this moment, so that they lie where today's deliveries lie. The first of ten of an entity is the one that is tried. */
const insertDeliveries = async ({ db }: Harness, { failingUids, slowUid, from, to }: Chunk): Promise<void> => {
  const [eventStem, deliveryStem] = [idFloor('evt', Date.now()), newId('dlv').slice(0, 18)];
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, body, state,
      next_attempt_at, created)
    select case when is_slow then 'rst_slow' else 'rst_failing_' || number % ${endpointsCount}::int end,
      ${deliveryStem} || lpad(number::text, 11, '0'), endpoint_uid, ${eventStem} || lpad(number::text, 16, '0'),
      'customer.changed', 'customers', 'cus_' || case when is_waiting then number - 1 else number end, number, number,
      repeat('x', 700), case when is_waiting then 'waiting' else 'pending' end,
      case when is_waiting then null when is_slow then now() else now() + interval '1 hour' end, now()
    from generate_series(${from}::int, ${to}::int - 1) as number
    cross join lateral (select number % 10 >= 8 as is_slow, number % 10 < 8 and number % 2 = 1 as is_waiting) as kind
    cross join lateral (
      select case when is_slow then ${slowUid} else (${failingUids}::text[])[number / 2 % ${endpointsCount}::int + 1] end
        as endpoint_uid
    ) as target`.execute(db);
};
