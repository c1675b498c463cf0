/**
 * The guide: every page below /docs as HTML in one frame and as Markdown, the search, the feed of the changelog, and the lists for
 * language models (llmstxt.org). Pages are rendered with their first request.
 */
import { readFileSync } from 'node:fs';
import type { Page } from '#src/gateway/index.ts';
import { cellTables } from './content/cell-tables.ts';
import { changelogFeed, changelogPage } from './content/changelog.ts';
import { createDocumentLinks, readDocumentPages } from './content/document-pages.ts';
import { errorCodes } from './content/error-codes.ts';
import { type EventEntry, eventPages, eventTable } from './content/event-pages.ts';
import type { GuidePage } from './content/guide-page.ts';
import { type OrderedArea, orderPages } from './content/order-pages.ts';
import { referenceMarkdown } from './content/reference-text.ts';
import { fenceOf, readSnippet, snippetTabs } from './content/snippets.ts';
import { readWrittenPages } from './content/written-pages.ts';
import { createFrame, markdownPath } from './frame/frame.ts';
import { homeBody, homeMarkdown } from './frame/home.ts';
import { llmsText } from './frame/llms.ts';
import { referenceBody, referenceHead } from './frame/reference-body.ts';
import { areaOrder, documentSources, guideSummary, guideTitle } from './guide-pages.ts';
import { lazy } from './lazy.ts';
import { type Rendered, renderMarkdown, withoutIds } from './markdown/render-markdown.ts';
import { resultsOf } from './search/results.ts';
import { createSearchIndex } from './search/search-index.ts';
import { sectionsOfOperations, sectionsOfPage } from './search/sections.ts';

type GuideOptions = {
  origin: string;
  hasPanel: boolean;
  signatureHeader: string;
  events: readonly EventEntry[];
};

type Json = Record<string, unknown>;

/** Reads the texts; the result makes the pages for a route table, of which it takes the OpenAPI document. */
export const createGuide = (options: GuideOptions): ((document: () => Json) => [string, Page][]) => {
  const written = readWrittenPages({ includes: includesOf(options.events), signatureHeader: options.signatureHeader });
  const texts = [...written, changelogPage(), ...readDocumentPages(documentSources)];
  return (document) => pagesOf(options, [...texts, ...eventPages(options.events, document)], document);
};

const includesOf = (events: readonly EventEntry[]) => ({
  errors: errorCodes,
  events: () => eventTable(events),
  'verify-snippets': () => snippetTabs('verify'),
  'message-snippet': () => snippetTabs('message'),
  'caller-snippets': () => snippetTabs('caller', { mjs: 'Node, with jose', py: 'Python, with PyJWT' }),
  'caller-nginx': () => fenceOf('nginx', 'nginx', readSnippet('caller/nginx.conf')),
  'cell-tables': cellTables,
});

const pagesOf = (options: GuideOptions, pages: readonly GuidePage[], document: () => Json): [string, Page][] => {
  const areas = orderPages(areaOrder, pages);
  const inOrder = areas.flatMap(({ groups }) => groups.flatMap((group) => group.pages));
  const frame = createFrame({ areas, hasPanel: options.hasPanel });
  const render = once(createRender(pages));
  const sectionGroups = function* () {
    for (const page of pages) yield sectionsOfPage(page.path, page.title, render(page));
    yield sectionsOfOperations(document());
  };
  const search = lazy(() => createSearchIndex(sectionGroups()));
  const shownPage = (page: GuidePage): string => {
    const { html, headings } = render(page);
    const head =
      page.path === '/docs/changelog'
        ? '<link rel="alternate" type="application/atom+xml" title="Releases" href="/docs/changelog.atom">\n'
        : '';
    return frame({ ...page, body: `<article>${html}</article>`, headings, head });
  };
  const searchPage = async (query: string): Promise<string> => {
    const body = `<h1>Search</h1><div id="results">${resultsOf(await search(), query)}</div>`;
    return frame({
      path: '/docs/search',
      title: 'Search',
      summary: 'Search the documentation.',
      body,
      query,
      isOnlyHtml: true,
    });
  };
  const reference = {
    path: '/docs/reference',
    title: 'Reference',
    summary:
      'Every operation of the interface, with its parameters, answers and errors, to be tried with a credential.',
  };
  const referenceText = (): string => withoutIds(referenceMarkdown(reference.title, reference.summary, document()));
  const home = { path: '/docs', title: `${guideTitle}: guide`, summary: guideSummary };
  return [
    ['/docs', html(() => frame({ ...home, body: homeBody(guideTitle, guideSummary, areas, options.hasPanel) }))],
    ['/docs/index.md', markdown(() => homeMarkdown(guideTitle, guideSummary, areas))],
    ['/docs/reference', html(() => frame({ ...reference, body: referenceBody, head: referenceHead }))],
    [markdownPath(reference.path), markdown(referenceText)],
    ['/docs/search', { ...html(() => ''), bodyFor: (query) => searchPage(query.get('q') ?? '') }],
    ...pages.flatMap((page): [string, Page][] => [
      [page.path, html(() => shownPage(page))],
      [markdownPath(page.path), markdown(() => textOf(page))],
    ]),
    [
      '/docs/changelog.atom',
      { type: 'application/atom+xml; charset=utf-8', body: () => changelogFeed(options.origin) },
    ],
    ...llmsPages(options.origin, areas, () => [...inOrder.map(textOf), referenceText()]),
    ...assetPages(),
  ];
};

const textOf = (page: GuidePage): string => `${withoutIds(page.markdown()).trim()}\n`;

const llmsPages = (origin: string, areas: readonly OrderedArea[], texts: () => string[]): [string, Page][] => [
  ['/llms.txt', markdown(() => llmsText({ title: guideTitle, summary: guideSummary, origin, areas }))],
  ['/llms-full.txt', markdown(() => texts().join('\n'))],
];

const createRender = (pages: readonly GuidePage[]): ((page: GuidePage) => Rendered) => {
  const { linkOf, pageOf } = createDocumentLinks(pages);
  return (page) =>
    renderMarkdown(page.markdown(), {
      linkOf: (href) => linkOf(page, href),
      pageOf: (code) => {
        const address = page.file === undefined ? undefined : pageOf(code);
        return address === page.path ? undefined : address;
      },
    });
};

/** The pages load nothing from other hosts, run no inline script or style, and cannot be framed. */
const policy = [
  "default-src 'self'",
  // The style sheet of the reference has its arrows and icons in data: addresses.
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  // The search.
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const html = (body: () => string) => ({
  type: 'text/html; charset=utf-8',
  body,
  headers: { 'content-security-policy': policy, 'referrer-policy': 'no-referrer' },
});

const markdown = (body: () => string): Page => ({ type: 'text/markdown; charset=utf-8', body });

const assetTypes: Readonly<Record<string, string>> = { css: 'text/css', js: 'text/javascript' };

const assetPages = (): [string, Page][] =>
  ['guide.css', 'guide.js', 'reference.css', 'reference.js'].map((name) => [
    `/docs/assets/${name}`,
    {
      type: `${assetTypes[name.slice(name.lastIndexOf('.') + 1)]}; charset=utf-8`,
      body: () => readFileSync(new URL(`./assets/${name}`, import.meta.url)),
    },
  ]);

const once = <K extends object, V>(make: (key: K) => V): ((key: K) => V) => {
  const made = new WeakMap<K, { value: V }>();
  return (key) => {
    const found = made.get(key) ?? { value: make(key) };
    made.set(key, found);
    return found.value;
  };
};
