/** What src/app/processes/node-cluster leans on in node:cluster, beyond its documentation. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';

const program = join(import.meta.dirname, 'lost-connection-program.ts');

test('a connection that was handed to a process and not confirmed goes to another when the process is killed', async () => {
  const env = { ...process.env, TEST_PORT: String(await freePort()) };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env, timeout: 60_000 });
  const changed = 'node:cluster changed what src/app/processes/node-cluster leans on: newconn and its ack';
  expect(JSON.parse(stdout), changed).toEqual(['answer', 'answer', 'answer', 'answer']);
});
