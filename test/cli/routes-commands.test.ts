/**
 * Documents in test/gateway/openapi/documents: shortened copies of real ones, without schemas and descriptions. Petstore and
 * `security` from @readme/oas-examples (MIT), GitHub from @octokit/openapi (MIT), the others from learn.openapis.org (Apache 2.0).
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { root, runCommand } from '../support/program.ts';

type Route = {
  id: string;
  method: string;
  path: string;
  access?: string;
  scopes: string[];
  anyOf?: string[][];
  body?: unknown;
  upstream: string;
};
type Table = { scopes: { name: string; description: string }[]; routes: Route[] };

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-openapi-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const documentOf = (name: string): string => join(root, 'test/gateway/openapi/documents', name);

const written = (name: string, value: unknown): string => {
  const file = join(folder, name);
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  return file;
};

const importOf = async (file: string, ...more: string[]) => {
  const { code, stdout, stderr } = await runCommand(['routes', 'import', file, '--upstream', 'shop', ...more], {});
  return { code, stderr, table: code === 0 ? (JSON.parse(stdout) as Table) : undefined };
};

const importTo = (out: string, name: string) =>
  runCommand(['routes', 'import', documentOf(name), '--upstream', 'shop', '--out', out], {});

const routeOf = (table: Table | undefined, method: string, path: string): Route => {
  const found = table?.routes.find((route) => route.method === method && route.path === path);
  if (found === undefined) throw new Error(`no route ${method} ${path}`);
  return found;
};

const real: [string, number, string[], [string, string, Partial<Route>]][] = [
  [
    'petstore-3.0.json',
    20,
    ['write:pets', 'read:pets'],
    [
      'POST',
      '/v2/pet',
      { id: 'add-pet', scopes: ['write:pets', 'read:pets'], body: ['application/json', 'application/xml'] },
    ],
  ],
  [
    'petstore-3.1.json',
    20,
    ['write:pets', 'read:pets'],
    ['GET', '/v2/pet/{petId}', { id: 'get-pet-by-id', scopes: [] }],
  ],
  ['github.json', 42, [], ['DELETE', '/gists/{gist_id}/star', { id: 'gists.unstar', scopes: [] }]],
  [
    'uspto.yaml',
    3,
    [],
    ['POST', '/ds-api/{dataset}/{version}/records', { body: ['application/x-www-form-urlencoded'] }],
  ],
  [
    'non-oauth-scopes.yaml',
    1,
    ['read:users', 'public'],
    ['GET', '/users', { id: 'get.users', scopes: ['read:users', 'public'] }],
  ],
  ['security.json', 15, ['write:things'], ['POST', '/anything/basic', { id: 'post.anything.basic' }]],
];

test.each(real)(
  'A-186 a table is made of %s, and a start accepts it',
  async (name, routes, scopes, [method, path, members]) => {
    const out = join(folder, `${name}.routes.yaml`);
    expect((await importTo(out, name)).code).toBe(0);
    const table = parse(readFileSync(out, 'utf8')) as Table;
    expect(table.routes).toHaveLength(routes);
    expect(table.scopes.map((scope) => scope.name)).toEqual(scopes);
    expect(routeOf(table, method, path)).toMatchObject({ ...members, upstream: 'shop' });
    const byTags = await importOf(documentOf(name), '--scopes-from', 'tags');
    expect(byTags.table?.routes).toHaveLength(routes);
    for (const route of byTags.table?.routes ?? [])
      expect(route.scopes.map((scope) => scope.split(':')[0])).toEqual([
        /GET|HEAD/.test(route.method) ? 'read' : 'write',
      ]);
    const checked = await runCommand(['config', 'check'], {
      ORDERPASS_ROUTES_FILE: out,
      ORDERPASS_UPSTREAMS: 'shop=http://127.0.0.1:9',
    });
    expect([checked.code, checked.stderr]).toEqual([0, '']);
  },
);

test('A-498 a table is made of an OpenAPI 3.2 document; operations of methods that no route has are warnings', async () => {
  const operation = { security: [{ device: ['read'] }], responses: { 200: { summary: 'OK' } } };
  const { table, stderr } = await importOf(
    written('newest.json', {
      openapi: '3.2.0',
      $self: 'https://api.example/openapi.json',
      info: { title: 'Shop', version: '1' },
      servers: [{ name: 'main', url: 'https://a.example/v1' }],
      tags: [{ name: 'things', kind: 'nav', parent: 'all' }],
      components: {
        pathItems: { thing: { get: operation, query: operation } },
        mediaTypes: { text: { schema: { type: 'string' } } },
        securitySchemes: {
          device: {
            type: 'oauth2',
            flows: { deviceAuthorization: { deviceAuthorizationUrl: '/d', tokenUrl: '/t', scopes: { read: 'Reads' } } },
          },
        },
      },
      paths: {
        '/things': {
          get: { ...operation, parameters: [{ name: 'q', in: 'querystring', content: { 'application/json': {} } }] },
          post: { ...operation, requestBody: { content: { 'text/csv': { $ref: '#/components/mediaTypes/text' } } } },
          additionalOperations: { COPY: operation, LINK: operation },
        },
        '/things/{id}': { $ref: '#/components/pathItems/thing' },
      },
    }),
  );
  expect(table?.routes.map(({ method, path, scopes }) => [method, path, scopes])).toEqual([
    ['GET', '/v1/things', ['read']],
    ['POST', '/v1/things', ['read']],
    ['GET', '/v1/things/{id}', ['read']],
  ]);
  expect(routeOf(table, 'POST', '/v1/things')).toMatchObject({ body: ['text/csv'] });
  expect(table?.scopes).toEqual([{ name: 'read', description: 'Reads' }]);
  for (const warning of [
    'paths./things.additionalOperations.COPY: left out: COPY is never forwarded',
    'paths./things.additionalOperations.LINK: left out: LINK is never forwarded',
    'paths./things/{id}.query: left out: QUERY is never forwarded',
  ])
    expect(stderr).toContain(`warning: ${warning}`);
});

test('A-186 a file that is there is never overwritten', async () => {
  const out = join(folder, 'once.yaml');
  expect((await importTo(out, 'petstore-3.0.json')).code).toBe(0);
  const again = await importTo(out, 'petstore-3.0.json');
  expect([again.code, again.stderr.includes('EEXIST')]).toEqual([2, true]);
});

const wrong: [string, unknown, string[]][] = [
  ['no object', '[]', ['document: is no OpenAPI document']],
  ['no YAML', 'openapi: 3.0.0\npaths: {}\n  x: [', ['line 3', 'must be sufficiently indented']],
  ['Swagger 2.0', { swagger: '2.0', paths: {} }, ['swagger: Swagger 2.0 is not read']],
  ['another version', { openapi: '4.0.0', paths: {} }, ['openapi: must be 3.0.x, 3.1.x or 3.2.x']],
  ['no paths', { openapi: '3.1.0' }, ['paths: must be an object']],
  ['no operation', { openapi: '3.1.0', paths: {} }, ['paths: no operation can become a route']],
  [
    'members of a wrong type',
    {
      openapi: '3.1.0',
      security: {},
      paths: {
        '/a': { get: { security: [{ oauth: 'read' }] }, put: 7 },
        '/b': [],
        '/c': { post: { security: ['x'] } },
      },
    },
    [
      'security: must be a list of requirements',
      'paths./a.get.security.0.oauth: must be a list of scopes',
      'paths./a.put: must be an object',
      'paths./b: must be an object',
      'paths./c.post.security.0: must be an object of schemes',
    ],
  ],
];

test.each(wrong)('A-187 every problem of a document is named with its path: %s', async (name, document, problems) => {
  const out = join(folder, `${name}.out.json`);
  const { code, stderr } = await importOf(written(`${name}.json`, document), '--out', out);
  expect(code).toBe(1);
  for (const problem of problems) expect(stderr).toContain(problem);
  expect(stderr.trim().split('\n')).toHaveLength(problems.length);
  expect(existsSync(out)).toBe(false);
});

test('A-187 the requirements of an example of OpenAPI that are no list are refused, and so are wrong options', async () => {
  const { code, stderr } = await importOf(documentOf('tictactoe.yaml'));
  expect(code).toBe(1);
  expect(stderr.match(/security: must be a list of requirements/g)).toHaveLength(3);
  expect((await importOf(documentOf('uspto.yaml'), '--scopes-from', 'names')).code).toBe(2);
  expect((await importOf(join(folder, 'missing.yaml'))).code).toBe(2);
});

test('A-188 what no route can say is a warning, and no operation gets less protection than its document wants', async () => {
  const github = await importOf(documentOf('github.json'));
  expect(github.stderr).toContain('paths./repos/{owner}/{repo}/compare/{base}...{head}: left out');
  expect(github.stderr).toContain('assets.post.servers: not used');
  const oauth = (...scopes: string[]) => ({ oauth: scopes });
  const { table, stderr } = await importOf(
    written('remarks.json', {
      openapi: '3.0.3',
      servers: [{ url: 'https://a.example/v1/' }, { url: '/v2' }],
      security: [oauth('read')],
      paths: {
        '/default': { get: {}, trace: {} },
        '/open': { get: { security: [] } },
        '/optional': { get: { security: [oauth('read'), {}] } },
        '/both': { get: { security: [{ oauth: ['read'], roles: ['cook'] }] } },
        '/either': { get: { security: [oauth('read'), oauth('admin')] } },
        '/weaker': { get: { security: [{ key: [] }, oauth('admin')] } },
        '/long': { get: { security: [oauth('x'.repeat(65))] } },
        '/pets/{pet-id}/{pet-id}': { get: {} },
        '/pets/{a}/{b}': { get: {} },
        '/elsewhere': { $ref: 'other.yaml#/x' },
        '/any': { post: { requestBody: { $ref: 'other.yaml' } }, put: { requestBody: { content: { '*/*': {} } } } },
        '/a b': { get: {} },
      },
    }),
  );
  const access = (path: string) => {
    const { access, scopes, anyOf } = routeOf(table, 'GET', `/v1${path}`);
    return [access, scopes, anyOf];
  };
  expect(access('/default')).toEqual([undefined, ['read'], undefined]);
  expect(access('/open')).toEqual(['public', undefined, undefined]);
  expect(access('/optional')).toEqual(['optional', undefined, undefined]);
  expect(access('/both')).toEqual([undefined, ['read', 'cook'], undefined]);
  expect(access('/either')).toEqual([undefined, [], [['read'], ['admin']]]);
  expect(access('/weaker')).toEqual([undefined, ['admin'], undefined]);
  expect(access('/pets/{pet_id}/{pet_id2}')).toEqual([undefined, ['read'], undefined]);
  expect(['POST', 'PUT'].map((method) => routeOf(table, method, '/v1/any').body)).toEqual(['any', 'any']);
  expect(table?.routes).toHaveLength(9);
  for (const warning of [
    'servers: the paths begin with that of the first server',
    'paths./default.trace: left out',
    'paths./optional.get.security: an empty requirement',
    'paths./weaker.get.security: alternatives without scopes',
    'paths./long.get.security: left out',
    'paths./pets/{a}/{b}.get: left out: paths./pets/{pet-id}/{pet-id}.get matches the same requests',
    'paths./elsewhere: left out',
    'paths./any.post.requestBody: names no content',
    'paths./a b: left out',
  ])
    expect(stderr).toContain(`warning: ${warning}`);
  const own = { openapi: '3.0.3', paths: { '/healthz': { get: {} }, '/docs/{id}': { get: {} }, '/pets': { get: {} } } };
  const imported = await importOf(written('own-paths.json', own));
  expect(imported.table?.routes.map(({ path }) => path)).toEqual(['/pets']);
  expect(imported.stderr).toContain('warning: paths./healthz: left out: the gateway answers /healthz itself');
  expect(imported.stderr).toContain('warning: paths./docs/{id}: left out: the gateway answers /docs itself');
});

