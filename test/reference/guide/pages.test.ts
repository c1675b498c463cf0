/** The guide over HTTP: its pages, their links, their Markdown, the events and the feed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { faultCodes } from '#src/contract/fault.ts';
import { root } from '../../support/program.ts';
import { withFlatSchemas } from '../examples/flat-schemas.ts';
import { startGatewayAlone } from '../gateway-alone.ts';
import { type Answer, createRead, findPages, idsOf, linksOf, textOf } from './read-guide.ts';

let gateway: Awaited<ReturnType<typeof startGatewayAlone>>;
let read: (path: string) => Promise<Answer>;
/** All that can be reached from /docs. */
let found: Map<string, Answer>;
/** The HTML of each page. */
let pages: [path: string, html: string][];

beforeAll(async () => {
  gateway = await startGatewayAlone();
  read = createRead(gateway.url);
  found = await findPages(read);
  pages = [...found].filter(([, { type }]) => type.startsWith('text/html')).map(([path, { text }]) => [path, text]);
});

afterAll(() => gateway?.stop());

const one = (html: string, pattern: RegExp): string => {
  const matches = [...html.matchAll(pattern)];
  expect(matches.length, String(pattern)).toBe(1);
  return textOf(matches[0]?.[1] ?? '');
};

test('A-320 every page has a title, a description, one first heading and the strict policy', () => {
  expect(pages.length).toBeGreaterThan(60);
  const titles = new Map<string, string>();
  for (const [path, html] of pages) {
    const { status, policy } = found.get(path) ?? { status: 0, policy: '' };
    expect([path, status]).toEqual([path, 200]);
    const title = one(html, /<title>([^<]*)<\/title>/g);
    expect([path, titles.get(title)]).toEqual([path, undefined]);
    titles.set(title, path);
    expect(one(html, /<meta name="description" content="([^"]*)">/g).length, path).toBeGreaterThan(10);
    one(html, /<h1\b[^>]*>([\s\S]*?)<\/h1>/g);
    expect(policy).toContain("default-src 'self';");
    expect(policy).not.toContain('unsafe');
    expect(html, path).not.toMatch(/<style|\sstyle=|<script(?! src="\/docs\/assets\/)|\son[a-z]+="|\{\{[a-z-]+\}\}/);
  }
});

test('A-320 the addresses from before the guide have the same pages', () => {
  const addresses = ['/docs', '/docs/errors', '/docs/webhooks', '/docs/callers', '/docs/cells', '/docs/changelog'];
  for (const path of addresses) expect([path, found.get(path)?.status]).toEqual([path, 200]);
  const ids = idsOf(found.get('/docs/errors')?.text ?? '');
  for (const code of faultCodes) expect(ids).toContain(code);
});

test('A-321 every link of a page leads to a page and to an anchor that exist', async () => {
  const broken: string[] = [];
  const others = new Map<string, number>();
  for (const [path, html] of pages) {
    const ids = idsOf(html);
    expect([path, ids.filter((id, index) => ids.indexOf(id) !== index)]).toEqual([path, []]);
    for (const href of linksOf(html)) {
      if (/^(https?:|mailto:)/.test(href)) continue;
      const [target = '', anchor = ''] = href.split('#');
      const page = target === '' ? html : found.get(target)?.text;
      if (page === undefined) {
        if (!others.has(target)) others.set(target, (await read(target)).status);
        // A page for users of the panel, which needs a session.
        if (![200, 302, 303].includes(others.get(target) ?? 0)) broken.push(`${path}: ${href}`);
      } else if (anchor !== '' && !anchor.startsWith('/') && !idsOf(page).includes(anchor))
        broken.push(`${path}: ${href}`);
    }
  }
  expect(broken).toEqual([]);
  expect(others.size).toBeGreaterThan(20);
});

test('A-322 every page is Markdown at its address with .md, and /llms.txt lists it with its summary', async () => {
  const list = await read('/llms.txt');
  expect([list.status, list.type]).toEqual([200, 'text/markdown; charset=utf-8']);
  expect(list.text).toMatch(/^# Orderpass\n\n> .+\n/);
  const listed = [...list.text.matchAll(/^- \[([^\]]+)\]\((\S+)\): (.+)$/gm)].map(
    ([, title, url = '', summary = '']) => ({
      title,
      path: new URL(url).pathname,
      summary,
    }),
  );
  for (const [path, html] of pages) {
    if (['/docs', '/docs/search'].includes(path)) continue;
    const markdown = await read(`${path}.md`);
    expect([path, markdown.status, markdown.type]).toEqual([path, 200, 'text/markdown; charset=utf-8']);
    const title = /^# (.+)$/m.exec(markdown.text)?.[1]?.replaceAll('`', '');
    expect(textOf(one(html, /<title>([^<]*)<\/title>/g))).toBe(`${title} · Orderpass`);
    expect(markdown.text).not.toMatch(/\{\{[a-z-]+\}\}|\{#/);
    const entry = listed.find((listing) => listing.path === `${path}.md`);
    expect([path, entry?.title, (entry?.summary.length ?? 0) > 10]).toEqual([path, title, true]);
  }
  const full = (await read('/llms-full.txt')).text.replaceAll('`', '');
  expect(listed.filter(({ path, title }) => path.endsWith('.md') && !full.includes(`# ${title}\n`))).toEqual([]);
});

test('A-322 the reference as Markdown has every operation with its parameters, and every object of a body or an answer', async () => {
  const { text } = await read('/docs/reference.md');
  const document = JSON.parse((await read('/api/openapi.json')).text);
  const headings = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `## ${method.toUpperCase()} ${path}\n`),
  );
  expect(headings.length).toBeGreaterThan(40);
  expect(headings.filter((heading) => !text.includes(`\n${heading}`))).toEqual([]);
  const section = text.split('## POST /api/webhook/create\n')[1]?.split('\n## ')[0] ?? '';
  for (const part of [
    '`webhook.create`',
    '`write:webhooks`',
    '2 units',
    '| `Idempotency-Key` |',
    '| `url` |',
    '| `secret` |',
  ])
    expect(section).toContain(part);
  const linked = new Set([...text.matchAll(/\]\(#(\w+)\)/g)].map(([, name]) => name));
  expect(linked.size).toBeGreaterThan(20);
  expect([...linked].filter((name) => !text.includes(`\n### ${name}\n`))).toEqual([]);
});

test('A-322 the Markdown of a page has what the program adds to it', async () => {
  const { text: errors } = await read('/docs/errors.md');
  for (const code of faultCodes) expect(errors).toContain(`#### \`${code}\`\n`);
  const { text: webhooks } = await read('/docs/webhooks.md');
  expect(webhooks).toContain(readFileSync(join(root, 'src/app/reference/snippets/verify/verify.py'), 'utf8').trimEnd());
});

test('A-324 every event has a page with its moment, its headers, every member of its body and an example', async () => {
  const document = withFlatSchemas(JSON.parse((await read('/api/openapi.json')).text));
  const events = Object.keys(document.webhooks);
  expect(events.length).toBeGreaterThan(10);
  const catalogue = found.get('/docs/events')?.text ?? '';
  for (const event of events) {
    expect(catalogue).toContain(`href="/docs/events/${event}"`);
    const page = found.get(`/docs/events/${event}`)?.text ?? '';
    const { post } = document.webhooks[event];
    expect(textOf(page)).toContain(post.summary);
    for (const header of ['webhook-id', 'webhook-signature', 'X-Orderpass-Signature'])
      expect(page).toContain(`<code>${header}</code>`);
    const { schema, example } = post.requestBody.content['application/json'];
    expect(textOf(page)).toContain(JSON.stringify(example, null, 2));
    const waiting = [schema];
    const seen = new Set<unknown>();
    for (const one of waiting) {
      const target = one.$ref === undefined ? one : document.components.schemas[one.$ref.split('/').at(-1)];
      if (seen.has(target)) continue;
      seen.add(target);
      for (const name of Object.keys(target.properties ?? {})) expect(page).toContain(`<code>${name}</code>`);
      waiting.push(
        ...Object.values(target.properties ?? {}),
        ...(target.anyOf ?? []),
        ...(target.items ? [target.items] : []),
      );
    }
  }
});

test('A-325 the feed of the changelog has an entry for each release, which leads to its changes', async () => {
  const feed = await read('/docs/changelog.atom');
  expect([feed.status, feed.type]).toEqual([200, 'application/atom+xml; charset=utf-8']);
  const changelog = readFileSync(join(root, 'src/app/reference/changelog.md'), 'utf8');
  const versions = [...changelog.matchAll(/^## \[(\d[^\]]*)\] - (\S+)$/gm)];
  expect(versions.length).toBeGreaterThan(0);
  expect(feed.text.match(/<entry>/g)?.length).toBe(versions.length);
  const page = found.get('/docs/changelog')?.text ?? '';
  for (const [, version = '', date = ''] of versions) {
    expect(feed.text).toContain(`/docs/changelog#${version}</id>`);
    expect(feed.text).toContain(`<updated>${date}T00:00:00Z</updated>`);
    expect(idsOf(page)).toContain(version);
  }
  expect(page).toContain('type="application/atom+xml"');
  // Elements are closed in their order, and no character stands for itself that begins one.
  const open: string[] = [];
  for (const [, end, name = '', empty] of feed.text
    .replace(/^<\?xml.*\?>/, '')
    .matchAll(/<(\/?)([a-z]+)[^<>]*?(\/?)>/g)) {
    if (end === '/') expect(open.pop()).toBe(name);
    else if (empty !== '/') open.push(name);
  }
  expect(open).toEqual([]);
  expect(feed.text).not.toMatch(/&(?!(lt|gt|quot|amp|#39);)/);
});

test('A-326 every section of the documents for operators is on a page, with links between the pages', () => {
  const readme = readFileSync(join(root, 'config/README.md'), 'utf8');
  const titles = pages
    .filter(([path]) => path.startsWith('/docs/operate/'))
    .map(([, html]) => one(html, /<h1\b[^>]*>([\s\S]*?)<\/h1>/g));
  const sections = [...readme.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading.replaceAll('`', ''));
  expect(sections.length).toBeGreaterThan(15);
  const words = titles.map((title) => title.replaceAll(/<[^>]*>/g, ''));
  for (const section of sections) expect(words).toContain(section);
  const settings = textOf(found.get('/docs/operate/settings')?.text ?? '');
  for (const name of ['ORDERPASS_ORIGIN', 'DATABASE_URL', 'ORDERPASS_MASTER_KEY']) expect(settings).toContain(name);
  expect(found.get('/docs/operate')?.text).toContain(
    '<a href="/docs/operate/deployment"><code>config/deployment.md</code></a>',
  );
});
