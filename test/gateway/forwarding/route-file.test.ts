/** A wrong route table: every problem is named with its path at once. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { routeTableProblems } from '#src/gateway/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'routes-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const good = { upstream: 'shop', scopes: ['read:a'] };
const origins = ['https://app.example'];

/** Each route has one mistake, at this path inside it. */
const wrongRoutes: [path: string, route: Record<string, unknown>][] = [
  ['id', { ...good, id: 'Upper', path: '/r0' }],
  ['id', { ...good, path: '/r1' }],
  ['path', { ...good, id: 'r2' }],
  ['path', { ...good, id: 'r3', path: 'no-slash' }],
  ['path', { ...good, id: 'r4', path: '/a/*/b' }],
  ['path', { ...good, id: 'r5', path: '/a/../b' }],
  ['path', { ...good, id: 'r6', path: '/a%20b' }],
  ['path', { ...good, id: 'r7', path: '/{x}/{x}' }],
  ['path', { ...good, id: 'r8', path: '/a//b' }],
  ['method', { ...good, id: 'r9', path: '/r9', method: 'TRACE' }],
  ['method', { ...good, id: 'r10', path: '/r10', method: [] }],
  ['hosts.0', { ...good, id: 'r11', path: '/r11', hosts: ['UPPER.example'] }],
  ['hosts.0', { ...good, id: 'r12', path: '/r12', hosts: ['a.example:80'] }],
  ['access', { ...good, id: 'r13', path: '/r13', access: 'open' }],
  ['scopes', { ...good, id: 'r14', path: '/r14', access: 'public' }],
  ['scopes', { id: 'r15', path: '/r15', upstream: 'shop' }],
  ['scopes', { ...good, id: 'r39', path: '/r39', method: ['HEAD', 'POST'], scopes: { POST: ['read:a'] } }],
  ['scopes', { ...good, id: 'r16', path: '/r16', scopes: ['no:such'] }],
  ['scopes', { ...good, id: 'r17', path: '/r17', scopes: 'read:a' }],
  ['anyOf', { ...good, id: 'r18', path: '/r18', anyOf: [['no:such']] }],
  ['anyOf', { ...good, id: 'r19', path: '/r19', anyOf: [] }],
  ['kinds', { ...good, id: 'r20', path: '/r20', kinds: ['api_key'] }],
  ['kinds.0', { ...good, id: 'r21', path: '/r21', kinds: ['cookie'] }],
  ['class', { ...good, id: 'r22', path: '/r22', class: 'X' }],
  ['upstream', { id: 'r23', path: '/r23', scopes: [] }],
  ['upgrade', { ...good, id: 'r24', path: '/r24', method: 'POST', upgrade: true }],
  ['dryRun.scopes', { ...good, id: 'r25', path: '/r25', dryRun: { scopes: [] } }],
  ['dryRun.scopes', { ...good, id: 'r26', path: '/r26', dryRun: { scopes: ['no:such'] } }],
  ['stripPrefix', { ...good, id: 'r27', path: '/r27', stripPrefix: '/other' }],
  ['addPrefix', { ...good, id: 'r28', path: '/r28', addPrefix: 'v2' }],
  ['body', { ...good, id: 'r29', path: '/r29', body: 'xml' }],
  ['bodyBytesMax', { ...good, id: 'r30', path: '/r30', bodyBytesMax: -1 }],
  ['timeouts.bodyMs', { ...good, id: 'r31', path: '/r31', timeouts: { bodyMs: 1 } }],
  ['requestHeaders.set.host', { ...good, id: 'r32', path: '/r32', requestHeaders: { set: { host: 'x' } } }],
  ['responseHeaders.remove.0', { ...good, id: 'r33', path: '/r33', responseHeaders: { remove: ['Date'] } }],
  ['cors.credentials', { ...good, id: 'r34', path: '/r34', cors: { origins: ['*'], credentials: true } }],
  ['path', { ...good, id: 'r38', path: '/docs/mine' }],
  ['metod', { ...good, id: 'r35', path: '/r35', metod: 'GET' }],
  ['id', { ...good, id: 'r24', path: '/r36', cors: { origins } }],
  ['', { ...good, id: 'r37', path: '/r37/{other}' }],
];

