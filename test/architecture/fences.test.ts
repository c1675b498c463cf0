/**
 * Code that leans on the inside of a library stands in one folder for that library, whose header lists what it leans on and
 * whose parity test fails by name when the library changes (src/platform/README.md).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { codeFile, filesBelow, importsOf, root, textOf } from './source.ts';

/** `leans`: forms of code that reach into the library. */
const fences: readonly { library: string; folder: string; leans: RegExp }[] = [
  {
    library: 'pg',
    folder: 'src/platform/db/driver',
    leans:
      /extends pg\.|\b(readyForQuery|processID|activeQuery|queryQueue)\b|\.connection\.(stream|on|once)\b|Object\.assign\(client\b|\bclient\.query\s*=/,
  },
  {
    library: 'kysely',
    folder: 'src/platform/db/driver',
    leans:
      /\bgetExecutor\b|\bwithConnectionProvider\b|\bprovideConnection\b|\bbeginTransaction\b|extends (Plain(Driver|Dialect)|Postgres\w+)\b/,
  },
  {
    library: 'prom-client',
    folder: 'src/platform/telemetry/prom-client',
    leans: /\bregisterMetric\b|\bgetForPromString\b|\bhashMap\b/,
  },
  {
    library: 'oidc-provider',
    folder: 'src/gateway/oauth/provider',
    leans: /\bprovider\.Client|\bExternalSigningKey\b|from 'oidc-provider/,
  },
  {
    library: 'node-http',
    folder: 'src/gateway/edge/node-http',
    leans:
      /\b_http\w+|\bnew (ServerResponse|IncomingMessage)\b|\b(assign|detach)Socket\b|\b_(header|send|implicitHeader)\b|\bwriteQueueSize\b/,
  },
  {
    library: 'node-tls',
    folder: 'src/gateway/answer/node-tls',
    leans: /\b_parentWrap\b/,
  },
  {
    library: 'node-cluster',
    folder: 'src/app/processes/node-cluster',
    leans: /'internalMessage'|'newconn'|NODE_CLUSTER/,
  },
  {
    library: 'koa-router',
    folder: 'src/platform/http/koa-router',
    leans: /\b_matched\w+|\bctx\.(routerPath|matched)\b/,
  },
  {
    library: 'undici',
    folder: 'src/gateway/upstream/addresses/undici',
    leans: /\bsocket\.read =/,
  },
];

// What makes the clients holds code of other languages as text.
const source = filesBelow('src', codeFile).filter((file) => !/^src\/(panel\/assets|clients\/generate)\//.test(file));

const isIn = (folder: string, file: string): boolean => file.startsWith(`${folder}/`);

const linesOf = (file: string): { place: string; line: string }[] =>
  textOf(file)
    .split('\n')
    .map((line, index) => ({ place: `${file}:${index + 1}`, line }))
    .filter(({ line }) => !/^\s*(\/?\*|\/\/)/.test(line));

test('each lean on the inside of a library stands in the folder of that library', () => {
  const wrong = source.flatMap((file) =>
    fences
      .filter(({ folder }) => !isIn(folder, file))
      .flatMap(({ library, leans, folder }) =>
        linesOf(file)
          .filter(({ line }) => leans.test(line))
          .map(({ place, line }) => `${place} leans on ${library}, which belongs in ${folder}: ${line.trim()}`),
      ),
  );
  expect(wrong).toEqual([]);
});

test('no other code reads an underscored member, a hidden member by its text, or a file inside a package', () => {
  const hidden = [
    /(?<!this)\??\._[a-z]\w*/,
    /\['_\w+'\]/,
    /Reflect\.(get|set|ownKeys)\((?!.*'code'\))\w*(client|socket|req|res|server|pool|provider)\w*,/i,
    /\bgetOwnPropertySymbols\b/,
    /\bas unknown as new\b/,
  ];
  const inside = /^(?:@[^/]+\/)?[^/@][^/]*\/(lib|dist|build|src)\//;
  const unfenced = source.filter((file) => !fences.some(({ folder }) => isIn(folder, file)));
  const wrong = [
    ...unfenced
      .flatMap(linesOf)
      .filter(({ line }) => hidden.some((form) => form.test(line)))
      .map(({ place, line }) => `${place} ${line.trim()}`),
    ...unfenced
      .flatMap(importsOf)
      .filter(({ to, isLocal }) => !isLocal && inside.test(to))
      .map(({ from, to }) => `${from} imports ${to}`),
  ];
  expect(wrong).toEqual([]);
});

test('each fence has a lean, a header that lists it, and a parity test that names the library and the folder', () => {
  for (const { library, folder, leans } of fences) {
    const files = filesBelow(folder, codeFile).map(textOf);
    expect(
      files.some((text) => leans.test(text)),
      `${folder} leans on ${library}`,
    ).toBe(true);
    const name = library.replace(/^node-/, 'node:');
    const headed = files.some((text) => new RegExp(`leans on (these |this )?parts? of ${name}`).test(text));
    expect(headed, `a header in ${folder} says what it leans on in ${library}`).toBe(true);
    const parity = `test/platform/parity/${library}.test.ts`;
    expect(existsSync(join(root, parity)), parity).toBe(true);
    expect(textOf(parity), parity).toContain(`${name} changed what ${folder} leans on: `);
  }
});
