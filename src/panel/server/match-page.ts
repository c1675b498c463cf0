/** Finds the page for a path. The page with more exact segments wins over one with parameters. */
import { panelPath } from '../page/page-path.ts';
import { assetsPath } from './assets.ts';

type Placed = { method: string; path: string };

export type Match<T> = { page: T; params: Readonly<Record<string, string>> };

export type MatchPage<T> = (method: string, path: string) => Match<T> | undefined;

/**
 * `path`: of the request, with /panel and without the query. HEAD matches the GET page. Throws when two pages have the
 * same path.
 */
export const createMatchPage = <T extends Placed>(pages: readonly T[]): MatchPage<T> => {
  const compiled = pages.map((page) => ({ page, segments: segmentsOf(page.path) }));
  const shapes = pages.map(({ method, path }) => `${method} ${path.replaceAll(/:[^/]+/g, ':')}`);
  const twice = shapes.find((shape, index) => shapes.indexOf(shape) !== index);
  if (twice !== undefined) throw new Error(`two pages of the panel answer ${twice}`);
  return (method, path) => {
    if (path.startsWith(assetsPath)) return undefined;
    const asked = segmentsOf(path.slice(panelPath.length));
    const wanted = method === 'HEAD' ? 'GET' : method;
    let best: (Match<T> & { exact: number }) | undefined;
    for (const { page, segments } of compiled) {
      if (page.method !== wanted || segments.length !== asked.length) continue;
      const params = paramsOf(segments, asked);
      const exact = segments.filter((segment) => !segment.startsWith(':')).length;
      if (params !== undefined && (best === undefined || exact > best.exact)) best = { page, params, exact };
    }
    return best && { page: best.page, params: best.params };
  };
};

const segmentsOf = (path: string): string[] => path.split('/').filter((segment, index) => index > 0 || segment !== '');

const paramsOf = (segments: readonly string[], asked: readonly string[]): Record<string, string> | undefined => {
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const value = asked[index] ?? '';
    if (!segment.startsWith(':')) {
      if (segment !== value) return undefined;
      continue;
    }
    const decoded = decode(value);
    if (decoded === undefined || decoded === '') return undefined;
    params[segment.slice(1)] = decoded;
  }
  return params;
};

const decode = (text: string): string | undefined => {
  try {
    const decoded = decodeURIComponent(text);
    return decoded.includes('\0') ? undefined : decoded;
  } catch {
    return undefined;
  }
};
