/** /llms.txt in the form of llmstxt.org: the pages as Markdown with their summaries. */
import { markdownPath } from './frame.ts';

type LlmsOptions = {
  title: string;
  summary: string;
  /** Public address of the program. */
  origin: string;
  areas: readonly {
    title: string;
    groups: readonly { pages: readonly { path: string; title: string; summary: string }[] }[];
  }[];
};

export const llmsText = ({ title, summary, origin, areas }: LlmsOptions): string => `# ${title}

> ${summary}

Each page is HTML at its address and Markdown at its address with \`.md\`. All of them are in one text at ${origin}/llms-full.txt.

${areas
  .map(
    (area) => `## ${area.title}

${area.groups
  .flatMap(({ pages }) =>
    pages.map((page) => `- [${page.title}](${origin}${markdownPath(page.path)}): ${page.summary}`),
  )
  .join('\n')}
`,
  )
  .join('\n')}
## Documents for tools

- [Reference](${origin}/docs/reference.md): every operation with its scopes, parameters and answers
- [OpenAPI document](${origin}/api/openapi.json): every operation with its schemas, errors and examples
- [AsyncAPI document](${origin}/docs/asyncapi.json): the events
- [JSON Schema of the route table](${origin}/docs/routes.schema.json): for operators
`;