/** Mistakes outside the routes: scopes twice, an unknown scope of keys, an upstream that no route has, a member. */
const table = {
  scopes: [
    { name: 'read:a', description: 'A' },
    { name: 'read:a', description: 'A again' },
  ],
  apiKeyScopes: ['read:none'],
  upstreams: {
    nobody: {},
    Upper: { addresses: ['http://a:1'] },
    self: { addresses: ['http://a:1'] },
    shop: { addresses: ['http://a:1/path', 'ftp://a'] },
    stock: { addresses: ['http://a:1', 'http://a:1/'] },
  },
  routes: [...wrongRoutes.map(([, route]) => route), { ...good, id: 'right', path: '/r37/{name}' }],
};

const problemsOf = (name: string, text: string): readonly string[] => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return routeTableProblems(file, ['shop']);
};

test.each([
  ['routes.json', JSON.stringify(table)],
  ['routes.yaml', stringify(table)],
])('A-157 each of forty mistakes in %s is named with its path in one pass', (name, text) => {
  const problems = problemsOf(name, text);
  const places = [
    ...['scopes.1.name: ', 'apiKeyScopes.0: ', 'upstreams.nobody: '],
    ...['upstreams.self.addresses: ', 'upstreams.shop.addresses.0: ', 'upstreams.shop.addresses.1: '],
    'upstreams.stock.addresses.1: ',
  ];
  for (const place of places)
    expect([place, problems.filter((one) => one.startsWith(place))]).toEqual([place, [expect.any(String)]]);
  for (const [index, [path, route]] of wrongRoutes.entries()) {
    const own = problems.filter((one) => new RegExp(`^routes\\.${index}[.:]`).test(one));
    expect([index, own.length > 0]).toEqual([index, route.id !== 'r37']);
    if (route.id !== 'r37') expect([own, own.some((one) => one.includes(path))]).toEqual([own, true]);
  }
  const same = problems.filter((one) => one.startsWith(`routes.${wrongRoutes.length}: `));
  expect(same).toEqual([expect.stringMatching(/right \(\/r37\/\{name\}\).*r37 \(\/r37\/\{other\}\).*GET/)]);
  expect(wrongRoutes.length - 1 + same.length + 3).toBeGreaterThanOrEqual(40);
  // Texts of the library that reads the file.
  expect(problems.filter((one) => /Invalid|expected|received|Unrecognized|Too (big|small)/.test(one))).toEqual([]);
});

/** One wrong value at one place, and what the operator reads. `member` stands in a route. */
const texts: [member: Record<string, unknown>, text: string][] = [
  [{ id: 5 }, 'id: must be a string, found 5'],
  [{ id: 'UP' }, 'id: 1 to 64 lower-case letters, digits, dots, hyphens and underscores, found "UP"'],
  [{ path: undefined }, 'path: is required'],
  [{ path: null }, 'path: must be a string, found null'],
  [{ upstream: {} }, 'upstream: must be a string, found an object'],
  [{ hosts: 'a.example' }, 'hosts: must be a list, found "a.example"'],
  [{ hosts: [] }, 'hosts: must not be empty'],
  [{ access: 'open' }, 'access: must be credential, optional or public, found "open"'],
  [{ method: ['GET', 'TRACE'] }, 'method.1: must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS, found "TRACE"'],
  [{ scopes: 'read:a' }, 'scopes: a list of scopes, or such a list for each method, found "read:a"'],
  [{ scopes: Array(51).fill('read:a') }, 'scopes: must have at most 50 entries'],
  [{ timeouts: { bodyMs: 1.5 } }, 'timeouts.bodyMs: must be a whole number, found 1.5'],
  [{ timeouts: [] }, 'timeouts: must be an object, found a list'],
  [{ bodyBytesMax: -1 }, 'bodyBytesMax: must be at least 0, found -1'],
  [{ upgrade: 'yes' }, 'upgrade: must be true or false, found "yes"'],
  [{ cors: { origins: 'x' } }, 'cors.origins: must be a list, found "x"'],
  [{ cors: 5 }, 'cors: false, or an object with `origins`, found 5'],
  // A value of a field may be a secret.
  [{ requestHeaders: { set: { 'x-key': 5 } } }, 'requestHeaders.set.x-key: must be a string'],
  [
    { id: 'U'.repeat(500) },
    `id: 1 to 64 lower-case letters, digits, dots, hyphens and underscores, found "${'U'.repeat(79)}…`,
  ],
];

test.each(texts)('A-449 %j: the problem says what is expected and what was found', (member, text) => {
  const routes = [{ ...good, id: 'a', path: '/a', ...member }];
  const file = { scopes: [{ name: 'read:a', description: 'A' }], routes };
  expect(problemsOf('texts.json', JSON.stringify(file))).toContain(`routes.0.${text}`);
});

