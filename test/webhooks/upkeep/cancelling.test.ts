import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { disableEndpoint } from '#src/webhooks/endpoints/endpoint-store.ts';
import { updateEndpoint } from '#src/webhooks/endpoints/endpoints.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine, tenant } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

test('A-654 an endpoint that is enabled again gets events while the deliveries of 100 others cannot be cancelled yet', async () => {
  const uids: string[] = [];
  for (let index = 0; index < 101; index += 1) {
    const owner = { kind: 'api_client', id: `opc_${index}` } as const;
    uids.push((await engine.addEndpoint(receiver.url, { owner })).endpointUid);
  }
  const last = uids.sort().at(-1) ?? '';
  // The first attempt of each delivery fails, and it waits for the next one.
  receiver.behave(status(500));
  const stop = engine.startWorker();
  await engine.record({ entity: 'cus_old', seq: 1 });
  await until(async () => (await engine.deliveries()).filter((row) => row.attempts_count === 1).length === 101);
  await stop();
  const anHourAhead = new Date(engine.clock.now().getTime() + 3_600_000);
  await sql`
    update webhooks.deliveries set lease_token = 'wrk_other.1', lease_until = ${anHourAhead}
    where endpoint_uid <> ${last}`.execute(engine.db);
  await inTransaction(engine.db, async (tx) => {
    for (const uid of uids) await disableEndpoint(tx, uid, 'owner', engine.clock.now());
  });
  await inTransaction(engine.db, (tx) =>
    updateEndpoint(tx, { tenant, client: undefined }, last, { enabled: true }, engine.clock.now()),
  );
  receiver.behave(status(204));
  await engine.record({ entity: 'cus_new', seq: 1 });
  engine.startWorker();
  await until(() => receiver.received.some(({ body }) => body.includes('cus_new')), 20_000);
  const { rows } = await sql<{ state: string }>`
    select state from webhooks.deliveries where endpoint_uid = ${last} order by position`.execute(engine.db);
  expect(rows[0]?.state).toBe('cancelled');
  const others = (await engine.deliveries()).filter((row) => row.entity === 'cus_old' && row.state === 'pending');
  expect(others).toHaveLength(100);
});