test('A-188 no wider path answers an operation that is left out and wants more than the route of that path', async () => {
  const admin = { security: [{ oauth: ['admin'] }] };
  const open = { security: [] };
  const { table, stderr } = await importOf(
    written('wider.json', {
      openapi: '3.0.3',
      paths: {
        '/files/{name}': { get: open, put: admin, delete: { security: [{ oauth: ['admin', 'write'] }] } },
        '/files/secret-{id}': { get: admin, put: open, delete: admin },
        '/reports/{name}': { get: { security: [{ oauth: ['read'] }] } },
        '/reports/yearly': { get: { security: [{ oauth: ['x'.repeat(65)] }] } },
        '/same/{a}': { get: open },
        '/same/{b}': { get: admin },
        '/other/{a}': { $ref: 'other.yaml#/x' },
        '/other/open': { get: open },
      },
    }),
  );
  expect(table?.routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'PUT /files/{name}',
    'DELETE /files/{name}',
    'GET /other/open',
  ]);
  for (const [wider, left] of [
    ['/files/{name}', 'paths./files/secret-{id}.get'],
    ['/reports/{name}', 'paths./reports/yearly.get'],
    ['/same/{a}', 'paths./same/{b}.get'],
  ])
    expect(stderr).toContain(`warning: paths: GET ${wider} is left out: it would answer ${left} with less protection`);
});

