/**
 * Thread of a bench: requests that are due at a steady pace, each timed from the moment at which it was due. A message
 * starts it, the next one ends it and is answered with the latencies in milliseconds. What the bench does besides does not
 * hold it up.
 */
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Agent, request } from 'undici';

/** Without bodies it reads; else it posts each of them in turn. */
export type Pace = { url: string; headers: Record<string, string>; bodies: readonly string[]; perSecond: number };

const { url, headers, bodies, perSecond } = workerData as Pace;
const main = parentPort;
if (main === null) throw new Error('this module is the start of a thread');
// What the bench waits for on its own side is not what a request takes: its callers would sit on other machines. On Linux
// the priority is that of this thread alone.
try {
  setPriority(-10);
} catch {
  // Only root may; without it both sides of a ratio hold the wait.
}
const agent = new Agent({ connections: 64, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 });

let sent = 0;

const one = async (dueAt: number): Promise<number> => {
  const body = bodies[sent++ % bodies.length];
  const method = body === undefined ? 'GET' : 'POST';
  const answer = await request(url, { method, headers, dispatcher: agent, ...(body !== undefined && { body }) });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`a request was answered with ${answer.statusCode}`);
  return performance.now() - dueAt;
};

for (;;) {
  await once(main, 'message');
  let ended = false;
  const end = once(main, 'message').then(() => {
    ended = true;
  });
  const running: Promise<number>[] = [];
  const startedAt = performance.now();
  for (let count = 0; !ended; count += 1) {
    const dueAt = startedAt + (count * 1000) / perSecond;
    const early = dueAt - performance.now();
    if (early > 0) await sleep(early);
    running.push(one(dueAt));
  }
  await end;
  main.postMessage(await Promise.all(running));
}
