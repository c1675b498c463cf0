/** Serves public pages and documents of other parts, without reading any credential (interface 4.3). */
import { createHash } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { type Compression, createCompressed } from '#src/platform/http/compressed-body.ts';
import { methodNotAllowed } from '../model/faults.ts';

type PageHead = { type: string; headers?: Readonly<Record<string, string>> };

/**
 * A function makes the body once, with the first request: most starts serve no such request. With `version` it makes the body anew
 * when that has changed.
 */
type FixedPage = PageHead & { body: string | Buffer | (() => string | Buffer); version?: () => string };

/** Its body is made for each request, so the page bounds the cost, and is sent without compression. */
type QueryPage = PageHead & { bodyFor: (query: URLSearchParams) => Promise<string> };

export type Page = FixedPage | QueryPage;

/** The body of a page, or undefined when it depends on a query. */
export const bodyOf = (page: Page): string | Buffer | undefined => {
  if (!('body' in page)) return undefined;
  return typeof page.body === 'function' ? page.body() : page.body;
};

const methods = 'GET, HEAD, OPTIONS';

/** Serves exact paths; calls `next` for unknown ones. */
export const createServePages = (pages: () => ReadonlyMap<string, Page>): Middleware => {
  const forms = new WeakMap<Page, { formIn: FormIn; version: string | undefined }>();
  const formsOf = (page: FixedPage): FormIn => {
    const version = page.version?.();
    const known = forms.get(page);
    if (known !== undefined && known.version === version) return known.formIn;
    const formIn = createForms(page.body);
    forms.set(page, { formIn, version });
    return formIn;
  };
  const formOf = async (page: Page, ctx: Context): Promise<Form> => {
    if (!('bodyFor' in page)) return formsOf(page)(wishOf(ctx));
    const body = await page.bodyFor(new URLSearchParams(ctx.querystring));
    return { encoding: 'identity', body, tag: `"${tagOf(body)}"` };
  };
  return async (ctx, next) => {
    const page = pages().get(ctx.path);
    if (page === undefined) return next();
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set('allow', methods);
      return;
    }
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw methodNotAllowed(methods);
    const { encoding, body, tag } = await formOf(page, ctx);
    ctx.status = 200;
    ctx.set({ 'content-type': page.type, 'cache-control': 'public, max-age=300', ...page.headers });
    ctx.set({ etag: tag, vary: 'accept-encoding' });
    if (encoding !== 'identity') ctx.set('content-encoding', encoding);
    // A browser revalidates after five minutes and need not load megabytes again.
    if (ctx.fresh) ctx.status = 304;
    else ctx.body = body;
  };
};

type Encoding = Compression | 'identity';
type FormIn = (wish: Encoding) => Promise<Form>;
type Form = { encoding: Encoding; body: string | Buffer; tag: string };

/** The smallest encoding that the caller accepts, whatever it prefers. */
const wishOf = (ctx: Context): Encoding =>
  ctx.acceptsEncodings('br') === 'br' ? 'br' : ctx.acceptsEncodings('gzip') === 'gzip' ? 'gzip' : 'identity';

/** Compressing a smaller body saves no packet. */
const bytesMin = 1024;

const createForms = (source: FixedPage['body']): FormIn => {
  const body = typeof source === 'function' ? source() : source;
  const tag = tagOf(body);
  const plain: Form = { encoding: 'identity', body, tag: `"${tag}"` };
  const bytes = Buffer.from(body);
  const compressed = createCompressed(bytes);
  return async (wish) => {
    if (wish === 'identity' || bytes.length < bytesMin) return plain;
    return { encoding: wish, body: await compressed(wish), tag: `"${tag}-${wish}"` };
  };
};

const tagOf = (body: string | Buffer): string => createHash('sha256').update(body).digest('base64url').slice(0, 22);