test('A-537 operations beside the $ref of a path item are operations of it, and one that stands in both has no route', async () => {
  const admin = { security: [{ oauth: ['admin'] }] };
  const user = { security: [{ oauth: ['user'] }] };
  const { table, stderr } = await importOf(
    written('beside.json', {
      openapi: '3.1.0',
      components: {
        pathItems: {
          base: { get: user },
          middle: { $ref: '#/components/pathItems/base', put: admin },
        },
      },
      paths: {
        '/pets/{id}': { get: user, put: user, delete: user, patch: user },
        '/pets/all': { $ref: '#/components/pathItems/middle', delete: admin },
        '/shops/{id}': { get: { security: [] }, put: { security: [] } },
        '/shops/all': { $ref: '#/components/pathItems/middle', get: { security: [] } },
      },
    }),
  );
  expect(table?.routes.map(({ method, path, scopes }) => `${method} ${path} ${scopes}`)).toEqual([
    'GET /pets/{id} user',
    'PUT /pets/{id} user',
    'PATCH /pets/{id} user',
    'DELETE /pets/{id} user',
    'GET /pets/all user',
    'PUT /pets/all admin',
    'DELETE /pets/all admin',
    'PUT /shops/{id} undefined',
    'PUT /shops/all admin',
  ]);
  expect(stderr).toContain('warning: paths./shops/all.get: left out: it stands beside $ref and in what that leads to');
  expect(stderr).toContain('paths: GET /shops/{id} is left out: it would answer paths./shops/all.get with less');
  const wrongly = { $ref: '#/x-item', put: { security: {} } };
  const refused = await importOf(
    written('beside-wrong.json', { openapi: '3.1.0', 'x-item': { get: user }, paths: { '/a': wrongly } }),
  );
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('paths./a.put.security: must be a list of requirements');
});

