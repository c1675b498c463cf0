/** RFC 8417: the form of a security event token. */
import { decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin } from '../../gateway/harness/public-door.ts';
import { event, openSsfHarness, type SsfHarness } from './ssf-harness.ts';

let harness: SsfHarness;

beforeAll(async () => {
  harness = await openSsfHarness();
});

afterAll(() => harness.close());

test('A-418 RFC 8417 2: an event has type, key, iss, jti, iat, aud, txn and sub_id, and neither exp nor sub', async () => {
  const receiver = await harness.receiver();
  const stream = await receiver.createStream();
  await harness.credentials.quarantine('client', receiver.clientId, 'unusual calls');
  await harness.credentials.reactivate('client', receiver.clientId, 'checked');
  const { json } = await receiver.call('POST', `/api/oauth/signals/poll?stream_id=${stream}`, { maxEvents: 1 });
  const [[jti, text] = ['', '']] = Object.entries(json.sets as Record<string, string>);
  const kid = harness.jwks.keys[0]?.kid;
  expect(decodeProtectedHeader(text)).toEqual({ alg: 'RS256', typ: 'secevent+jwt', kid });
  const { iat, txn, ...claims } = await receiver.verify(text);
  expect(Math.abs((iat ?? 0) - Date.now() / 1000)).toBeLessThan(60);
  expect(txn).toMatch(/^txn_/);
  expect(claims).toEqual({
    iss: origin,
    aud: receiver.clientId,
    jti,
    sub_id: { format: 'iss_sub', iss: origin, sub: receiver.clientId },
    events: {
      [event('session-revoked')]: {
        event_timestamp: expect.any(Number),
        initiating_entity: 'system',
        reason_admin: { en: 'unusual calls' },
      },
    },
  });
  expect(json.moreAvailable).toBe(true);
});
