/** The tests that need no database, program, Redis or browser: their imports in `test`, followed to the end, reach none. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { codeFile, filesBelow, importsOf } from './architecture/source.ts';

const needed = /^(test\/support\/(database|program|redis|test-server)\.ts|playwright-core|pg)$/;

const targets = new Map<string, string[]>();
for (const file of filesBelow('test', codeFile))
  targets.set(
    file,
    importsOf(file).map(({ to }) => to),
  );

const needsMore = (file: string, seen = new Set<string>()): boolean =>
  (targets.get(file) ?? []).some((to) => {
    if (needed.test(to)) return true;
    if (seen.has(to)) return false;
    seen.add(to);
    return needsMore(to, seen);
  });

const quick = [...targets.keys()].filter((file) => file.endsWith('.test.ts') && !needsMore(file));

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: { include: quick, pool: 'forks', maxWorkers: 2, testTimeout: 60_000 },
});
