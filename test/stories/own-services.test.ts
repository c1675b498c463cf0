/**
 * The README's ten minutes, word for word: the gateway in front of servers that were not written for it: json-server of npm and
 * nginx of Debian with WebDAV and with plain files.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { makeDataDir, type RunningProgram, root, startProgram } from '../support/program.ts';
import { isWithinASecond, until } from '../support/until.ts';

const nginx = '/usr/sbin/nginx';
const present = existsSync(nginx);
if (!present) process.stderr.write(`skipped: ${nginx} is not installed (Debian: apt-get install nginx-light)\n`);

const section = /## Ten minutes to your own services\n([\s\S]*?)\n## /.exec(
  readFileSync(join(root, 'README.md'), 'utf8'),
)?.[1];
const blocksOf = (language: string): string[] =>
  [...(section ?? '').matchAll(new RegExp(`^ {3}\`\`\`${language}\\n([\\s\\S]*?)^ {3}\`\`\``, 'gm'))].map((match) =>
    (match[1] ?? '').replaceAll(/^ {3}/gm, ''),
  );

const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7) % 251));

describe.skipIf(!present)('A-240 in front of own services by the README alone', () => {
  const data = makeDataDir();
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-own-'));
  const servers: ChildProcess[] = [];
  let program: RunningProgram;
  let clientId = '';
  let bearer: Record<string, string>;
  let commands: readonly string[];
  let shellEnv: Record<string, string>;

  /** Lines of the README in one shell, from the folder in which the reader has written the file. */
  const shell = (lines: string): Promise<string> =>
    new Promise((resolve, reject) => {
      // The reader is in the checkout; the file of this test is elsewhere.
      const text = lines.replaceAll('$PWD/routes.yaml', join(folder, 'routes.yaml'));
      execFile('bash', ['-euc', text], { cwd: root, env: { ...process.env, ...shellEnv } }, (error, stdout, stderr) =>
        error === null ? resolve(stdout) : reject(new Error(`${text}\n${stdout}${stderr}`)),
      );
    });

  const call = async (method: string, path: string, headers: Record<string, string>, body?: string | Uint8Array) => {
    const response = await fetch(`${program.url}${path}`, {
      method,
      headers,
      ...(body === undefined ? undefined : { body: body as string }),
    });
    const content = Buffer.from(await response.arrayBuffer());
    const isJson = /json/.test(response.headers.get('content-type') ?? '') && content.length > 0;
    return {
      status: response.status,
      headers: response.headers,
      content,
      json: isJson ? (JSON.parse(content.toString()) as Record<string, unknown>) : undefined,
    };
  };

  const json = { 'content-type': 'application/json' };

  beforeAll(async () => {
    const [items, files, site] = [await freePort(), await freePort(), await freePort()];
    servers.push(startJsonServer(folder, items), startNginx(folder, { files, site }));
    for (const port of [items, files, site])
      await until(async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)) !== undefined);
    const [table = ''] = blocksOf('yaml');
    const ports = { 3001: items, 3002: files, 3003: site };
    writeFileSync(
      join(folder, 'routes.yaml'),
      table.replaceAll(/127\.0\.0\.1:(300[123])/g, (_, port: '3001') => `127.0.0.1:${ports[port]}`),
    );
    commands = blocksOf('sh');
    shellEnv = { ORDERPASS_DATA_DIR: data.path };
    expect(commands[0]).toMatch(/^export ORDERPASS_ROUTES_FILE=\$PWD\/routes\.yaml\n.*routes check\nnpm start\n$/);
    expect(await shell((commands[0] ?? '').replace('npm start\n', ''))).toContain('valid');
    program = await startProgram({ ...shellEnv, ORDERPASS_ROUTES_FILE: join(folder, 'routes.yaml') });
    // The start names commands that work with this table, which takes no orders.
    await until(() => /rst_\w+\)[\s\S]*See your routes/.test(program.output()));
    expect(program.output()).not.toContain('Insert an order');
    const [, create = '', askToken = ''] = (commands[1] ?? '').split('\n');
    const restaurant = /rst_\w+/.exec(program.output())?.[0] ?? '';
    const withFile = `export ORDERPASS_ROUTES_FILE=$PWD/routes.yaml\n`;
    const made = await shell(withFile + create.replace('rst_…', restaurant));
    clientId = /opc_\w+/.exec(made)?.[0] ?? '';
    const secret = /ops_\w+/.exec(made)?.[0] ?? '';
    const answer = await shell(
      askToken.replace('http://127.0.0.1:8080', program.url).replace('opc_…', clientId).replace('ops_…', secret),
    );
    const token = (JSON.parse(answer) as { access_token: string }).access_token;
    bearer = { authorization: `Bearer ${token}` };
    shellEnv = { ...shellEnv, TOKEN: token };
  });

  afterAll(async () => {
    await program?.stop();
    for (const server of servers) server.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
    data.remove();
  });

  test('the REST server: create, read, list, replace, change and delete, as without the gateway', async () => {
    const line = (commands[1] ?? '').split('\n').find((one) => one.includes('/items')) ?? '';
    expect(JSON.parse(await shell(line.replace('http://127.0.0.1:8080', program.url)))).toEqual([
      { id: 1, name: 'first' },
    ]);
    const created = await call('POST', '/items', { ...bearer, ...json }, '{"name":"second"}');
    expect([created.status, created.json]).toEqual([201, { name: 'second', id: 2 }]);
    // The public address of what was made, not that of the service.
    expect(created.headers.get('location')).toBe(`${program.url}/items/2`);
    const replaced = await call('PUT', '/items/2', { ...bearer, ...json }, '{"name":"other","n":1}');
    expect([replaced.status, replaced.json]).toEqual([200, { id: 2, name: 'other', n: 1 }]);
    const changed = await call('PATCH', '/items/2', { ...bearer, ...json }, '{"n":2}');
    expect([changed.status, changed.json]).toEqual([200, { id: 2, name: 'other', n: 2 }]);
    const filtered = await call('GET', '/items?n=2&_sort=id&_limit=5', bearer);
    expect([filtered.json, filtered.headers.get('x-total-count')]).toEqual([[{ id: 2, name: 'other', n: 2 }], '1']);
    const read = await call('GET', '/items/2', bearer);
    // Without Cache-Control, fetch adds no-cache to a conditional request, and Express then answers in full.
    const known = { 'if-none-match': read.headers.get('etag') ?? '', 'cache-control': 'max-age=0' };
    const same = await call('GET', '/items/2', { ...bearer, ...known });
    expect([read.status, same.status, same.content.length]).toEqual([200, 304, 0]);
    const head = await call('HEAD', '/items/2', bearer);
    expect([head.status, head.content.length]).toEqual([200, 0]);
    expect((await call('DELETE', '/items/2', bearer)).status).toBe(200);
    const gone = await call('GET', '/items/2', bearer);
    expect([gone.status, gone.json?.error]).toEqual([404, 'NOT_FOUND']);
  });

  test('the file server: ranges, conditional reads and HEAD; a client without the scope gets the exact challenge', async () => {
    const whole = await call('GET', '/files/kept.bin', bearer);
    expect([whole.status, whole.content.equals(bytes)]).toEqual([200, true]);
    const part = await call('GET', '/files/kept.bin', { ...bearer, range: 'bytes=1000-1999' });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 1000-1999/${bytes.length}`]);
    expect(part.content.equals(bytes.subarray(1000, 2000))).toBe(true);
    const beyond = await call('GET', '/files/kept.bin', { ...bearer, range: 'bytes=900000-' });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${bytes.length}`]);
    const same = await call('GET', '/files/kept.bin', { ...bearer, 'if-none-match': whole.headers.get('etag') ?? '' });
    expect(same.status).toBe(304);
    const head = await call('HEAD', '/files/kept.bin', bearer);
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
    for (const method of ['PUT', 'DELETE']) {
      const refused = await call(method, '/files/kept.bin', bearer, method === 'PUT' ? 'x' : undefined);
      expect([refused.status, refused.json?.error]).toEqual([403, 'insufficient_scope']);
      expect(refused.headers.get('www-authenticate')).toBe(
        `Bearer realm="orderpass", error="insufficient_scope", error_description="This operation needs the scope write:files", scope="write:files", resource_metadata="${program.url}/.well-known/oauth-protected-resource"`,
      );
    }
    expect((await call('GET', '/files/kept.bin', bearer)).content.equals(bytes)).toBe(true);
  });

  test('the file server: uploads and deletions with the scope', async () => {
    const withFile = 'export ORDERPASS_ROUTES_FILE=$PWD/routes.yaml\n';
    const restaurant = /rst_\w+/.exec(program.output())?.[0] ?? '';
    const made = await shell(
      `${withFile}npm run -s cli -- client create --name writer --restaurant ${restaurant} --scope 'read:files write:files'`,
    );
    const writer = {
      'x-client-id': /opc_\w+/.exec(made)?.[0] ?? '',
      'x-client-secret': /ops_\w+/.exec(made)?.[0] ?? '',
    };
    const upload = Buffer.concat(Array.from({ length: 25 }, () => bytes));
    const put = await call('PUT', '/files/new/deep.bin', { ...writer, 'content-type': 'image/png' }, upload);
    expect(put.status).toBe(201);
    expect((await call('GET', '/files/new/deep.bin', writer)).content.equals(upload)).toBe(true);
    expect((await call('PUT', '/files/new/deep.bin', writer, 'short')).status).toBe(204);
    expect((await call('GET', '/files/new/deep.bin', writer)).content.toString()).toBe('short');
    expect((await call('DELETE', '/files/new/deep.bin', writer)).status).toBe(204);
    expect((await call('GET', '/files/new/deep.bin', writer)).status).toBe(404);
    // Methods of WebDAV (RFC 4918) are none of a route.
    for (const method of ['PROPFIND', 'MKCOL', 'POST']) {
      const refused = await call(method, '/files/new', writer);
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT, DELETE, OPTIONS']);
    }
    expect((await call('GET', '/items', writer)).status).toBe(403);
  });

  test('the public site needs no credential; an unknown path is 404 in the dialect of the caller', async () => {
    const page = await call('GET', '/site/index.html', {});
    expect([page.status, page.content.toString()]).toEqual([200, '<h1>Hello</h1>']);
    const missing = await call('GET', '/site/none.html', {});
    expect([missing.status, missing.content.toString()]).toEqual([404, expect.stringContaining('<h1>404 Not Found')]);
    expect((await call('GET', '/site/index.html', { authorization: 'Bearer wrong' })).status).toBe(401);
    const none = await call('GET', '/items', {});
    expect([none.status, none.json?.error]).toEqual([401, 'INVALID_AUTH']);
    const unknown = await call('GET', '/nowhere', bearer);
    expect([unknown.status, unknown.json?.error]).toEqual([404, 'INVALID_ACTION']);
    const problem = await call('GET', '/nowhere', { accept: 'application/problem+json' });
    expect([problem.status, problem.json?.code]).toEqual([404, 'INVALID_ACTION']);
    const wrong = await call('PUT', '/items', bearer);
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
  });

  test('the OpenAPI document has an operation of its own id for each method of each route', async () => {
    const { status, content } = await call('GET', '/api/openapi.json', {});
    const document = JSON.parse(content.toString()) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    );
    expect(status).toBe(200);
    expect(ids.filter((id) => /\.(put|patch|delete)$/.test(id)).length).toBeGreaterThan(2);
    expect(ids).toEqual([...new Set(ids)]);
  });

  test('the client is refused within a second of the last command', async () => {
    expect((await call('GET', '/items', bearer)).status).toBe(200);
    const disable = (commands[1] ?? '').split('\n').find((one) => one.includes('client disable')) ?? '';
    await shell(disable.replace('opc_…', clientId));
    await isWithinASecond(async () => (await call('GET', '/items', bearer)).status, 401);
    expect((await call('GET', '/site/index.html', {})).status).toBe(200);
  });
});

