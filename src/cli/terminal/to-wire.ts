/** The form of values in the output of a command: names in snake_case, times as ISO 8601 text. */

type Members = Readonly<Record<string, unknown>>;

/** Converts an object with all its members. `lastUsed` becomes `last_used`, `calls5m` becomes `calls_5m`. */
export const toWire = (members: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(members as Members).map(([name, value]) => [toSnakeCase(name), toWireValue(value)]),
  );

const toSnakeCase = (name: string): string =>
  name.replaceAll(/(?<=[a-z])\d+|[A-Z]/g, (match) => `_${match.toLowerCase()}`);

const toWireValue = (value: unknown): unknown => {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toWireValue);
  return typeof value === 'object' && value !== null ? toWire(value) : value;
};
