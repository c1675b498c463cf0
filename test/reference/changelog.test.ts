import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { changelogPage } from '#src/app/reference/guide/content/changelog.ts';
import { renderMarkdown } from '#src/app/reference/guide/markdown/render-markdown.ts';

const text = readFileSync(new URL('../../src/app/reference/changelog.md', import.meta.url), 'utf8');
const headingsOf = (level: number): string[] =>
  [...text.matchAll(new RegExp(`^#{${level}} (.+)$`, 'gm'))].map((match) => match[1] ?? '');

test('the changelog has the form of Keep a Changelog', () => {
  expect(headingsOf(1)).toEqual(['Changelog']);
  const versions = headingsOf(2);
  expect(versions[0]).toBe('[Unreleased]');
  for (const version of versions.slice(1)) expect(version).toMatch(/^\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/);
  const parts = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
  expect(headingsOf(3).filter((part) => !parts.includes(part))).toEqual([]);
});

test('the page shows every heading and every entry of the changelog', () => {
  const { html } = renderMarkdown(changelogPage().markdown());
  expect(html.match(/<li>/g)?.length).toBe(text.match(/^- /gm)?.length);
  expect(html.match(/<h[123][ >]/g)?.length).toBe(text.match(/^#/gm)?.length);
  expect(html).toMatch(/<h2 id="unreleased"[^>]*>Unreleased </);
  expect(html).toMatch(/<h2 id="1\.0\.0"[^>]*>1\.0\.0 - 2026-11-24 </);
  expect(html).toContain('<a href="https://semver.org/">Semantic Versioning</a>');
  expect(html).toContain('<code>next_attempt_iso</code>');
  expect(html).not.toMatch(/`|\]\(|^- |\{#/m);
});
