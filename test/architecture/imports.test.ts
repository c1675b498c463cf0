import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { codeFile, filesBelow as findFiles, type Import, importsOf as readImports, root } from './source.ts';

const src = join(root, 'src');

const filesBelow = (folder: string): string[] =>
  findFiles(relative(root, folder), codeFile).map((file) => join(root, file));

/** Imports between files of `src`, as paths below it, and imports of packages. */
const importsOf = (file: string): Import[] =>
  readImports(relative(root, file)).map(({ from, to, isLocal }) => ({
    from: from.slice('src/'.length),
    to: isLocal ? relative('src', to) : to,
    isLocal,
  }));

const all = filesBelow(src).flatMap(importsOf);
const local = all.filter((entry) => entry.isLocal);
const foreign = all.filter((entry) => !entry.isLocal);
const top = (path: string): string => path.split('/')[0] ?? '';
const features = ['gateway', 'ordering', 'webhooks', 'staff', 'panel'];

const broken = (rule: string, entries: readonly Import[]): string[] =>
  entries.map(({ from, to }) => `${from} imports ${to}: ${rule}`);

test('the walls are read from real imports', () => {
  expect(local.length).toBeGreaterThan(100);
  expect(foreign.length).toBeGreaterThan(20);
});

test('main imports cli, cli imports app, and nothing imports them back', () => {
  const rule = 'the way is main -> cli -> app -> features -> platform -> contract';
  const allowed: Record<string, string[]> = {
    'main.ts': ['cli'],
    cli: ['cli', 'app', 'platform', 'contract', 'main.ts'],
    app: ['app', ...features, 'platform', 'contract'],
    // What makes the clients reads the document of the program; nothing of the program needs a client.
    clients: ['clients', 'app', ...features, 'contract'],
    ...Object.fromEntries(features.map((feature) => [feature, [feature, 'platform', 'contract']])),
    platform: ['platform', 'contract'],
    contract: ['contract'],
  };
  expect(
    broken(
      rule,
      local.filter(({ from, to }) => !(allowed[top(from)] ?? []).includes(top(to))),
    ),
  ).toEqual([]);
});

test('the app and the clients reach a feature only through its index, config and terms', () => {
  const rule =
    'a feature is entered by index.ts, by config.ts for its settings, or by a terms.ts for lists that load nothing else';
  const wrong = local.filter(
    ({ from, to }) =>
      ['app', 'clients'].includes(top(from)) &&
      features.includes(top(to)) &&
      !/^[a-z]+\/(index|config|[a-z]+\/terms)\.ts$/.test(to),
  );
  expect(broken(rule, wrong)).toEqual([]);
});

test('the contract needs no package but zod and jose', () => {
  const wrong = foreign.filter(
    ({ from, to }) => top(from) === 'contract' && !['zod', 'jose'].includes(to) && !to.startsWith('node:'),
  );
  expect(broken('contract is words, not machinery', wrong)).toEqual([]);
});

test('each package stays behind its wall', () => {
  const walls: Record<string, RegExp> = {
    'koa-router': /^(.*\/routes\.ts|app\/listeners\.ts|platform\/http\/mount-operations\.ts)$/,
    'oidc-provider': /^gateway\/oauth\//,
    'http-proxy': /^gateway\/upstream\//,
    pg: /^(platform\/db\/|webhooks\/|gateway\/credentials\/|gateway\/index\.ts)/,
    commander: /^cli\//,
    'prom-client': /^platform\/telemetry\//,
  };
  const wrong = foreign.filter(({ from, to }) => walls[to] !== undefined && !walls[to].test(from));
  expect(broken('this package belongs elsewhere', wrong)).toEqual([]);
});

const textOf = (file: string): string => readFileSync(file, 'utf8');

test('process.env is read in app/settings/settings-source.ts only', () => {
  const readers = filesBelow(src).filter((file) => textOf(file).includes('process.env'));
  expect(readers.map((file) => relative(src, file))).toEqual(['app/settings/settings-source.ts']);
});

test('SQL stands in stores, migrations and platform/db only', () => {
  const wrong = filesBelow(src)
    .filter((file) => /import \{[^}]*\bsql\b[^}]*\} from 'kysely'/.test(textOf(file)))
    .map((file) => relative(src, file))
    .filter((file) => !/(^platform\/db\/|store\.ts$|\/store\/|platform\/http\/run-once\.ts$)/.test(file));
  expect(wrong).toEqual([]);
});

