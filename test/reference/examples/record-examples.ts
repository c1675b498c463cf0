/** Records the answers of the examples from a fresh start: `npm run examples`. The file is part of the program. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { makeDataDir, root, runCommand, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { collect, timeout } from './collect.ts';
import { type Json, type Printed, printedOf, readDocument, readToken, runExamples } from './run-examples.ts';
import { settleDeliveries } from './settle.ts';

/** The shortest countdown is a minute. The order is the second example of order/create. */
const timeOutOrder = async (url: string, document: Json, printed: Printed): Promise<void> => {
  const restuid = /rst_\w+/.exec(program.output())?.[0] ?? '';
  const set = ['restaurant', 'set', '--restaurant', restuid, '--countdown-minutes', '1'];
  const { code, stderr } = await runCommand(set, { ORDERPASS_DATA_DIR: data.path });
  if (code !== 0) throw new Error(stderr);
  const { examples } = document.paths['/api/order/create'].post.requestBody.content['application/json'];
  const headers = { authorization: `Bearer ${await readToken(url, printed)}`, 'content-type': 'application/json' };
  await fetch(`${url}/api/order/create`, { method: 'POST', headers, body: JSON.stringify(examples.table.value) });
  await until(async () => {
    const { events } = (await (await fetch(`${url}/api/events/list?event=${timeout}`, { headers })).json()) as Json;
    await setTimeout(1_000);
    return events.length > 0;
  }, 120_000);
};

const file = join(root, 'src/app/reference/document/examples/recorded-answers.json');
const data = makeDataDir();
const at = new Date();
const program = await startProgram({ ORDERPASS_DATA_DIR: data.path });
try {
  await until(() => program.output().includes('/demo/receiver\n'));
  const { url } = program;
  const printed = printedOf(program.output());
  const document = await readDocument(url);
  const settle = (): Promise<void> => settleDeliveries(url, printed);
  const runs = await runExamples({ url, document, printed, settle });
  await timeOutOrder(url, document, printed);
  const collected = await collect({ url, document, printed, at, runs });
  writeFileSync(file, `${JSON.stringify(collected, undefined, 2)}\n`);
  const served = await (await fetch(`${url}/api/openapi.json`)).text();
  process.stdout.write(`${Buffer.byteLength(served)} bytes with the ids of this demo\n`);
  for (const { operation, example, status } of runs) process.stdout.write(`${status} ${operation} ${example}\n`);
} finally {
  await program.stop();
  data.remove();
}
