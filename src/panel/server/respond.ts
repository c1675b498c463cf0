/** Writes responses: HTML, redirects and downloads. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Html } from '../page/html.ts';
import { markupOf } from '../page/html.ts';

export type Responder = {
  html(body: Html, status: number, cookies?: readonly string[]): void;
  redirect(to: string, cookies?: readonly string[]): void;
  file(name: string, type: string, body: string | Buffer | AsyncIterable<string | Buffer>): Promise<void>;
};

export const createResponder = (
  request: IncomingMessage,
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
): Responder => {
  const send = (status: number, more: Record<string, string | string[]>, body: string): void => {
    const bytes = Buffer.byteLength(body);
    response.writeHead(status, { ...headers, ...more, 'content-length': bytes });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
  return {
    html: (body, status, cookies = []) =>
      send(
        status,
        { 'content-type': 'text/html; charset=utf-8', vary: 'HX-Request', ...setCookies(cookies) },
        markupOf(body),
      ),
    // htmx would put the redirect's target into a part of the page; the header hx-redirect makes it load the whole
    // page.
    redirect: (to, cookies = []) =>
      isHtmx(request)
        ? send(200, { 'hx-redirect': to, ...setCookies(cookies) }, '')
        : send(303, { location: to, ...setCookies(cookies) }, ''),
    file: async (name, type, body) => {
      const safe = name.replaceAll(/[^\w.-]/g, '_');
      response.writeHead(200, {
        ...headers,
        'content-type': type,
        'content-disposition': `attachment; filename="${safe}"`,
      });
      if (request.method === 'HEAD') response.end();
      else if (typeof body === 'string' || Buffer.isBuffer(body)) response.end(body);
      else await pipeline(Readable.from(body), response);
    },
  };
};

export const isHtmx = (request: IncomingMessage): boolean => request.headers['hx-request'] === 'true';

const setCookies = (cookies: readonly string[]): Record<string, string[]> =>
  cookies.length === 0 ? {} : { 'set-cookie': [...cookies] };
