/** What src/platform/http/koa-router leans on in koa-router, beyond its documentation. */
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import Router from 'koa-router';
import { expect, test } from 'vitest';
import { matchedRouteOf } from '#src/platform/http/koa-router/matched-route.ts';

const changed = (what: string): string => `koa-router changed what src/platform/http/koa-router leans on: ${what}`;

test('the context keeps the path of the route that was matched, with its prefix and parameters', async () => {
  const seen: string[] = [];
  const router = new Router({ prefix: '/api' });
  router.get('/things/:uid', (ctx) => {
    ctx.body = 'thing';
  });
  router.get('/failing/:uid', () => {
    throw new Error('failed');
  });
  const app = new Koa();
  app.silent = true;
  app.use(async (ctx, next) => {
    try {
      await next();
    } finally {
      seen.push(matchedRouteOf(ctx));
    }
  });
  app.use(router.routes());
  const server = app.listen(0, '127.0.0.1');
  try {
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    for (const path of ['things/1', 'failing/1', 'elsewhere/1']) await fetch(`http://127.0.0.1:${port}/api/${path}`);
    expect(seen, changed('ctx._matchedRoute')).toEqual(['/api/things/:uid', '/api/failing/:uid', 'none']);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
