/** What the audit knows of the use of a token at the endpoints of security events. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSsfHarness, pollMethod, type SsfHarness } from '../../rfc/ssf/ssf-harness.ts';
import { until } from '../../support/until.ts';

let harness: SsfHarness;

beforeAll(async () => {
  harness = await openSsfHarness();
});

afterAll(() => harness.close());

test('A-760 what a token does at the endpoints of streams is in the audit, with request, address and token', async () => {
  const receiver = await harness.receiver();
  const streamId = await receiver.createStream({ delivery: { method: pollMethod } });
  await receiver.poll(streamId);
  const rows = async () =>
    (
      await harness.door.database.pool.query(
        `select action, request_ids, address, token_id, route_id, count from gateway.audit_events
         where client_id = $1 and action in ('request.allowed', 'signals.changed') order by action`,
        [receiver.clientId],
      )
    ).rows;
  await until(async () => {
    const used = (await rows()).filter(({ action }) => action === 'request.allowed');
    return used.reduce((sum, { count }) => sum + Number(count), 0) === 2;
  });
  const found = await rows();
  const changed = found.find(({ action }) => action === 'signals.changed');
  expect(changed.request_ids).toHaveLength(1);
  for (const event of found)
    expect(event).toMatchObject({ route_id: 'signals', address: '127.0.0.1', token_id: changed.token_id });
  expect(changed.token_id).toEqual(expect.any(String));
  expect(found.flatMap((event) => (event === changed ? [] : event.request_ids))).toContain(changed.request_ids[0]);
});
