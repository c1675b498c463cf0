/** /docs/changelog: changelog.md of this folder as Markdown with an anchor for each version, and as a feed (RFC 4287). */
import { readFileSync } from 'node:fs';
import { escapeHtml } from '../markdown/escape-html.ts';
import { headOf } from '../markdown/plain-text.ts';
import { renderMarkdown } from '../markdown/render-markdown.ts';
import type { GuidePage } from './guide-page.ts';

const readChangelog = (): string => readFileSync(new URL('../../changelog.md', import.meta.url), 'utf8');

const versionHeading = /^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$/gm;

export const changelogPage = (): GuidePage => {
  const text = readChangelog().replaceAll(
    versionHeading,
    (_line, version: string, date?: string) =>
      `## ${version}${date === undefined ? '' : ` - ${date}`} {#${anchorOf(version)}}`,
  );
  return { path: '/docs/changelog', area: 'integrate', ...headOf(text), markdown: () => text };
};

const anchorOf = (version: string): string => version.toLowerCase();

type Release = { version: string; date: string; text: string };

/** Newest first, without the changes that no release has. */
const releasesOf = (text: string): Release[] => {
  const found = [...text.matchAll(versionHeading)];
  return found.flatMap((match, index) => {
    const [line, version = '', date] = match;
    if (date === undefined) return [];
    return [{ version, date, text: text.slice(match.index + line.length, found[index + 1]?.index).trim() }];
  });
};

/** The feed of releases. `origin`: public address of the program. */
export const changelogFeed = (origin: string): string => {
  const releases = releasesOf(readChangelog());
  const page = `${origin}/docs/changelog`;
  const entries = releases.map(({ version, date, text }) => {
    const { html } = renderMarkdown(text);
    return `<entry>
<id>${escapeHtml(`${page}#${anchorOf(version)}`)}</id>
<title>Orderpass ${escapeHtml(version)}</title>
<updated>${date}T00:00:00Z</updated>
<link href="${escapeHtml(`${page}#${anchorOf(version)}`)}"/>
<content type="html">${escapeHtml(html)}</content>
</entry>`;
  });
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${escapeHtml(page)}</id>
<title>Orderpass: changelog</title>
<updated>${releases[0]?.date ?? '1970-01-01'}T00:00:00Z</updated>
<author><name>Orderpass</name></author>
<link href="${escapeHtml(page)}"/>
<link rel="self" type="application/atom+xml" href="${escapeHtml(`${page}.atom`)}"/>
${entries.join('\n')}
</feed>
`;
};