test('A-538 a wider path with less protection gets no route beside one that the gateway answers only while a setting is on', async () => {
  const admin = { get: { security: [{ oauth: ['admin'] }] } };
  const open = { get: { security: [] } };
  const { table, stderr } = await importOf(
    written('turned-off.json', {
      openapi: '3.1.0',
      paths: {
        '/auth/{provider}': open,
        '/auth/check': admin,
        '/{page}': open,
        '/panel': admin,
        '/docs': admin,
        '/{a}/{b}/{c}': admin,
        '/panel/users/{id}': open,
        '/pages': open,
      },
    }),
  );
  expect(table?.routes.map(({ path }) => path)).toEqual(['/{a}/{b}/{c}', '/pages']);
  for (const path of ['/auth/check', '/panel'])
    expect(stderr).toContain(`warning: paths.${path}: left out: the gateway may answer ${path} itself`);
  expect(stderr).toContain('GET /auth/{provider} is left out: it would answer paths./auth/check.get with less');
});

test('A-189 a table is exported as a valid OpenAPI document, and comes back from it', async () => {
  const { stdout } = await runCommand(['routes', 'export', 'openapi'], { ORDERPASS_ORIGIN: 'https://api.example' });
  const document = JSON.parse(stdout) as Record<string, unknown>;
  expect(await new Validator().validate(document)).toEqual({ valid: true });
  expect(document.servers).toEqual([{ url: 'https://api.example' }]);
  const { table, stderr } = await importOf(written('exported.json', document));
  const source = JSON.parse(readFileSync(join(root, 'config/routes.json'), 'utf8')) as Table;
  const short = ({ method, path, scopes }: Route) => `${method} ${path} ${scopes.toSorted().join(' ')}`;
  expect(table?.routes.map(short).toSorted()).toEqual(source.routes.map(short).toSorted());
  expect(stderr).not.toContain('left out');
  expect((await runCommand(['routes', 'export', 'raml'], {})).code).toBe(2);
});

