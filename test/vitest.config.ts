import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const excluded = [
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

/** Each process would otherwise compile the dependencies of the program anew. */
const execArgv = ['--import', new URL('../src/cli/compile-cache.mjs', import.meta.url).href];

const common = {
  root: fileURLToPath(new URL('..', import.meta.url)),
  // Processes: an OAuth provider and a cluster of workers do not share one process with other files' tests.
  pool: 'forks',
  execArgv,
  // Twice the cores of a small machine: many tests wait for a time of the program, and the others work meanwhile.
  maxWorkers: 4,
  // They only end what hangs. Many tests start the program several times, on machines that leave them a tenth of a core.
  testTimeout: 240_000,
  hookTimeout: 240_000,
  teardownTimeout: 60_000,
  // As long as `until` of test/support/until.ts. The default is a second, which other work on the machine may take.
  expect: { poll: { timeout: 60_000 } },
} as const;

export default defineConfig({
  root: common.root,
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: common.maxWorkers,
    teardownTimeout: common.teardownTimeout,
    projects: [
      { test: { ...common, name: 'parts', include: ['test/**/*.test.ts'], exclude: [...excluded, ...fromOutside] } },
      // One process for many files, which loads what they need once, and one browser in it.
      { test: { ...common, name: 'programs', include: fromOutside, exclude: excluded, isolate: false } },
    ],
  },
});
