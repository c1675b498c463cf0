import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '#src/platform/clock.ts';
import { mountOperations } from '#src/platform/http/mount-operations.ts';
import { operation } from '#src/platform/http/operation.ts';

/** Characters of one, two, three and four bytes, four million in all. */
const json = JSON.stringify({ text: 'aè€😀'.repeat(800_000) });

const large = operation({
  method: 'GET',
  path: '/large',
  summary: 'A large answer',
  hasTenant: false,
  params: z.object({}),
  answer: z.object({ text: z.string() }),
  handle: async () => ({ json }),
});

const caller = { kind: 'api_client' as const, id: 'opc_test', tenants: [], tenants_disabled: [], scopes: [] };
// Never asked.
const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: new pg.Pool() }) });
const app = new Koa();
app.use(mountOperations([large], '/api', { db, clock: systemClock, verifyAssertion: () => caller }).routes());
const server = createServer(app.callback()).listen(0, '127.0.0.1');
afterAll(() => server.close());

test('an answer that leaves in slices arrives byte for byte, with its length, and no character is cut in two', async () => {
  if (!server.listening) await once(server, 'listening');
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/large`);
  const text = await answer.text();
  expect(text === json).toBe(true);
  expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(json)));
});