const startJsonServer = (folder: string, port: number): ChildProcess => {
  writeFileSync(join(folder, 'db.json'), JSON.stringify({ items: [{ id: 1, name: 'first' }] }));
  const require = createRequire(import.meta.url);
  const program = require.resolve('json-server/lib/cli/bin.js');
  return spawn(process.execPath, [program, 'db.json', '--host', '127.0.0.1', '--port', String(port), '--quiet'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
};

const startNginx = (folder: string, { files, site }: { files: number; site: number }): ChildProcess => {
  mkdirSync(join(folder, 'files'));
  mkdirSync(join(folder, 'www/site'), { recursive: true });
  writeFileSync(join(folder, 'files/kept.bin'), bytes);
  writeFileSync(join(folder, 'www/site/index.html'), '<h1>Hello</h1>');
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/nginx.pid; events { worker_connections 64; }
     http {
       access_log off; error_log ${folder}/error.log; ${paths.join(' ')}
       server {
         listen 127.0.0.1:${files}; root ${folder}/files;
         dav_methods PUT DELETE MKCOL COPY MOVE; create_full_put_path on; client_max_body_size 0;
       }
       server { listen 127.0.0.1:${site}; root ${folder}/www; }
     }`,
  );
  return spawn(nginx, ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], { stdio: 'inherit' });
};
