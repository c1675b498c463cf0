import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [
      'test/bench/**',
      '**/node_modules/**',
      // A fleet under load takes both cores from every other test (npm run test:ha).
      ...(process.env.TEST_HA === 'on' ? [] : ['test/ha/**']),
      // Two builds of the image take minutes, and need the package sources (npm run test:image).
      ...(process.env.TEST_IMAGE === 'on' ? [] : ['test/conformance/image/**']),
    ],
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
