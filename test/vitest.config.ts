import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', '**/node_modules/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // Processes: an OAuth provider and a cluster of workers do not share one process with other files' tests.
    pool: 'forks',
    maxWorkers: 2,
    // Many tests start the program, several times, on machines that may be busy.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});
