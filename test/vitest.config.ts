import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    // A fleet under load takes both cores from every other test (npm run test:ha).
    exclude: ['test/bench/**', '**/node_modules/**', ...(process.env.TEST_HA === 'on' ? [] : ['test/ha/**'])],
    globalSetup: ['test/support/global-setup.ts'],
    // Processes: an OAuth provider and a cluster of workers do not share one process with other files' tests.
    pool: 'forks',
    // One more than the cores of a small machine: many tests wait for a time of the program, and the others work meanwhile.
    maxWorkers: 3,
    // They only end what hangs. Many tests start the program several times, on machines that leave them a tenth of a core.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    teardownTimeout: 60_000,
  },
});
