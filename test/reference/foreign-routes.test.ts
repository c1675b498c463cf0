import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, onTestFinished, test } from 'vitest';
import { createReference } from '#src/app/reference/reference.ts';
import { settingsSchema } from '#src/app/settings/config.ts';
import { openDoor, origin, routeFile, sendRequest, startUpstream } from '../gateway/harness/public-door.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is read member by member, and a wrong shape fails the assertion.
type Json = any;

test('a document that is read for the first time and again after a month has examples that are accepted on each day', async () => {
  const upstream = await startUpstream();
  const day = 24 * 3_600_000;
  let now = Date.parse('2026-05-01T10:00:00Z');
  const clock = { now: () => new Date(now) };
  const pages = createReference(settingsSchema.parse({}), origin, undefined, clock);
  const door = await openDoor(upstream.url, { pages });
  onTestFinished(async () => {
    await door.close();
    await upstream.close();
  });
  for (const days of [0, 1, 6, 24]) {
    now += days * day;
    for (const path of ['/api/openapi.json', '/docs/postman.json', '/docs/bruno.json']) {
      const { json } = await sendRequest(door.url, 'GET', path);
      const text = JSON.stringify(json).replaceAll('\\', '');
      const [, since = ''] = /"since":\s*"(2026-[^"]*)"/.exec(text) ?? [];
      const daysBack = (now - Date.parse(since)) / day;
      expect([path, daysBack > 0, daysBack < 29], since).toEqual([path, true, true]);
    }
  }
});

const documentWith = async (moreRoutes: Record<string, unknown>[]): Promise<Json> => {
  const upstream = await startUpstream();
  const pages = createReference(settingsSchema.parse({}), origin, undefined);
  const door = await openDoor(upstream.url, {
    pages,
    moreRoutes: moreRoutes.map((route) => ({ upstream: 'ordering', ...route })),
  });
  onTestFinished(async () => {
    await door.close();
    await upstream.close();
  });
  const { json } = await sendRequest(door.url, 'GET', '/api/openapi.json');
  const verdict = await new Validator().validate(structuredClone(json));
  expect(verdict.errors ?? []).toEqual([]);
  return json;
};

test('A-554 the document says what routes of an operator demand: sets of scopes, no credential, the cost, and any segment of a path', async () => {
  const [first = '', second = '', third = ''] = routeFile().scopes.map(({ name }) => name);
  const { paths } = await documentWith([
    {
      ...{ id: 'shops.close', method: 'POST', path: '/shops/{shopId}/days/{day2}', scopes: [first] },
      ...{ anyOf: [[second], [third]], limits: { cost: 5 } },
    },
    { id: 'stock', method: 'GET', path: '/stock', access: 'public' },
    { id: 'prices', method: 'GET', path: '/prices', access: 'optional', limits: { cost: 1 } },
  ]);
  const close = paths['/shops/{shopId}/days/{day2}'].post;
  expect(close.description).toContain(`Needs the scope \`${first} ${second}\` or \`${first} ${third}\`.`);
  expect(close.description).toContain('A request costs 5 units.');
  expect(close.security).toEqual(
    expect.arrayContaining([
      { bearer: [first, second] },
      { bearer: [first, third] },
      { clientId: [], clientSecret: [] },
    ]),
  );
  expect(close.security).not.toContainEqual({});
  const inPath = close.parameters.filter((one: Json) => one.in === 'path');
  expect(inPath.map(({ name }: Json) => name)).toEqual(['shopId', 'day2']);
  expect(inPath.map(({ schema }: Json) => schema)).toEqual([{ type: 'string' }, { type: 'string' }]);
  for (const { get } of [paths['/stock'], paths['/prices']]) {
    expect(get.security).toContainEqual({});
    expect(get.description).toContain('Needs no credential.');
  }
  expect(paths['/stock'].get.description).toContain('Rate class R: 1 unit.');
  expect(paths['/prices'].get.description).toContain('A request costs 1 unit.');
});

test('A-554 routes for everything below, and paths that differ by names of parameters, become paths that OpenAPI has', async () => {
  const { paths } = await documentWith([
    { id: 'files.all', method: ['GET', 'PUT'], path: '/files/*', scopes: [] },
    { id: 'files.one', method: 'GET', path: '/files/{file}', scopes: [] },
    { id: 'files.add', method: 'POST', path: '/files/{name}', scopes: [] },
    { id: 'copies', method: 'GET', path: '/copies/{rest}/*', scopes: [] },
    { id: 'boxes.any', method: '*', path: '/boxes', scopes: [] },
    { id: 'boxes.list', method: 'GET', path: '/boxes', scopes: [] },
  ]);
  // The gateway prefers a method that is named.
  expect(paths['/boxes'].get.operationId).toBe('boxes.list');
  const added = Object.keys(paths).filter((path) => path.startsWith('/files') || path.startsWith('/copies'));
  expect(added.toSorted()).toEqual(['/copies/{rest}/{rest2}', '/files/{file}']);
  const idsOf = (item: Json): string[] => Object.values<Json>(item).map(({ operationId }) => operationId);
  expect(idsOf(paths['/files/{file}']).toSorted()).toEqual(['files.add', 'files.all.put', 'files.one']);
  for (const operation of Object.values<Json>(paths['/files/{file}']))
    expect(operation.parameters.filter((one: Json) => one.in === 'path').map(({ name }: Json) => name)).toEqual([
      'file',
    ]);
  expect(paths['/files/{file}'].put.description).toContain('Also every path below.');
  const names = paths['/copies/{rest}/{rest2}'].get.parameters.map(({ name }: Json) => name);
  expect(names).toEqual(['rest', 'rest2']);
});

test('A-600 the document promises an Idempotency-Key for the operations of Orderpass only, because a service of an operator may ignore it', async () => {
  const { paths } = await documentWith([{ id: 'shops.close', method: 'POST', path: '/shops/close', scopes: [] }]);
  const key = { $ref: '#/components/parameters/IdempotencyKey' };
  const post = paths['/shops/close'].post;
  expect(post.parameters).toEqual([]);
  expect(Object.keys(post.responses[200].headers).toSorted()).toEqual(['RateLimit', 'RateLimit-Policy']);
  expect(Object.keys(post.responses)).not.toContain('422');
  expect(paths['/api/customer/create'].post.parameters).toContainEqual(key);
});
