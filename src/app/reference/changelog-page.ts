/** /docs/changelog: changelog.md as a page. */
import { readFileSync } from 'node:fs';
import { escapeHtml } from './escape-html.ts';

const withLinks = (text: string): string =>
  escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^[\]]{1,100})\]\((https:[^)\s]{1,200})\)/g, '<a href="$2">$1</a>')
    .replace(/^\[([^\]]+)\]/, '$1');

/** One block of the Markdown that the changelog uses: headings, lists, paragraphs. */
const blockOf = (block: string): string => {
  const heading = /^(#{1,3}) (.+)$/.exec(block);
  if (heading !== null) {
    const level = (heading[1] ?? '').length;
    return `<h${level}>${withLinks(heading[2] ?? '')}</h${level}>`;
  }
  if (!block.startsWith('- ')) return `<p>${withLinks(block)}</p>`;
  const items = block.slice(2).split('\n- ');
  return `<ul>${items.map((item) => `<li>${withLinks(item)}</li>`).join('')}</ul>`;
};

const changes = (): string =>
  readFileSync(new URL('./changelog.md', import.meta.url), 'utf8')
    .trim()
    .split(/\n\n+/)
    .map(blockOf)
    .join('\n');

export const changelogPage = (): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orderpass: changelog</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/errors.css">
</head>
<body>
<nav aria-label="Documents"><a href="/docs">Reference</a> <a href="/docs/webhooks">Webhooks</a> <a href="/docs/errors">Error codes</a> <a href="/docs/callers">Who calls</a></nav>
<main>
${changes()}
</main>
</body>
</html>
`;