test('A-449 unknown members are named at the object that has them', () => {
  const routes = [{ ...good, id: 'a', path: '/a', metod: 'GET', other: 1, limits: { unit: 1 } }];
  const problems = problemsOf('unknown.json', JSON.stringify({ routes, upsteams: {} }));
  expect(problems).toContain('routes.0: has unknown members: metod, other');
  expect(problems).toContain('routes.0.limits: has an unknown member: unit');
  expect(problems).toContain('has an unknown member: upsteams');
  const inherited = problemsOf('inherited.json', JSON.stringify({ routes: [{ ...good, id: 'a', toString: 1 }] }));
  expect(inherited).toContain('routes.0: has an unknown member: toString');
});

test('A-449 a wrong value of any type is named with its place, also one that no text can be made of', () => {
  const routes = [{ ...good, id: 'a', path: '/a' }];
  for (const value of [{ toString: 0 }, [{ toString: 0 }], [[{ valueOf: 0 }]], null, 5])
    for (const [place, upstreams] of [
      ['upstreams.shop.cells.default: ', { shop: { cells: { default: value } } }],
      ['upstreams.shop.addresses.0', { shop: { addresses: [value] } }],
      ['upstreams.shop', { shop: value }],
    ] as const) {
      const problems = problemsOf('wrong-value.json', JSON.stringify({ upstreams, routes }));
      expect(problems).toContainEqual(expect.stringContaining(place));
    }
});

test('A-241 several mistakes of one route are all named, and none makes another part of the file look wrong', () => {
  const file = {
    scopes: [{ name: 'read:a', description: 'A' }, { name: 'read:b' }],
    upstreams: { shop: { addresses: ['http://a:1'] }, stock: { addresses: ['http://a:2'] } },
    routes: [
      { ...good, id: 'a', path: '/a', metod: 'GET', class: 'X', scopes: ['no:such'], stripPrefix: '/other' },
      { ...good, id: 'a', path: '/a', timeouts: { bodyMs: 1 }, bodyBytesMax: -1, scopes: ['read:b'] },
      { ...good, id: 'c', path: 'c', upstream: 'stock' },
    ],
  };
  const problems = problemsOf('several.json', JSON.stringify(file));
  expect(problems.map((one) => one.slice(0, one.indexOf(':'))).toSorted()).toEqual([
    'routes.0',
    'routes.0.class',
    'routes.0.scopes',
    'routes.0.stripPrefix',
    'routes.1',
    'routes.1.bodyBytesMax',
    'routes.1.id',
    'routes.1.timeouts.bodyMs',
    'routes.2.path',
    'scopes.1.description',
  ]);
});

test('A-157 a file that is no JSON or YAML, and aliases that grow without bound, are one problem each', () => {
  expect(problemsOf('broken.json', '{"routes": [')).toHaveLength(1);
  expect(problemsOf('broken.yaml', 'routes: [a: {')).toHaveLength(1);
  const levels = Array.from(
    { length: 12 },
    (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level}, `.repeat(9)}]`,
  );
  expect(problemsOf('grown.yaml', `a0: &a0 [x]\n${levels.join('\n')}\nroutes: *a12\n`)).toHaveLength(1);
});

test('A-634 an upstream without an address is named once with its first route, and a scope that is listed twice with its place', () => {
  const route = (id: string, upstream: string) => ({ id, path: `/${id}`, access: 'public', upstream });
  const routes = [route('a', 'shop'), route('b', 'lost'), route('c', 'lost'), route('d', 'gone')];
  const lost = ['routes.1.upstream: no address for upstream lost', 'routes.3.upstream: no address for upstream gone'];
  expect(problemsOf('lost.json', JSON.stringify({ routes }))).toEqual(lost);
  const scopes = ['a', 'b', 'a'].map((name) => ({ name, description: name }));
  expect(problemsOf('lost.json', JSON.stringify({ scopes, routes }))).toEqual([
    'scopes.2.name: a is listed twice',
    ...lost,
  ]);
});

test('A-634 a header rule with a name that is not allowed is refused for that and not for its upper case', () => {
  const rulesOf = (name: string) => {
    const requestHeaders = { set: { [name]: 'x' } };
    const routes = [{ id: 'a', path: '/a', access: 'public', upstream: 'shop', requestHeaders }];
    return problemsOf('rules.json', JSON.stringify({ routes }));
  };
  for (const name of ['Host', 'Content-Length', 'Authorization', 'X-Orderpass-Id'])
    expect([name, rulesOf(name)]).toEqual([
      name,
      [expect.stringMatching(/^routes\.0\.requestHeaders\.set\.\S+: this field/)],
    ]);
  expect(rulesOf('X-Team')).toEqual([expect.stringContaining('write x-team in lower case')]);
});

