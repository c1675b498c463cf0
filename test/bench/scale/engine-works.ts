/** One dispatch and one claim of the webhook engine, and searches of the audit, as the program does them, in this process. */
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { sql } from 'kysely';
import { searchAudit } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { recordEvent } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { createLog } from '#src/platform/log.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createPoll } from '#src/platform/wake.ts';
import { claim } from '#src/webhooks/deliver/claim.ts';
import type { Leased } from '#src/webhooks/deliver/leased.ts';
import { createDispatch } from '#src/webhooks/dispatch/dispatch.ts';
import { looking } from '#src/webhooks/pacing/bounds.ts';
import { createSlots } from '#src/webhooks/pacing/slots.ts';
import { openLoop } from '#src/webhooks/queue/loop-connection.ts';
import { timeOf } from './compare.ts';
import type { ScaledStore } from './open-scaled-store.ts';

const log = createLog({ level: 'error', role: 'bench' });

export type Engine = {
  /** Milliseconds from the commit of an event until its delivery is there. */
  dispatch: () => Promise<number>;
  /** Leases what `dispatch` made, of the endpoint with a tenth of all deliveries that wait. */
  claim: () => Promise<{ ms: number; leased: number }>;
  /** Finishes what was leased, so that neither store has a backlog that is due. */
  finish: () => Promise<void>;
  close: () => Promise<void>;
};

/** A dispatcher without the fast path, so that each delivery is claimed. */
export const openEngine = async ({ db, store, restuid }: ScaledStore): Promise<Engine> => {
  const made = new EventEmitter();
  const ended = new AbortController();
  const { service } = createDispatch({
    ...{ pool: store.pool, clock: systemClock, fastPath: undefined, queuesCount: 1 },
    onDeliveries: () => void made.emit('deliveries'),
    poll: createPoll({ pollMs: looking.everyMs, quietMs: looking.everyMs }),
  });
  const running = supervise([service], ended.signal, log);
  const loop = await openLoop(store.pool);
  const slots = createSlots({ slotsMax: 100, slowSlotsMax: 300, perEndpointMax: 10, slowMs: 5_000, shortMs: 1_000 });
  const dispatch = async (): Promise<number> => {
    const arrived = once(made, 'deliveries');
    let startedAt = 0;
    await inTransaction(db, async (tx) => {
      const entity = newId('cus');
      await recordEvent(tx, {
        ...{ tenant: restuid, kind: 'customers', event: 'customer.changed', entity, seq: 1, created: new Date() },
        ...{ object: 'customer', value: () => ({ uid: entity }) },
      });
      startedAt = performance.now();
    });
    await arrived;
    return performance.now() - startedAt;
  };
  const leased: Leased[] = [];
  const claimDue: Engine['claim'] = async () => {
    const startedAt = performance.now();
    const { deliveries } = await claim(loop.db, systemClock.now(), slots, randomUUID());
    const ms = performance.now() - startedAt;
    for (const { delivery, slot } of deliveries) {
      leased.push(delivery);
      slot.release(undefined);
    }
    return { ms, leased: deliveries.length };
  };
  const finish = async (): Promise<void> => {
    for (const { eventId, uid } of leased.splice(0))
      await sql`
        update webhooks.deliveries set state = 'succeeded', finished = now(), next_attempt_at = null, lease_token = null,
          lease_until = null
        where event_id = ${eventId} and uid = ${uid}`.execute(db);
  };
  // The first one opens connections.
  await dispatch();
  await claimDue();
  return {
    dispatch,
    claim: claimDue,
    finish,
    close: async () => {
      ended.abort();
      await running;
      loop.release();
    },
  };
};

/** Of the values of support/grown/grown-audit.ts: what nearly all events have, and what few have. */
export const auditSearches: Readonly<Record<string, (store: ScaledStore) => Promise<number>>> = Object.fromEntries(
  [
    ['newest', {}],
    ['of one client', { client: 'opc_most' }],
    ['of a rare key', { credential: 'opk_rare' }],
    ['of an address, refused', { address: '198.51.100.8', outcome: 'failure' as const }],
    ['of a request', { requestId: 'till-rare' }],
  ].map(([name, filter]) => [
    `audit search, ${name}`,
    ({ db, box }: ScaledStore): Promise<number> =>
      timeOf(() =>
        searchAudit({ db, box, clock: systemClock, actor: 'bench' }, { filter: filter as object, limit: 50 }),
      ),
  ]),
);
