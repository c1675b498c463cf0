/**
 * PostgreSQL of the bench, as the program brings it along: says how it is reached, lives until its stdin ends. Argument:
 * settings of PostgreSQL beside those of the program, as a JSON object.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectionUrl } from '#src/platform/db/driver/socket-connection.ts';
import { startEmbedded } from '#src/platform/db/embedded/embedded.ts';
import { createLog } from '#src/platform/log.ts';

const [, , extraSettings = '{}'] = process.argv;
const folder = await mkdtemp(join(tmpdir(), 'orderpass-bench-'));
// Started by root, the database server runs as a user that must be able to enter.
await chmod(folder, 0o755);
const embedded = await startEmbedded({
  dataDir: join(folder, 'data'),
  log: createLog({ level: 'warn', role: 'bench' }),
  extraSettings: JSON.parse(extraSettings) as Record<string, string>,
});
process.stdout.write(`${JSON.stringify({ url: connectionUrl(embedded.connection) })}\n`);
await new Promise((resolve) => process.stdin.on('end', resolve).resume());
await embedded.stop();
await rm(folder, { recursive: true, force: true });
process.exit(0);
