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
  [
    'or RFC 9457 when they ask for it',
    'A-057 429 is an envelope, or a problem when asked for, for Bearer callers as well',
    'A-058 only an Accept that names the problem type itself changes the dialect',
  ],
  [
    'is repeated for three days until its receiver answers 2xx',
    'A-353 the table of retries is the schedule of the webhook engine',
  ],
  [
    'Node 20 or newer and npm are enough',
    'A-252 the command of the package runs commands, and a start that answers and stops',
  ],
  [
    'adds a week of orders, webhooks and refusals',
    'A-582 a first start with --demo-data has a week of orders, webhooks and refusals, which pages show, and a second one adds nothing',
  ],
  [
    'are allowed only with `ORDERPASS_ALLOW_PRIVATE_TARGETS=true`',
    'A-139 every private, loopback, link-local, mapped and metadata address is refused when the endpoint is made, however it is spelled',
  ],
  [
    'verifies deliveries with any Standard Webhooks library',
    'A-130 the libraries standardwebhooks and svix accept a real delivery, and refuse changed ones',
  ],
  [
    'with the few lines for seven languages',
    'A-130 the code for Node on the page accepts the test vector and real deliveries and refuses changed ones',
    'A-130 the code for Python on the page does the same',
    'A-130 the code for PHP on the page does the same',
    'A-130 the code for Go on the page does the same',
  ],
  ['shows a caller why a request was refused', 'every reason that a refusal can have is explained, in every language'],
  ['makes routes of an OpenAPI document', 'A-186 a table is made of %s, and a start accepts it'],
  ['it knows no word of ordering', 'gateway, webhooks, platform and contract know no ordering word'],
  [
    'Imports go one way',
    'main imports cli, cli imports app, and nothing imports them back',
    'each package stays behind its wall',
  ],
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
