/** Code that a page shows and that tests run: the files of the folder `snippets`. */
import { readFileSync } from 'node:fs';
import { escapeHtml } from './escape-html.ts';

export const code = (text: string): string => `<pre tabindex="0"><code>${escapeHtml(text.trimEnd())}</code></pre>`;

/** `file`: below `snippets`. */
export const codeSection = ({ id, name, file }: { id: string; name: string; file: string }): string => `
<section id="${id}" aria-labelledby="${id}-title">
<h3 id="${id}-title">${name}</h3>
${code(readFileSync(new URL(`./snippets/${file}`, import.meta.url), 'utf8'))}
</section>`;
