/**
 * Is the own HMAC-SHA-256 (src/contract/hmac-sha256.ts) worth its lines? Both sides sign texts as long as the identity
 * assertions of the hot path, in turns, so that a disturbance of the machine meets both; of all rounds the median counts.
 */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { createHmacSha256 } from '#src/contract/hmac-sha256.ts';
import { median, print } from './kit/parts.ts';

const rounds = 31;
const repeats = 200;

const key = randomBytes(32);
const keyObject = createSecretKey(key);
const own = createHmacSha256(key);
const texts = Array.from({ length: 64 }, (_, index) => randomBytes(200 + 4 * index).toString('base64url'));

const sides = {
  own: (text: string) => own(text, 'base64url'),
  'node:crypto': (text: string) => createHmac('sha256', keyObject).update(text).digest('base64url'),
};

/** Microseconds of one signature. */
const measure = (sign: (text: string) => string): number => {
  const startedAt = process.hrtime.bigint();
  for (let repeat = 0; repeat < repeats; repeat += 1) for (const text of texts) sign(text);
  return Number(process.hrtime.bigint() - startedAt) / 1_000 / (repeats * texts.length);
};

const taken = { own: [] as number[], 'node:crypto': [] as number[] };
for (let round = 0; round < rounds; round += 1)
  for (const name of ['own', 'node:crypto'] as const) taken[name].push(measure(sides[name]));

for (const name of ['own', 'node:crypto'] as const)
  print(`${name.padEnd(12)} ${median(taken[name]).toFixed(2)} µs for each signature`);
