/** Reads the guide of a running program. */

export type Answer = { status: number; type: string; policy: string; text: string };

export const createRead = (url: string): ((path: string) => Promise<Answer>) => {
  return async (path) => {
    const answer = await fetch(url + path, { redirect: 'manual' });
    const header = (name: string): string => answer.headers.get(name) ?? '';
    return {
      status: answer.status,
      type: header('content-type'),
      policy: header('content-security-policy'),
      text: await answer.text(),
    };
  };
};

export const textOf = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** Addresses of the links of a page. */
export const linksOf = (html: string): string[] =>
  [...html.matchAll(/<a\b[^>]*\bhref="([^"]*)"/g)].map(([, href = '']) => textOf(href));

/** Ids of a page, which links can name after `#`. */
export const idsOf = (html: string): string[] => [...html.matchAll(/\bid="([^"]*)"/g)].map(([, id = '']) => textOf(id));

/** Addresses of all pages: those that can be reached from /docs without leaving it. */
export const findPages = async (read: (path: string) => Promise<Answer>): Promise<Map<string, Answer>> => {
  const pages = new Map<string, Answer>();
  const waiting = ['/docs'];
  for (const path of waiting) {
    if (pages.has(path)) continue;
    const answer = await read(path);
    pages.set(path, answer);
    if (!answer.type.startsWith('text/html')) continue;
    for (const href of linksOf(answer.text)) {
      const target = href.split('#')[0] ?? '';
      if (/^\/docs(\/|$)/.test(target) && !target.endsWith('.md')) waiting.push(target);
    }
  }
  return pages;
};
