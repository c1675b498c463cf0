/** Workers that are killed while events are recorded at a steady pace: how long each event takes to its first arrival. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../parts.ts';
import type { Harness } from '../webhook-harness.ts';

type KillsDeps = { harness: Harness; receivers: Part; tenants: readonly string[]; kills: number };

const perSecond = 100;
const everyMs = 5_000;

/** Milliseconds from the commit to the first arrival of every event. Two workers run; each kill hits one of them, and a new one replaces it. */
export const measureKills = async ({ harness, receivers, tenants, kills }: KillsDeps): Promise<number[]> => {
  await receivers.ask({ forget: true });
  const workers = [await harness.startWorker(), await harness.startWorker()];
  const sent = new Map<string, number>();
  let isOver = false;
  const recording = (async () => {
    const startedMs = performance.now();
    for (let count = 0; !isOver; count += 1) {
      const { id, at } = await harness.recordOne(tenants[count % tenants.length] ?? '');
      sent.set(id, at);
      await sleep(Math.max(0, startedMs + ((count + 1) * 1000) / perSecond - performance.now()));
    }
  })();
  for (let kill = 0; kill < kills; kill += 1) {
    await sleep(everyMs);
    workers[kill % 2]?.child.kill('SIGKILL');
    workers[kill % 2] = await harness.startWorker();
  }
  await sleep(everyMs);
  isOver = true;
  await recording;
  try {
    for (let waits = 0; ; waits += 1) {
      const { probes } = (await receivers.ask({ probes: true })) as { probes: Record<string, number> };
      if ([...sent.keys()].every((id) => id in probes)) return [...sent].map(([id, at]) => (probes[id] ?? 0) - at);
      if (waits > 600) throw new Error('not every event arrived');
      await sleep(100);
    }
  } finally {
    for (const worker of workers) await worker.stop();
  }
};
