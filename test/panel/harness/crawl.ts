/** Finds an address of each page of the panel by following links, as a person does: what no link leads to is not found. */
import type { Page } from '#src/panel/page/page.ts';

type Pattern = Pick<Page, 'path'> & { expression: RegExp };

/** Parts of pages and downloads have no picture of their own. */
const isShownPage = ({ method, path }: { method: string; path: string }): boolean =>
  method === 'GET' && !/\/(events|news|export|provider|return|proof|hours)$/.test(path);

/** Literal paths before those with parameters, since `clients/new` is also `clients/:client`. */
const patternsOf = (pages: readonly Pick<Page, 'path'>[]): Pattern[] =>
  pages
    .map(({ path }) => ({
      path,
      expression: new RegExp(`^/panel${path.replace(/\/$/, '').replaceAll(/:\w+/g, '[^/]+')}/?$`),
    }))
    .sort((one, other) => one.path.split(':').length - other.path.split(':').length);

/** chosen: so that a page with a list of one kind and a detail of another are both read. */
const readOfEach = 3;

/** Path of a page in the list of pages → path and query of one that a link leads to. */
export const crawl = async (
  origin: string,
  cookie: string,
  pages: readonly Pick<Page, 'path' | 'method'>[],
  first = '/panel',
): Promise<Map<string, string>> => {
  const patterns = patternsOf(pages.filter(isShownPage));
  const patternOf = (address: string): string | undefined =>
    patterns.find(({ expression }) => expression.test(address.split('?', 1)[0] ?? ''))?.path;
  const found = new Map<string, string>();
  const reads = new Map<string, number>();
  const seen = new Set([first]);
  const queue = [first];
  for (let address = queue.shift(); address !== undefined; address = queue.shift()) {
    const path = patternOf(address);
    if (path === undefined) continue;
    const count = reads.get(path) ?? 0;
    if (count >= readOfEach) continue;
    reads.set(path, count + 1);
    const answer = await fetch(`${origin}${address}`, { headers: { cookie }, redirect: 'manual' });
    const html = await answer.text();
    if (answer.status !== 200) continue;
    if (!found.has(path)) found.set(path, address);
    for (const [, href = ''] of html.matchAll(/\b(?:href|formaction)="(\/panel[^"#]*)/g)) {
      const link = href.replaceAll('&amp;', '&');
      if (seen.has(link)) continue;
      seen.add(link);
      queue.push(link);
    }
  }
  return found;
};
