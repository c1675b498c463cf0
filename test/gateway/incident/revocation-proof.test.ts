/** The proof of a revocation, while other gateways accept the credential for a moment longer. */
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRecorder } from '#src/gateway/audit/record/recorder.ts';
import { revokeTraced } from '#src/gateway/index.ts';
import { until } from '../../support/until.ts';
import { type Harness, openHarness, pick } from '../harness/gateway-harness.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

test('A-576 the proof of a revoked secret holds the events that ended it, however often other gateways accepted it meanwhile', async () => {
  const { box, clock } = harness;
  const { db, pool } = harness.database;
  const { client_id, client_secret } = pick(
    await harness.createClient([await harness.createTenant()], ['read:orders']),
  );
  const other = await openRecorder({ db, box, clock, log: pino({ level: 'silent' }), process: 'another' });
  const ended = new AbortController();
  const service = other.service.run(ended.signal);
  try {
    const revoked = revokeTraced({ db, box, clock, actor: 'cli:ada' }, client_secret);
    let secret: string | undefined;
    await until(async () => {
      const { rows } = await pool.query(
        `select credential_id from gateway.audit_events where action = 'secret.retired' and client_id = $1`,
        [client_id],
      );
      secret = rows[0]?.credential_id;
      return secret !== undefined;
    });
    for (let use = 0; use < 12; use += 1)
      await other.record({ action: 'token.issued', credential_id: secret ?? null, client_id });
    const { events } = await revoked;
    expect(events.map(({ action }) => action).toSorted()).toEqual([
      'client.tokens_revoked',
      'client.tokens_revoked',
      'secret.retired',
    ]);
  } finally {
    ended.abort();
    await service;
  }
});
