/** /docs/events/TYPE: a page for each event, made from its description in the OpenAPI document. */
import type { GuidePage } from './guide-page.ts';
import { cellText, type Json, resolve, schemaTables } from './schema-tables.ts';

export type EventEntry = {
  event: string;
  /** What an endpoint subscribes to; undefined: every endpoint may get it. */
  kind?: string;
  summary: string;
};

const pathOf = (event: string): string => `/docs/events/${event}`;

/** `{{events}}`: all events with their pages. */
export const eventTable = (events: readonly EventEntry[]): string => `| Event | Kind | When |
| --- | --- | --- |
${events.map(({ event, kind, summary }) => `| [\`${event}\`](${pathOf(event)}) | ${kind ?? ''} | ${cellText(summary)} |`).join('\n')}
`;

/** `document`: the OpenAPI document. */
export const eventPages = (events: readonly EventEntry[], document: () => Json): GuidePage[] =>
  events.map(({ event, summary }) => ({
    path: pathOf(event),
    area: 'integrate',
    title: event,
    summary: `${summary}.`,
    markdown: () => eventMarkdown(event, summary, document()),
  }));

type Parameter = { name: string; description: string; example?: unknown };
type Media = { schema: Json; example?: unknown; examples?: Record<string, { value?: unknown }> };

const eventMarkdown = (event: string, summary: string, document: Json): string => {
  const webhooks = document.webhooks as Record<string, { post: Json }>;
  const operation = webhooks[event]?.post ?? {};
  const media = mediaOf(operation, document);
  const parameters = ((operation.parameters ?? []) as Json[]).map((one) => resolve(one, document) as Parameter);
  const example = media.example ?? Object.values(media.examples ?? {})[0]?.value;
  return `# ${event}

${summary}.

## When

${String(operation.description ?? '')}

[Webhooks](/docs/webhooks) says how deliveries are verified, repeated and ordered.

## Example

\`\`\`json
${JSON.stringify(example, null, 2)}
\`\`\`

## Headers

| Header | Meaning |
| --- | --- |
${parameters.map(({ name, description }) => `| \`${name}\` | ${cellText(description)} |`).join('\n')}

## Body

${schemaTables(media.schema, document)}`;
};

const mediaOf = (operation: Json, document: Json): Media => {
  const body = resolve((operation.requestBody ?? {}) as Json, document) as { content?: Record<string, Media> };
  return body.content?.['application/json'] ?? { schema: {} };
};
