/** Bound tokens on routes of certain hosts (RFC 9449 section 4.3, interface 15). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeProof, newProofKey } from '../../support/proofs.ts';
import {
  openDoor,
  origin,
  type PublicDoor,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const key = newProofKey();
let upstream: TestUpstream;
let door: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  const route = { scopes: [], body: 'any', upstream: 'ordering' };
  const moreRoutes = [
    { ...route, id: 'hosted', path: '/hosted', hosts: ['partner.example', '*.partners.example'] },
    { ...route, id: 'plain', path: '/plain' },
  ];
  door = await openDoor(upstream.url, { moreRoutes, settings: { dpop: 'on' } });
});

afterAll(async () => {
  await door?.close();
  await upstream?.close();
});

test('A-246 the proof of a bound token names the host of the request on a route of hosts, and the public address elsewhere', async () => {
  const issued = await sendRequest(door.url, 'POST', '/api/oauth/token', {
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      dpop: await makeProof(key, { method: 'POST', url: `${origin}/api/oauth/token`, now: new Date() }),
    },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: door.asClient['x-client-id'] ?? '',
      client_secret: door.asClient['x-client-secret'] ?? '',
    }).toString(),
  });
  expect([issued.status, issued.json.token_type]).toEqual([200, 'DPoP']);
  const token = String(issued.json.access_token);
  const call = async (host: string, path: string, url: string): Promise<number> => {
    const dpop = await makeProof(key, { method: 'GET', url, now: new Date(), token });
    return (await sendRequest(door.url, 'GET', path, { headers: { host, authorization: `DPoP ${token}`, dpop } }))
      .status;
  };
  for (const host of ['partner.example', 'one.partners.example:8443'])
    expect(await call(host, '/hosted', `https://${host}/hosted`)).toBe(200);
  expect(await call('partner.example', '/hosted', `${origin}/hosted`)).toBe(401);
  expect(await call('partner.example', '/hosted', 'https://one.partners.example/hosted')).toBe(401);
  expect(await call('partner.example', '/plain', `${origin}/plain`)).toBe(200);
  expect(await call('partner.example', '/plain', 'https://partner.example/plain')).toBe(401);
});
