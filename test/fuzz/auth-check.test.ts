/** Whatever a proxy is made to say about the original request: /auth/check says yes only to what the caller may do. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routeFile } from '../gateway/harness/public-door.ts';
import { readTarget } from '../rfc/rfc-harness.ts';
import {
  expectBoundedMemory,
  expectNoFault,
  type FuzzHarness,
  fuzz,
  longText,
  nastyText,
  openFuzzHarness,
  sendBytes,
} from './fuzz-harness.ts';

let harness: FuzzHarness;
/** Holds read:orders and nothing else. */
let reader: string;
let allowed: ReadonlySet<string>;

beforeAll(async () => {
  harness = await openFuzzHarness({ auth_check: 'on' });
  reader = await harness.tokenOf(harness.client, { scope: 'read:orders' });
  const open = routeFile().routes.filter(({ scopes }) => (scopes as string[]).every((one) => one === 'read:orders'));
  allowed = new Set(
    open.flatMap(({ method, path }) => (method === 'GET' ? [`GET ${path}`, `HEAD ${path}`] : [`${method} ${path}`])),
  );
  expect(allowed).toContain(`GET ${readTarget}`);
});

afterAll(() => harness.close());

type Line = readonly [name: string, value: string];

const ask = async (lines: readonly Line[], target = '/auth/check', method = 'GET'): Promise<number | undefined> => {
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const before = harness.passed();
  const { statuses } = await sendBytes(
    harness.door.port,
    `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n`,
  );
  expectNoFault(statuses);
  expect(statuses).toHaveLength(1);
  // A check is no request: nothing ever goes on from here.
  expect(harness.passed()).toBe(before);
  return statuses[0];
};

/** What the caller of `reader` may do, computed from the route table alone. */
const mayRead = (method: string, target: string): boolean => {
  const path = target.split('?')[0] ?? '';
  return allowed.has(`${method} ${path}`) || (/^(GET|HEAD)$/.test(method) && path.startsWith('/api/whoami/denials/'));
};

const asReader = (): Line => ['Authorization', `Bearer ${reader}`];

const expectOpen = async (): Promise<void> => {
  const pair: Line[] = [
    ['X-Original-Method', 'GET'],
    ['X-Original-URI', `${readTarget}?page=1`],
  ];
  expect(await ask([asReader(), ...pair])).toBe(200);
  await harness.expectOpen();
};

const methodName = fc.oneof(
  fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE', 'get', 'GET ', 'GET,POST', ''),
  nastyText(12),
);
const piece = fc.constantFrom(
  '/api',
  '/orders',
  '/list',
  '/order',
  '/create',
  '/whoami',
  '/denials/req_1',
  '/..',
  '/.',
  '//',
  '%2F',
  '%2e%2e',
  ';a=b',
  '?',
  '#',
  '\\',
  '%00',
  '%',
  '/auth/check',
  'http://x',
  '@x',
  '/oauth/token',
  '/healthz',
);
const uri = fc.oneof(
  { weight: 3, arbitrary: fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join('')) },
  { weight: 2, arbitrary: fc.tuple(fc.constant(readTarget), nastyText(6)).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: fc.tuple(nastyText(4), fc.constant(readTarget)).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: fc.constantFrom(...routeFile().routes.map(({ path }) => String(path))) },
  { weight: 1, arbitrary: longText(9_000) },
);
const pairName = fc.constantFrom(
  ['X-Original-Method', 'X-Original-URI'] as const,
  ['X-Forwarded-Method', 'X-Forwarded-Uri'] as const,
  ['x-ORIGINAL-method', 'x-original-uri'] as const,
);

/** nginx gets 401 and 403 only; the others get the status that was decided. */
const statusesOf = ([method]: readonly [string, string]): number[] =>
  method.toLowerCase().startsWith('x-original') ? [431] : [404, 405, 414, 431];

test('without a good credential no method and no address gets a yes', async () => {
  const credential: fc.Arbitrary<Line[]> = fc.oneof(
    fc.constant<Line[]>([]),
    nastyText(40).map((text): Line[] => [['Authorization', `Bearer ${text}`]]),
    nastyText(40).map((text): Line[] => [['X-Api-Key', `opk_${text}`]]),
    fc.constant<Line[]>([['X-Original-Authorization', 'Bearer x']]),
    fc.constant<Line[]>([['X-Orderpass-Kind', 'bearer']]),
  );
  await fuzz(fc.tuple(pairName, methodName, uri, credential), async ([names, method, target, lines]) => {
    const status = await ask([...lines, [names[0], method], [names[1], target]]);
    expect([400, 401, 403, ...statusesOf(names)]).toContain(status);
  });
  await expectOpen();
});

test('a token for reading orders gets a yes for the operations of its scope, as they are written, and for nothing else', async () => {
  let yes = 0;
  await fuzz(
    fc.tuple(pairName, fc.oneof(fc.constantFrom('GET', 'HEAD', 'POST'), methodName), uri),
    async ([names, method, target]) => {
      const status = await ask([asReader(), [names[0], method], [names[1], target]]);
      if (status === 200) {
        yes += 1;
        // Blanks around a value are none of it (RFC 9110 section 5.5).
        expect([method, target, mayRead(method.trim(), target.trim())]).toEqual([method, target, true]);
      } else expect([400, 403, ...statusesOf(names)]).toContain(status);
    },
    400,
  );
  expect(yes).toBeGreaterThan(0);
  await expectOpen();
});

test('behind the prefix, as Envoy asks, the same holds for every method and target', async () => {
  const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS');
  const target = uri.filter((text) => /^[\x21-\x7e]*$/.test(text));
  await fuzz(fc.tuple(method, target, fc.boolean()), async ([how, what, signed]) => {
    const status = await ask(signed ? [asReader()] : [], `/auth/check${what}`, how);
    if (status === 200) expect([how, what, signed && mayRead(how, what)]).toEqual([how, what, true]);
    else expect([400, 401, 403, 404, 405, 414, 431]).toContain(status);
  });
  expect(await ask([asReader()], `/auth/check${readTarget}`)).toBe(200);
  await expectOpen();
});

test('the words of two proxies, a word twice, or half of a pair are no question, whatever is asked', async () => {
  const line = fc.tuple(
    fc.constantFrom('X-Original-Method', 'X-Original-URI', 'X-Forwarded-Method', 'X-Forwarded-Uri'),
    fc.constantFrom('GET', readTarget, '', '/api/order/create', 'POST'),
  );
  const isOneQuestion = (lines: readonly Line[]): boolean => {
    const names = lines.map(([name]) => name).sort();
    return ['X-Original-Method,X-Original-URI', 'X-Forwarded-Method,X-Forwarded-Uri'].includes(names.join());
  };
  await fuzz(
    fc.array(line, { maxLength: 5 }).filter((lines) => !isOneQuestion(lines)),
    async (lines) => {
      expect(await ask([asReader(), ...lines])).toBe(403);
    },
  );
  await expectOpen();
});

test('long addresses are refused and nothing of them is kept', async () => {
  const target = fc.tuple(fc.constantFrom(`${readTarget}?`, '/', ''), longText(30_000)).map((parts) => parts.join(''));
  await expectBoundedMemory(() =>
    fuzz(
      target,
      async (text) => {
        const status = await ask([
          ['X-Original-Method', 'GET'],
          ['X-Original-URI', text],
        ]);
        expect([400, 401, 403, 431]).toContain(status);
      },
      60,
    ),
  );
  await expectOpen();
});
