import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { codeFile, filesBelow, textOf } from './architecture/source.ts';

/**
 * Files that take a minute or more each: crashes, attacks, rolled and replaced processes, operations of the store, costs that are
 * measured on large data, and clients in other languages. The gate leaves them out (TEST_LONG=off), and `npm run test:long` runs
 * them alone (TEST_LONG=only).
 */
const long = [
  'test/cli/forward-commands.test.ts',
  'test/cli/package.test.ts',
  'test/cli/remote/forward-remote.test.ts',
  'test/cli/store/backup-and-move.test.ts',
  'test/cli/store/master-key-rotation.test.ts',
  'test/conformance/clients/*.test.ts',
  'test/conformance/oauth/authlib.test.ts',
  'test/gateway/audit/audit-attacks.test.ts',
  'test/gateway/audit/audit-many-tokens.test.ts',
  'test/gateway/audit/audit-search-cost.test.ts',
  'test/gateway/audit/tree/audit-tree.test.ts',
  'test/gateway/processes/*.test.ts',
  'test/ordering/interface/list-cost.test.ts',
  'test/ordering/menus/menu-bounds.test.ts',
  'test/panel/demo/demo-data.test.ts',
  'test/panel/restaurant/italian.test.ts',
  'test/panel/support/workload.test.ts',
  'test/panel/webhooks/facts.test.ts',
  'test/platform/database-roles.test.ts',
  'test/platform/embedded/embedded-postgres*.test.ts',
  'test/platform/failover/failover-under-load.test.ts',
  'test/platform/pooler/*.test.ts',
  'test/reference/docs-pages.test.ts',
  'test/reference/guide-claims/commands.test.ts',
  'test/reference/guide/browser.test.ts',
  'test/reference/releases/release-before.test.ts',
  'test/rfc/ssf/rfc8935.test.ts',
  'test/rfc/ssf/suite-modules.test.ts',
  'test/stories/countdown-processes.test.ts',
  'test/stories/import-process.test.ts',
  'test/stories/one-machine-restart.test.ts',
  'test/stories/order-model-crashes.test.ts',
  'test/stories/quotas.test.ts',
  'test/stories/reload-routes.test.ts',
  'test/stories/rolling-restart.test.ts',
  'test/stories/start-before-store.test.ts',
  'test/stories/store-away.test.ts',
  'test/telemetry/traces.test.ts',
  'test/webhooks/deliver/crash-recovery.test.ts',
];

const excluded = [
  ...(process.env.TEST_LONG === 'off' ? long : []),
  'test/bench/**',
  '**/node_modules/**',
  // A fleet under load takes both cores from every other test (npm run test:ha).
  ...(process.env.TEST_HA === 'on' ? [] : ['test/ha/**']),
  // Two builds of the image take minutes, and need the package sources (npm run test:image).
  ...(process.env.TEST_IMAGE === 'on' ? [] : ['test/conformance/image/**']),
  // Thousands of runs of axe in a browser, all pages at seven widths, and demo data made again and again take many minutes
  // (npm run test:pages).
  ...(process.env.TEST_PAGES === 'on'
    ? []
    : [
        'test/panel/demo/demo-crashes.test.ts',
        'test/panel/demo/every-page.test.ts',
        'test/panel/demo/year-of-data.test.ts',
        'test/panel/pages/layout.test.ts',
        'test/reference/guide/every-page.test.ts',
      ]),
];

/** These test programs and commands, which are processes of their own, from outside. */
const fromOutside = ['test/cli/**/*.test.ts', 'test/panel/**/*.test.ts', 'test/stories/**/*.test.ts'];
const isFromOutside = (file: string): boolean => /^test\/(cli|panel|stories)\//.test(file);
const onlyLong = process.env.TEST_LONG === 'only';
const programs = onlyLong ? long.filter(isFromOutside) : fromOutside;
const parts = onlyLong ? [] : ['test/**/*.test.ts'];

const longParts = long.filter((file) => !isFromOutside(file));
/** These replace a module or the HTTP client of Node, which would last in the process for the next file. */
const replacing = filesBelow('test', codeFile).filter(
  (file) =>
    file.endsWith('.test.ts') && !isFromOutside(file) && /\bvi\.(?:mock|doMock)\(|from 'nock'/.test(textOf(file)),
);
/** Each has a process of its own. Long files gain little from a shared one. */
const isolated = [...replacing, ...longParts];

/** Each process would otherwise compile the dependencies of the program anew. */
const execArgv = ['--import', new URL('../src/cli/compile-cache.mjs', import.meta.url).href];

const common = {
  root: fileURLToPath(new URL('..', import.meta.url)),
  // Processes: an OAuth provider and a cluster of workers do not share one process with tests that run at the same time.
  pool: 'forks',
  execArgv,
  // Twice the cores of a small machine: many tests wait for a time of the program, and the others work meanwhile. Four files keep
  // two cores busy; six took no less time.
  maxWorkers: 4,
  // They only end what hangs. Many tests start the program several times, on machines that leave them a tenth of a core.
  testTimeout: 240_000,
  hookTimeout: 240_000,
  teardownTimeout: 60_000,
  // As long as `until` of test/support/until.ts. The default is a second, which other work on the machine may take.
  expect: { poll: { timeout: 60_000 } },
} as const;

const shared = { ...common, isolate: false } as const;

export default defineConfig({
  root: common.root,
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: common.maxWorkers,
    teardownTimeout: common.teardownTimeout,
    projects: [
      // One process for many files, which loads what they need once: a third of what these files cost otherwise.
      { test: { ...shared, name: 'parts', include: parts, exclude: [...excluded, ...fromOutside, ...isolated] } },
      // The same, and one browser in it.
      { test: { ...shared, name: 'programs', include: programs, exclude: excluded } },
      { test: { ...common, name: 'isolated', include: onlyLong ? longParts : isolated, exclude: excluded } },
    ],
  },
});
