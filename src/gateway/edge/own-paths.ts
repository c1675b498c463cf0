/**
 * Paths that the gateway answers itself: health, the OAuth endpoints and the public documents. They are served by Koa, since
 * microseconds do not matter here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa, { type Middleware } from 'koa';
import type { WriteFault } from '../answer/write-answer.ts';
import { methodNotAllowed, noSuchOperation } from '../model/faults.ts';
import type { Refused } from '../oauth/oauth-answers.ts';
import { type Exchange, exchangeOf } from '../request/exchange.ts';
import { createServePages, type Page } from './pages.ts';
import type { Readiness } from './readiness.ts';

type OwnPathsDeps = {
  /** Answers /api/oauth/* and /.well-known/*; calls `next` for unknown paths. */
  oauth: Middleware;
  /** Answers reports of leaked credentials; calls `next` for other paths. */
  leakReports: Middleware;
  /** Those of the current route table. */
  pages: () => ReadonlyMap<string, Page>;
  /** The current route table has a route with this path. */
  hasRoute: (exchange: Exchange) => boolean;
  readiness: () => Promise<Readiness>;
  edgeHeaders: (requestId: string) => string[];
  /** Called for each answer made here. */
  answered: (exchange: Exchange, status: number) => void;
  /** Called for each refusal in the form of OAuth; writeFault counts the others. */
  refused: (refused: Refused) => void;
  writeFault: WriteFault;
};

export type OwnPaths = {
  owns: (exchange: Exchange) => boolean;
  serve: (exchange: Exchange) => void;
};

export const createOwnPaths = (deps: OwnPathsDeps): OwnPaths => {
  const app = new Koa();
  // The first middleware logs failures; Koa would print connections that break off.
  app.silent = true;
  app.use(async (ctx, next) => {
    const exchange = exchangeOf(ctx.req);
    if (exchange === undefined) throw new Error('a request bypassed the gateway');
    ctx.state.requestId = exchange.requestId;
    ctx.state.span = exchange.span;
    setHeaders(ctx.res, deps.edgeHeaders(exchange.requestId));
    try {
      // Koa reads some targets otherwise, such as one with a fragment, and would answer a path that does not exist.
      if (ctx.path !== exchange.path) throw noSuchOperation();
      await next();
      if (ctx.status === 404 && ctx.body === undefined && !ctx.res.headersSent) throw noSuchOperation();
      // Only paths that exist get here, so they are a bounded set.
      exchange.place = exchange.path;
      const refused = ctx.state.refused as Refused | undefined;
      if (refused !== undefined) {
        exchange.refusal = refused.code;
        deps.refused(refused);
      }
      deps.answered(exchange, ctx.status);
    } catch (thrown) {
      ctx.respond = false;
      for (const name of ctx.res.getHeaderNames()) if (!ctx.res.headersSent) ctx.res.removeHeader(name);
      deps.writeFault(exchange, thrown);
    }
  });
  app.use(createHealth(deps.readiness));
  app.use(createLeadOn(deps.pages));
  app.use(createServePages(deps.pages));
  app.use(deps.leakReports);
  app.use(deps.oauth);
  const handle = app.callback();
  return {
    owns: (exchange) =>
      exchange.path === '/'
        ? leadOf(deps.pages(), exchange.path, exchange.req) !== undefined && !deps.hasRoute(exchange)
        : isOwnPath(exchange.path),
    // The first middleware catches everything, so nothing is left to reject.
    serve: ({ req, res }) => void handle(req, res),
  };
};

const letterA = 97;
const letterD = 100;
const letterH = 104;
const letterL = 108;
const letterR = 114;
const dot = 46;

/**
 * The paths of `ownPathOf` (model/route-path.ts), but for the panel and `/auth/check`, which have handlers of their own. This
 * runs for each request, so it compares one character before it compares texts.
 */
const isOwnPath = (path: string): boolean => {
  switch (path.charCodeAt(1)) {
    case letterA:
      return path.startsWith('/api/oauth/') || path === '/api/openapi.json' || path === '/api/oauth';
    case letterD:
      return path === firstPage || path.startsWith('/docs/');
    case letterH:
      return path === '/healthz';
    case letterL:
      return path === '/llms.txt' || path === '/llms-full.txt';
    case letterR:
      return path === '/readyz';
    case dot:
      return path.startsWith('/.well-known/') || path === '/.well-known';
    default:
      return false;
  }
};

const firstPage = '/docs';

/**
 * Redirects for addresses that people type by hand: `/` without a route leads to the documents, for browsers only, since the
 * 404 of an unknown operation tells a program more; a page with a trailing slash leads to the page. Undefined: no redirect.
 */
const leadOf = (pages: ReadonlyMap<string, Page>, path: string, req: IncomingMessage): string | undefined => {
  if (req.method !== 'GET' && req.method !== 'HEAD') return undefined;
  if (path === '/') return pages.has(firstPage) && req.headers.accept?.includes('text/html') ? firstPage : undefined;
  const page = path.endsWith('/') ? path.slice(0, -1) : '';
  return pages.has(page) ? page : undefined;
};

const createLeadOn = (pages: OwnPathsDeps['pages']): Middleware => {
  return (ctx, next) => {
    const lead = leadOf(pages(), ctx.path, ctx.req);
    if (lead === undefined) return next();
    ctx.status = ctx.path === '/' ? 302 : 308;
    ctx.set({ location: lead + ctx.search, 'cache-control': 'no-store', vary: 'accept' });
    ctx.body = '';
  };
};

const setHeaders = (res: ServerResponse, headers: readonly string[]): void => {
  for (let i = 0; i + 1 < headers.length; i += 2) res.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
};

/** `/healthz`: the process answers. `/readyz`: traffic may be sent to it. */
const createHealth = (readiness: () => Promise<Readiness>): Middleware => {
  return async (ctx, next) => {
    if (ctx.path !== '/healthz' && ctx.path !== '/readyz') return next();
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
    ctx.set('cache-control', 'no-store');
    const found = ctx.path === '/healthz' ? ({ status: 'ok' } as const) : await readiness();
    ctx.status = found.status === 'unavailable' || found.status === 'draining' ? 503 : 200;
    if (ctx.status === 503) ctx.set('retry-after', '1');
    ctx.body = found;
  };
};
