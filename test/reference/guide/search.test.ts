/** The search of the guide without a script: /docs/search?q=… */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGatewayAlone } from '../gateway-alone.ts';
import { createRead, linksOf, textOf } from './read-guide.ts';

let gateway: Awaited<ReturnType<typeof startGatewayAlone>>;

beforeAll(async () => {
  gateway = await startGatewayAlone();
});

afterAll(() => gateway?.stop());

const resultsOf = async (query: string): Promise<{ status: number; html: string; links: string[] }> => {
  const { status, text } = await createRead(gateway.url)(`/docs/search?${new URLSearchParams({ q: query })}`);
  const html = /<div id="results">([\s\S]*?)<\/div>/.exec(text)?.[1] ?? '';
  return { status, html, links: linksOf(html) };
};

test('A-323 the best results are the pages, sections and operations that the words name, with the words marked', async () => {
  for (const [query, link] of [
    ['idempotency', '/docs/idempotency'],
    ['rotate secret', '/docs/webhooks#rotate-the-secret'],
    ['INSUFFICIENT_SCOPE', '/docs/errors#INSUFFICIENT_SCOPE'],
    ['previous_seq', '/docs/webhooks#order'],
    ['order.countdown_started', '/docs/events/order.countdown_started'],
    ['orders list', '/docs/reference#/Orders/orders.list'],
    ['ORDERPASS_DRAIN_MS', '/docs/operate/settings'],
    ['pgbouncer', '/docs/operate/pgbouncer'],
  ] as const) {
    const { status, html, links } = await resultsOf(query);
    expect([query, status]).toEqual([query, 200]);
    expect(links.length).toBeLessThanOrEqual(20);
    expect(
      links.slice(0, 8).map((found) => found.replace(/^(\/docs\/operate\/settings)#.*/, '$1')),
      query,
    ).toContain(link);
    expect(html).toContain('<mark>');
  }
  const [first] = (await resultsOf('Idempotency')).links;
  expect(first).toMatch(/^\/docs\/idempotency/);
  expect((await resultsOf('idempot')).links).toContain('/docs/idempotency');
});

test('A-323 a query is never markup, and one without a result, without words or of any length has an answer', async () => {
  const attack = '<img src=x onerror=alert(1)>"\'&token';
  const { text } = await createRead(gateway.url)(`/docs/search?${new URLSearchParams({ q: attack })}`);
  expect(text).not.toContain('<img');
  expect(textOf(/<input id="q"[^>]*value="([^"]*)"/.exec(text)?.[1] ?? '')).toBe(attack);
  // Code of the pages has characters of markup too.
  const { html } = await resultsOf('isascii isdigit');
  expect(html).toContain('&quot;');
  expect(html).not.toMatch(/<(?!\/?(?:a|strong|span|mark|li|ol|p)\b)/);
  expect((await resultsOf('zzzzqqqq')).html).toContain('Nothing was found');
  for (const empty of ['', '   ', '<>"', '…', '\0', '._.']) {
    const { status, links } = await resultsOf(empty);
    expect([empty, status, links]).toEqual([empty, 200, []]);
  }
  const long = await resultsOf(`token ${'x '.repeat(2000)}`);
  expect([long.status, long.html.includes('Only the first 100 characters were searched')]).toEqual([200, true]);
  const wide = await resultsOf('a b c d e f g h i j k l m n o p');
  expect(wide.status).toBe(200);
  for (const raw of ['/docs/search', '/docs/search?q=%', '/docs/search?q=%FF&q=b', '/docs/search?x=1'])
    expect((await createRead(gateway.url)(raw)).status).toBe(200);
});