test('A-189 paths that are the same for OpenAPI are one path of a valid document, and what it lacks is a warning', async () => {
  const route = (id: string, path: string, members: object = {}) => ({
    id,
    path,
    scopes: ['a'],
    upstream: 'shop',
    ...members,
  });
  const routes = [
    route('tail', '/s/*', { method: ['GET', 'PUT'] }),
    route('item', '/s/{shop}'),
    route('add', '/s/{store}', { method: 'POST' }),
    route('head', '/s/{one}', { method: 'HEAD', scopes: ['b'] }),
    route('twice', '/f/{rest}/*'),
    route('hosted', '/h', { hosts: ['one.example'], scopes: ['b'] }),
    route('open', '/h', { scopes: undefined, access: 'public' }),
    route('any', '/m', { method: '*' }),
    route('named', '/m', { scopes: ['b'] }),
  ];
  const scopes = ['a', 'b'].map((name) => ({ name, description: name }));
  const { code, stdout, stderr } = await runCommand(['routes', 'export', 'openapi'], {
    ORDERPASS_ROUTES_FILE: written('alike.json', { scopes, routes }),
    ORDERPASS_UPSTREAMS: 'shop=http://127.0.0.1:9',
  });
  expect(code).toBe(0);
  type Operation = { operationId: string; parameters?: { name: string }[] };
  const document = JSON.parse(stdout) as { paths: Record<string, Record<string, Operation>> };
  expect(await new Validator().validate(document)).toEqual({ valid: true });
  const described = Object.entries(document.paths).map(([path, item]) => [
    path,
    Object.entries(item).map(([method, { operationId, parameters = [] }]) =>
      [method, operationId, ...parameters.map(({ name }) => name)].join(' '),
    ),
  ]);
  expect(Object.fromEntries(described)).toMatchObject({
    '/s/{shop}': ['get item shop', 'post add shop', 'head head shop', 'put tail.put shop'],
    '/f/{rest}/{rest2}': ['get twice rest rest2'],
    '/h': ['get hosted'],
  });
  expect(document.paths['/m']?.get?.operationId).toBe('named');
  expect(Object.keys(document.paths)).toHaveLength(4);
  expect(stderr.trim().split('\n')).toEqual([
    'warning: open: GET /h: left out: hosted has the same path for other hosts',
    'warning: tail: GET /s/*: left out: OpenAPI cannot tell the path from /s/{shop} of item',
  ]);
});
