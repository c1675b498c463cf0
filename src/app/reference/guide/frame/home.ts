/** /docs: a door for each area, and its pages. */
import { escapeHtml } from '../markdown/escape-html.ts';

type HomeArea = {
  title: string;
  text: string;
  home: string;
  groups: readonly { title: string; pages: readonly { path: string; title: string; summary: string }[] }[];
};

/** `title` and `summary`: of the guide. */
export const homeBody = (
  title: string,
  summary: string,
  areas: readonly HomeArea[],
  hasPanel: boolean,
): string => `<div class="home">
<h1>${escapeHtml(title)}</h1>
<p class="lead">${escapeHtml(summary)}</p>
<div class="home-areas">${areas.map(areaOf).join('')}</div>
<h2 id="tools">For tools</h2>
<ul>
<li><a href="/docs/reference">Reference</a>: every operation, to be tried with a credential</li>
<li><a href="/api/openapi.json">OpenAPI document</a> and <a href="/docs/asyncapi.json">AsyncAPI document</a></li>
<li><a href="/docs/routes.schema.json">JSON Schema of the route table</a></li>
<li><a href="/llms.txt">llms.txt</a>: all pages as Markdown, for language models; <a href="/docs/changelog.atom">feed of the changelog</a></li>
${hasPanel ? '<li><a href="/panel/explain">Why was a request refused?</a> Ask with its request id</li>\n' : ''}</ul>
</div>`;

const areaOf = ({ title, text, home, groups }: HomeArea): string => {
  const pages = groups.flatMap((group) => group.pages).slice(0, 6);
  const links = pages.map((page) => `<li><a href="${escapeHtml(page.path)}">${escapeHtml(page.title)}</a></li>`);
  return `<section><h2><a href="${escapeHtml(home)}">${escapeHtml(title)}</a></h2><p>${escapeHtml(text)}</p><ul>${links.join('')}</ul></section>`;
};

export const homeMarkdown = (title: string, summary: string, areas: readonly HomeArea[]): string => `# ${title}

${summary}

${areas
  .map(
    (area) => `## ${area.title}

${area.text}

${area.groups
  .flatMap(({ pages }) => pages.map((page) => `- [${page.title}](${page.path}): ${page.summary}`))
  .join('\n')}
`,
  )
  .join('\n')}`;
