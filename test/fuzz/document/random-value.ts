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
  'e\u0300',
  '\u0000',
  '\ud800',
  '__proto__',
  '-0',
  '1e400',
  '9007199254740993',
  '2026-13-01',
  '2026-02-31',
  '0000-01-01',
  '9999-12-31',
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59-23:59',
  '2026-01-01T00:00:00+24:00',
  [null],
  [{}, {}],
  [{ uid: 'a' }, { uid: 'A' }],
  [{ ext_id: 'a' }, { ext_id: 'a' }],
  [{ ext_id: 'è' }, { ext_id: 'e\u0300' }],
  '../..',
  '%00',
];

/** Texts of JSON that JSON.stringify does not make. */
const texts = [
  ...['1e400', '-1e400', '-0', '9007199254740993', '123456789012345678901234567890', '0.30000000000000004', '1e-400'],
  ...['"\\ud800"', '{"a":1,"a":2}', '{"__proto__":{"toString":0}}', `${'['.repeat(50)}${']'.repeat(50)}`],
  ...[`${'['.repeat(5_000)}${']'.repeat(5_000)}`, `[${'{},'.repeat(3_000)}{}]`],
];

/** Each stands for one of these texts until `toText` puts it in. A query has the mark itself. */
const marks = texts.map((_text, index) => `text-${index}-of-json`);

/** JSON.stringify, with the texts that marks stand for. */
export const toText = (value: Json): string =>
  JSON.stringify(value).replaceAll(/"text-(\d+)-of-json"/g, (_mark, index: string) => texts[Number(index)] ?? 'null');

const oneOf = (random: Random, choices: readonly Json[]): Json => choices[random.between(0, choices.length - 1)];

/** A value that fits hardly any schema. */
export const strangeValue = (random: Random): Json => oneOf(random, random.next() < 0.3 ? marks : strange);

export const randomValue = (values: Values, given: Json, name = '', depth = 0): Json => {
  const { random } = values;
  const schema = values.deref(given);
  if (random.next() < 0.04) return strangeValue(random);
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
  if (values.random.next() < 0.05) found.unknown_member = strangeValue(values.random);
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
