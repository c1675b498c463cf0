/** Random values for a schema of the document: mostly ones that fit, at and beyond its bounds, and some of another type. */
import type { Random } from '../../support/random.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is read member by member.
export type Json = any;

export type Values = {
  random: Random;
  /** What a reference names; anything else as it is. */
  deref(schema: Json): Json;
  /** An id or token that an answer had, for a member of this name. */
  knownFor(name: string): unknown;
};

/** Names that every object of JavaScript has: code that converts a value before it looks at its type throws for these. */
const inherited = ['toString', 'valueOf', 'toJSON', 'constructor', 'hasOwnProperty', 'then', 'length', '__proto__'];

const strange: readonly Json[] = [
  ...inherited.map((name) => JSON.parse(`{"${name}":0}`)),
  null,
  '',
  ' ',
  0,
  -1,
  1.005,
  1e300,
  true,
  [],
  {},
  [[]],
  'a'.repeat(300),
  'è€😀',
  '\u0000',
  '2026-13-01',
  '../..',
  '%00',
];

const oneOf = (random: Random, choices: readonly Json[]): Json => choices[random.between(0, choices.length - 1)];

export const randomValue = (values: Values, given: Json, name = '', depth = 0): Json => {
  const { random } = values;
  const schema = values.deref(given);
  if (random.next() < 0.04) return oneOf(random, strange);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return oneOf(random, schema.enum);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined && schema.properties === undefined && schema.type === undefined)
    return randomValue(values, oneOf(random, branches), name, depth);
  switch ([schema.type].flat()[0]) {
    case 'object':
      return randomObject(values, schema, depth);
    case 'array':
      return Array.from({ length: random.between(0, depth > 2 ? 1 : 3) }, () =>
        randomValue(values, schema.items ?? {}, name, depth + 1),
      );
    case 'boolean':
      return random.next() < 0.5;
    case 'integer':
    case 'number':
      return randomNumber(random, schema);
    default:
      return randomText(values, schema, name);
  }
};

const randomObject = (
  values: Values,
  { properties = {}, required = [], additionalProperties }: Json,
  depth: number,
): Json => {
  const found: Json = {};
  for (const [name, member] of Object.entries<Json>(properties)) {
    const isSent = required.includes(name)
      ? values.random.next() < 0.97
      : values.random.next() < (depth > 2 ? 0.15 : 0.4);
    if (isSent) found[name] = randomValue(values, member, name, depth + 1);
  }
  if (typeof additionalProperties === 'object')
    found[oneOf(values.random, ['0', '1', 'x'])] = randomValue(values, additionalProperties, '', depth + 1);
  if (values.random.next() < 0.05) found.unknown_member = oneOf(values.random, strange);
  return found;
};

const randomNumber = (random: Random, { type, minimum = 0, maximum = 1_000, exclusiveMinimum }: Json): number => {
  const least = exclusiveMinimum ?? minimum;
  const [low, high] = [Math.max(least, -1e6), Math.min(maximum, 1e6)];
  const inside = random.between(Math.ceil(low), Math.floor(high));
  const number = oneOf(random, [inside, inside, inside, 1, 2, low, high, low - 1, high + 1]);
  return type === 'integer' || random.next() < 0.5 ? number : Math.round(number * 100) / 100 + 0.25;
};

const dayMs = 86_400_000;

const randomText = (
  { random, knownFor }: Values,
  { format, minLength = 0, maxLength = 40, examples = [] }: Json,
  name: string,
): Json => {
  const known = knownFor(name);
  if (known !== undefined && random.next() < 0.85) return known;
  if (examples.length > 0 && random.next() < 0.5) return examples[0];
  const time = new Date(Date.now() + random.between(-60, 400) * dayMs).toISOString();
  switch (format) {
    case 'date':
      return time.slice(0, 10);
    case 'date-time':
      return time;
    case 'email':
      return `person-${random.between(1, 500)}@example.com`;
    case 'uri':
      return oneOf(random, [
        'https://till.example/hook',
        'http://127.0.0.1:9/x',
        'https://images.example/a.jpg',
        'no address',
      ]);
    default: {
      const length = oneOf(random, [minLength, maxLength, maxLength + 1, Math.min(maxLength, minLength + 8)]);
      return oneOf(random, ['a', 'Z', '7', 'è', ' x']).repeat(Math.min(length, 2_000)).slice(0, length);
    }
  }
};
