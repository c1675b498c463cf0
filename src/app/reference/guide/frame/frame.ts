/** The frame of every page below /docs: header, navigation, contents of the page, the pages before and after it. */
import { escapeHtml } from '../markdown/escape-html.ts';
import type { Heading } from '../markdown/render-markdown.ts';

type NavPage = { path: string; title: string };
type NavArea = {
  area: string;
  title: string;
  home: string;
  groups: readonly { title: string; pages: readonly NavPage[] }[];
};

export type FrameOptions = {
  areas: readonly NavArea[];
  /** The program has a panel, which the header links. */
  hasPanel: boolean;
};

export type Shown = {
  path: string;
  title: string;
  summary: string;
  /** HTML of `main`. */
  body: string;
  headings?: readonly Heading[];
  /** The area whose navigation is shown; undefined: none. */
  area?: string;
  /** Further elements of `head`. */
  head?: string;
  /** Text of the search field. */
  query?: string;
  /** The page has no Markdown beside it. */
  isOnlyHtml?: boolean;
};

export const createFrame = ({ areas, hasPanel }: FrameOptions): ((shown: Shown) => string) => {
  const inOrder = areas.flatMap(({ groups }) => groups.flatMap(({ pages }) => pages));
  return (shown) => {
    const area = areas.find((one) => one.area === shown.area);
    const contents = contentsOf(shown.headings ?? []);
    return `<!doctype html>
<html lang="en">
<head>
${headOf(shown)}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${headerOf(areas, shown, hasPanel)}
<div class="frame${area === undefined ? ' frame-wide' : ''}">
${area === undefined ? '' : `<nav class="side" aria-label="${escapeHtml(area.title)}">${groupsOf(area, shown.path)}</nav>`}
<main id="content" tabindex="-1">
${contents === '' ? '' : `<details class="contents-small"><summary>On this page</summary><nav aria-label="On this page">${contents}</nav></details>`}
${shown.body}
${area === undefined ? '' : neighboursOf(inOrder, shown.path)}
</main>
${area === undefined ? '' : `<nav class="contents" aria-label="On this page">${contents === '' ? '' : `<p>On this page</p>${contents}`}${markdownLink(shown)}</nav>`}
</div>
</body>
</html>
`;
  };
};

const headOf = ({ path, title, summary, head = '', isOnlyHtml = false }: Shown): string => `<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(path === '/docs' ? title : `${title} · Orderpass`)}</title>
<meta name="description" content="${escapeHtml(summary)}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/guide.css">
${isOnlyHtml ? '' : `<link rel="alternate" type="text/markdown" href="${escapeHtml(markdownPath(path))}">\n`}${head}<script src="/docs/assets/guide.js" defer></script>`;

/** Where the Markdown of a page is. */
export const markdownPath = (path: string): string => (path === '/docs' ? '/docs/index.md' : `${path}.md`);

const markdownLink = ({ path, isOnlyHtml = false }: Shown): string =>
  isOnlyHtml ? '' : `<p class="markdown"><a href="${escapeHtml(markdownPath(path))}">This page as Markdown</a></p>`;

const headerOf = (areas: readonly NavArea[], { path, area, query = '' }: Shown, hasPanel: boolean): string => {
  const doors = [
    ...areas.map((one) => linkTo(one.home, one.title, one.area === area)),
    linkTo('/docs/reference', 'Reference', path === '/docs/reference'),
    ...(hasPanel ? [linkTo('/panel', 'Panel', false)] : []),
  ].join('');
  const own = areas.find((one) => one.area === area);
  return `<header>
<a class="brand" href="/docs"${path === '/docs' ? ' aria-current="page"' : ''}>Orderpass</a>
<nav class="doors" aria-label="Areas">${doors}</nav>
<form class="search" role="search" action="/docs/search" method="get">
<label for="q">Search the documentation</label>
<input id="q" name="q" type="search" maxlength="100" autocomplete="off" placeholder="Search" value="${escapeHtml(query)}">
<div class="search-results" hidden></div>
</form>
<details class="menu"><summary>Menu</summary>
<nav aria-label="Menu"><div class="menu-doors">${doors}</div>${own === undefined ? '' : groupsOf(own, path)}</nav>
</details>
</header>`;
};

const linkTo = (path: string, title: string, isCurrent: boolean): string =>
  `<a href="${escapeHtml(path)}"${isCurrent ? ' aria-current="true"' : ''}>${escapeHtml(title)}</a>`;

const groupsOf = ({ groups }: NavArea, current: string): string =>
  groups
    .map(({ title, pages }) => {
      const items = pages.map(
        (page) =>
          `<li><a href="${escapeHtml(page.path)}"${page.path === current ? ' aria-current="page"' : ''}>${escapeHtml(page.title)}</a></li>`,
      );
      return `<p class="group">${escapeHtml(title)}</p><ul>${items.join('')}</ul>`;
    })
    .join('');

/** More headings than this are shown without those of the lower levels. */
const headingsMax = 24;

const contentsOf = (headings: readonly Heading[]): string => {
  const near = headings.filter(({ depth }) => depth <= 3);
  const shown = near.length > headingsMax ? near.filter(({ depth }) => depth === 2) : near;
  if (shown.length < 2) return '';
  const items = shown.map(
    ({ depth, id, html }) => `<li class="depth-${depth}"><a href="#${escapeHtml(id)}">${html}</a></li>`,
  );
  return `<ul>${items.join('')}</ul>`;
};

const neighboursOf = (pages: readonly NavPage[], path: string): string => {
  const at = pages.findIndex((page) => page.path === path);
  if (at === -1) return '';
  const link = (page: NavPage | undefined, rel: string, words: string): string =>
    page === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${escapeHtml(page.path)}"><span>${words}</span> ${escapeHtml(page.title)}</a>`;
  return `<nav class="neighbours" aria-label="Pages before and after">${link(pages[at - 1], 'prev', 'Previous')}${link(pages[at + 1], 'next', 'Next')}</nav>`;
};
