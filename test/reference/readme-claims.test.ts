/**
 * What the README of the repository claims, and the test that shows each claim. A claim that the README does not make any more,
 * and a title that no test has, fail here.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/program.ts';

/** Text of the README -> beginnings of the titles of tests. */
const claims: readonly (readonly [claim: string, ...titles: string[]])[] = [
  [
    'pass the same checks',
    'A-048 A-049 a missing scope is named exactly, in the core’s operations as in the route table',
  ],
  ['restaurants per credential', 'A-029 an entity of another restaurant answers byte for byte like an invented one'],
  [
    'one answer for each kind of refusal',
    'A-018 an unknown client, a disabled client, and a wrong, ended or foreign secret get the same answer',
  ],
  [
    'header that names exactly the missing scopes',
    'an upstream that names missing scopes has exactly those in the challenge, in their order',
    'A-064 a missing scope is refused before any problem of the body',
  ],
  [
    'A change and its event commit in one PostgreSQL transaction',
    'A-120 A-129 kill -9 and a new start lose no order and no webhook, and a retry of the order makes no second one',
  ],
  [
    'sent again with its `Idempotency-Key` is inserted once',
    'A-114 a repeated request gets the same bytes, marked as replayed, and has one effect and one event',
  ],
  [
    'It prints them once, with three commands to paste',
    'A-030 the three commands that a first start prints work as they are pasted',
  ],
  ['The secret that it prints verifies deliveries', 'A-333 '],
  [
    "forward the endpoint's events to your machine, live or the last ones again",
    'listen forwards each new event, once and in order, signed again, and prints the result',
    'replay sends the last events again, oldest first, each once, and fails when one is refused',
  ],
  [
    'ends the access of the client within a second',
    'A-022 a token of one gateway opens the other, and a client that is disabled is refused by both within a second',
    'the client is refused within a second of the last command',
  ],
  ['is the guide, for integrators', 'A-351 every command of the page %s prints what the page shows'],
  ['generated from the schemas that validate requests', 'A-349 '],
  [
    "it learns its caller only from the gateway's assertion",
    'F-31 the internal listener refuses the same in its own words',
  ],
];

/** Without line breaks, which may move. */
const inOneLine = (text: string): string => text.replace(/\s+/g, ' ');

const readme = inOneLine(readFileSync(join(root, 'README.md'), 'utf8'));

const testTexts = readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
  .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));

/** A title begins behind a quotation mark. This file itself does not count. */
const isTitle = (title: string): boolean =>
  testTexts.some(
    (text) =>
      !text.includes('const claims: readonly') &&
      /['`]/.test(text.at(text.indexOf(title) - 1) ?? '') &&
      text.includes(title),
  );

test.each(claims)('A-359 the claim "%s" is one of the README, and tests show it', (claim, ...titles) => {
  expect(readme).toContain(claim);
  expect(titles.length).toBeGreaterThan(0);
  expect(titles.filter((title) => !isTitle(title))).toEqual([]);
});
