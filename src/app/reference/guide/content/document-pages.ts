/** Documents that lie beside the code, as pages for operators and security teams; long ones as a page for each section. */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { headOf } from '../markdown/plain-text.ts';
import { slugOf } from '../markdown/slugs.ts';
import type { Area, GuidePage } from './guide-page.ts';

export type DocumentSource = {
  /** Relative to the root of the repository. */
  file: string;
  area: Area;
  path: string;
  /** In place of its first heading, where that is the name of a folder. */
  title?: string;
  /** Each section of the second level is a page below `path`. */
  isSplit?: boolean;
  /** Heading of a section -> last part of its address, where the words of the heading are too long. */
  names?: Readonly<Record<string, string>>;
};

const root = new URL('../../../../../', import.meta.url);

/** Reads the files once. */
export const readDocumentPages = (sources: readonly DocumentSource[]): GuidePage[] => sources.flatMap(pagesOf);

const pagesOf = ({ file, area, path, title, isSplit = false, names = {} }: DocumentSource): GuidePage[] => {
  const text = readFileSync(new URL(file, root), 'utf8').trim();
  const page = (address: string, markdown: string): GuidePage => ({
    path: address,
    area,
    ...headOf(markdown),
    markdown: () => markdown,
    file,
  });
  const named = title === undefined ? text : text.replace(/^# .*/, `# ${title}`);
  if (!isSplit) return [page(path, named)];
  const [start = '', ...sections] = splitSections(named);
  const contents = sections.map((section) => {
    const heading = /^## (.*)/.exec(section)?.[1] ?? '';
    return { heading, address: `${path}/${names[heading] ?? slugOf(heading)}`, section };
  });
  const list = contents.map(({ heading, address }) => `- [${heading}](${address})`).join('\n');
  return [
    page(path, `${start.trim()}\n\n## Contents\n\n${list}\n`),
    ...contents.map(({ address, section }) => page(address, raiseHeadings(section))),
  ];
};

/** Lines of `markdown` with whether they stand in a code block, where `#` begins a comment. */
const linesOf = (markdown: string): { line: string; isCode: boolean }[] => {
  let isCode = false;
  return markdown.split('\n').map((line) => {
    const isFence = /^\s*```/.test(line);
    const wasCode = isCode;
    if (isFence) isCode = !isCode;
    return { line, isCode: wasCode || isFence };
  });
};

const splitSections = (markdown: string): string[] => {
  const sections: string[][] = [[]];
  for (const { line, isCode } of linesOf(markdown)) {
    if (!isCode && line.startsWith('## ')) sections.push([]);
    sections.at(-1)?.push(line);
  }
  return sections.map((lines) => lines.join('\n'));
};

const raiseHeadings = (markdown: string): string =>
  linesOf(markdown)
    .map(({ line, isCode }) => (isCode ? line : line.replace(/^##(#*) /, '#$1 ')))
    .join('\n');

/** Anchors of the headings of a text, without the first heading. */
const anchorsOf = (markdown: string): string[] =>
  linesOf(markdown).flatMap(({ line, isCode }) => {
    const heading = isCode ? undefined : /^#{1,6} (.*)/.exec(line)?.[1];
    return heading === undefined ? [] : [slugOf(heading)];
  });

export type DocumentLinks = {
  /** Address of a link that stands in `page`; undefined: it leads to a file that is no page. */
  linkOf: (page: GuidePage, href: string) => string | undefined;
  /** Address of the page that shows a file, such as `config/README.md`. */
  pageOf: (code: string) => string | undefined;
};

export const createDocumentLinks = (pages: readonly GuidePage[]): DocumentLinks => {
  const byFile = Map.groupBy(pages, ({ file }) => file ?? '');
  const addressIn = (file: string, anchor: string, from: GuidePage | undefined): string | undefined => {
    const [first, ...rest] = byFile.get(file) ?? [];
    if (first === undefined) return undefined;
    if (anchor === '') return first.path;
    const owner = [first, ...rest].find(({ markdown }) => anchorsOf(markdown()).includes(anchor));
    if (owner === undefined) return first.path;
    // The heading of a page has no anchor of its own.
    const isTitle = anchorsOf(owner.markdown())[0] === anchor;
    if (owner === from) return `#${anchor}`;
    return isTitle ? owner.path : `${owner.path}#${anchor}`;
  };
  return {
    linkOf: (page, href) => {
      if (page.file === undefined || /^([a-z]+:|\/)/.test(href)) return href;
      const [target = '', anchor = ''] = href.split('#');
      const file = target === '' ? page.file : posix.join(posix.dirname(page.file), target);
      return addressIn(file, anchor, page);
    },
    pageOf: (code) => (byFile.has(code) && code !== '' ? addressIn(code, '', undefined) : undefined),
  };
};
