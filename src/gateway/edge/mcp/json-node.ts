/** Reads a JSON document of unknown shape, member by member. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** An empty object for everything else. */
export const objectOf = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** References may lead to references. */
const referencesMax = 8;

/** What a reference inside the document (RFC 6901) names; anything else as it is. */
export const resolved = (document: JsonObject, value: unknown): JsonObject => {
  let found = objectOf(value);
  for (let followed = 0; followed < referencesMax && typeof found.$ref === 'string'; followed += 1) {
    const names = found.$ref
      .split('/')
      .slice(1)
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    found = objectOf(names.reduce<unknown>((node, name) => objectOf(node)[name], document));
  }
  return found;
};
