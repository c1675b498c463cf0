/** How many of the addresses of a service a WebSocket or a request tries (interface 18). */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { upstreamPolicy } from '#src/gateway/model/upstream-policy.ts';
import { connectToUpstream } from '#src/gateway/upstream/addresses/connect-address.ts';
import { resolveUpstreams } from '#src/gateway/upstream/addresses/resolve-upstreams.ts';
import { createUpstream, type Upstream } from '#src/gateway/upstream/addresses/upstreams.ts';
import { until } from '../../support/until.ts';
import { openDoor, sendRequest, startRawUpstream } from '../harness/public-door.ts';

/** An upstream whose addresses all refuse; `tried` counts the attempts. */
const openRefusing = (count: number): { upstream: Upstream; tried: () => number } => {
  const addresses = Array.from({ length: count }, (_, i) => `http://127.0.0.${i + 1}:9`);
  const policies = { live: upstreamPolicy.parse({ addresses }) };
  const settings = { upstream_failures_max: 5, upstream_pause_ms_max: 1_000 };
  const [options] = resolveUpstreams(policies, {}, settings);
  if (options === undefined) throw new Error('no upstream');
  const made = createUpstream(options, 'https://api.example', pino({ level: 'silent' }));
  let tried = 0;
  const upstream = {
    ...made,
    addresses: made.addresses.map((address) => ({
      ...address,
      open: () => {
        tried += 1;
        return Promise.reject(new Error('refused'));
      },
    })),
  };
  return { upstream, tried: () => tried };
};

test('A-204 a handshake tries ten addresses at most, and none when its client is gone', async () => {
  const { upstream, tried } = openRefusing(30);
  await expect(connectToUpstream(upstream, () => false)).rejects.toThrow();
  expect(tried()).toBe(10);
  await expect(connectToUpstream(upstream, () => true)).rejects.toThrow();
  expect(tried()).toBe(10);
  await expect(connectToUpstream(upstream, () => tried() === 12)).rejects.toThrow();
  expect(tried()).toBe(12);
});

test('A-204 a plain request that reaches no address tries ten at most, whatever its method, and is 502 or 503', async () => {
  let tried = 0;
  // An end before the handshake of TLS: nothing of the request was sent.
  const dead = await Promise.all(
    Array.from({ length: 14 }, () =>
      startRawUpstream((socket) => {
        tried += 1;
        socket.destroy();
      }),
    ),
  );
  const addresses = dead.map(({ url }) => url.replace('http:', 'https:'));
  const door = await openDoor(undefined, { table: { upstreams: { ordering: { addresses } } } });
  try {
    for (const method of ['POST', 'GET']) {
      tried = 0;
      const path = method === 'GET' ? '/api/orders/list' : '/api/customer/create';
      const answer = await sendRequest(door.url, method, path, { headers: door.asKey });
      expect([method, tried]).toEqual([method, 10]);
      expect([502, 503]).toContain(answer.status);
    }
    // When every address is known to fail, the request can be sent again without a doubt.
    await until(
      async () => (await sendRequest(door.url, 'POST', '/api/customer/create', { headers: door.asKey })).status === 503,
    );
  } finally {
    await door.close();
    for (const one of dead) await one.close();
  }
});
