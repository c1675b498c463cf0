import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readDecimal } from '#src/platform/http/decimal.ts';
import { DuplicateMember, inexactTextOf, readExactJson } from '#src/platform/http/exact-json.ts';
import { parseLargeJson } from '#src/platform/http/parse-large-json.ts';

type Rational = { over: bigint; under: bigint };

/** Independent of the code under test: the number as a fraction of integers. */
const rational = (text: string): Rational => {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const power = Number(exponent) - fraction.length;
  const over = BigInt(`${whole.replace('-', '')}${fraction}`) * (whole.startsWith('-') ? -1n : 1n);
  return power >= 0 ? { over: over * 10n ** BigInt(power), under: 1n } : { over, under: 10n ** BigInt(-power) };
};

const isSame = (left: string, right: string): boolean => {
  const [a, b] = [rational(left), rational(right)];
  return a.over * b.under === b.over * a.under;
};

const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(20).map((text) => text.replace(/^0+(?=\d)/, '')),
    fc.option(digits(20), { nil: undefined }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-', 'E-'), fc.integer({ min: 0, max: 400 })), {
      nil: undefined,
    }),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent?.join('') ?? ''}`,
  );

const readers: [name: string, read: (text: string) => Promise<unknown>][] = [
  ['at once', async (text) => readExactJson(text)],
  [
    'in slices',
    async (text) => {
      const result = await parseLargeJson(Buffer.from(text), { levelsMax: 64, pace: () => undefined });
      if (result.kind === 'duplicate') throw new DuplicateMember(result.path);
      return result.kind === 'value' ? result.value : result.kind;
    },
  ],
];

test.each(readers)('F-01 F-02 a number is the one that was sent, or keeps its text: %s', async (_name, read) => {
  await fc.assert(
    fc.asyncProperty(numberText, async (text) => {
      const value = (await read(`{"n":${text},"in":[{"e1":"1e999","n":[${text}]}]}`)) as Record<string, unknown>;
      const inner = (value.in as Record<string, unknown[]>[])[0];
      expect(inner?.e1).toBe('1e999');
      for (const found of [value.n, inner?.n?.[0]]) {
        if (inexactTextOf(found) !== undefined) {
          expect(inexactTextOf(found)).toBe(text);
          const held = Number(text);
          expect(Number.isFinite(held) && isSame(text, String(held))).toBe(false);
        } else {
          expect(typeof found).toBe('number');
          expect(isSame(text, String(found))).toBe(true);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test('F-02 decimals are read off the text, whatever stands around the point', () => {
  fc.assert(
    fc.property(numberText, (text) => {
      const read = readDecimal(text, { exponent: true });
      expect(read).toBeDefined();
      if (read === undefined) return;
      expect(isSame(`${read.isNegative ? '-' : ''}${read.digits || '0'}e${-read.scale}`, text)).toBe(true);
      expect(read.digits).toMatch(/^$|^[1-9]$|^[1-9].*[1-9]$/);
    }),
  );
  for (const text of ['', '.', '1.', '.5', '1e', '0x10', 'Infinity', 'NaN', '1 2', '--1', '1_000', '١'])
    expect([text, readDecimal(text, { exponent: true })]).toEqual([text, undefined]);
  expect(readDecimal('1e2', { exponent: false })).toBeUndefined();
});

test.each(readers)(
  'F-06 a member that stands twice in one object is found, with its place: %s',
  async (_name, read) => {
    for (const [text, path] of [
      ['{"a":1,"a":1}', 'a'],
      ['{"a":[],"a":[1]}', 'a'],
      ['{"a":1,"\\u0061":2}', 'a'],
      ['{"__proto__":1,"__proto__":2}', '__proto__'],
      ['{"list":[{"x":1},{"x":{"y":[0,{"z":1,"q":"a:b","z":2}]}}]}', 'list/1/x/y/1/z'],
      ['{"list":[{"a":{"b":1},"b":1,"a":{}}]}', 'list/0/a'],
      ['{"o":{"constructor":1,"toString":2,"constructor":3}}', 'o/constructor'],
      ['{"":1 ,"x":"\\"" , "" :2}', ''],
    ] as const)
      await expect(read(text)).rejects.toMatchObject({ name: 'DuplicateMember', path: path.split('/') });
    for (const text of ['{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}', '{"a":"a","A":":","b":"\\":\\"a\\":"}', '{}'])
      expect(await read(text)).toEqual(JSON.parse(text));
  },
);

test.each(readers)('F-06 what is no JSON is refused, however its names repeat: %s', async (_name, read) => {
  for (const text of [
    '{"a":1,"a":}',
    '{"a":1,"a"',
    '{"a" "a":1}',
    '{a:1,a:1}',
    '{"a":1,,"a":1}',
    '{"b":1,"a":{"c":1,}}',
  ])
    expect([text, await read(text).catch(() => 'broken')]).toEqual([text, 'broken']);
});
