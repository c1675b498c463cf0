/** What the search finds: the sections of the pages, and the operations of the reference. */
import { textOfHtml } from '../markdown/plain-text.ts';
import type { Rendered } from '../markdown/render-markdown.ts';
import type { Section } from './search-index.ts';

/** The parts of a page between headings of the second to fourth level. */
export const sectionsOfPage = (path: string, title: string, { html, headings }: Rendered): Section[] => {
  const sections: Section[] = [];
  let rest = html;
  let open: Omit<Section, 'text'> = { url: path, title, heading: '' };
  for (const { depth, id, html: heading } of headings) {
    const start = rest.indexOf(`<h${depth} id="${id}"`);
    if (start === -1) continue;
    sections.push({ ...open, text: textOfHtml(rest.slice(0, start)) });
    const end = rest.indexOf(`</h${depth}>`, start);
    rest = rest.slice(end);
    open = { url: `${path}#${id}`, title, heading: textOfHtml(heading) };
  }
  return [...sections, { ...open, text: textOfHtml(rest) }];
};

type Operation = { operationId?: string; tags?: string[]; summary?: string; description?: string };

/** `document`: the OpenAPI document. */
export const sectionsOfOperations = (document: Record<string, unknown>): Section[] =>
  Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { operationId = '', tags: [tag = ''] = [], summary = '', description = '' }]) => ({
        url: `/docs/reference#/${encodeURIComponent(tag)}/${encodeURIComponent(operationId)}`,
        title: `${method.toUpperCase()} ${path}`,
        heading: summary,
        text: `${operationId} ${description.replaceAll('`', '')}`,
      }),
    ),
  );
