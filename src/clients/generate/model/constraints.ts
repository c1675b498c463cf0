/** What a member may hold beyond its type, as a sentence for its documentation. */
import type { Json } from './document.ts';

const range = (least: unknown, most: unknown, unit: string): string | undefined => {
  if (least !== undefined && least === most) return `exactly ${least}${unit}`;
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? undefined : `at most ${most}${unit}`;
};

const formats: Readonly<Record<string, string>> = {
  'date-time': 'a date-time of RFC 3339 with an offset',
  date: 'a date, `YYYY-MM-DD`',
  uri: 'a URL',
  email: 'an email address',
};

/** Empty without any. Lengths count characters, as the schema does. */
export const constraintsOf = (schema: Json): string => {
  const parts = [
    formats[String(schema.format)],
    range(schema.minimum, schema.maximum, ''),
    schema.exclusiveMinimum === undefined ? undefined : `above ${schema.exclusiveMinimum}`,
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
    schema.default === undefined ? undefined : `by default \`${JSON.stringify(schema.default)}\``,
  ].filter((part) => part !== undefined);
  const text = parts.join(', ');
  return text === '' ? '' : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
};
