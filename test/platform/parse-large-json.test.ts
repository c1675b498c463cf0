import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseLargeJson } from '#src/platform/http/parse-large-json.ts';
import { textSlices } from '#src/platform/text-slices.ts';

const read = (text: string | Buffer) =>
  parseLargeJson(Buffer.from(text as string), { levelsMax: 64, pace: () => undefined });

const spaced = fc.constantFrom(undefined, 1, '\t', ' \n');

test('an object read in slices is what JSON.parse makes of it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { noNullPrototype: true }),
      spaced,
      async (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(await read(text)).toEqual({ kind: 'value', value: JSON.parse(text) });
      },
    ),
    { numRuns: 500 },
  );
});

test('a text that was damaged is taken when JSON.parse takes it, and else refused', async () => {
  const samples = ['{"a":[1,{"b":"]\\""},[2,"}"]],"c":null,"d":" x"}', '{"a":[],"aa":[1,2],"__proto__":{"x":1}}'];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...samples),
      fc.nat(60),
      fc.constantFrom('', ',', ']', '[', '}', '{', '"', '\\', ':', '1', ' ', '\u00a0', 'null', '-'),
      fc.boolean(),
      async (sample, place, insert, drops) => {
        const text = sample.slice(0, place) + insert + sample.slice(drops ? place + 1 : place);
        let expected: unknown;
        try {
          const value: unknown = JSON.parse(text);
          expected =
            typeof value === 'object' && value !== null && !Array.isArray(value) ? { kind: 'value', value } : 'broken';
        } catch {
          expected = 'broken';
        }
        const result = await read(text);
        // Damage may give two members one name, which JSON.parse takes; what follows them is not looked at.
        if (result.kind === 'duplicate') return;
        expect(result.kind === 'value' ? result : 'broken').toEqual(expected);
      },
    ),
    { numRuns: 2000 },
  );
});

test('a text that is not UTF-8 and a text that is too deep are refused by different errors', async () => {
  expect(await read(Buffer.concat([Buffer.from('{"a":["'), Buffer.from([0xff]), Buffer.from('"]}')]))).toEqual({
    kind: 'not_utf8',
  });
  const nested = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  expect((await read(nested(64))).kind).toBe('value');
  expect(await read(nested(65))).toEqual({ kind: 'too_deep' });
  expect((await read('\uFEFF{"a":[1]}')).kind).toBe('value');
  expect((await read('{"a":[\uFEFF1]}')).kind).toBe('broken');
});

test('slices of a text are the text, and none ends within a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 5 }), (text, size) => {
      const slices = [...textSlices(text, size)];
      expect(slices.join('')).toBe(text);
      expect(Buffer.concat(slices.map((slice) => Buffer.from(slice))).equals(Buffer.from(text))).toBe(true);
    }),
  );
});
