import { afterAll, beforeAll, expect, test } from 'vitest';
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { describedSelfOperations } from '#src/gateway/index.ts';
import {
  openDoor,
  type PublicDoor,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../gateway/harness/public-door.ts';
import { until } from '../support/until.ts';

const described = describedSelfOperations(readRouteTable(routesFileOf({})).tenantWords);
let upstream: TestUpstream;
let door: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url);
});

afterAll(async () => {
  await door?.close();
  await upstream?.close();
});

test('A-047 A-125 the answer of whoami is exactly what the reference describes, for each kind of credential', async () => {
  const type = described.find(({ id }) => id === 'whoami')?.answer;
  for (const headers of [door.asKey, door.asClient, door.asBearer]) {
    const { status, json } = await sendRequest(door.url, 'GET', '/api/whoami', { headers });
    expect(status).toBe(200);
    const { success, ...members } = json;
    expect(success).toBe(true);
    expect(type?.parse(members)).toEqual(members);
  }
});

test('A-047 A-126 a denial is exactly what the reference describes', async () => {
  const headers = await door.clientWith(['read:orders']);
  const refused = await sendRequest(door.url, 'GET', '/api/menu/categories', { headers });
  expect(refused.status).toBe(403);
  const type = described.find(({ id }) => id === 'whoami.denial')?.answer;
  const { json } = await sendRequest(door.url, 'GET', `/api/whoami/denials/${refused.json.request_id}`, { headers });
  const { success, ...members } = json;
  expect(success).toBe(true);
  expect(type?.parse(members)).toEqual(members);
});

test('A-047 A-290 A-296 the lists of own requests and the use of limits are exactly what the reference describes', async () => {
  const headers = await door.clientWith(['read:orders']);
  await sendRequest(door.url, 'GET', '/api/menu/categories', { headers });
  for (const [id, path] of [
    ['whoami.requests', '/api/whoami/requests'],
    ['whoami.usage', '/api/whoami/usage'],
  ]) {
    const type = described.find((one) => one.id === id)?.answer;
    const answer = async () => (await sendRequest(door.url, 'GET', `${path}`, { headers })).json;
    await until(async () => ((await answer()).requests ?? (await answer()).hours).length > 0);
    const { success, ...members } = await answer();
    expect(success).toBe(true);
    expect(type?.parse(members)).toEqual(members);
  }
});
