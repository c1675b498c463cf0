/** Public pages and documents that others give: the gateway serves them without a look at any credential (interface 4.3). */
import { createHash } from 'node:crypto';
import type { Middleware } from 'koa';
import { methodNotAllowed } from './faults.ts';

export type Page = { type: string; body: string | Buffer; headers?: Readonly<Record<string, string>> };

const methods = 'GET, HEAD, OPTIONS';

/** Serves the path that is asked for exactly; passes on what it does not know. */
export const createServePages = (pages: ReadonlyMap<string, Page>): Middleware => {
  const tags = new Map([...pages].map(([path, { body }]) => [path, tagOf(body)]));
  return async (ctx, next) => {
    const page = pages.get(ctx.path);
    if (page === undefined) return next();
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set('allow', methods);
      return;
    }
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw methodNotAllowed(methods);
    ctx.status = 200;
    ctx.set({ 'content-type': page.type, 'cache-control': 'public, max-age=300', ...page.headers });
    ctx.set('etag', tags.get(ctx.path) ?? '');
    // A browser that has it asks again after five minutes and need not take megabytes once more.
    if (ctx.fresh) ctx.status = 304;
    else ctx.body = page.body;
  };
};

const tagOf = (body: string | Buffer): string =>
  `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
