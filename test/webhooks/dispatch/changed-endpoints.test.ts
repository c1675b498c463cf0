import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { removeEndpoint, updateEndpoint } from '#src/webhooks/endpoints/endpoints.ts';
import { until } from '../../support/until.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine, tenant } from '../harness/engine.ts';

const viewer = { tenant, client: undefined };

const change = ({ db, clock }: Engine, uid: string, changes: Parameters<typeof updateEndpoint>[3]): Promise<unknown> =>
  inTransaction(db, (tx) => updateEndpoint(tx, viewer, uid, changes, clock.now()));

test('an event that is recorded after a change of an endpoint goes by the new settings, while the dispatcher remembers earlier ones', async () => {
  const engine = await startEngine();
  const [first, second] = [await startReceiver(), await startReceiver()];
  const recorded: { seq: number; first: number; second: number }[] = [];
  let seq = 0;
  /** Records one event of each kind and waits until its deliveries have ended. */
  const record = async (): Promise<void> => {
    seq += 1;
    await engine.record({ entity: 'cus_1', seq });
    await engine.record({ kind: 'orders', event: 'order.created', entity: 'ord_1', seq });
    await until(async () => {
      const { rows: undispatched } = await sql`select from outbox.waiting`.execute(engine.db);
      const states = (await engine.deliveries()).map(({ state }) => state);
      return undispatched.length === 0 && states.every((state) => state === 'succeeded');
    });
    recorded.push({ seq, first: first.received.length, second: second.received.length });
  };
  try {
    const { endpointUid: uid } = await engine.addEndpoint(first.url, { kinds: ['customers'] });
    engine.startWorker();
    await record();
    await change(engine, uid, { kinds: ['customers', 'orders'] });
    await record();
    await change(engine, uid, { url: second.url });
    await record();
    await change(engine, uid, { kinds: ['orders'] });
    await record();
    const { endpointUid: added } = await engine.addEndpoint(first.url, { kinds: ['customers'] });
    await record();
    await inTransaction(engine.db, (tx) => removeEndpoint(tx, viewer, added, engine.clock.now()));
    await record();
    expect(recorded).toEqual([
      { seq: 1, first: 1, second: 0 },
      { seq: 2, first: 3, second: 0 },
      { seq: 3, first: 3, second: 2 },
      { seq: 4, first: 3, second: 3 },
      { seq: 5, first: 4, second: 4 },
      { seq: 6, first: 4, second: 5 },
    ]);
  } finally {
    await engine.close();
    await Promise.all([first.close(), second.close()]);
  }
});