test('A-632 members of a JSON file that are given twice are refused, each with its path, also with escapes and at the top', () => {
  const upstreams = '"upstreams":{"e":{"addresses":["http://a:1"]}}';
  const twice = `{"scopes":[{"name":"admin:a","description":"x"}],${upstreams},"routes":[
    {"id":"a","path":"/x","scopes":["admin:a"],"upstream":"e","scop\\u0065s":[]},
    {"id":"b","path":"/y","scopes":["admin:a"],"upstream":"e","limits":{"cost":1,"cost":2,"cost":3}}],"routes":[]}`;
  expect(problemsOf('twice.json', twice)).toEqual([
    'routes.0.scopes: is given twice',
    'routes.1.limits.cost: is given twice',
    'routes: is given twice',
  ]);
  expect(problemsOf('twice.yaml', twice)).toEqual([expect.stringContaining('Map keys must be unique')]);
});

test('A-632 what is JSON by its name is read as JSON alone, with or without a byte order mark', () => {
  const plain = JSON.stringify({ routes: [{ id: 'a', path: '/x', access: 'public', upstream: 'shop' }] });
  expect(problemsOf('plain.json', plain)).toEqual([]);
  for (const name of ['marked.json', 'marked.yaml']) expect(problemsOf(name, `\uFEFF${plain}`)).toEqual([]);
  for (const text of [`${plain.slice(0, -1)},}`, `# comment\n${plain}`, 'routes: []'])
    expect(problemsOf('loose.json', text)).toEqual([expect.stringContaining('JSON')]);
});

test('A-632 a YAML file with a second document is refused in words for operators', () => {
  expect(problemsOf('two.yaml', 'routes: []\n---\nroutes: []\n')).toEqual([
    'a route table is one YAML document: a line --- begins another',
  ]);
});

test('A-245 a route at a path that the gateway answers itself is refused, one beside or above it is not', () => {
  const file = join(folder, 'own-paths.json');
  const problemsOf = (path: string): readonly string[] => {
    const routes = [{ id: 'r', path, access: 'public', upstream: 'shop' }];
    writeFileSync(file, JSON.stringify({ routes }));
    return routeTableProblems(file, ['shop']);
  };
  const areas = ['/api/oauth', '/.well-known', '/docs', '/panel', '/auth/check'];
  for (const own of [...areas, '/healthz', '/readyz', '/api/openapi.json', '/llms.txt', '/llms-full.txt'])
    expect(problemsOf(own)).toEqual([expect.stringContaining(`routes.0.path: the gateway answers ${own} itself`)]);
  for (const area of areas)
    for (const path of [`${area}/`, `${area}/*`, `${area}/{x}`, `${area}/a/b`])
      expect([path, problemsOf(path)]).toEqual([path, [expect.stringContaining(`answers ${area} itself`)]]);
  for (const path of ['/*', '/', '/{x}', '/{x}/*', '/api/*', '/auth/*', '/healthz/x', '/docsx', '/llms.txt/x', '/Docs'])
    expect([path, problemsOf(path)]).toEqual([path, []]);
});

test('A-559 a route to `self` whose id is no operation of the gateway is named, beside other mistakes', () => {
  const file = join(folder, 'self.json');
  const own = (id: string, index: number) => ({ id, path: `/own/${index}`, scopes: [], upstream: 'self' });
  const problemsOf = (...ids: string[]): readonly string[] => {
    writeFileSync(file, JSON.stringify({ routes: ids.map(own) }));
    return routeTableProblems(file, []);
  };
  const names = 'whoami, whoami.requests, whoami.usage, whoami.denial';
  const lost = (index: number, id: string) =>
    `routes.${index}.id: the gateway has no operation ${id}; a route to self is ${names}`;
  expect(problemsOf('whoami', 'whoami.requests', 'whoami.usage', 'whoami.denial')).toEqual([]);
  expect(problemsOf('me', 'whoami', 'constructor')).toEqual([lost(0, 'me'), lost(2, 'constructor')]);
  const [malformed, ...others] = problemsOf('Upper', 'me');
  expect(malformed).toMatch(/^routes\.0\.id: /);
  expect(others).toEqual([lost(1, 'me')]);
});
