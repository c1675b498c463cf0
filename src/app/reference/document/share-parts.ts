/** Moves answers that have a name, and query parameters that several operations have, to the components of the document. */
import { type Json, nameKey } from './json-schema.ts';
import { mapOf, pascalCase } from './name-schemas.ts';

type Shared = { paths: Json; webhooks: Json; responses: Json; parameters: Json };

export const shareParts = (paths: Json, webhooks: Json): Shared => {
  const responses = new Map<string, Json>();
  const repeated = repeatedParameters(paths);
  const sharedItems = (items: Json): Json =>
    mapOf(items, (item) =>
      mapOf(item, (operation) => ({
        ...operation,
        ...(operation.parameters !== undefined && {
          parameters: (operation.parameters as Json[]).map((one) =>
            repeated.get(String(one.name)) === JSON.stringify(one) ? referTo('parameters', componentName(one)) : one,
          ),
        }),
        responses: mapOf(operation.responses as Json, ({ [nameKey]: name, ...response }) => {
          if (typeof name !== 'string') return response;
          const present = responses.get(name) ?? response;
          // Another answer of the name stays in its place.
          if (JSON.stringify(present) !== JSON.stringify(response)) return response;
          responses.set(name, response);
          return referTo('responses', name);
        }),
      })),
    );
  return {
    paths: sharedItems(paths),
    webhooks: sharedItems(webhooks),
    responses: Object.fromEntries([...responses].sort(([a], [b]) => (a < b ? -1 : 1))),
    parameters: Object.fromEntries(
      [...repeated.values()].map((text): [string, Json] => {
        const parameter = JSON.parse(text) as Json;
        return [componentName(parameter), parameter];
      }),
    ),
  };
};

const referTo = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

const componentName = ({ name }: Json): string => pascalCase(String(name));

/** By name, the text of the first parameter that two operations have. Others of this name stay in their places. */
const repeatedParameters = (paths: Json): Map<string, string> => {
  const [seen, repeated] = [new Set<string>(), new Map<string, string>()];
  for (const item of Object.values(paths))
    for (const { parameters } of Object.values(item as Json) as { parameters?: Json[] }[])
      for (const one of parameters ?? []) {
        const text = JSON.stringify(one);
        if (one.in === 'query' && seen.has(text) && !repeated.has(String(one.name)))
          repeated.set(String(one.name), text);
        seen.add(text);
      }
  return repeated;
};