test('notifications are sent by platform/db/hints only: in a transaction they would make commits wait for each other', () => {
  const wrong = readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|sql)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => /\bpg_notify\b|^\s*notify\s|[`'"]\s*notify\s/im.test(textOf(file)))
    .map((file) => relative(src, file));
  expect(wrong).toEqual(['platform/db/hints/hints.ts']);
});

test('the panel holds no table and no SQL: it calls ports that the app wires', () => {
  const imports = all.filter(
    ({ from, to }) => top(from) === 'panel' && (['kysely', 'pg'].includes(to) || /^platform\/db\b/.test(to)),
  );
  const statement =
    /\b(select\s[\s\S]{1,200}?\sfrom\s+\w+\.\w+|insert into|delete from|update\s+\w+\.\w+\s+set|create (table|schema))\b/i;
  const wrong = readdirSync(join(src, 'panel'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => file.endsWith('.sql') || statement.test(textOf(file)));
  expect([
    ...broken('whatever lasts belongs to a feature; declare a port in panel/ports', imports),
    ...wrong.map((file) => `${relative(src, file)} holds SQL`),
  ]).toEqual([]);
});

/** Words of one trade; `client` and `table` are common words and do not count. */
const orderingWords = /\b((sub)?restaurants?|orders?|menus?|customers?|loyalty(log)?|coupons?|products?|restuid)\b/i;

/** `order` as another word for sequence. */
const sequenceWords =
  /\bin order\b|\border of\b|\border by\b|\bin (this|that|the|its|their) order\b|\border:|\bbyte order mark\b/gi;

/** Names of the public interface that must stand below the features; anything else takes them from there. */
const interfaceNames: readonly { in: RegExp; name: RegExp; reason: string }[] = [
  {
    in: /^contract\/fault\.ts$/,
    name: /.+/g,
    reason: 'all codes of interface 6.1 are one table, with their public titles',
  },
  {
    in: /^contract\/event\.ts$/,
    name: /'restuid'/g,
    reason: 'the member that names the tenant (interface 12.2); code uses tenantMember',
  },
  {
    in: /^gateway\//,
    name: /\bRESTAURANT_NOT_FOUND\b/g,
    reason: 'a code of interface 6.1 with which the gateway refuses',
  },
  {
    in: /^gateway\//,
    name: /\brestaurant_(gone|not_granted)\b/g,
    reason: 'reasons of a denial (interface 11.5) that whoami answers',
  },
  {
    in: /^platform\/http\/resolve-tenant\.ts$/,
    name: /'[^']*restaurants?[^']*'/g,
    reason: 'public texts: callers know tenants as restaurants',
  },
];

/** Splits names at `_` and at capitals: `orderUid`, `HTTPOrder` and `ORDER_MIN` hold the word `order`. */
const splitNames = (line: string): string =>
  line
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replaceAll('_', ' ');

const withoutInterfaceNames = (path: string, line: string): string =>
  interfaceNames.reduce((left, one) => (one.in.test(path) ? left.replaceAll(one.name, '') : left), line);

test('gateway, webhooks, platform and contract know no ordering word', () => {
  const wrong = ['gateway', 'webhooks', 'platform', 'contract'].flatMap((folder) =>
    filesBelow(join(src, folder)).flatMap((file) => {
      const path = relative(src, file);
      return textOf(file)
        .split('\n')
        .map((line, index) => ({ line, place: `${path}:${index + 1}` }))
        .filter(({ line }) =>
          orderingWords.test(splitNames(withoutInterfaceNames(path, line).replaceAll(sequenceWords, ''))),
        )
        .map(({ place, line }) => `${place} ${line.trim()}`);
    }),
  );
  expect(wrong).toEqual([]);
});

test('each name of the interface below the features is still there, so no exception outlives its reason', () => {
  const unused = interfaceNames.filter(
    (one) => !filesBelow(src).some((file) => one.in.test(relative(src, file)) && textOf(file).match(one.name) !== null),
  );
  expect(unused.map(({ reason }) => reason)).toEqual([]);
});

test('names are split at underscores and capitals', () => {
  for (const name of ['orderUid', 'HTTPOrder', 'ORDER_MIN', 'findCustomer', 'menu_changed'])
    expect(orderingWords.test(splitNames(name)), name).toBe(true);
  for (const name of ['border', 'reorderable', 'production'])
    expect(orderingWords.test(splitNames(name)), name).toBe(false);
});

test('every feature opens with what it owns, and no file is a drawer for anything', () => {
  for (const feature of features.filter((name) => readdirSync(src).includes(name))) {
    expect(textOf(join(src, feature, 'index.ts')).startsWith('/**'), `${feature}/index.ts opens with a header`).toBe(
      true,
    );
  }
  const drawers = filesBelow(src).filter((file) =>
    /(^|\/)(utils?|helpers?|common|manager|services?)(\.ts|\/)/.test(relative(src, file)),
  );
  expect(drawers).toEqual([]);
});

test('ls src shows the architecture in at most ten names, beside the clients', () => {
  expect(readdirSync(src).filter((name) => name !== 'clients').length).toBeLessThanOrEqual(10);
});

test('the top level holds what the house allows and nothing else', () => {
  const allowed = [
    'package.json',
    'tsconfig.json',
    'src',
    'config',
    'test',
    'docker-compose.yml',
    'README.md',
    'package-lock.json',
    'LICENSE',
    'biome.json',
  ];
  const passing = ['node_modules', 'data', 'coverage', 'dist'];
  const others = readdirSync(root).filter(
    (name) => !name.startsWith('.') && !allowed.includes(name) && !passing.includes(name),
  );
  expect(others).toEqual([]);
});
