/** Writes HTML, redirects and downloads. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Answer } from '../page/answer.ts';
import { type Html, markupOf } from '../page/html.ts';
import { isHtmx, type PanelContext } from './state.ts';

export const writeHtml = (ctx: PanelContext, body: Html, status: number, cookies: readonly string[] = []): void => {
  const markup = markupOf(body);
  setCookies(ctx, cookies);
  ctx.set({ 'content-type': 'text/html; charset=utf-8', vary: 'HX-Request' });
  ctx.status = status;
  ctx.body = markup;
};

/**
 * htmx would put the redirect's target into a part of the page; the header hx-redirect makes it load the whole page.
 */
export const writeRedirect = (ctx: PanelContext, to: string, cookies: readonly string[] = []): void => {
  setCookies(ctx, cookies);
  ctx.set(isHtmx(ctx) ? 'hx-redirect' : 'location', to);
  writeEmpty(ctx, isHtmx(ctx) ? 200 : 303);
};

export const writeEmpty = (ctx: PanelContext, status: number): void => {
  ctx.status = status;
  ctx.body = '';
  ctx.remove('content-type');
};

/**
 * Resolves when the file is sent, the client has left, or `mayGoOn` says no before a part of the body: then the connection breaks off,
 * or the client would take the part for the whole. Rejects when the body fails; the head has been sent then.
 */
export const writeFile = async (
  ctx: PanelContext,
  { name, type, body }: Extract<Answer, { kind: 'file' }>,
  mayGoOn: () => Promise<boolean>,
): Promise<void> => {
  const safe = name.replaceAll(/[^\w.-]/g, '_');
  ctx.set({ 'content-type': type, 'content-disposition': `attachment; filename="${safe}"` });
  ctx.status = 200;
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    ctx.body = body;
    return;
  }
  // Koa would answer a body that fails before its first byte with a text without the panel's headers.
  ctx.respond = false;
  ctx.flushHeaders();
  if (ctx.method === 'HEAD') ctx.res.end();
  else await pipeline(Readable.from(whileAllowed(body, mayGoOn)), ctx.res).catch(unlessEnded);
};

class NotAllowed extends Error {}

async function* whileAllowed<T>(body: AsyncIterable<T>, mayGoOn: () => Promise<boolean>): AsyncGenerator<T> {
  for await (const part of body) {
    if (!(await mayGoOn())) throw new NotAllowed('the download may not go on');
    yield part;
  }
}

const unlessEnded = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE' && !(error instanceof NotAllowed)) throw error;
};

/** `ctx.cookies.set` would write Expires instead of Max-Age, and refuse Secure behind a proxy that ends TLS. */
const setCookies = (ctx: PanelContext, cookies: readonly string[]): void => {
  if (cookies.length > 0) ctx.set('set-cookie', [...cookies]);
};
