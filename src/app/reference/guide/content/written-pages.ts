/** Pages that were written for the guide: the Markdown files of one folder for each area. */
import { readdirSync, readFileSync } from 'node:fs';
import { headOf } from '../markdown/plain-text.ts';
import type { Area, GuidePage } from './guide-page.ts';
import { expandIncludes, type Includes } from './includes.ts';

const folder = new URL('../', import.meta.url);

/** Pages that were at these addresses before the guide had areas. */
const oldAddresses: Readonly<Record<string, string>> = {
  'operate/callers.md': '/docs/callers',
  'operate/cells.md': '/docs/cells',
};

/** `index.md` is the page of its area; pages for integrators have the shortest addresses. */
const addressOf = (area: Area, file: string): string => {
  const name = file.replace(/\.md$/, '');
  const old = oldAddresses[`${area}/${file}`];
  if (old !== undefined) return old;
  if (area === 'integrate') return `/docs/${name}`;
  return name === 'index' ? `/docs/${area}` : `/docs/${area}/${name}`;
};

type WrittenOptions = {
  includes: Includes;
  /** Name of the plain header of webhooks here; the texts have its default. */
  signatureHeader: string;
};

/** Reads the files once. */
export const readWrittenPages = ({ includes, signatureHeader }: WrittenOptions): GuidePage[] =>
  (['integrate', 'operate', 'secure'] as const).flatMap((area) =>
    readdirSync(new URL(`${area}/`, folder))
      .filter((file) => file.endsWith('.md'))
      .toSorted()
      .map((file): GuidePage => {
        const text = readFileSync(new URL(`${area}/${file}`, folder), 'utf8').replaceAll(
          'X-Orderpass-Signature',
          signatureHeader,
        );
        return {
          path: addressOf(area, file),
          area,
          ...headOf(text),
          markdown: () => expandIncludes(text, includes),
        };
      }),
  );
