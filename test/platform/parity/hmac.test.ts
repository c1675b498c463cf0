/** The own HMAC-SHA-256 of the hot path equals that of node:crypto. */
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHmacSha256 } from '#src/contract/hmac-sha256.ts';

/** Up to a block of 64 bytes, and longer. */
const key = fc.uint8Array({ minLength: 0, maxLength: 100, size: 'max' });
/** One, two, three and four bytes in UTF-8, and half a surrogate pair, which is written as U+FFFD. */
const unit = fc.constantFrom('a', '\u0000', 'é', '€', '😀', '\ud800');
const length = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 8_100, max: 8_300 }));

test('a signature equals that of createHmac for keys and texts of every length', () => {
  fc.assert(
    fc.property(key, length, fc.array(unit, { minLength: 1, maxLength: 8 }), (bytes, units, pattern) => {
      const text = pattern.join('').repeat(units).slice(0, units);
      const mac = createHmacSha256(Buffer.from(bytes));
      for (const encoding of ['hex', 'base64', 'base64url'] as const) {
        const expected = createHmac('sha256', bytes).update(text).digest(encoding);
        // The second signature shows that the first left nothing behind in the buffers.
        mac('another text', encoding);
        expect(mac(text, encoding)).toBe(expected);
      }
    }),
    { numRuns: 300 },
  );
});

test('signatures under several keys in turn do not disturb each other', () => {
  const keys = ['first', 'second', 'k'.repeat(65)].map((text) => Buffer.from(text));
  const macs = keys.map(createHmacSha256);
  for (const text of ['a', 'a longer text', ''])
    for (const [index, mac] of macs.entries())
      expect(mac(text, 'hex')).toBe(
        createHmac('sha256', keys[index] ?? '')
          .update(text)
          .digest('hex'),
      );
});
